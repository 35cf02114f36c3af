"""The self-test passes here, and each of its parts can fail."""

from __future__ import annotations

import pytest

from interp.cli.main import run_command
from proofs import selftest


def test_this_machine_passes(capsys):
    assert run_command(["doctor"]) == 0
    assert "Trust:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "broken", "test"),
    [
        ("arb", lambda x: WrongSign(), "negated balls"),
        ("arb", lambda x: FakeBall(), "exponentials against their series"),
        ("fmpz_mat", lambda rows: None, "integer matrix products"),
        ("integer_text", lambda value: str(value % 10**100), "integers of 6000 digits"),
        ("fmpq", lambda *parts: 1 // 0, "rational sums"),
    ],
)
def test_a_broken_part_is_found(name, broken, test, monkeypatch, capsys):
    monkeypatch.setattr(selftest, name, broken)
    failed = {finding.name for finding in selftest.run_selftests() if not finding.passed}
    assert test in failed
    assert run_command(["doctor"]) == 14


def test_an_old_library_is_found(monkeypatch):
    monkeypatch.setattr(selftest.flint, "__version__", "0.8.0")
    assert not selftest.run_selftests()[0].passed


class WrongSign:
    """A ball whose negation is positive."""

    def __neg__(self):
        return selftest.fmpq(1)


class FakeBall:
    """A ball whose exponential is 1 for every argument."""

    def __neg__(self):
        return self

    def exp(self):
        return 1

    def __getattr__(self, name):
        raise AttributeError(name)
