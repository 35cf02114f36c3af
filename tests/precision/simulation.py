"""A transformer in a binary format, operation by operation in fractions, sums in random order, fused or not."""

from __future__ import annotations

import random
from collections.abc import Sequence

from flint import fmpq

from interp.export.rounding import FloatFormat, round_nearest
from proofs.kernel.model import FeedForward, SelfAttention
from proofs.kernel.rational import coordinates_of
from proofs.kernel.statement import Dataset

Vector = list[fmpq]


class Simulation:
    """One sequence after another; ``rng`` decides on orders and on fused multiply-add."""

    def __init__(self, target: FloatFormat, rng: random.Random) -> None:
        self.target, self.rng = target, rng

    def round(self, value: fmpq) -> fmpq:
        return fmpq(*round_nearest(value, self.target).as_integer_ratio())

    def start(self, dataset: Dataset) -> list[list[Vector]]:
        return [[[self.round(x) for x in coordinates_of(row)] for row in pair.input] for pair in dataset.pairs]

    def total(self, products: Sequence[tuple[fmpq, fmpq]], rest: Sequence[fmpq] = ()) -> fmpq:
        """The sum of products and numbers: a random tree, or a chain of fused multiply-adds."""
        parts = [self.round(a * b) for a, b in products] + list(rest)
        if products and self.rng.random() < 0.4:
            order = list(products)
            self.rng.shuffle(order)
            value = fmpq(0)
            for a, b in order:
                value = self.round(value + a * b)
            parts = [value, *rest]
        while len(parts) > 1:
            left, right = (parts.pop(self.rng.randrange(len(parts))) for _ in range(2))
            parts.append(self.round(left + right))
        return parts[0] if parts else fmpq(0)

    def units(self, layer: FeedForward, x: Vector) -> Vector:
        rows = zip(layer.U.tolist(), layer.b.entries(), strict=True)
        return [
            self.total([(self.round(u), c) for u, c in zip(row, x, strict=True)], [self.round(b)]) for row, b in rows
        ]

    def feed_forward(self, layer: FeedForward, x: Vector) -> Vector:
        heights = [max(h, fmpq(0)) for h in self.units(layer, x)]
        eta = self.round(layer.eta)
        return [
            self.total([(eta, c), *((self.round(w), h) for w, h in zip(row, heights, strict=True))])
            for c, row in zip(x, layer.W.tolist(), strict=True)
        ]

    def choices(self, layer: SelfAttention, tokens: list[Vector]) -> list[list[int]]:
        d = len(tokens[0])
        if layer.A.is_zero(d):
            return [list(range(len(tokens)))] * len(tokens)
        A = [[self.round(x) for x in row] for row in layer.A.to_dense(d).tolist()]
        result = []
        for x in tokens:
            query = [self.total(list(zip(row, x, strict=True))) for row in A]
            scores = [self.total(list(zip(query, z, strict=True))) for z in tokens]
            result.append([l for l, score in enumerate(scores) if score == max(scores)])
        return result

    def attention(self, layer: SelfAttention, tokens: list[Vector]) -> list[Vector]:
        d, rho = len(tokens[0]), self.round(layer.rho)
        V = [[self.round(x) for x in row] for row in layer.V.to_dense(d).tolist()]
        if layer.V.is_zero(d):
            return [[self.round(rho * c) for c in x] for x in tokens]
        result = []
        for x, chosen in zip(tokens, self.choices(layer, tokens), strict=True):
            sums = [self.total([], [tokens[l][c] for l in chosen]) for c in range(d)]
            mean = [self.round(s / len(chosen)) for s in sums]
            result.append([self.total([(rho, c), *zip(row, mean, strict=True)]) for c, row in zip(x, V, strict=True)])
        return result
