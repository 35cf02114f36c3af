"""Untrusted. Folded groups (lemma ``folded groups``): d units place 2d points up to a lattice, folds do the rest.

Shapes: N points z of Q^d with targets y. A group P, Q of ``groups`` is moved by units relu(h_a), a = 1..d, h_a > 0 on Q
and p_a only, with columns w_a. p_a goes to the cell r N_a, N_a = 2 e_f + e_a (N_f = e_f, f the last coordinate), and q
to the cell sum of round(r h_a(q) / eps) N_a: columns place P, and the numbers h_a(q) that place Q are then so near to
those of the first h_a that all signs stay, for large r. Coordinates but the last were multiplied by a scale
such that every h_a is negative on all cells that are used.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat

from interp.stages.dyadic import find_simple_dyadic
from interp.stages.folds import build_folds, locate_in_cell
from interp.stages.groups import Group, find_group
from interp.stages.hat import MAX_UNITS, Unit, build_feed_forward
from interp.stages.signature import axis
from interp.stages.tokens import power_of_two_above
from proofs.kernel.model import Block

DOUBLINGS = 20  # of r, before a group is given up

Point = list[fmpq]
Affine = tuple[list[fmpq], fmpq]


@dataclass(frozen=True)
class Folded:
    """``scale`` of all coordinates but the last before everything else, blocks that place, blocks that fold."""

    scale: fmpq
    placing: list[Block]
    folding: list[Block]

    @property
    def num_blocks(self) -> int:
        """Blocks beyond the one that scales."""
        return len(self.placing) + len(self.folding)


def build_folded(points: Sequence[Point], targets: Sequence[Point], rng: random.Random) -> Folded | None:
    """Blocks for points in general position, d <= 4; None if the points are not, or if none was found."""
    d = len(points[0])
    plan, rest = _plan_groups(points, rng)
    if not plan:
        return None
    bases = [[base for group in block if (base := _make_base(points, group)) is not None] for block in plan]
    if any(len(made) < len(block) for made, block in zip(bases, plan, strict=True)):
        return None
    steepest = max(abs(x) for block in bases for base in block for row, _ in base.functions for x in row[:-1])
    scale = power_of_two_above(4 * d * steepest)
    moved = [[*(scale * x for x in point[:-1]), point[-1]] for point in points]
    grid = _Grid(moved, targets)
    blocks: list[Block] = []
    for block in bases:
        units: list[Unit] = []
        for base in block:
            solved = grid.place_group(base.scaled(scale))
            if solved is None:
                return None
            units += solved
        grid.finish([base.group for base in block])
        blocks.append(Block(build_feed_forward(d, units)))
    heights = {grid.waiting[i][d - 1] for i in rest}
    if len(heights) < len(rest):
        return None
    blocks += grid.place_rest(rest)
    return Folded(scale, blocks, build_folds(grid.counts, grid.width, [-grid.offset] * d))


def _plan_groups(points: Sequence[Point], rng: random.Random) -> tuple[list[list[Group]], list[int]]:
    """The groups of every block, and the points that remain."""
    approx = np.array([[float(x.p) / float(x.q) for x in point] for point in points])
    approx = approx / np.abs(approx).max(axis=0).clip(1e-9)
    remaining: list[int] = list(range(len(points)))
    plan: list[list[Group]] = []
    while True:
        block: list[Group] = []
        used: list[int] = []
        for _ in range(MAX_UNITS // approx.shape[1]):
            group = find_group(approx, remaining, used, rng)
            if group is None:
                break
            block.append(group)
            used += [*group.on, *group.below]
        if not block:
            return plan, remaining
        plan.append(block)
        remaining = [i for i in remaining if i not in used]


def _interpolate(points: Sequence[Point], values: Sequence[fmpq]) -> Affine | None:
    """The affine function of k coordinates with these values at k + 1 points, or None if they are dependent."""
    try:
        solved = fmpq_mat([[*point, 1] for point in points]).solve(fmpq_mat(len(values), 1, list(values))).entries()
    except ZeroDivisionError:
        return None
    return solved[:-1], solved[-1]


@dataclass(frozen=True)
class _Base:
    """A group with its first functions h_a = l + eps phi_a."""

    group: Group
    eps: fmpq
    functions: list[Affine]

    def scaled(self, scale: fmpq) -> _Base:
        """The same functions of scaled coordinates."""
        return _Base(
            self.group, self.eps, [([*(x / scale for x in row[:-1]), row[-1]], bias) for row, bias in self.functions]
        )


def _make_base(points: Sequence[Point], group: Group) -> _Base | None:
    on = [points[i] for i in group.on]
    plane = _interpolate([p[:-1] for p in on], [p[-1] for p in on])
    if plane is None:
        return None
    # eps was found for coordinates divided by their largest size
    height = max(abs(p[-1]) for p in points)
    reach = fmpq(*(group.approx_eps * 1.0).as_integer_ratio()) * height
    eps = find_simple_dyadic(reach / 2, reach * fmpq(7, 10))
    functions = []
    for a in range(len(on)):
        tilt = _interpolate([p[:-1] for p in on], [fmpq(1 if b == a else -1) for b in range(len(on))])
        if tilt is None:
            return None
        row = [x + eps * y for x, y in zip(plane[0], tilt[0], strict=True)]
        functions.append(([*row, fmpq(-1)], plane[1] + eps * tilt[1]))
    return _Base(group, eps, functions)


def _value(function: Affine, point: Point) -> fmpq:
    return sum((u * x for u, x in zip(function[0], point, strict=True)), function[1])


class _Grid:
    """Where every point stands: waiting at z, or in a cell of the lattice."""

    def __init__(self, points: list[Point], targets: Sequence[Point]) -> None:
        self.d = len(points[0])
        self.waiting = dict(enumerate(points))
        self.placed: dict[int, Point] = {}
        self.targets = targets
        largest = max(abs(x) for rows in (points, targets) for row in rows for x in row)
        self.width = power_of_two_above(8 * (largest + 1))
        self.offset = self.width / 2
        self.counts = [1] * self.d
        last = self.d - 1
        self.normals = [[int(k == a) + 2 * (k == last) if a != last else int(k == last) for k in range(self.d)]
                        for a in range(self.d)]  # fmt: skip

    def _cell(self, i: int, cell: Sequence[int]) -> Point:
        return locate_in_cell(cell, [x + self.offset for x in self.targets[i]], self.width)

    def place_group(self, base: _Base) -> list[Unit] | None:
        """The units of a group, its points placed, with the smallest r that keeps all signs."""
        for exponent in range(DOUBLINGS):
            cells = self._choose_cells(base, 2**exponent)
            if cells is None:
                continue
            goals = {i: self._cell(i, cell) for i, cell in cells.items()}
            units = self._solve(base, goals)
            if units is not None:
                self.placed |= goals
                self.counts = [max(c, 1 + max(cell[k] for cell in cells.values())) for k, c in enumerate(self.counts)]
                return units
        return None

    def _choose_cells(self, base: _Base, fineness: int) -> dict[int, list[int]] | None:
        cells = {i: [fineness * n for n in self.normals[a]] for a, i in enumerate(base.group.on)}
        for j in base.group.below:
            heights = [_value(h, self.waiting[j]) * fineness / base.eps for h in base.functions]
            steps = [int((x + fmpq(1, 2)).floor()) for x in heights]
            if min(steps) < 0:
                return None
            cells[j] = [sum(s * self.normals[a][k] for a, s in enumerate(steps)) for k in range(self.d)]
        return cells

    def _solve(self, base: _Base, goals: dict[int, Point]) -> list[Unit] | None:
        """Columns by P, heights on Q by the columns, functions by their values; None if a sign is wrong."""
        on, below, size = base.group.on, base.group.below, self.d
        shifts = {i: [y - z for y, z in zip(goal, self.waiting[i], strict=True)] for i, goal in goals.items()}
        columns = [[x / base.eps for x in shifts[i]] for i in on]
        try:
            heights = fmpq_mat(columns).transpose().solve(fmpq_mat([shifts[j] for j in below]).transpose()).tolist()
        except ZeroDivisionError:
            return None
        units: list[Unit] = []
        for a in range(size):
            if min(heights[a]) <= 0:
                return None
            function = _interpolate([self.waiting[i] for i in (*below, on[a])], [*heights[a], base.eps])
            if function is None:
                return None
            seen = {*below, on[a]}
            silent = [z for i, z in self.waiting.items() if i not in seen]
            if any(_value(function, z) > 0 for z in (*silent, *self.placed.values())):
                return None
            units.append((columns[a], *function))
        return units

    def finish(self, groups: Sequence[Group]) -> None:
        """The points of these groups wait no longer."""
        for group in groups:
            for i in (*group.on, *group.below):
                del self.waiting[i]

    def place_rest(self, rest: Sequence[int]) -> list[Block]:
        """One unit c - x_f a point, lowest first, four a block."""
        last = self.d - 1
        order = sorted(rest, key=lambda i: self.waiting[i][last])
        highest = max((self.waiting[i][last] for i in order), default=fmpq(0)) + 1
        cell = [0] * last + [max(1, int((highest / self.width).ceil()))]
        ends = [*(self.waiting[i][last] for i in order[1:]), highest]
        if order:
            self.counts[last] = max(self.counts[last], cell[last] + 1)
        row = [-x for x in axis(self.d, last)]
        blocks = []
        for start in range(0, len(order), MAX_UNITS):
            part = range(start, min(start + MAX_UNITS, len(order)))
            units: list[Unit] = []
            for k in reversed(part):
                z = self.waiting[order[k]]
                shift = [y - x for y, x in zip(self._cell(order[k], cell), z, strict=True)]
                for column, _, bias in units:
                    shift = [s - (bias - z[last]) * w for s, w in zip(shift, column, strict=True)]
                units.append(([s / (ends[k] - z[last]) for s in shift], row, ends[k]))
            blocks.append(Block(build_feed_forward(self.d, units)))
        return blocks
