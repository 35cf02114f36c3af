"""The simplest dyadic of an interval lies in it, and no coarser grid meets the interval."""

from __future__ import annotations

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from interp.stages.dyadic import find_simple_dyadic
from proofs.kernel.errors import InternalFault

rationals = st.builds(fmpq, st.integers(-(10**30), 10**30), st.sampled_from([1, 2, 3, 7, 16, 10**20 + 1]))


def inside(value: fmpq, low: fmpq, high: fmpq, with_low: bool, with_high: bool) -> bool:
    return low < value < high or (with_low and value == low) or (with_high and value == high)


@given(rationals, st.builds(fmpq, st.integers(1, 10**9), st.integers(1, 10**9)), st.booleans(), st.booleans())
def test_it_is_inside_and_no_multiple_of_twice_its_step_is(low, width, with_low, with_high):
    high = low + width
    value = find_simple_dyadic(low, high, with_low, with_high)
    assert inside(value, low, high, with_low, with_high)
    if value != 0:
        step = fmpq(int(value.p) & -int(value.p), value.q)  # the power of two in the value
        assert int((value / step).q) == 1
        coarse = 2 * step
        first = (low / coarse).ceil() * coarse
        candidates = (first, first + coarse)
        assert not any(inside(x, low, high, with_low, with_high) for x in candidates)


def test_zero_is_the_simplest():
    assert find_simple_dyadic(fmpq(-1, 3), fmpq(10**9)) == 0
    assert find_simple_dyadic(fmpq(0), fmpq(1), include_low=True) == 0
    assert find_simple_dyadic(fmpq(5), fmpq(9)) == 8
    assert find_simple_dyadic(fmpq(-9), fmpq(-5)) == -8
    assert find_simple_dyadic(fmpq(1, 3), fmpq(1, 3), True, True) == fmpq(1, 3)


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1)])
def test_an_empty_interval_is_a_fault(low, high):
    with pytest.raises(InternalFault):
        find_simple_dyadic(fmpq(low), fmpq(high), include_low=True)
