"""Untrusted. Peeling (lemma ``peeling``): hardmax gives the largest tokens of every sequence numbers of their own.

Shapes: tokens stand at (s, g_j, 0, ..). In the end sequence j is min(m, n_j) points of the e_1 axis: g_j + label,
label = sum of 2^q eps over the steps q = 1..m-1 that the token was peeled in. With one head a block is a step; with two
it is two: coordinate 3 holds -s, so the second head finds the smallest token as the first finds the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """delta, the drop B and eps of the lemma, for m - 1 = num_steps steps, ``heads`` of them a block."""

    signature: Signature
    num_steps: int
    delta: fmpq
    drop: fmpq
    eps: fmpq
    heads: int = 1

    @property
    def rounds(self) -> list[range]:
        """The steps of each block: the first of a block peels the largest token, the second the smallest."""
        steps = range(1, self.num_steps + 1)
        return [steps[first : first + self.heads] for first in range(0, self.num_steps, self.heads)]

    def points(self, sequence: int) -> list[fmpq]:
        """The places of a sequence on the axis, increasing. Tokens that were peeled less often come first."""
        tokens = range(len(self.signature.numerators[sequence]))
        peeled, labels = [0 for _ in tokens], [fmpq(0) for _ in tokens]
        for steps in self.rounds:
            ends = (max(tokens, key=lambda i: (-peeled[i], i)), max(tokens, key=lambda i: (-peeled[i], -i)))
            for end, q in zip(ends, steps, strict=False):
                labels[end] += self.eps * 2**q
                peeled[end] += 1
        return sorted({self.signature.means[sequence] + label for label in labels})

    def build_blocks(self, dimension: int) -> list[Block]:
        """The blocks; the last has no attention."""
        e1, e2 = axis(dimension, 0), axis(dimension, 1)
        ends = [e1, axis(dimension, 2)] if self.heads == 2 else [e1]
        mirror: list[Unit] = [([-x for x in ends[1]], e1, fmpq(0))] if self.heads == 2 else []  # x_3 = -x_1, x_1 > 0
        blocks = [Block(build_feed_forward(dimension, mirror), self._attention(ends, e2, len(self.rounds[0])))]
        for r, steps in enumerate(self.rounds, 1):
            labels = [self.eps * 2**q / self.delta for q in steps]
            if r < len(self.rounds):
                drop = [-self.drop / self.delta * sum(column) for column in zip(*ends, strict=True)]
                units: list[Unit] = [
                    ([x + label * y for x, y in zip(drop, e2, strict=True)], end, self.delta)
                    for label, end in zip(labels, ends, strict=True)
                ]
                following = self._attention(ends, e2, len(self.rounds[r]))
                blocks.append(Block(build_feed_forward(dimension, units), following))
            else:
                marked = zip(labels, ends, strict=False)
                units = [(e1, e2, fmpq(0)), *(([label * x for x in e1], end, self.delta) for label, end in marked)]
                blocks.append(Block(build_feed_forward(dimension, units, eta=0)))
        return blocks

    def _attention(self, ends: Sequence[Sequence[fmpq]], e2: Sequence[fmpq], count: int) -> SelfAttention:
        """score_il = <e_2, x_i> <e, x_l>, <e, x> -> <e, x> - its largest value, for each of the first ends e."""
        columns = [fmpq_mat(len(e2), 1, [*e]) for e in (e2, *ends[:count])]
        heads = ((SquareMatrix(left=e, right=columns[0]), SquareMatrix(left=-e, right=e)) for e in columns[1:])
        return SelfAttention.join(fmpq(1), heads)


def plan_peeling(signature: Signature, num_steps: int, heads: int = 1) -> Peeling:
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
    return Peeling(signature, num_steps, delta, drop, eps, heads)
