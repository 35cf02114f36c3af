"""Plans of chains: always valid, and as short as an exhaustive search finds."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.stages.flats import Item, count_chain_blocks, plan_chain


def search(targets: list[int], units_left: int) -> int:
    """The fewest new blocks, by trying everything that the rules allow."""
    count = len(targets)

    @cache
    def best(i: int, units: int, in_run: bool, must_step: bool) -> int:
        if i == count:
            return 0
        if units == 0:
            return 10**6 if must_step else 1 + best(i, 4, False, False)
        options = [best(i + 1, units - 1, i + 1 < count and targets[i + 1] == targets[i], False)]
        if in_run and not must_step:
            end = i
            while end + 1 < count and targets[end + 1] == targets[end]:
                end += 1
            options.append(best(end + 1, units - 1, False, True))
        if not must_step and units < 4:
            options.append(1 + best(i, 4, False, False))
        return min(options)

    return best(0, units_left, False, False)


def check_plan(targets: list[int], units_left: int) -> None:
    """Every point once, in order; a flat follows a step of its run and is followed by a step, or ends the chain."""
    plan = plan_chain(targets, units_left)
    assert len(plan[0]) <= units_left
    assert all(1 <= len(block) <= 4 for block in plan[1:])
    covered = [i for block in plan for item in block for i in range(item.first, item.last + 1)]
    assert covered == list(range(len(targets)))
    for block in plan:
        for place, item in enumerate(block):
            assert len(set(targets[item.first : item.last + 1])) == 1
            if item.flat:
                assert place > 0
                assert not block[place - 1].flat
                assert targets[item.first - 1] == targets[item.first]
                assert place + 1 < len(block) or item.last + 1 == len(targets)
            else:
                assert item.first == item.last


@settings(max_examples=300)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=16), st.integers(0, 4))
def test_plans_are_valid_and_shortest(targets, units_left):
    check_plan(targets, units_left)
    assert count_chain_blocks(targets, units_left) == search(targets, units_left)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=8), st.integers(0, 4))
def test_long_runs(runs, units_left):
    targets = [target for target, length in runs for _ in range(length)]
    check_plan(targets, units_left)
    assert count_chain_blocks(targets, units_left) <= -(-max(len(targets) - units_left, 0) // 4)


def test_a_run_takes_two_units():
    assert plan_chain([1] * 1000) == [[], [Item(0, 0), Item(1, 999, flat=True)]]
    assert count_chain_blocks([1] * 1000 + [2] * 1000) == 1


@pytest.mark.parametrize("count", [1, 4, 5, 100_000])
def test_different_targets_take_a_unit_each_and_no_recursion(count):
    assert count_chain_blocks(range(count)) == -(-count // 4)
    assert count_chain_blocks([k // 3 for k in range(count)]) <= -(-count // 4)
