"""Untrusted. The trained architecture: L blocks of one width with dense A and V, and its weights as exact numbers.

    x -> eta x + W relu(U x + b), then x_i -> rho x_i + V sum_l softmax_l(<A x_i, x_l> / tau) x_l

Everything is trained and everything is penalised: W, U, b, A, V, eta and rho of every block.
Shapes: eta, rho (L,); W (L, d, w); U (L, w, d); b (L, w); A, V (L, d, d).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from flint import fmpq, fmpq_mat

from interp.export.rounding import exact_rational
from interp.norm.squares import sum_squares
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.model import (
    Block,
    FeedForward,
    SelfAttention,
    SquareMatrix,
    Transformer,
    identity_feed_forward,
)

Weights = dict[str, Any]  # nested lists of floats by name, shapes as above


@dataclass(frozen=True, slots=True)
class Architecture:
    """What is trained, and at which temperature > 0."""

    dimension: int
    blocks: int
    width: int
    temperature: fmpq

    @property
    def num_parameters(self) -> int:
        """eta, rho, W, U, b and dense A, V in every block."""
        d, w = self.dimension, self.width
        return self.blocks * (2 + w * (2 * d + 1) + 2 * d * d)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each array, in the order in which they are drawn."""
        L, d, w = self.blocks, self.dimension, self.width
        square, scalar = (L, d, d), (L,)
        return {"eta": scalar, "W": (L, d, w), "U": (L, w, d), "b": (L, w), "rho": scalar, "A": square, "V": square}

    def place(self, transformer: Transformer) -> Transformer:
        """The transformer as a point of this architecture: identity blocks appended, which cost eta^2 + rho^2 = 2 each.

        Narrower layers are the same with zero units, which cost nothing. Raises: UsageError if it does not fit.
        """
        if transformer.dimension != self.dimension:
            raise UsageError(f"an interpolant of dimension {transformer.dimension}, the data have {self.dimension}")
        width = max((block.feed_forward.width for block in transformer.blocks), default=0)
        if len(transformer.blocks) > self.blocks or width > self.width:
            raise UsageError(
                f"an interpolant of {len(transformer.blocks)} blocks and width {width} is no point of an architecture "
                f"of {self.blocks} blocks and width {self.width}: no threshold",
                hint="train more blocks (--blocks)",
            )
        identity = Block(identity_feed_forward(self.dimension))
        missing = self.blocks - len(transformer.blocks)
        return replace(transformer, blocks=(*transformer.blocks, *[identity] * missing), digest="")


def dense_norm(transformer: Transformer) -> fmpq:
    """|theta|^2 in the trained parametrisation."""
    return sum_squares(transformer, "dense")


def transformer_of(weights: Weights, dimension: int) -> Transformer:
    """The transformer whose weights are exactly these doubles. Raises: MalformedInput."""
    try:
        return Transformer(dimension, tuple(_blocks(weights)))
    except MalformedInput as error:
        error.hint = "training diverged: lower the learning rate"
        raise


def _blocks(weights: Weights) -> Iterator[Block]:
    for eta, W, U, b, rho, A, V in zip(*(weights[n] for n in ("eta", "W", "U", "b", "rho", "A", "V")), strict=True):
        layer = FeedForward(exact_rational(eta), _matrix(W), _matrix(U), _matrix([[x] for x in b]))
        attention = SelfAttention(exact_rational(rho), *(SquareMatrix(dense=_matrix(rows)) for rows in (A, V)))
        yield Block(layer, attention)


def _matrix(rows: list[list[float]]) -> fmpq_mat:
    return fmpq_mat(len(rows), len(rows[0]), [exact_rational(x) for row in rows for x in row])
