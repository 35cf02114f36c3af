"""Untrusted. The options that say in which formats a command reports, and the end of such a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from interp.cli.output import keep_inputs, leave, pack_options
from interp.files.write import write_file
from interp.reports.formats import FORMATS
from interp.reports.report import Report, check_of_fault, make_report
from proofs.__main__ import error_record, print_answer
from proofs.kernel.errors import InterpError, UsageError


@dataclass(frozen=True, slots=True)
class Reporting:
    """The format on standard output, and FORMAT=FILE for each file beside it."""

    shown: str | None
    as_json: bool
    reports: tuple[str, ...]

    @property
    def name(self) -> str:
        """The format on standard output. Raises: UsageError for two of them."""
        if self.as_json and self.shown not in (None, "json"):
            raise UsageError("two formats for one output", "--json", "leave out --json")
        return "json" if self.as_json else self.shown or "text"

    @property
    def files(self) -> list[tuple[str, Path]]:
        """Format and file of each report. Raises: UsageError."""
        found = []
        for text in self.reports:
            name, separator, file = text.partition("=")
            if name not in FORMATS or not separator or not file:
                raise UsageError(f"report {text!r}", "--report", f"FORMAT=FILE, FORMAT one of {', '.join(FORMATS)}")
            found.append((name, Path(file)))
        return found


_options = pack_options(
    Reporting,
    "reporting",
    click.option("--format", "shown", type=click.Choice(list(FORMATS)), help="What to print. Default: text."),
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    click.option("--report", "reports", multiple=True, metavar="FORMAT=FILE", help="Write another report; repeatable."),
)


def reporting_options(command: Any) -> Any:
    """The options of ``Reporting``; no report replaces a file that is read."""
    return _options(keep_inputs(lambda given: (file for _, file in given["reporting"].files))(command))


def finish(report: Report, reporting: Reporting) -> None:
    """Writes the files, prints, and ends the command with the exit code of the report."""
    write_reports(report, reporting)
    leave(print_answer(FORMATS[reporting.name](report).rstrip("\n"), report.status))


def write_reports(report: Report, reporting: Reporting) -> None:
    """Writes every file that was asked for. Raises: UsageError when one cannot be written."""
    for name, file in reporting.files:
        write_file(file, FORMATS[name](report).encode("utf-8", "backslashreplace"))


@contextmanager
def faults_reported(command: str, file: Path, reporting: Reporting) -> Iterator[None]:
    """A fault inside is reported in the formats asked for, so that no format is silent about it."""
    name, wanted = reporting.name, reporting.files
    try:
        yield
    except InterpError as error:
        if name == "text" and not wanted:
            raise
        text = f"{error.status.label}: {error}"
        click.echo(text, err=True)
        checks = [check_of_fault(error, str(file))]
        report = make_report(command, checks, error.status, text, error_record(error), str(file))
        if name == "text":  # standard error has it
            write_reports(report, reporting)
            leave(error.status)
        finish(report, reporting)
