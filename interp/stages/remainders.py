"""Untrusted. Remainders (lemma ``remainders``): one unit merges what is left of every sequence, all sequences at once.

n = X1 - kappa X2 + c with column -e_1: where n >= 0 a token (X1, X2) goes to (kappa X2 - c, X2), which no longer
depends on its value. So the rest of sequence j becomes one point, parameter t = -g_j of the ray (-c - kappa t, -t).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from interp.stages.box import PointBox
from interp.stages.caps import Frame
from interp.stages.chain import Ray
from interp.stages.dyadic import find_simple_dyadic
from interp.stages.hat import Unit


@dataclass(frozen=True)
class Remainder:
    """kappa, a power of two, and c."""

    kappa: fmpq
    constant: fmpq

    def unit(self, frame: Frame) -> Unit:
        """The unit in the coordinates x."""
        column, row = [fmpq(0)] * frame.dimension, [fmpq(0)] * frame.dimension
        column[0], row[0], row[1] = fmpq(-1), fmpq(1), -self.kappa
        return (column, row, self.constant + frame.shift * (self.kappa - 1))

    def ray(self, frame: Frame) -> Ray:
        """Where the merged points stand: parameter t = -g."""
        origin, direction = fmpq_mat(frame.dimension, 1), fmpq_mat(frame.dimension, 1)
        origin[0, 0], origin[1, 0] = frame.shift - self.constant, frame.shift
        direction[0, 0], direction[1, 0] = -self.kappa, fmpq(-1)
        return Ray(origin, direction)


def plan_remainder(frame: Frame, sizes: Sequence[int], targets: PointBox) -> Remainder:
    """The smallest power of two kappa >= 1 for which some c makes n >= 0 on the rests and n <= 0 on the box of targets.

    c must be at least kappa g_j - X1 for the first token of every rest and at most kappa X2 - X1 over the box: as
    X2 > g + 1 there, a large kappa leaves room.
    """
    signature, a = frame.signature, frame.shift
    firsts = [
        (signature.means[j], signature.value(j, size - 1) + frame.lift.heights[j]) for j, size in enumerate(sizes)
    ]
    kappa = fmpq(1)
    while True:
        least = max(kappa * g - x for g, x in firsts)
        most = kappa * (targets.low[1] - a) - (targets.high[0] - a)
        if least < most:
            return Remainder(kappa, find_simple_dyadic(least, most, include_low=True, include_high=True))
        kappa *= 2
