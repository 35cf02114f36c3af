"""Outcomes and their exit codes."""

from __future__ import annotations

import pytest

from proofs.kernel.errors import InternalFault, InterpError, LimitReached, MalformedInput, Status, UsageError


def test_every_outcome_has_its_own_exit_code_and_none_is_pythons_crash():
    codes = {status.name: status.exit_code for status in Status}
    assert codes == {
        "VERIFIED": 0,
        "USAGE": 2,
        "REFUTED": 10,
        "UNDECIDED": 11,
        "MALFORMED": 12,
        "LIMIT": 13,
        "FAULT": 14,
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [(UsageError, 2), (MalformedInput, 12), (LimitReached, 13), (InternalFault, 14), (InterpError, 14)],
)
def test_no_fault_counts_as_verified(error, code):
    assert error("x").status.exit_code == code


def test_a_fault_tells_file_place_and_remedy():
    fault = MalformedInput("expected a number", "$.pairs[3].input[0][1]", "write p/q", file="data.json")
    assert str(fault) == "data.json: $.pairs[3].input[0][1]: expected a number (write p/q)"
    assert str(MalformedInput("x")) == "x"
