"""Untrusted. The end of the softmax construction: one block onto a line (lemma ``line``), then one block a point
(lemma ``flatten and place``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpz

from interp.stages.hat import Unit, build_feed_forward
from interp.stages.tokens import power_of_two_above, power_of_two_at_most
from proofs.kernel.model import Block
from proofs.kernel.rational import Row, coordinates_of


@dataclass(frozen=True)
class Interval:
    """Where a leader's tokens lie on the axis, and where they go."""

    low: fmpq
    high: fmpq
    target: Row


def build_line(direction: Sequence[int], intervals: Sequence[Interval], bound: fmpq) -> tuple[Block, list[Interval]]:
    """x -> (<u, x> + c) e_1, c a power of two (or 0) that brings all intervals above 2 bound; the moved intervals."""
    d = len(direction)
    lowest = min(interval.low for interval in intervals)
    c = fmpq(0) if lowest > 2 * bound else power_of_two_above(2 * bound - lowest)
    axis = [1] + [0] * (d - 1)
    block = Block(build_feed_forward(d, [(axis, direction, c)], eta=0))
    return block, [Interval(i.low + c, i.high + c, i.target) for i in intervals]


def build_placement(intervals: Sequence[Interval], bound: fmpq, dimension: int) -> list[Block]:
    """One block an interval; all intervals are disjoint and above 2 bound, all targets below bound in each coordinate.

    The kinks are multiples of one power of two, at most a quarter of the room to the neighbours: few bits.
    """
    ordered = sorted(intervals, key=lambda interval: interval.low)
    ends = [bound, *(x for interval in ordered for x in (interval.low, interval.high))]
    blocks = []
    for k, interval in enumerate(ordered):
        below = interval.low - ends[2 * k]
        above = ends[2 * k + 3] - interval.high if 2 * k + 3 < len(ends) else below
        step = power_of_two_at_most(min(below, above) / 4)
        b = step * _whole((interval.low / step).floor())
        c = step * _whole((interval.high / step).ceil())
        blocks.append(Block(build_feed_forward(dimension, _flatten(b, max(c, b + step), step, interval.target))))
    return blocks


def _whole(value: fmpz) -> fmpq:
    return fmpq(value)


def _flatten(b: fmpq, c: fmpq, step: fmpq, target: Row) -> list[Unit]:
    """The four units of lemma ``flatten and place`` with a = b - step, e = c + step."""
    y = list(coordinates_of(target))
    axis = [1] + [0] * (len(y) - 1)

    def ends(at: fmpq) -> list[fmpq]:
        return [v - at * a for v, a in zip(y, axis, strict=True)]

    up = [v / step for v in ends(b)]  # slope on [b - step, b]
    down = [-v / step for v in ends(c)]  # slope on [c, c + step]
    return [
        (up, axis, step - b),
        ([-a - s for a, s in zip(axis, up, strict=True)], axis, -b),
        ([s + a for a, s in zip(axis, down, strict=True)], axis, -c),
        ([-s for s in down], axis, -step - c),
    ]
