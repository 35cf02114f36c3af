"""Untrusted. Encoders with random weights, drawn as exact dyadics from a seed.

A block is y <- LN(y' + W2 relu(W1 y' + b1) + b2), y' = y + attention, with 2 heads of D/2 rows, 2 D hidden units and
one layer norm without gain and bias. Every number is rounded to a multiple of 2^-20: the encoder is a definite one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from flint import fmpq, fmpq_mat

from proofs.boolean.model import MLP, Block, Encoder, Head, Norm, Vector
from proofs.kernel.errors import UsageError

GRID = 1 << 20
HEADS = 2
SCHEMES = ("uniform", "gaussian", "xavier-uniform", "xavier-gaussian")


class Drawing:
    """One scheme: uniform on [-1, 1], standard Gaussian, or Xavier with variance 2 / (rows + columns)."""

    def __init__(self, scheme: str, seed: str) -> None:
        if scheme not in SCHEMES:
            raise UsageError(f"unknown scheme {scheme!r}", hint=", ".join(SCHEMES))
        self.gaussian, self.xavier = scheme.endswith("gaussian"), scheme.startswith("xavier")
        self.random = random.Random(f"{scheme}/{seed}")

    def number(self, deviation: float) -> fmpq:
        """One draw: Gaussian with this standard deviation, or uniform on sqrt 3 times [-deviation, deviation]."""
        if self.gaussian:
            value = self.random.gauss(0.0, deviation)
        else:
            value = self.random.uniform(-1.0, 1.0) * 3**0.5 * deviation
        return fmpq(round(value * GRID), GRID)

    def deviation(self, rows: int, columns: int) -> float:
        """The standard deviation of the entries of a matrix."""
        if self.xavier:
            return float((2 / (rows + columns)) ** 0.5)
        return 1.0 if self.gaussian else 1 / 3**0.5

    def matrix(self, rows: int, columns: int) -> fmpq_mat:
        """A rows x columns matrix."""
        size = self.deviation(rows, columns)
        return fmpq_mat(rows, columns, [self.number(size) for _ in range(rows * columns)])

    def vector(self, length: int) -> Vector:
        """A vector: a matrix with one column."""
        size = self.deviation(length, 1)
        return tuple(self.number(size) for _ in range(length))


def draw_encoder(
    scheme: str,
    lengths: Sequence[int],
    depth: int,
    dimension: int,
    seed: str,
    epsilon: fmpq = fmpq(0),  # noqa: B008 - immutable
) -> Encoder:
    """An encoder with all weights, embeddings and positions drawn by one scheme; biases of Xavier schemes are 0.

    Queries and keys have dimension D / 2 and scores are divided by its root. Raises: UsageError.
    """
    if dimension < 2 * HEADS or dimension % HEADS or depth < 1 or not lengths:
        raise UsageError(f"depth {depth}, dimension {dimension}", hint=f"D a multiple of {HEADS}, at least {2 * HEADS}")
    draw, rows = Drawing(scheme, seed), dimension // HEADS
    embeddings = draw.vector(dimension), draw.vector(dimension), draw.vector(dimension)
    table = [draw.vector(dimension) for _ in range(max(lengths))]
    end = draw.vector(dimension)
    blocks = tuple(_draw_block(draw, dimension, rows) for _ in range(depth))
    return Encoder(
        dimension,
        epsilon,
        embeddings,
        {N: (*table[:N], end) for N in lengths},
        blocks,
        draw.vector(dimension),
        fmpq(0) if draw.xavier else draw.vector(1)[0],
        f"{scheme}, seed {seed}",
    )


def _draw_block(draw: Drawing, D: int, rows: int) -> Block:
    heads = []
    for _ in range(HEADS):
        Q, K = draw.matrix(rows, D), draw.matrix(rows, D)
        V = draw.matrix(D, rows) * draw.matrix(rows, D)
        heads.append(Head(Q, K, V, fmpq(1, rows)))
    width = 2 * D
    W1, W2 = draw.matrix(width, D), draw.matrix(D, width)
    zeros = (fmpq(0),)
    b1, b2 = (zeros * width, zeros * D) if draw.xavier else (draw.vector(width), draw.vector(D))
    plain = Norm((fmpq(1),) * D, zeros * D)
    return Block(tuple(heads), None, MLP(W1, b1, W2, b2, "relu", True), plain)
