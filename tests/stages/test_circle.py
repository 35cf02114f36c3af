"""Lattice points of one circle: the directions of the leaders that go down."""

from __future__ import annotations

from itertools import count as count_from
from math import isqrt

import pytest

from interp.stages.circle import find_circle_points


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8, 9, 13, 24, 47, 100, 300])
def test_points_are_different_positive_integers_on_one_circle(count):
    points = find_circle_points(count)
    assert len(points) == len(set(points)) == count
    assert all(a >= 1 and b >= 1 for a, b in points)
    assert all(type(x) is int for point in points for x in point)
    assert len({a * a + b * b for a, b in points}) <= 1


def test_no_points_for_no_leaders():
    assert find_circle_points(0) == find_circle_points(-1) == []


def points_of(norm):
    return sum(1 for a in range(1, isqrt(norm) + 1) if (b2 := norm - a * a) > 0 and isqrt(b2) ** 2 == b2)


def has_only_primes_that_are_one_modulo_four(norm):
    factors = (p for p in range(2, norm + 1) if norm % p == 0 and all(p % q for q in range(2, isqrt(p) + 1)))
    return all(p % 4 == 1 for p in factors)


@pytest.mark.parametrize("count", range(1, 17))
def test_no_smaller_product_of_such_primes_has_as_many_points(count):
    (a, b), *_ = find_circle_points(count)
    enough = (norm for norm in count_from(1) if points_of(norm) >= count)
    assert next(norm for norm in enough if has_only_primes_that_are_one_modulo_four(norm)) == a * a + b * b


def test_many_points_stay_on_a_small_circle():
    (a, b), *_ = find_circle_points(1000)
    assert (a * a + b * b).bit_length() < 50
