"""Rounding to floats: once, from the rational, and what is told about it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from interp.export.rounding import FORMATS, exact_rational, round_nearest, round_state
from interp.export.state import ExactTensor
from proofs.kernel.errors import MalformedInput, UsageError

DOUBLE, SINGLE = FORMATS["float64"], FORMATS["float32"]
exponents = st.integers(-1200, 1100)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_read_as_they_are(value):
    exact = exact_rational(value)
    assert int(exact.q).bit_count() == 1
    assert int(exact.p) / int(exact.q) == value == round_nearest(exact, DOUBLE)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(MalformedInput, match=f"{value} is not a number"):
        exact_rational(value)


@given(st.integers(-(2**70), 2**70), st.integers(1, 2**70), exponents)
def test_float64_is_what_python_makes_of_a_fraction(p, q, exponent):
    value = Fraction(p, q) * Fraction(2) ** exponent
    try:
        expected = value.numerator / value.denominator  # CPython rounds the quotient of integers correctly
    except OverflowError:
        with pytest.raises(OverflowError):
            round_nearest(fmpq(value.numerator, value.denominator), DOUBLE)
        return
    assert round_nearest(fmpq(value.numerator, value.denominator), DOUBLE) == expected


@given(st.floats(allow_nan=False, allow_infinity=False) | st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_is_what_numpy_makes_of_a_double(value):
    with np.errstate(over="ignore", under="ignore"):
        expected = np.float32(value)
    if np.isinf(expected):
        with pytest.raises(OverflowError):
            round_nearest(fmpq(*value.as_integer_ratio()), SINGLE)
    else:
        assert round_nearest(fmpq(*value.as_integer_ratio()), SINGLE) == expected


def test_a_float32_is_rounded_once():
    # by way of float64 the last bit is lost first, and the tie that it leaves goes to 1
    value = 1 + fmpq(1, 2**24) + fmpq(1, 2**60)
    assert np.float32(float(Fraction(int(value.p), int(value.q)))) == 1
    assert round_nearest(value, SINGLE) == 1 + 2.0**-23


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (fmpq(2**1024 - 2**971), DOUBLE, 1.7976931348623157e308),
        (fmpq(1, 2**1074), DOUBLE, 5e-324),
        (fmpq(1, 2**1075), DOUBLE, 0.0),
        (fmpq(3, 2**1075), DOUBLE, 1e-323),
        (-fmpq(1, 2**149), SINGLE, -(2.0**-149)),
        (fmpq(2**128 - 2**104), SINGLE, 3.4028234663852886e38),
        (fmpq(0), SINGLE, 0.0),
    ],
)
def test_the_ends_of_the_range(value, target, expected):
    assert round_nearest(value, target) == expected


@pytest.mark.parametrize(("value", "target"), [(fmpq(2**1024 - 2**970), DOUBLE), (fmpq(2**128 - 2**103), SINGLE)])
def test_the_first_number_that_overflows(value, target):
    with pytest.raises(OverflowError):
        round_nearest(value, target)


def test_the_report_names_the_worst_weight():
    values = [fmpq(1), fmpq(1, 3), fmpq(2, 3), fmpq(1, 10**400)]
    arrays, report = round_state({"W": ExactTensor((2, 2), values)}, DOUBLE)
    assert (report.weights, report.rounded, report.place) == (4, 3, "W[1,1]")
    assert report.relative_error == 1  # it became 0
    assert arrays["W"].tolist() == [[1, 1 / 3], [2 / 3, 0]]
    assert str(report) == "4 weights, 3 rounded, largest relative error 1.000e0 at W[1,1]"


def test_the_report_says_when_nothing_was_rounded():
    _, report = round_state({"b": ExactTensor((2,), [fmpq(1, 2), fmpq(-3)])}, SINGLE)
    assert str(report) == "2 weights, all exact"


def test_a_weight_that_overflows_is_named():
    with pytest.raises(
        UsageError, match=r"blocks\.0\.feed_forward\.b\[1\]: 1\.000e39 overflows float32 \(use float64\)"
    ):
        round_state({"blocks.0.feed_forward.b": ExactTensor((2,), [fmpq(1), fmpq(10) ** 39])}, SINGLE)
