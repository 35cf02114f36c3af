"""Untrusted. The options of every command that reads a dataset: how a file becomes a statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any

import click

from interp.cli.output import F
from interp.datasets.options import TARGETS, TASKS, ReadOptions

__all__ = ["ReadOptions", "reading_options", "write_reading_options"]


def write_reading_options(reading: ReadOptions) -> str:
    """The options as they are typed, with a space before each."""
    words = []
    for field in fields(ReadOptions):
        value = getattr(reading, field.name)
        if value is not None and value is not False:
            words.append(f" --{field.name.replace('_', '-')}" + ("" if value is True else f" {value}"))
    return "".join(words)


def reading_options(command: F) -> F:
    """Adds --task, --horizon and the other reading options, and passes them as ``reading``."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        kwargs["reading"] = ReadOptions(*(kwargs.pop(field.name) for field in fields(ReadOptions)))
        return command(*args, **kwargs)

    decorators: list[Callable[[Any], Any]] = [
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
    ]
    decorated: Any = wrapped
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    return decorated  # type: ignore[no-any-return]
