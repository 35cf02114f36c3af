"""Tests of the arithmetic that verdicts rest on, run on the user's machine by ``interp doctor``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import factorial

import flint
from flint import arb, ctx, fmpq, fmpz, fmpz_mat

from proofs.kernel.rational import integer_text


@dataclass(frozen=True, slots=True)
class Finding:
    """One test and whether it passed."""

    name: str
    passed: bool
    detail: str


def run_selftests() -> list[Finding]:
    """All tests; none is skipped, and a test that raises has not passed."""
    return [_run(name, test) for name, test in TESTS.items()]


def _run(name: str, test: Callable[[], str]) -> Finding:
    try:
        wrong = test()
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    return Finding(name, not wrong, wrong or "passed")


def _version() -> str:
    parts = flint.__version__.split(".")
    recent = (int(parts[0]), int(parts[1])) >= (0, 9)
    return "" if recent else f"python-flint {flint.__version__}: before 0.9 balls are negated wrongly"


def _negated_balls() -> str:
    ball = -(arb(fmpq(1, 3)))
    return "" if ball < 0 and not ball > 0 and -ball > 0 else "the sign of a negated ball is wrong"


def _exponentials() -> str:
    """exp(-x) lies between two partial sums of its alternating series, in exact fractions."""
    with ctx.workprec(200):
        for x in (Fraction(1, 7), Fraction(3), Fraction(20)):
            ball = (-arb(fmpq(x.numerator, x.denominator))).exp()
            terms = 120
            partial = sum((-x) ** k / factorial(k) for k in range(terms))
            ends = sorted((partial, partial + (-x) ** terms / factorial(terms)))
            low, high = (arb(fmpq(end.numerator, end.denominator)) for end in ends)
            if not (low - ball < arb(fmpq(1, 10**40)) and ball - high < arb(fmpq(1, 10**40))):
                return f"exp(-{x}) is outside its series"
            if not 2 * ball < 1 and x >= 1:
                return f"exp(-{x}) is not below 1/2"
    return ""


def _matrices() -> str:
    """Products of matrices of large integers against Python's integers."""
    rows = [[(-1) ** (i + j) * (3 ** (40 * i) + 7**j) for j in range(4)] for i in range(4)]
    product = (fmpz_mat(rows) * fmpz_mat(rows)).tolist()
    wanted = [[sum(rows[i][k] * rows[k][j] for k in range(4)) for j in range(4)] for i in range(4)]
    return "" if [[int(x) for x in row] for row in product] == wanted else "a matrix product is wrong"


def _rationals() -> str:
    value = fmpq(fmpz("123456789012345678901234567890"), fmpz(10) ** 40) + fmpq(-1, 3)
    wanted = Fraction(123456789012345678901234567890, 10**40) - Fraction(1, 3)
    same = int(value.p) == wanted.numerator and int(value.q) == wanted.denominator
    return "" if same and (value > 0) == (wanted > 0) else "a sum of rationals is wrong"


def _long_integers() -> str:
    """Numbers beyond the 4300 digits at which Python stops converting."""
    value = 10**6000 + 7
    text = integer_text(value)
    return "" if len(text) == 6001 and text.endswith("07") and int(fmpz(text)) == value else "long integers are cut"


TESTS: dict[str, Callable[[], str]] = {
    "python-flint is recent enough": _version,
    "negated balls": _negated_balls,
    "exponentials against their series": _exponentials,
    "integer matrix products": _matrices,
    "rational sums": _rationals,
    "integers of 6000 digits": _long_integers,
}
