"""Radii are never too small: every operation against fractions, on numbers of all sizes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from proofs.engine.attention import spread
from proofs.engine.integers import integer_array
from proofs.engine.radii import combine, raised, uncertain, upper, whole
from proofs.engine.state import State
from proofs.kernel.model import SquareMatrix
from proofs.kernel.rational import DEFAULT_LIMITS

SIZES = st.sampled_from([1, 3, 2**20, 2**53 + 1, 2**62 + 3, 2**63 - 1, 3**60, 2**900 + 1])
NUMBERS = st.builds(lambda size, part: part * size // 97, SIZES, st.integers(-97, 97))
RADII = st.builds(lambda m, e: float(Fraction(m) * Fraction(2) ** e), st.integers(0, 2**53), st.integers(-1020, 900))


def close(bound: float, exact: Fraction) -> bool:
    """At least the exact value, and not far above it."""
    return exact <= Fraction(bound) <= exact * (1 + Fraction(1, 2**40)) + Fraction(1, 2**900)


@given(st.lists(NUMBERS, min_size=1, max_size=6), SIZES)
def test_quotients(numerators, denominator):
    for bound, x in zip(upper(integer_array(numerators), denominator).tolist(), numerators, strict=True):
        assert close(bound, Fraction(abs(x), denominator))
        assert (bound == 0) == (x == 0)


@pytest.mark.parametrize("numerator", [2**1030, 2**1024 - 2**971], ids=["no float", "the largest float"])
def test_a_quotient_too_large_is_told(numerator):
    with pytest.raises(OverflowError), np.errstate(all="ignore"):
        upper(integer_array([numerator]), 1)


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(*(st.lists(RADII, min_size=n, max_size=n) for _ in range(2)))))
def test_sums_of_products(sides):
    moduli, radii = sides
    [bound] = combine(np.array([moduli]), np.array(radii)).tolist()
    exact = sum((Fraction(m) * Fraction(r) for m, r in zip(moduli, radii, strict=True)), Fraction(0))
    if np.isfinite(bound):
        assert close(bound, exact)
        assert (bound == 0) == (exact == 0)
    else:
        assert exact > 2**1000


def test_what_is_not_known_stays_unknown():
    radii = np.array([[0.0, np.inf], [1.0, 2.0]])
    assert combine(np.array([[0.0, 0.0], [1.0, 0.0]]), radii).tolist()[0] == [np.inf, np.inf]
    assert uncertain(np.array([[2**40], [2**40]]), np.array([[np.inf], [0.0]]), 1).tolist() == [True, False]


@given(st.lists(RADII, min_size=1, max_size=4), SIZES)
def test_whole_numbers_above(values, factor):
    for bound, x in zip(whole(np.array(values), factor).tolist(), values, strict=True):
        assert Fraction(x) * factor <= bound <= Fraction(x) * factor * (1 + Fraction(1, 2**40)) + 1


@given(st.lists(st.tuples(NUMBERS, RADII), min_size=1, max_size=4), SIZES)
def test_signs_are_certain_where_they_are(units, denominator):
    values, reach = integer_array([[v] for v, _ in units]), np.array([[r] for _, r in units])
    for doubt, (v, r) in zip(uncertain(values, reach, denominator).tolist(), units, strict=True):
        if not doubt:
            assert abs(v) >= Fraction(r) * denominator
        elif abs(v) > 0:
            assert abs(v) <= Fraction(r) * denominator * (1 + Fraction(1, 2**40)) + 1


def test_products_below_all_floats_are_not_0():
    assert combine(np.array([[2.0**-600]]), np.array([2.0**-600]))[0] > 0


def test_sides_of_65_bits():
    """From -(2^63 - 1) to 2^63 - 1: the difference does not fit into 64 bits."""
    numerators, one = np.array([[2**63 - 1, 0], [1 - 2**63, 0]]), np.ones(1, dtype=np.int64)
    state = State(numerators, 1, np.array([0, 2]), np.ones(2, dtype=np.int64), DEFAULT_LIMITS)
    [side, nothing] = spread(state, SquareMatrix(fmpq(1)), 0 * one, one, 0 * one)[0].tolist()
    assert (side >= 2**64 - 2, nothing) == (True, 0)


def test_whole_numbers_are_integers_and_0_is_0():
    for values, factor, expected in (
        ([0.0, 1.5], 4, [0, 7]),
        ([0.0, 2.0**62], 1, [0, 2**62]),
        ([2.0**63], 1, [2**63]),
        ([0.0, 0.5], 2**901, [0, 2**900]),
    ):
        found = whole(np.array(values), factor)
        assert found.dtype == (np.int64 if max(expected) < 2**62 else object)
        assert found.tolist() == expected


def test_a_radius_that_overflows_is_infinite_without_a_word():
    with np.errstate(all="raise"):
        assert raised(np.array([1.7976931348623157e308]), 1, np.array([True])).tolist() == [np.inf]
        assert whole(np.array([2.0**200]), 2**899).tolist() == [2**1099]


def test_a_value_on_the_edge_of_what_is_reached_is_certain():
    values, reach = integer_array([[5, 0], [-5, 0], [4, 0], [0, 0]]), np.array([[2.5, 0.0]] * 4)
    assert uncertain(values, np.ceil(reach) - (reach > 0), 2).tolist() == [False, False, True, True]
    large = integer_array([[2**70]])
    assert uncertain(large, np.array([[2.0**60]]), 2**9).tolist() == [False]
    assert uncertain(large, np.array([[2.0**60]]), 2**11).tolist() == [True]
