"""The state of all tokens while building, and powers of two."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import example, given
from hypothesis import strategies as st

from interp.stages.tokens import (
    TokenState,
    common_integers,
    power_of_two,
    power_of_two_above,
    power_of_two_at_most,
    require,
)
from proofs.kernel.errors import InternalFault
from tests.strategies import datasets, make_dataset, to_row

positive = st.one_of(
    st.fractions(min_value=Fraction(1, 10**30)),
    st.integers(-200, 200).map(lambda k: Fraction(2) ** k),
    st.builds(
        lambda k, sign: Fraction(2) ** k + Fraction(sign, 10**80), st.integers(-60, 60), st.sampled_from([-1, 1])
    ),
)


def q(x):
    return fmpq(x.numerator, x.denominator)


def exponent_of(value):
    """k with value = 2^k."""
    p, d = int(value.p), int(value.q)
    assert p & (p - 1) == 0
    assert d & (d - 1) == 0
    assert p == 1 or d == 1
    return p.bit_length() - d.bit_length()


@given(positive)
@example(Fraction(1))
@example(Fraction(1, 3))
@example(Fraction(10**400 + 1, 10**400))
def test_the_largest_power_of_two_at_most_and_the_smallest_above(value):
    below, above = power_of_two_at_most(q(value)), power_of_two_above(q(value))
    exponent_of(below)
    assert below <= q(value) < above
    assert above == 2 * below


def test_above_zero_stands_one():
    assert power_of_two_above(fmpq(0)) == 1


@given(st.integers(-300, 300))
def test_powers_of_two(k):
    assert exponent_of(power_of_two(k)) == k
    assert power_of_two(k) * power_of_two(-k) == 1


def test_a_promise_kept_passes_and_a_promise_broken_is_an_internal_fault():
    require(None, "x")
    with pytest.raises(InternalFault, match="separation phase is broken: two tokens"):
        require("two tokens", "separation")
    with pytest.raises(InternalFault):
        require("", "separation")


def test_repeated_tokens_are_kept_once_with_their_multiplicity():
    state = TokenState.from_dataset(make_dataset(([(1, 2), (3, 4), (1, 2)], [(0, 0)]), ([("1/2", 0)], [(0, 0)])))
    assert state.numerators.tolist() == [[2, 4], [6, 8], [1, 0]]
    assert state.denominator == 2
    assert state.sequence == (0, 0, 1)
    assert state.multiplicity == (2, 1, 1)
    assert (state.dimension, state.num_sequences) == (2, 2)
    assert state.members() == [[0, 1], [2]]
    assert state.sequences() == [[to_row((1, 2)), to_row((3, 4))], [to_row((Fraction(1, 2), 0))]]


@given(datasets(largest=5))
def test_a_state_holds_the_tokens_of_its_dataset(dataset):
    state = TokenState.from_dataset(dataset)
    assert state.sequences() == [list(pair.input) for pair in dataset.pairs]
    assert [state.rows()[i] for member in state.members() for i in member] == state.rows()
    assert common_integers(state.rows())[1] == state.denominator
    assert all(type(x) is int for x in state.numerators.ravel().tolist())


@given(datasets(largest=3), st.integers(1, 60))
def test_a_state_moved_has_the_smallest_denominator_and_the_same_tokens(dataset, factor):
    state = TokenState.from_dataset(dataset)
    same = state.moved(state.numerators * factor, state.denominator * factor)
    assert same.denominator == state.denominator
    assert same.rows() == state.rows()
    twice = state.moved(state.numerators * 2, state.denominator)
    assert twice.rows() == [to_row([Fraction(2 * x, row[-1]) for x in row[:-1]]) for row in state.rows()]


def test_integers_do_not_overflow():
    rows = [to_row((10**40, 1)), to_row((Fraction(1, 10**40), 2))]
    numerators, denominator = common_integers(rows)
    assert denominator == 10**40
    assert numerators[0, 0] == 10**80
    assert (numerators * 10**40)[0, 0] == 10**120
    assert numerators.dtype == np.dtype(object)
