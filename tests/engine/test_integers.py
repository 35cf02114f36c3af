"""Integers of any size: what no small case shows."""

from __future__ import annotations

import numpy as np
import pytest

from proofs.engine.integers import common_divisor
from proofs.engine.state import Handover, State
from proofs.kernel.rational import Limits


def state_of_one(numerators: list[int], denominator: int = 1, max_height: int = 100) -> State:
    one = np.ones(1, dtype=np.int64)
    return State(np.array([numerators]), denominator, np.array([0, 1]), one, Limits(max_height=max_height))


def test_a_number_far_behind_has_another_divisor():
    assert common_divisor(0, np.array([6] * 100 + [3] + [6] * 100)) == 3
    assert common_divisor(12, np.array([2**70, 6], dtype=object)) == 2


def test_the_bound_follows_every_move():
    state = state_of_one([3, -4])
    state.rescale(5)
    assert state.bound >= 20
    state.put(np.array([0]), np.array([[100, 0]]))
    assert state.bound >= 100


def test_heights_are_those_of_numerators_denominators_and_of_what_is_added():
    state_of_one([2**10 - 1, 0], 2**10 - 1, 10).check_height()
    for numerator, denominator in ((2**10, 1), (1, 2**10)):
        with pytest.raises(Handover):
            state_of_one([numerator, 0], denominator, 10)
    with pytest.raises(Handover):
        state_of_one([2**10 - 1, 0], 1, 10).check_height(1)
