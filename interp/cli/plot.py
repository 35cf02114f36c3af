"""Untrusted. ``interp plot``: a figure for a paper."""

from __future__ import annotations

from pathlib import Path

import click

from interp.cli.output import json_option, limit_options, output_option, print_result
from interp.cli.progress import progress_bar, progress_options
from interp.cli.reading import ReadOptions, reading_options
from interp.datasets.read import load_dataset
from interp.files.write import write_file
from interp.optional import load_matplotlib
from interp.pictures.figures import KINDS, draw, find_format
from proofs.__main__ import read_transformer
from proofs.kernel.errors import MalformedInput
from proofs.kernel.rational import Limits
from proofs.kernel.statement import parse_temperatures


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@output_option("The figure: .pdf, .svg or .png.")
@click.option("--kind", type=click.Choice(KINDS), default=KINDS[0], show_default=True, help="What to draw.")
@click.option("--temperatures", default="0", show_default=True, help="0, T, (0,T], [0,T], (0,oo) or [0,oo).")
@reading_options
@limit_options
@json_option
@progress_options
def plot(
    transformer: Path,
    data: Path,
    output: Path,
    kind: str,
    temperatures: str,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Draw TRANSFORMER on DATA for a paper. A figure proves nothing: `interp verify` does.

    \b
      stages   where the tokens stand at the end of each phase
      counts   blocks against the numbers of both theorems as M grows
      bits     bits of the weights and of the tokens, block by block
    """
    form = find_format(output.suffix)
    chosen = parse_temperatures(temperatures, limits)
    load_matplotlib()
    model, dataset = read_transformer(transformer, limits), load_dataset(data, reading, limits)
    if model.dimension != dataset.dimension:
        raise MalformedInput(f"dimension {model.dimension}, the dataset has {dataset.dimension}", file=str(transformer))
    with progress_bar(f"plot {kind}", "build" if kind == "counts" else "block") as progress:
        drawing = draw(kind, model, dataset, chosen, form, limits, progress)
    write_file(output, drawing.content)
    record = {"output": str(output), "kind": kind, "bytes": len(drawing.content), "notes": list(drawing.notes)}
    lines = [f"{output}: {kind}, {len(drawing.content)} bytes", *(f"  {note}" for note in drawing.notes)]
    print_result("\n".join(lines), record, as_json)
