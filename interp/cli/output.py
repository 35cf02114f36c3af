"""Untrusted. What every command shares: text or JSON on standard output, limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from interp.files.write import refuse_to_replace
from proofs.__main__ import print_answer
from proofs.guard import Bounds
from proofs.kernel.errors import Status
from proofs.kernel.rational import Limits

json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


Decorator = Callable[[Any], Any]


def pack_options(record: type, name: str, *options: Decorator) -> Decorator:
    """A decorator that adds options and passes their values as one ``record``, one field each, under that name."""

    def decorate(command: Any) -> Any:
        @wraps(command)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            kwargs[name] = record(*(kwargs.pop(field.name) for field in fields(record)))
            return command(*args, **kwargs)

        decorated: Any = wrapped
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def keep_inputs(find_outputs: Callable[[dict[str, Any]], Iterable[Path]]) -> Decorator:
    """A command that refuses to write to any of the files that it was given."""

    def decorate(command: Any) -> Any:
        @wraps(command)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            given = [x for value in kwargs.values() for x in (value if isinstance(value, tuple) else (value,))]
            for target in find_outputs(kwargs):
                refuse_to_replace(target, *(x for x in given if isinstance(x, Path) and x is not target))
            return command(*args, **kwargs)

        return wrapped

    return decorate


def output_option(words: str, required: bool = True) -> Decorator:
    """``--output``, the file that a command writes: none of those that it reads."""
    option = click.option("-o", "--output", type=click.Path(path_type=Path), required=required, help=words)
    return lambda command: option(keep_inputs(lambda given: filter(None, [given["output"]]))(command))


def sentence(text: str) -> str:
    """A help text as a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def _counts(record: type) -> list[Decorator]:
    """One option for each field of a record of counts."""
    return [
        click.option(
            "--" + field.name.replace("_", "-"), type=click.IntRange(min=1), default=field.default, show_default=True
        )
        for field in fields(record)
    ]


bound_options = pack_options(Bounds, "bounds", *_counts(Bounds))
limit_options = pack_options(Limits, "limits", *_counts(Limits))


def print_result(text: str, record: Any, as_json: bool) -> None:
    """The text for people or the record for programs, on standard output."""
    status = print_answer(json.dumps(record, indent=2) if as_json else text, Status.VERIFIED)
    if status is not Status.VERIFIED:
        leave(status)


def leave(status: Status) -> NoReturn:
    """Ends the command with the exit code of an outcome."""
    raise click.exceptions.Exit(status.exit_code)


def render_table(title: str, columns: list[str], rows: list[list[str]]) -> str:
    """A plain table; columns whose cells are all numbers are set right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        numeric = all(row[index].lstrip("-").isdigit() or row[index] in ("", "-") for row in rows)
        table.add_column(column, justify="right" if numeric else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(width=1000, color_system=None, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
