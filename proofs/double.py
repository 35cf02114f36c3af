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
PLAIN = {"mask": "none", "readout": "all"}
ONE_HEAD = "the second checker knows layers of one head without a mask, read out at all tokens; leave out --double"


def is_plain(options: Mapping[str, Any]) -> bool:
    """Whether the options make a claim that the second checker knows."""
    return all(options.get(name, word) == word for name, word in PLAIN.items())


def double_check(answer: Answer, data: Path, witness: Path, options: Mapping[str, Any]) -> Answer:
    """The answer after the second checker has been asked about the same files and options of the claim."""
    counts = answer.record.get("counts", {})
    if counts.get("masked") or counts.get("heads", 1) > 1 or not is_plain(options):
        return _extend(answer, Status.USAGE, f"{ONE_HEAD} ({NAME})")
    second = check_files(str(data), str(witness), {name: options[name] for name in options.keys() - PLAIN.keys()})
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
