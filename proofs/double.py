"""Trusted for a doubled verdict: asks the second checker (``standalone.py``) the same question and compares.

Both must say verified for a verified verdict. Verified against refuted, or any other disagreement on a decided answer,
is an internal fault: one of the checkers is wrong, and that must be known.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proofs.guard import Answer
from proofs.kernel.errors import Status
from proofs.standalone import check_files

NAME = "proofs/standalone.py"


def double_check(answer: Answer, data: Path, witness: Path, options: Mapping[str, Any]) -> Answer:
    """The answer after the second checker has been asked about the same files and options of the claim."""
    second = check_files(str(data), str(witness), options)
    status = Status[second.status.name]
    if status is answer.status:
        return _extend(answer, answer.status, f"a second checker agrees ({NAME})")
    if {status, answer.status} <= {Status.VERIFIED, Status.UNDECIDED} or {status, answer.status} <= {
        Status.REFUTED,
        Status.UNDECIDED,
    }:
        return _extend(answer, Status.UNDECIDED, f"a second checker says {status.label}: {second.detail} ({NAME})")
    detail = f"the checkers disagree: {answer.status.label} here, {status.label} in {NAME} ({second.detail})"
    return _extend(answer, Status.FAULT, f"{detail}; please report it with both files")


def _extend(answer: Answer, status: Status, note: str) -> Answer:
    record = answer.record | {"verdict": status.label, "exit_code": status.exit_code, "second_checker": note}
    head = "" if status is answer.status else f"{status.label.upper()}: {note}\n"
    return Answer(f"{head}{answer.text}\n  double      {note}", record, status)
