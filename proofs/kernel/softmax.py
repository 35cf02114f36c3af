"""Trusted. Softmax attention on boxes: one rational computation that holds for every temperature in (0, tau].

What is bounded is the weighted mean of a sequence for each query; ``proofs.balls`` bounds the same mean at one
temperature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

from flint import fmpq, fmpq_mat

from proofs.kernel.boxes import Box, absolute, apply_feed_forward_boxes, round_up
from proofs.kernel.errors import LimitReached
from proofs.kernel.model import Block, SelfAttention, SquareMatrix
from proofs.kernel.rational import Limits, coordinates_of, row_of

MAX_EXPONENT = 512  # a weight is never bounded below 2^-512: honest data have gaps of 10^40, and witnesses are hostile

Vector = list[fmpq]
MeanBox = tuple[Vector, Vector]  # center and radius


class ScoreTable:
    """The scores of one sequence of n boxes: with b the best for query i, score_ib - score_il lies in d_l +- e_l."""

    def __init__(self, A: SquareMatrix, boxes: Sequence[Box]) -> None:
        dimension, n = len(boxes[0].center) - 1, len(boxes)
        self.centers = [list(coordinates_of(box.center)) for box in boxes]
        self.radii = [list(coordinates_of(box.radius)) for box in boxes]
        dense = A.to_dense(dimension)
        C, R = (fmpq_mat(n, dimension, [x for row in rows for x in row]) for rows in (self.centers, self.radii))
        queries = C * dense.transpose()  # rows A x_i at the centers
        self._scores = (queries * C.transpose()).tolist()
        self._spreads = (absolute(queries) * R.transpose()).tolist()  # |A x_i| r_l
        self._query_radii = (R * absolute(dense).transpose()).tolist()  # |A| r_i

    def differences(self, i: int) -> tuple[int, Vector, Vector]:
        """The best token b of query i, and d_l >= 0, e_l >= 0 for every token l.

        <A x_i, x_b - x_l> with A x_i = a + da, |da| <= |A| r_i, and x_b - x_l = c + dc, |dc| <= r_b + r_l, is <a, c>
        up to |a| (r_b + r_l) + |A| r_i (|c| + r_b + r_l). For l = b it is 0.
        """
        scores, spreads, query_radius = self._scores[i], self._spreads[i], self._query_radii[i]
        tokens = range(len(self.centers))
        b = max(tokens, key=lambda l: scores[l])
        errors = []
        for l in tokens:
            error = fmpq(0) if l == b else spreads[b] + spreads[l]
            if l != b and any(query_radius):
                columns = zip(query_radius, self.centers[b], self.centers[l], self.radii[b], self.radii[l], strict=True)
                error += sum((q * (abs(x - y) + r + s) for q, x, y, r, s in columns), fmpq(0))
            errors.append(error)
        return b, [scores[b] - scores[l] for l in tokens], errors

    def first(self, count: int) -> ScoreTable:
        """The table of the first tokens alone, all that the last of them sees under a causal mask."""
        table = copy(self)
        table.centers, table.radii = self.centers[:count], self.radii[:count]
        return table

    def average(self, tokens: Sequence[int]) -> MeanBox:
        """The box of the average of these tokens."""
        return tuple(  # type: ignore[return-value]
            [sum(column, fmpq(0)) / len(tokens) for column in zip(*(rows[l] for l in tokens), strict=True)]
            for rows in (self.centers, self.radii)
        )

    def hull(self, tokens: Sequence[int]) -> MeanBox:
        """The smallest box that holds these tokens."""
        low, high = self._ends(tokens)
        center = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        return center, [(b - a) / 2 for a, b in zip(low, high, strict=True)]

    def extent(self) -> Vector:
        """The sides of the smallest box that holds all tokens."""
        low, high = self._ends(range(len(self.centers)))
        return [b - a for a, b in zip(low, high, strict=True)]

    def _ends(self, tokens: Sequence[int]) -> tuple[Vector, Vector]:
        boxes = [list(zip(self.centers[l], self.radii[l], strict=True)) for l in tokens]
        low = [min(c - r for c, r in column) for column in zip(*boxes, strict=True)]
        return low, [max(c + r for c, r in column) for column in zip(*boxes, strict=True)]


Mean = Callable[[ScoreTable, int], MeanBox]  # bounds the weighted mean for query i


def mean_up_to(tau: fmpq | None) -> Mean:
    """The mean for every temperature in (0, tau], or every positive one when tau is None.

    Let g_l = d_l - e_l <= score_ib - score_il. If g_l > 0, the weight of l is at most exp(-g_l / temperature) <=
    exp(-g_l / tau) <= 2^-min(floor(g_l / tau), 512), as e > 2. Where that is below 1 the token is bounded; all others
    are contenders. Let y be the mean of the contenders by their shares of the weights: the mean differs from y by at
    most (sum of the bounded weights) x (extent of all boxes) in each coordinate. y lies in the hull of the contenders;
    and if all contenders have exactly equal scores (A = 0, exact ties) their weights are equal at every temperature,
    so y is their average.
    """

    def mean(table: ScoreTable, i: int) -> MeanBox:
        _, differences, errors = table.differences(i)
        contenders, weight = [], fmpq(0)
        for l, (difference, error) in enumerate(zip(differences, errors, strict=True)):
            gap = difference - error
            exponent = 0 if tau is None or gap <= 0 else min(int((gap / tau).floor()), MAX_EXPONENT)
            if exponent == 0:
                contenders.append(l)
            else:
                weight += fmpq(1, 1 << exponent)
        tied = all(differences[l] == 0 and errors[l] == 0 for l in contenders)
        center, radius = table.average(contenders) if tied else table.hull(contenders)
        if weight:
            radius = [r + weight * side for r, side in zip(radius, table.extent(), strict=True)]
        return center, radius

    return mean


def apply_attention_boxes(layer: SelfAttention, boxes: Sequence[Box], mean: Mean) -> list[Box]:
    """rho x_i + sum V (mean), the mean bounded by ``mean``: radii add up as rho r + sum |V| (radius of the mean)."""
    dimension = len(boxes[0].center) - 1
    if layer == SelfAttention():
        return list(boxes)
    heads = [(ScoreTable(head.A, boxes), head.V.to_dense(dimension)) for head in layer.find_acting(dimension)]
    rho, result = abs(layer.rho), []
    for i, box in enumerate(boxes):
        center = [layer.rho * x for x in coordinates_of(box.center)]
        radius = [rho * r for r in coordinates_of(box.radius)]
        for table, V in heads:
            mean_center, mean_radius = mean(table.first(i + 1) if layer.causal else table, i)
            added = (V * fmpq_mat(dimension, 1, mean_center)).entries()
            spread = (absolute(V) * fmpq_mat(dimension, 1, mean_radius)).entries()
            center = [x + y for x, y in zip(center, added, strict=True)]
            radius = [r + s for r, s in zip(radius, spread, strict=True)]
        result.append(Box(row_of(center), round_up(radius)))
    return result


def apply_block_boxes(block: Block, sequences: Sequence[Sequence[Box]], mean: Mean, limits: Limits) -> list[list[Box]]:
    """One block on every sequence. Raises: Undecided (its token counts through all sequences), LimitReached."""
    flat = apply_feed_forward_boxes(block.feed_forward, [box for boxes in sequences for box in boxes])
    result, start = [], 0
    for boxes in sequences:
        result.append(apply_attention_boxes(block.attention, flat[start : start + len(boxes)], mean))
        start += len(boxes)
    if max(box.center[-1].bit_length() for boxes in result for box in boxes) > limits.max_height:
        raise LimitReached(f"a number of more than {limits.max_height} bits arose", hint="raise --max-height")
    return result
