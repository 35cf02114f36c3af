"""Untrusted. The checks of one run, from which every format is rendered. The verdicts in them come from ``proofs``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from proofs.guard import Answer
from proofs.kernel.errors import InterpError, Status, UsageError

ERRORS = (Status.USAGE, Status.MALFORMED, Status.LIMIT, Status.FAULT)  # no answer at all, as against a bad one


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked about a file, and what was found."""

    rule: str  # lower-case words joined by hyphens: hardmax, blocks, baseline-blocks, malformed-input
    file: str
    status: Status
    message: str
    line: int = 1

    @property
    def passed(self) -> bool:
        """Whether it holds."""
        return self.status is Status.VERIFIED


@dataclass(frozen=True, slots=True)
class Report:
    """The checks of one command, its outcome, and what it prints for people and for programs."""

    command: str
    checks: tuple[Check, ...]
    status: Status
    text: str
    record: Any

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that do not hold."""
        return tuple(check for check in self.checks if not check.passed)


def make_report(command: str, checks: Iterable[Check], status: Status, text: str, record: Any, file: str) -> Report:
    """A report that shows a failure exactly if the outcome is one.

    Raises: UsageError when nothing was checked and the outcome would be a success.
    """
    found = tuple(checks)
    if status is not Status.VERIFIED and all(check.passed for check in found):
        found += (Check(_slug(status.label), file, status, text.partition("\n")[0]),)
    if status is Status.VERIFIED and not all(check.passed for check in found):
        raise ValueError("a success with a failed check")
    if not found:
        raise UsageError("nothing would be checked", file=file, hint="give DATA, --max-* or --baseline")
    return Report(command, found, status, text, record)


def checks_of(answer: Answer, file: str) -> list[Check]:
    """The obligations of a verdict, or the fault in its place."""
    record = answer.record
    if "obligations" not in record:
        place = ": ".join(filter(None, (record.get("path", ""), record["error"])))
        message = f"{place} ({record['hint']})" if record.get("hint") else place
        named = record.get("file") or file
        return [Check(_slug(answer.status.label), named, answer.status, message, _line(record.get("path", "")))]
    statuses = {status.label: status for status in Status}
    checks = [
        Check(item["name"], file, statuses[item["status"]], item["detail"] + _distance(item))
        for item in record["obligations"]
    ]
    if "second_checker" in record:
        second = record["second_checker"]
        overruled = answer.status is not Status.VERIFIED and all(check.passed for check in checks)
        status = answer.status if overruled or answer.status is Status.FAULT else Status.VERIFIED
        checks.append(Check("second-checker", file, status, second))
    return checks


def check_of_fault(error: InterpError, file: str) -> Check:
    """A fault that ended the command."""
    message = ": ".join(filter(None, (error.path, error.message)))
    message = f"{message} ({error.hint})" if error.hint else message
    return Check(_slug(error.status.label), error.file or file, error.status, message, _line(error.path))


def _distance(item: dict[str, Any]) -> str:
    """The squared distance of the first wrong pair, while it is short enough to read."""
    distance = item.get("mismatch", {}).get("squared_hausdorff", "")
    return f"; squared Hausdorff distance {distance}" if 0 < len(distance) <= 60 else ""


def _slug(label: str) -> str:
    return label.replace(" ", "-")


def _line(path: str) -> int:
    """The line that a path names (``line 3: $.ff``), or the first."""
    match = re.match(r"line ([1-9][0-9]{0,8})\b", path, re.ASCII)
    return int(match[1]) if match else 1
