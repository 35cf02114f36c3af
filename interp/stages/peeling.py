"""Untrusted. Peeling (lemma ``peeling``): hardmax gives the largest tokens of every sequence numbers of their own.

Shapes: tokens stand at (s, g_j, 0, ..). After m blocks sequence j is min(m, n_j) points of the e_1 axis: g_j + label,
label = sum of 2^q eps over the steps q = 1..m-1 that the token was peeled in.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from flint import fmpq, fmpq_mat

from interp.stages.dyadic import find_simple_dyadic
from interp.stages.hat import Unit, build_feed_forward
from interp.stages.signature import Signature, axis
from interp.stages.tokens import power_of_two, power_of_two_at_most, require
from proofs.kernel.model import Block, SelfAttention, SquareMatrix
from proofs.lemmas import peeling as lemma


@dataclass(frozen=True)
class Peeling:
    """delta, the drop B and eps of the lemma, for m - 1 = num_steps steps."""

    signature: Signature
    num_steps: int
    delta: fmpq
    drop: fmpq
    eps: fmpq

    def points(self, sequence: int) -> list[fmpq]:
        """The places of a sequence on the axis, increasing: step q peels the q-th largest token, cyclically."""
        length = len(self.signature.numerators[sequence])
        labels = [fmpq(0)] * min(length, self.num_steps + 1)
        for q in range(1, self.num_steps + 1):
            labels[(q - 1) % length] += self.eps * 2**q
        return sorted(self.signature.means[sequence] + label for label in labels)

    def build_blocks(self, dimension: int) -> list[Block]:
        """The blocks; the last has no attention."""
        e1, e2 = axis(dimension, 0), axis(dimension, 1)
        first, second = (fmpq_mat(dimension, 1, e) for e in (e1, e2))
        # score_il = <e_2, x_i> <e_1, x_l>; x_1 -> x_1 - x_1 of the top
        attention = SelfAttention(A=SquareMatrix(left=first, right=second), V=SquareMatrix(left=-first, right=first))
        blocks = [Block(build_feed_forward(dimension, []), attention)]
        for q in range(1, self.num_steps + 1):
            label = self.eps * 2**q / self.delta
            if q < self.num_steps:
                column = [-self.drop / self.delta, label, *[fmpq(0)] * (dimension - 2)]
                blocks.append(Block(build_feed_forward(dimension, [(column, e1, self.delta)]), attention))
            else:
                units: list[Unit] = [(e1, e2, fmpq(0)), ([label * x for x in e1], e1, self.delta)]
                blocks.append(Block(build_feed_forward(dimension, units, eta=0)))
        return blocks


def plan_peeling(signature: Signature, num_steps: int) -> Peeling:
    """Simple delta, B and eps for m - 1 >= 1 steps. Raises: InternalFault if the promise breaks."""
    values = [[fmpq(x, signature.denominator) for x in numerators] for numerators in signature.numerators]
    gap = min((b - a for rising in values for a, b in pairwise(rising)), default=fmpq(1))
    delta = find_simple_dyadic(gap / 2, gap, include_high=True)
    reach = max(rising[-1] - rising[0] for rising in values) + delta
    drop = find_simple_dyadic(reach, 2 * reach, include_low=True)
    ordered = sorted(signature.means)
    between = min((b - a for a, b in pairwise(ordered)), default=fmpq(1))
    eps = power_of_two_at_most(between) * power_of_two(-num_steps - 1)
    require(lemma.check_promise(values, signature.means, num_steps, (delta, drop, eps)), "peeling")
    return Peeling(signature, num_steps, delta, drop, eps)
