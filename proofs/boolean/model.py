"""Trusted. Soft-attention encoders on bit strings, with exact rational weights.

Shapes: N bits, n = N + 1 tokens (the last one is the end token), D dimension, r rows of a query matrix, m hidden units.
Token i is e_{x_i} + p_i, the end token e_end + p_n. A block maps y_1 .. y_n, in this order, each part optional but for
the heads (there may be none):

    y_i <- y_i + sum over heads of sum_j alpha_ij V y_j,   alpha_ij ~ exp(sqrt(scale_squared) <Q y_i, K y_j>)
    y_i <- LN(y_i)                                          attention_norm
    y_i <- [y_i +] W2 act(W1 y_i + b1) + b2                 mlp, with residual or without
    y_i <- LN(y_i)                                          norm

LN(y) = gain * (y - mean) / sqrt(variance + epsilon) + bias, the variance being the mean of squares. The encoder's value
is T(x) = <w, y_n> + omega, and from the last block with heads on only token n is computed: T depends on no other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flint import fmpq, fmpq_mat

Vector = tuple[fmpq, ...]


@dataclass(frozen=True, slots=True)
class Norm:
    """Layer norm with gain and bias, D numbers each."""

    gain: Vector
    bias: Vector


@dataclass(frozen=True, slots=True)
class Head:
    """Q and K are r x D, V is D x D."""

    Q: fmpq_mat
    K: fmpq_mat
    V: fmpq_mat
    scale_squared: fmpq


@dataclass(frozen=True, slots=True)
class MLP:
    """W1 is m x D, b1 has m numbers, W2 is D x m, b2 has D numbers; the activation is relu or tanh."""

    W1: fmpq_mat
    b1: Vector
    W2: fmpq_mat
    b2: Vector
    activation: str
    residual: bool


@dataclass(frozen=True, slots=True)
class Block:
    """Heads, and the optional parts after them."""

    heads: tuple[Head, ...]
    attention_norm: Norm | None = None
    mlp: MLP | None = None
    norm: Norm | None = None


@dataclass(frozen=True, slots=True)
class Encoder:
    """A witness. ``positions`` has, for every N that the encoder can read, the N + 1 vectors p_1 .. p_n."""

    dimension: int
    epsilon: fmpq
    embeddings: tuple[Vector, Vector, Vector]  # of 0, of 1, of the end token
    positions: dict[int, tuple[Vector, ...]]
    blocks: tuple[Block, ...]
    w: Vector
    omega: fmpq
    comment: Any = field(default=None, compare=False)
    digest: str = field(default="", compare=False)

    @property
    def num_reading(self) -> int:
        """The number of blocks up to the last one with heads: from there on only token n counts."""
        return max((k for k, block in enumerate(self.blocks, 1) if block.heads), default=0)

    def tokens(self, bits: int) -> list[tuple[Vector, ...]]:
        """For every position the possible tokens: two for a bit, one for the end."""
        zero, one, end = self.embeddings
        choices = [(zero, one)] * bits + [(end,)]
        rows = zip(choices, self.positions[bits], strict=True)
        return [tuple(tuple(a + b for a, b in zip(e, p, strict=True)) for e in options) for options, p in rows]
