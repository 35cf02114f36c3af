"""Untrusted. The chain (lemma ``chain``): points of a ray to their targets, four a block, all coordinates at once.

Shapes: n points, d dimension; points, targets and directions are d x 1. Before a block the points that are not placed
yet stand at x(t) = P + t D for their parameters t. A **reading** is an affine functional that gives t on the ray and at
most the first kink on every placed point, so that relu(t - kink) sees the rest of the ray only. With kinks
b_1 < b_2 < ... the layer bends the ray into a curve that passes through the targets, of slope D_q after unit q:

    unit q:  relu(t(x) - b_q) (D_q - D_(q-1)),     D_q = (y_q - v_(q-1)(b_q)) / (a_q - b_q),

a_q the parameter of the (last) point that unit q places, v_(q-1) the curve before it. As a rule b_q = a_(q-1), so that
D_q = (y_q - y_(q-1)) / (a_q - a_(q-1)): heights come from two targets and two parameters and do not pile up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from flint import fmpq, fmpq_mat

from interp.stages.box import PointBox
from interp.stages.dyadic import find_simple_dyadic
from interp.stages.flats import Item, plan_chain
from interp.stages.hat import Unit, build_feed_forward
from interp.stages.tokens import power_of_two_at_most, require
from proofs.kernel.errors import InternalFault
from proofs.kernel.model import Block, FeedForward
from proofs.kernel.rational import Row, row_of
from proofs.lemmas import chain as lemma
from proofs.lemmas.units import Box

Locate = Callable[[int], fmpq_mat]


@dataclass(frozen=True)
class Ray:
    """x(t) = origin + t direction."""

    origin: fmpq_mat
    direction: fmpq_mat

    def at(self, parameter: fmpq) -> fmpq_mat:
        """The point of that parameter."""
        return self.origin + self.direction * parameter


@dataclass(frozen=True)
class Reading:
    """t = <row, x> + constant on the points to come; at most ``kink`` on everything placed."""

    row: Sequence[fmpq | int]
    constant: fmpq
    kink: fmpq


@dataclass(frozen=True)
class _Curve:
    """Slopes before and after every unit, and by how much the curve before each unit would miss its target."""

    slopes: list[fmpq_mat]
    misses: list[fmpq_mat]


class Chain:
    """A chain under way: which points wait, the ray they stand on, and the box of everything placed."""

    def __init__(
        self,
        parameters: Sequence[fmpq],
        targets: Sequence[fmpq_mat],
        ray: Ray,
        placed: PointBox,
        units_left: int = 0,
    ) -> None:
        self.parameters, self.targets = parameters, targets
        self.ray, self.placed = ray, placed
        keys = [tuple(target.entries()) for target in targets]
        self.plan = plan_chain(keys, units_left)

    @property
    def num_new_blocks(self) -> int:
        """Blocks of its own that the chain takes."""
        return len(self.plan) - 1

    def add_units(self, items: Sequence[Item], reading: Reading) -> list[Unit]:
        """The units that place these items; the ray moves on."""
        if not items:
            return []
        arrivals = [self.parameters[item.last] for item in items]
        wanted = [self.targets[item.last] for item in items]
        kinks = [reading.kink, *arrivals[:-1]]
        for target in wanted:
            self.placed.add(target)
        curve = self._bend(kinks, arrivals, wanted)
        following = items[-1].last + 1
        if following < len(self.parameters):
            kinks, curve = self._steepen(kinks, arrivals, wanted, curve, self.parameters[following])
        slope = curve.slopes[-1]
        self.ray = Ray(wanted[-1] - slope * arrivals[-1], slope)
        columns = [(after - before).entries() for before, after in zip(curve.slopes, curve.slopes[1:], strict=False)]
        return [(column, reading.row, reading.constant - kink) for column, kink in zip(columns, kinks, strict=True)]

    def _bend(self, kinks: Sequence[fmpq], arrivals: Sequence[fmpq], wanted: Sequence[fmpq_mat]) -> _Curve:
        slopes, misses = [self.ray.direction], []
        time, point = fmpq(0), self.ray.origin
        for kink, arrival, target in zip(kinks, arrivals, wanted, strict=True):
            miss = target - point - slopes[-1] * (arrival - time)
            slopes.append(slopes[-1] + miss * (1 / (arrival - kink)))
            misses.append(miss)
            time, point = arrival, target
        return _Curve(slopes, misses)

    def _steepen(
        self,
        kinks: list[fmpq],
        arrivals: Sequence[fmpq],
        wanted: Sequence[fmpq_mat],
        curve: _Curve,
        following: fmpq,
    ) -> tuple[list[fmpq], _Curve]:
        """Kinks after which a coordinate tells the rest of the ray from everything placed (lemma ``chain``).

        Sliding the last kink towards its point makes the ray as steep as needed, if the curve before it misses the
        target. If it does not, the last unit before that misses is slid first, and then all between: each slid unit
        changes its slope, so the next one misses.
        """
        last = len(kinks) - 1
        if self._sees(curve.slopes[-1], wanted[-1], arrivals[-1], following):
            return kinks, curve
        missing = [q for q, miss in enumerate(curve.misses) if any(x != 0 for x in miss.entries())]
        if not missing:
            raise InternalFault(f"the chain is stuck at parameter {following}: a straight ray meets a placed target")
        for q in range(missing[-1], last):
            kinks[q] = arrivals[q] - power_of_two_at_most((arrivals[q] - kinks[q]) / 2)
        curve = self._bend(kinks, arrivals, wanted)
        before, miss = curve.slopes[-2], curve.misses[-1]
        width = power_of_two_at_most(arrivals[last] - kinks[last])
        while True:
            slope = before + miss * (1 / width)
            if self._sees(slope, wanted[-1], arrivals[-1], following):
                kinks[last] = arrivals[last] - width
                return kinks, _Curve([*curve.slopes[:-1], slope], curve.misses)
            width /= 2

    def _sees(self, slope: fmpq_mat, point: fmpq_mat, time: fmpq, following: fmpq) -> bool:
        return self._find_coordinate(Ray(point - slope * time, slope), following) is not None

    def _find_coordinate(self, ray: Ray, following: fmpq) -> int | None:
        """The coordinate that puts everything placed farthest behind the parameter ``following`` of the ray."""
        best, choice = following, None
        for c, speed in enumerate(ray.direction.entries()):
            if speed != 0:
                extreme = self.placed.high[c] if speed > 0 else self.placed.low[c]
                latest = (extreme - ray.origin[c, 0]) / speed
                if latest < best:
                    best, choice = latest, c
        return choice

    def find_reading(self, first: int) -> Reading:
        """The reading for the points from index ``first`` on, once something is placed. Raises: InternalFault."""
        following = self.parameters[first]
        c = self._find_coordinate(self.ray, following)
        if c is None:
            raise InternalFault(f"no coordinate tells the points from parameter {following} on from the placed ones")
        speed, start = self.ray.direction[c, 0], self.ray.origin[c, 0]
        extreme, ahead = (self.placed.high[c] if speed > 0 else self.placed.low[c]), start + speed * following
        if first and extreme == start + speed * self.parameters[first - 1]:
            threshold = extreme  # the kink is the last point placed: the next slope depends on nothing before it
        elif speed > 0:
            threshold = find_simple_dyadic(extreme, ahead, include_low=True)
        else:
            threshold = find_simple_dyadic(ahead, extreme, include_high=True)
        row = [fmpq(0)] * len(self.placed.low)
        row[c] = 1 / speed
        return Reading(row, -start / speed, (threshold - start) / speed)

    def build_blocks(self, reading: Reading | None = None, locate: Locate | None = None, eta: int = 1) -> list[Block]:
        """The blocks of the chain's own, after ``add_units`` for what it had of a block begun before.

        For the first block ``reading`` and ``locate`` (where a point stands) may be given when the points do not stand
        on the chain's ray yet: with eta = 0 the layer itself makes the ray. Raises: InternalFault.
        """
        blocks = []
        for items in self.plan[1:]:
            where = locate or partial(self._on_ray, self.ray)
            silent_on = (self.placed.low, self.placed.high) if eta else ([], [])
            units = self.add_units(items, self.find_reading(items[0].first) if reading is None else reading)
            layer = build_feed_forward(len(self.placed.low), units, eta)
            self.check(layer, items, where, silent_on)
            blocks.append(Block(layer))
            reading, locate, eta = None, None, 1
        return blocks

    def _on_ray(self, ray: Ray, index: int) -> fmpq_mat:
        return ray.at(self.parameters[index])

    def check(self, layer: FeedForward, items: Sequence[Item], locate: Locate, silent_on: Box) -> None:
        """Requires the promise of the lemma of a layer, by applying it to points of the chain."""
        ends = sorted({i for item in items for i in (item.first, item.last)})
        rest = sorted({items[-1].last + 1, len(self.parameters) - 1} - {*ends, len(self.parameters)})
        before = [to_row(locate(i)) for i in (*ends, *rest)]
        after = [to_row(self.targets[i]) for i in ends]
        after += [to_row(self.ray.at(self.parameters[i])) for i in rest]
        require(lemma.check_promise(layer, before, after, silent_on), "chain")


def to_row(point: fmpq_mat) -> Row:
    """The kernel row of a point."""
    return row_of(point.entries())


def build_chain_from_zero(
    parameters: Sequence[fmpq], targets: Sequence[fmpq_mat], row: Sequence[fmpq | int], constant: fmpq, locate: Locate
) -> list[Block]:
    """A chain whose first layer has eta = 0 and reads t = <row, x> + constant wherever the points stand.

    Such a layer starts from the curve v = 0, so leading targets 0 need no unit. Raises: InternalFault.
    """
    d = int(targets[0].nrows())
    zero = fmpq_mat(d, 1)
    free = next((i for i, target in enumerate(targets) if target != zero), len(targets))
    placed = PointBox([zero] if free else [])
    chain = Chain(parameters[free:], targets[free:], Ray(zero, zero), placed)
    if free == len(targets):
        return [Block(build_feed_forward(d, [], eta=0))]
    first = parameters[free]
    if free:
        width = first - parameters[free - 1]
    else:
        width = parameters[1] - first if len(parameters) > 1 else fmpq(1)
    reading = Reading(row, constant, first - power_of_two_at_most(width))
    blocks = chain.build_blocks(reading, lambda i: locate(i + free), eta=0)
    if free:
        before = [to_row(locate(i)) for i in (0, free - 1)]
        require(lemma.check_promise(blocks[0].feed_forward, before, [to_row(zero)] * 2, ([], [])), "chain")
    return blocks


def count_chain_from_zero(targets: Sequence[Row]) -> int:
    """The number of blocks of ``build_chain_from_zero``."""
    free = next((i for i, row in enumerate(targets) if any(row[:-1])), len(targets))
    return max(1, len(plan_chain(targets[free:])) - 1)
