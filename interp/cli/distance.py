"""Untrusted. ``interp distance``: how far every pair ends from its targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from interp.cli.claim import readout_option
from interp.cli.output import json_option, leave, limit_options, print_result, render_table
from interp.cli.progress import progress_bar, progress_options
from interp.cli.reading import ReadOptions, reading_options
from interp.datasets.read import load_dataset
from interp.execution.distance import Enclosure, measure_distances, root_decimal
from proofs.__main__ import read_transformer
from proofs.kernel.errors import Status, UsageError
from proofs.kernel.rational import Limits, rational_text, short_decimal
from proofs.kernel.statement import Readout, parse_temperatures

LONG = 40  # characters from which a rational is shown by its length


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--temperatures", default="0", show_default=True, help="0 (exact), T, (0,T], [0,T], (0,oo) or [0,oo).")
@readout_option
@click.option("--first", type=click.IntRange(min=1), default=20, show_default=True, help="Rows of the table.")
@reading_options
@limit_options
@json_option
@progress_options
def distance(
    transformer: Path,
    data: Path,
    temperatures: str,
    readout: str,
    first: int,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """The Hausdorff distance between T(X_j) and Y_j for every pair of DATA, farthest first.

    At temperature 0 its square is exact, a rational; at others it is enclosed. It is a measurement, not a verdict:
    the exit code is 0 whatever the distance, and 11 when the sign of a unit stays undecided.
    """
    dataset, model = load_dataset(data, reading, limits), read_transformer(transformer, limits)
    claimed = parse_temperatures(temperatures)
    with progress_bar("distance") as progress:
        found = measure_distances(dataset, model, claimed, limits, progress, Readout(readout))
    if found is None:
        record: dict[str, Any] = {"temperatures": str(claimed), "verdict": Status.UNDECIDED.label}
        text = f"UNDECIDED {transformer}: the sign of a unit could not be certified; where: interp verify, same options"
        print_result(text, record, as_json)
        leave(Status.UNDECIDED)
    if not found:
        raise UsageError("there is no pair", file=str(data))
    zeros = sum(entry.upper == 0 for entry in found)
    order = sorted(range(len(found)), key=lambda j: (-found[j].upper, j))
    rows = [[str(j), *_columns(found[j])] for j in order[:first]]
    text = f"{transformer}: {zeros} of {len(found)} pairs exact at temperature {claimed}\n"
    text += render_table("", ["pair", "distance", "square"], rows)
    if len(found) > first:
        text += f"\n({len(found) - first} more pairs: --first, --json)"
    record = {
        "temperatures": str(claimed),
        "exact_pairs": zeros,
        "pairs": [_record(j, entry) for j, entry in enumerate(found)],
    }
    print_result(text, record, as_json)


def _columns(entry: Enclosure) -> list[str]:
    if entry.is_exact:
        text = rational_text(entry.upper)
        shown = text if len(text) <= LONG else f"{short_decimal(entry.upper)} (exact: {len(text)} characters, --json)"
        return [root_decimal(entry.upper), shown]
    ends = (entry.lower, entry.upper)
    return [" .. ".join(map(root_decimal, ends)), " .. ".join(map(short_decimal, ends))]


def _record(pair: int, entry: Enclosure) -> dict[str, Any]:
    ends = [rational_text(entry.lower), rational_text(entry.upper)]
    return {
        "pair": pair,
        "distance": root_decimal(entry.upper),
        **({"squared_hausdorff": ends[0]} if entry.is_exact else {"squared_hausdorff_enclosure": ends}),
    }
