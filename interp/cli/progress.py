"""Untrusted. What a command shows while it works, on standard error, which nothing but people read.

On a terminal: a bar with the phase, block k of L, the rate and the time left, or a spinner with the step. Elsewhere
nothing; with ``--verbose`` lines, there too; with ``--quiet`` nothing at all.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from interp.transformers.ledger import Phase, printable
from proofs.kernel.errors import UsageError

SECONDS = 2.0  # between lines of --verbose
_KEY = "interp.cli.progress"

Watch = Callable[[int, int], None]  # done, in all


def progress_options(command: Any) -> Any:
    """Adds ``--quiet`` and ``--verbose``; bars and spinners of the command follow them."""
    for name, text in (("verbose", "Progress as lines, on a terminal or not."), ("quiet", "No progress.")):
        option = click.option(f"--{name}", is_flag=True, expose_value=False, callback=_remember, help=text)
        command = option(command)
    return command


def _remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and context.meta.setdefault(_KEY, parameter.name) != parameter.name:
        raise UsageError("both --quiet and --verbose", "--verbose", "leave one of them out")


def _manner() -> str | None:
    """How to show progress: "bar", "lines", or None for not at all."""
    context = click.get_current_context(silent=True)
    chosen = context.meta.get(_KEY) if context is not None else None
    if chosen == "quiet":
        return None
    if chosen == "verbose":
        return "lines"
    return "bar" if sys.stderr.isatty() else None


@contextmanager
def progress_bar(label: str, unit: str = "block", phases: Sequence[Phase] = ()) -> Iterator[Watch]:
    """A bar "block k of L" (or another unit), with the name of the phase that block k belongs to."""
    manner = _manner()
    if manner is None:
        yield lambda done, total: None
    elif manner == "lines":
        yield _Lines(label, unit, phases).watch
    else:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn(unit),
            MofNCompleteColumn(separator=" of "),
            _Rate(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with _show(columns) as progress:
            task = progress.add_task(label, total=None)
            yield lambda done, total: progress.update(
                task, completed=done, total=total, description=_describe(label, phases, done)
            )


@contextmanager
def step_spinner(label: str) -> Iterator[Callable[[str], None]]:
    """A spinner that names the current step; what it yields is told the name of each."""
    manner = _manner()
    if manner is None:
        yield lambda text: None
    elif manner == "lines":
        yield lambda text: click.echo(f"{label}: {text}", err=True)
    else:
        with _show((SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())) as progress:
            task = progress.add_task(label, total=None)
            yield lambda text: progress.update(task, description=f"{label}: {text}")


def _show(columns: Sequence[ProgressColumn]) -> Progress:
    """A display that is gone at the end and leaves the other streams alone."""
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)


class _Rate(ProgressColumn):
    """Units a second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.3g}/s")


class _Lines:
    """At most one line in ``SECONDS``, and one at the end."""

    def __init__(self, label: str, unit: str, phases: Sequence[Phase]) -> None:
        self._label, self._unit, self._phases = label, unit, phases
        self._start = self._last = time.monotonic()
        self._done = 0

    def watch(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done < self._done:  # another pass
            self._start = self._last
        self._done = done
        if done < total and now - self._last < SECONDS:
            return
        self._last = now
        seconds = now - self._start
        rate = f", {done / seconds:.3g}/s, {seconds * (total - done) / done:.0f} s left" if done and seconds > 0 else ""
        text = f"{_describe(self._label, self._phases, done)}: {self._unit} {done} of {total}, {seconds:.1f} s{rate}"
        click.echo(text, err=True)


def _describe(label: str, phases: Sequence[Phase], done: int) -> str:
    names = [printable(phase.name) for phase in phases if phase.first <= done <= phase.last and not phase.shared]
    return f"{label}, {names[0]}" if names else label
