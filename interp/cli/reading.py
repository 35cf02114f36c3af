"""Untrusted. The options of every command that reads a dataset: how a file becomes a statement."""

from __future__ import annotations

from dataclasses import fields

import click

from interp.cli.output import pack_options
from interp.datasets.options import TARGETS, TASKS, ReadOptions
from proofs.kernel.errors import UsageError

__all__ = ["ReadOptions", "check_pair", "reading_options", "write_reading_options"]


def write_reading_options(reading: ReadOptions) -> str:
    """The options as they are typed, with a space before each."""
    words = []
    for field in fields(ReadOptions):
        value = getattr(reading, field.name)
        if value is not None and value is not False:
            words.append(f" --{field.name.replace('_', '-')}" + ("" if value is True else f" {value}"))
    return "".join(words)


def check_pair(pair: int, size: int) -> None:
    """Raises UsageError for the number of a pair that a dataset of this size does not have."""
    if pair >= size:
        raise UsageError(f"there is no pair {pair}", "--pair", f"they are numbered from 0 to {size - 1}")


reading_options = pack_options(
    ReadOptions,
    "reading",
    click.option("--task", type=click.Choice(TASKS), help="For .ts files. Default: classification."),
    click.option("--horizon", type=click.IntRange(min=1), help="Forecasting: tokens to forecast. Default: 1."),
    click.option(
        "--targets",
        type=click.Choice(TARGETS),
        help="Classification: target tokens. Default: one-hot if the classes fit into d.",
    ),
    click.option("--limit", type=click.IntRange(min=1), help="The first so many pairs."),
    click.option("--append-constant", is_flag=True, help="Append the coordinate 1 to every token (for d = 1)."),
    click.option("--positions", is_flag=True, help="Append its position to every input token, 0 to outputs."),
    click.option("--merge-outputs", is_flag=True, help="Keep one copy of every token of an output."),
    click.option("--merge-pairs", is_flag=True, help="Keep one copy of every pair."),
)
