"""Untrusted. ``interp bounds``: what each theorem allows, before anything is built."""

from __future__ import annotations

from pathlib import Path

import click

from interp.audit.bounds import list_bounds
from interp.cli.output import json_option, limit_options, print_result, render_table
from interp.cli.reading import ReadOptions, reading_options
from interp.datasets.read import load_dataset
from proofs.kernel.errors import UsageError
from proofs.kernel.rational import Limits


@click.command()
@click.argument("data", type=click.Path(path_type=Path), required=False)
@click.option("--pairs", type=click.IntRange(min=1), help="N, number of pairs.")
@click.option("--outputs", type=click.IntRange(min=1), help="M, number of targets in all.")
@click.option("--dimension", type=click.IntRange(min=2), help="d.")
@click.option("--length", type=click.IntRange(min=1), help="n, tokens of a sequence.")
@reading_options
@limit_options
@json_option
def bounds(
    data: Path | None,
    pairs: int | None,
    outputs: int | None,
    dimension: int | None,
    length: int | None,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Print the block and parameter bounds for DATA, or for given sizes."""
    if data is not None:
        if any(size is not None for size in (pairs, outputs, dimension, length)):
            raise UsageError("DATA has its own sizes", hint="give DATA or sizes")
        dataset = load_dataset(data, reading, limits)
        sizes = (dataset.num_pairs, dataset.num_outputs, dataset.dimension, dataset.num_tokens)
    else:
        if pairs is None or outputs is None or dimension is None or length is None:
            raise UsageError("sizes are missing", hint="give DATA, or --pairs N --outputs M --dimension d --length n")
        if not pairs <= outputs <= pairs * length:
            raise UsageError(
                f"no dataset has M = {outputs} with N = {pairs} and n = {length}", "--outputs", "N <= M <= N n"
            )
        sizes = (pairs, outputs, dimension, pairs * length)
    found = list_bounds(*sizes)
    N, M, d, tokens = sizes
    title = f"N = {N}, M = {M}, d = {d}, {tokens} tokens"
    rows = [[b.name, str(b.blocks), str(b.parameters), b.source] for b in found]
    text = render_table(title, ["construction", "blocks <=", "parameters <=", "source"], rows)
    record = {
        "N": N,
        "M": M,
        "d": d,
        "tokens": tokens,
        "bounds": [{"name": b.name, "blocks": b.blocks, "parameters": b.parameters, "source": b.source} for b in found],
    }
    print_result(text, record, as_json)
