"""The hat lemma as it is stated, in plain fractions: no builder, no kernel."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

rationals = st.fractions(min_value=-50, max_value=50, max_denominator=30)
vectors = st.lists(rationals, min_size=3, max_size=3)


def relu(x):
    return max(x, Fraction(0))


def hat(s, s0, omega):
    return (relu(s - s0 + omega) - 2 * relu(s - s0) + relu(s - s0 - omega)) / omega


@given(rationals, rationals.filter(lambda x: x > 0), rationals)
def test_the_hat_is_one_at_its_centre_and_zero_outside_and_between_within(s0, omega, s):
    assert hat(s0, s0, omega) == 1
    assert hat(s0 + omega, s0, omega) == hat(s0 - omega, s0, omega) == 0
    height = hat(s, s0, omega)
    assert height == max(Fraction(0), 1 - abs(s - s0) / omega)


@settings(max_examples=50)
@given(vectors, vectors, vectors, rationals.filter(lambda x: x > 0), rationals)
def test_the_layer_moves_what_projects_to_the_centre_and_fixes_what_is_outside(u, delta, x, omega, away):
    s = sum((a * b for a, b in zip(u, x, strict=True)), Fraction(0))
    for s0 in (s, s + omega + abs(away), s - omega - abs(away)):
        image = [a + d * hat(s, s0, omega) for a, d in zip(x, delta, strict=True)]
        assert image == ([a + d for a, d in zip(x, delta, strict=True)] if s0 == s else x)
