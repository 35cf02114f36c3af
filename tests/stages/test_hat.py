"""Hats and constants as units of a layer, and directions that tell all tokens apart."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.stages.hat import build_constant, build_feed_forward, build_hat, find_injective_direction
from proofs.kernel.hardmax import apply_feed_forward
from tests.strategies import HUGE, to_fractions, to_row

rationals = st.fractions(min_value=-50, max_value=50, max_denominator=30)
vectors = st.lists(rationals, min_size=3, max_size=3)
directions = st.lists(st.integers(1, 9), min_size=3, max_size=3)


def q(x):
    return fmpq(x.numerator, x.denominator)


def moved(units, token, eta=1):
    (row,) = apply_feed_forward(build_feed_forward(3, units, eta), [to_row(token)])
    return to_fractions(row)


def plus(token, shift, factor=1):
    return tuple(x + factor * y for x, y in zip(token, shift, strict=True))


@settings(max_examples=50)
@given(directions, vectors, vectors, vectors, rationals.filter(lambda x: x > 0), st.fractions(0, 3))
def test_a_hat_moves_its_token_and_fixes_what_is_outside(u, token, shift, constant, half_width, away):
    s = sum(a * x for a, x in zip(u, token, strict=True))
    amount = [q(x) for x in shift]
    at = build_hat(u, q(s), q(half_width), amount)
    assert moved(at, token) == plus(token, shift)
    extra = build_constant([q(x) for x in constant])
    assert moved([*at, extra], token) == plus(plus(token, shift), constant)
    for center in (s + half_width * (1 + away), s - half_width * (1 + away)):
        outside = build_hat(u, q(center), q(half_width), amount)
        assert moved(outside, token) == tuple(token)
        assert moved([*outside, extra], token) == plus(token, constant)
    inside = build_hat(u, q(s + half_width * away / 3), q(half_width), amount)
    assert moved(inside, token) == plus(token, shift, 1 - away / 3)


def test_a_hat_and_a_constant_fit_in_width_four():
    units = [*build_hat([1, 1], fmpq(0), fmpq(1), [fmpq(1)] * 2), build_constant([fmpq(1)] * 2)]
    assert build_feed_forward(2, units).width == 4


def test_no_units_scale_by_eta():
    assert moved([], (1, 2, 3), eta=0) == (0, 0, 0)
    assert moved([], (1, 2, 3), eta=1) == (1, 2, 3)


entries = st.one_of(st.integers(-3, 3), st.integers(-HUGE, HUGE), st.integers(HUGE, HUGE + 2))


@given(st.integers(2, 6).flatmap(lambda d: st.sets(st.tuples(*[entries] * d), min_size=1, max_size=30)), st.integers())
def test_an_injective_direction_is_positive_and_tells_all_points_apart(points, seed):
    array = np.array([list(point) for point in sorted(points)], dtype=object)
    direction, products = find_injective_direction(array, random.Random(seed))
    assert all(type(x) is int and x > 0 for x in direction)
    assert products == [sum(a * b for a, b in zip(direction, point, strict=True)) for point in array.tolist()]
    assert len(set(products)) == len(points)
    assert (direction, products) == find_injective_direction(array, random.Random(seed))


@pytest.mark.parametrize("count", [2, 50, 400])
def test_the_direction_has_few_bits(count):
    points = np.array([[k, -k, k * k] for k in range(count)], dtype=object)
    direction, _ = find_injective_direction(points, random.Random(0))
    assert max(direction) <= 4 * count


def test_points_that_most_directions_confuse_are_told_apart():
    # (k, -k) and (0, 0): every multiple of (1, 1) fails
    points = np.array([[k, -k] for k in range(-20, 21)], dtype=object)
    direction, products = find_injective_direction(points, random.Random(1))
    assert direction[0] != direction[1]
    assert len(set(products)) == 41


@given(st.fractions(), st.fractions())
def test_hats_on_neighbouring_tokens_do_not_touch_each_other(left, right):
    if left == right:
        return
    gap = abs(right - left)
    units = build_hat([1, 1, 1], q(left), q(gap), [fmpq(1)] * 3)
    assert moved(units, (right, 0, 0)) == (right, 0, 0)
    assert moved(units, (left, 0, 0)) == (left + 1, 1, 1)
    assert Fraction(*to_row((left,))) == left
