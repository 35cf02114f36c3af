"""Untrusted. What every command shares: text or JSON on standard output, progress on standard error, limits."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from typing import Any, NoReturn, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from proofs.__main__ import print_answer
from proofs.guard import Bounds
from proofs.kernel.errors import Status
from proofs.kernel.rational import Limits

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
quiet_option = click.option("--quiet", is_flag=True, help="No progress bar.")


def bound_options(command: F) -> F:
    """Adds --max-seconds and --max-memory and passes them as ``bounds``."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        kwargs["bounds"] = Bounds(*(kwargs.pop(field.name) for field in fields(Bounds)))
        return command(*args, **kwargs)

    return _add_counts(wrapped, Bounds)  # type: ignore[no-any-return]


def limit_options(command: F) -> F:
    """Adds one option for each limit and passes them as ``limits``."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        kwargs["limits"] = Limits(*(kwargs.pop(field.name) for field in fields(Limits)))
        return command(*args, **kwargs)

    return _add_counts(wrapped, Limits)  # type: ignore[no-any-return]


def _add_counts(command: Any, record: type[Limits] | type[Bounds]) -> Any:
    """One option for each field of a record of counts."""
    for field in reversed(fields(record)):
        name = "--" + field.name.replace("_", "-")
        command = click.option(name, type=click.IntRange(min=1), default=field.default, show_default=True)(command)
    return command


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


@contextmanager
def progress_bar(label: str, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A bar "block k of L" on standard error; silent unless that is a terminal."""
    console = Console(stderr=True)
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("block"), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def step_spinner(label: str, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A spinner that names the current step, on standard error; silent unless that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda text: None
        return
    with Console(stderr=True).status(label) as status:
        yield lambda text: status.update(f"{label}: {text}")
