"""Untrusted. ``interp robustness``: how far inputs may move, certified pair by pair."""

from __future__ import annotations

from pathlib import Path
from statistics import median_low
from typing import Any

import click

from interp.cli.output import json_option, limit_options, print_result, render_table
from interp.cli.progress import progress_bar, progress_options
from interp.cli.reading import ReadOptions, check_pair, reading_options
from interp.datasets.read import load_dataset
from interp.execution.radius import Radius, find_radius
from proofs.__main__ import read_transformer
from proofs.kernel.errors import UsageError
from proofs.kernel.rational import Limits, parse_rational, rational_text, short_decimal
from proofs.kernel.statement import parse_temperatures


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--temperatures", default="0", show_default=True, help="0, T, (0,T], [0,T], (0,oo) or [0,oo).")
@click.option("--distance", default="0", show_default=True, help="Allowed Hausdorff distance; 0: exactly the targets.")
@click.option("--pair", "pairs", type=click.IntRange(min=0), multiple=True, help="Only this pair (from 0), repeatable.")
@click.option("--tries", type=click.IntRange(min=0), default=0, help="Changed inputs a radius, for upper bounds.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the changed inputs.")
@click.option("--first", type=click.IntRange(min=1), default=20, show_default=True, help="Rows of the table.")
@reading_options
@limit_options
@json_option
@progress_options
def robustness(
    transformer: Path,
    data: Path,
    temperatures: str,
    distance: str,
    pairs: tuple[int, ...],
    tries: int,
    seed: int,
    first: int,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """The largest certified radius r around the input of every pair of DATA, smallest first.

    Whenever every coordinate of every token moves by at most r, each on its own, the outputs are exactly the targets
    at every temperature given, or with --distance D within the Hausdorff distance D of them. The certified radius is a
    lower bound of the true one, which may be larger. --tries looks for changed inputs with wrong outputs: an upper
    bound. Exit code 0: it is a measurement.
    """
    dataset, model = load_dataset(data, reading, limits), read_transformer(transformer, limits)
    claimed, allowed = parse_temperatures(temperatures), parse_rational(distance, "--distance", limits)
    if allowed < 0:
        raise UsageError("a negative distance", "--distance")
    chosen = list(dict.fromkeys(pairs)) or list(range(len(dataset.pairs)))
    check_pair(max(chosen), len(dataset.pairs))
    found = []
    with progress_bar("robustness", "pair") as progress:
        for done, index in enumerate(chosen, 1):
            found.append(find_radius(dataset, model, index, claimed, allowed, limits, tries, seed))
            progress(done, len(chosen))
    radii = [item.lower for item in found]
    aim = "exactly the targets" if allowed == 0 else f"within {distance} of the targets"
    positive = sum(radius > 0 for radius in radii)
    lines = [
        f"{transformer}: {positive} of {len(found)} radii are certified above 0 ({aim}, temperature {claimed})",
        f"  lower bounds: smallest {short_decimal(min(radii))}, median {short_decimal(median_low(radii))}",
    ]
    if positive == 0 and allowed == 0 and all(item.exact for item in found):
        lines.append("  outputs that move with the inputs have radius 0: allow a distance, such as --distance 1/1000")
    if wrong := sum(not item.exact for item in found):
        lines.append(f"  {wrong} pairs are not certified even where they are")
    order = sorted(found, key=lambda item: (item.lower, item.pair))
    rows = [[str(x.pair), short_decimal(x.lower), rational_text(x.lower), _upper(x)] for x in order[:first]]
    lines.append(render_table("", ["pair", "certified radius", "as a dyadic", "counterexample at"], rows))
    if len(found) > first:
        lines.append(f"({len(found) - first} more pairs: --first, --json)")
    record = {
        "temperatures": str(claimed),
        "distance": rational_text(allowed),
        "smallest": rational_text(min(radii)),
        "median": rational_text(median_low(radii)),
        "pairs": [_record(item) for item in found],
    }
    print_result("\n".join(lines), record, as_json)


def _upper(item: Radius) -> str:
    return "-" if item.upper is None else short_decimal(item.upper)


def _record(item: Radius) -> dict[str, Any]:
    upper = None if item.upper is None else rational_text(item.upper)
    return {
        "pair": item.pair,
        "exact": item.exact,
        "certified_radius": rational_text(item.lower),
        "counterexample_radius": upper,
    }
