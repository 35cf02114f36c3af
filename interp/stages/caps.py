"""Untrusted. Caps (lemma ``caps``): one unit for each leader, which puts it on its target.

Coordinates X1 = x_1 - a, X2 = x_2 - a: a token of value s of sequence j is (s + f(g_j), g_j) after the lift, and the
shift a < 0 is so large that targets have X1 and X2 large. The leaders of sequence j are its m_j - 1 tokens of smallest
value. The cap of leader q is h = C + sigma_j X2 - X1 with the line of sequence j pushed up between tokens q and q + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from interp.stages.box import PointBox
from interp.stages.dyadic import find_simple_dyadic
from interp.stages.hat import Unit
from interp.stages.lift import Lift
from interp.stages.signature import Signature
from interp.stages.tokens import power_of_two_above
from proofs.kernel.errors import InternalFault


@dataclass(frozen=True)
class Cap:
    """h = constant + slope X2 - X1, positive on the tokens of ranks <= rank (from 0) of one sequence only."""

    sequence: int
    rank: int
    slope: fmpq
    constant: fmpq


@dataclass(frozen=True)
class Frame:
    """Where tokens stand after the lift, and the shift a."""

    signature: Signature
    lift: Lift
    dimension: int
    shift: fmpq = fmpq(0)

    def point(self, sequence: int, rank: int) -> fmpq_mat:
        """The token of that rank (from 0, -1 the last) of a sequence, d x 1."""
        result = fmpq_mat(self.dimension, 1)
        result[0, 0] = self.signature.value(sequence, rank) + self.lift.heights[sequence] + self.shift
        result[1, 0] = self.signature.means[sequence] + self.shift
        return result


def find_spread(signature: Signature, sizes: Sequence[int]) -> fmpq:
    """By how much lines must clear other sequences: the largest value next to a leader's, minus the smallest value."""
    highest = max(signature.value(j, size - 1) for j, size in enumerate(sizes) if size > 1)
    return highest - min(signature.value(j, 0) for j in range(len(sizes)))


def plan_caps(signature: Signature, sizes: Sequence[int], lift: Lift) -> list[Cap]:
    """The caps, leaders of one sequence in increasing order; constants are the simplest that tell q from q + 1."""
    caps = []
    for j, size in enumerate(sizes):
        for rank in range(size - 1):
            slope = lift.slopes[j]
            base = lift.heights[j] - slope * signature.means[j]
            low, high = (base + signature.value(j, r) for r in (rank, rank + 1))
            caps.append(Cap(j, rank, slope, find_simple_dyadic(low, high, include_high=True)))
    return caps


def find_shift(caps: Sequence[Cap], targets: PointBox, largest_mean: fmpq) -> fmpq:
    """a = 0 or minus a power of two: caps vanish on the box of targets, and X2 > largest mean + 1 there.

    As slopes are <= 0, a cap is largest on the box at its lower corner (y1, y2), where it is
    C + sigma (y2 - a) - (y1 - a) = (C + sigma y2 - y1) + a (1 - sigma).
    """
    y1, y2 = targets.low[0], targets.low[1]
    bounds = [(y1 - cap.constant - cap.slope * y2) / (1 - cap.slope) for cap in caps]
    bound = min([y2 - largest_mean - 1, *bounds])
    return fmpq(0) if bound > 0 else -power_of_two_above(-bound)


def cap_unit(cap: Cap, frame: Frame, column: fmpq_mat) -> Unit:
    """The unit of a cap with a column."""
    row = [fmpq(0)] * frame.dimension
    row[0], row[1] = fmpq(-1), cap.slope
    return (column.entries(), row, cap.constant + frame.shift * (1 - cap.slope))


def solve_caps(caps: Sequence[Cap], others: Sequence[Unit], frame: Frame, targets: Sequence[fmpq_mat]) -> list[Unit]:
    """The units of the caps of one block, whose leaders go to the targets, beside other units of that block.

    Leader q of a sequence is seen by the caps of leaders q, q + 1, .. only: columns are found from the last cap back.
    Raises: InternalFault if a leader is not seen by its cap.
    """
    solved: list[Unit] = []
    for cap, target in zip(reversed(caps), reversed(targets), strict=True):
        point = frame.point(cap.sequence, cap.rank)
        column = target - point
        for unit in (*others, *solved):
            if (height := activation(unit, point)) > 0:
                column -= fmpq_mat(frame.dimension, 1, list(unit[0])) * height
        bare = cap_unit(cap, frame, column)
        height = activation(bare, point)
        if height <= 0:
            raise InternalFault(f"the cap of token {cap.rank} of sequence {cap.sequence} is {height} there")
        solved.append(cap_unit(cap, frame, column * (1 / height)))
    return solved[::-1]


def activation(unit: Unit, point: fmpq_mat) -> fmpq:
    """<u, x> + b."""
    _, row, bias = unit
    return sum((u * point[c, 0] for c, u in enumerate(row) if u != 0), fmpq(bias))
