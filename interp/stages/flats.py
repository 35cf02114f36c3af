"""Untrusted. How a chain spends its units (lemma ``chain``): one a point, or two for a whole run of equal targets.

A **run** is a maximal stretch of consecutive points with one target. Units come in order of the points: a *step* brings
the next point to its target; a *flat*, after a step in the same block, stops the curve there, so that the rest of the
run is placed by one unit. After a flat the curve is a single point, so a block may not end with one, unless nothing is
left. The best plan is found from the last point backwards: the state is (next point, units left in the block, whether
the last unit was a step inside the run), at most 10 states a point.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from interp.stages.hat import MAX_UNITS

SHORT_RUN = 2  # a step and a flat place a run of two no better than two steps


@dataclass(frozen=True)
class Item:
    """One unit: the points first..last that it places (first = last for a step)."""

    first: int
    last: int
    flat: bool = False


def plan_chain(targets: Sequence[Hashable], units_left: int = 0) -> list[list[Item]]:
    """The units of every block, the fewest blocks possible; the first entry uses what is left of a block begun before.

    ``units_left`` = 0 means that the first entry is empty.
    """
    count = len(targets)
    run_end = [count - 1] * count
    for i in range(count - 2, -1, -1):
        run_end[i] = run_end[i + 1] if targets[i] == targets[i + 1] else i
    if all(run_end[i] - i < SHORT_RUN for i in range(count)):
        return _plain(count, units_left)
    return _follow(_costs(run_end), run_end, units_left)


def count_chain_blocks(targets: Sequence[Hashable], units_left: int = 0) -> int:
    """New blocks that the plan takes."""
    return len(plan_chain(targets, units_left)) - 1


def _plain(count: int, units_left: int) -> list[list[Item]]:
    head = min(units_left, count)
    blocks = [[Item(i, i) for i in range(head)]]
    for start in range(head, count, MAX_UNITS):
        blocks.append([Item(i, i) for i in range(start, min(start + MAX_UNITS, count))])
    return blocks


def _costs(run_end: list[int]) -> list[list[tuple[int, int]]]:
    """costs[i][r] = new blocks needed with i points placed and r units left, (no flat possible, flat possible)."""
    count = len(run_end)
    # two entries beyond the end: a flat up to the last point is looked up there
    costs = [[(0, 0)] * (MAX_UNITS + 1) for _ in range(count + 2)]
    for i in range(count - 1, -1, -1):
        for units in range(1, MAX_UNITS + 1):
            step = costs[i + 1][units - 1][run_end[i] > i]
            costs[i][units] = (step, min(step, _flat_cost(costs, run_end, i, units)))
        fresh = 1 + costs[i][MAX_UNITS][0]
        costs[i][0] = (fresh, fresh)
    return costs


def _flat_cost(costs: list[list[tuple[int, int]]], run_end: list[int], i: int, units: int) -> int:
    """The cost of a flat over i..end and the step that must follow it."""
    count, after = len(run_end), run_end[i] + 1
    if after == count:
        return 0
    if units < 2:
        return count  # not allowed: dearer than any plan
    return costs[after + 1][units - 2][after < count - 1 and run_end[after] > after]


def _follow(costs: list[list[tuple[int, int]]], run_end: list[int], units_left: int) -> list[list[Item]]:
    blocks: list[list[Item]] = [[]]
    count, i, units, may_stop = len(run_end), 0, units_left, False
    while i < count:
        if units == 0:
            blocks.append([])
            units, may_stop = MAX_UNITS, False
        step = costs[i + 1][units - 1][run_end[i] > i]
        # a flat over several points saves units even where it saves no block
        if may_stop and _flat_cost(costs, run_end, i, units) < step + (run_end[i] > i):
            blocks[-1].append(Item(i, run_end[i], flat=True))
            i, units = run_end[i] + 1, units - 1
            if i == count:
                break
        blocks[-1].append(Item(i, i))
        may_stop = run_end[i] > i
        i, units = i + 1, units - 1
    return blocks
