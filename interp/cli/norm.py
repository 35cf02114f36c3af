"""Untrusted. ``interp norm``: the exact sum of squared parameters, by phase and by block."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from interp.cli.output import json_option, limit_options, print_result, render_table
from interp.cli.progress import progress_bar, progress_options
from interp.norm.squares import Squares, block_squares, sum_blocks
from interp.transformers.ledger import decode_phases
from proofs.__main__ import read_transformer
from proofs.kernel.rational import Limits, rational_text, short_decimal

KINDS = [field.name for field in fields(Squares)]
LONGEST = 60  # characters of a rational that the text shows


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@click.option("--blocks", is_flag=True, help="Also a row for each block (the JSON output always has them).")
@limit_options
@json_option
@progress_options
def norm(transformer: Path, blocks: bool, limits: Limits, as_json: bool) -> None:
    """The exact |theta|^2 of TRANSFORMER: the sum of its squared parameters.

    Stored: A = alpha I + p q^T and V = beta I + r t^T count as the scalars of the file. Dense: as d x d matrices, which
    is how a transformer is trained. The tables split the stored sum by kind of parameter.
    """
    model = read_transformer(transformer, limits)
    parts = []
    with progress_bar("norm") as progress:
        for k, block in enumerate(model.blocks, 1):
            parts.append(block_squares(block, model.dimension))
            progress(k, len(model.blocks))
    stored = sum(parts, Squares())
    dense = sum_blocks(model.blocks, model.dimension, "dense").total
    owned = [phase for phase in decode_phases(model.header) if phase.num_blocks]
    phases = {phase.name: sum(parts[max(phase.first - 1, 0) : phase.last], Squares()) for phase in owned}
    rows = [_row(name, squares) for name, squares in [*phases.items(), ("total", stored)]]
    tables = [render_table("", ["phase (from the header)", *KINDS, "all"], rows)]
    if blocks:
        rows = [_row(str(k), squares) for k, squares in enumerate(parts, 1)]
        tables.append(render_table("", ["block", *KINDS, "all"], rows))
    text = "\n\n".join([f"stored {_both(stored.total)}", f"dense  {_both(dense)}", *tables])
    record = {
        "stored": rational_text(stored.total),
        "dense": rational_text(dense),
        "stored_decimal": short_decimal(stored.total),
        "dense_decimal": short_decimal(dense),
        "phases": {name: _record(squares) for name, squares in phases.items()},
        "blocks": [_record(squares) for squares in parts],
    }
    print_result(text, record, as_json)


def _both(value: Any) -> str:
    exact = rational_text(value)
    if len(exact) > LONGEST:
        exact = f"a rational of {len(exact)} characters, in full with --json"
    return f"|theta|^2 = {exact} = {short_decimal(value)} (rounded down)"


def _row(name: str, squares: Squares) -> list[str]:
    return [name, *(short_decimal(getattr(squares, kind)) for kind in KINDS), short_decimal(squares.total)]


def _record(squares: Squares) -> dict[str, str]:
    return {kind: rational_text(getattr(squares, kind)) for kind in KINDS} | {"all": rational_text(squares.total)}
