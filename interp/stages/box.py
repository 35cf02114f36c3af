"""Untrusted. The smallest box around points, coordinate by coordinate: what a unit must vanish on."""

from __future__ import annotations

from collections.abc import Iterable

from flint import fmpq, fmpq_mat


class PointBox:
    """The smallest and the largest value of every coordinate over the points added so far (none at first)."""

    def __init__(self, points: Iterable[fmpq_mat] = ()) -> None:
        self.low: list[fmpq] = []
        self.high: list[fmpq] = []
        for point in points:
            self.add(point)

    @property
    def is_empty(self) -> bool:
        """Whether no point was added."""
        return not self.low

    def add(self, point: fmpq_mat) -> None:
        """Makes room for a point, d x 1."""
        entries = point.entries()
        if self.is_empty:
            self.low, self.high = list(entries), list(entries)
            return
        self.low = [min(pair) for pair in zip(self.low, entries, strict=True)]
        self.high = [max(pair) for pair in zip(self.high, entries, strict=True)]
