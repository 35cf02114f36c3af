"""Trusted. The transformer: feed-forward layer, self-attention layer, block.

    FF(x)   = eta x + W relu(U x + b)                         W: d x w, U: w x d, b: w x 1
    SA_i(X) = rho x_i + V sum_l pi_il x_l,   score_il = <A x_i, x_l>,   A, V: d x d
    block   = SA after FF,   T = block_L o .. o block_1

With several heads (A, V) the sum is over heads as well. Under a causal mask token i attends to tokens l <= i alone.
A and V are scale I + left right^T, or dense. Shapes are checked when a layer is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from flint import fmpq, fmpq_mat

from proofs.kernel.errors import MalformedInput


@dataclass(frozen=True, slots=True)
class SquareMatrix:
    """scale I + left right^T (left, right: d x 1, both or neither), or a dense d x d matrix."""

    scale: fmpq = fmpq(0)
    left: fmpq_mat | None = None
    right: fmpq_mat | None = None
    dense: fmpq_mat | None = None

    def to_dense(self, dimension: int) -> fmpq_mat:
        """All d x d entries."""
        if self.dense is not None:
            return self.dense
        identity = fmpq_mat(dimension, dimension)
        for i in range(dimension):
            identity[i, i] = self.scale
        if self.left is None or self.right is None:
            return identity
        return identity + self.left * self.right.transpose()

    def is_zero(self, dimension: int) -> bool:
        """Whether the matrix is 0, decided on its entries."""
        if self.dense is None and self.left is None:
            return self.scale == 0
        return all(x == 0 for x in self.to_dense(dimension).entries())

    def check_shape(self, dimension: int, name: str) -> None:
        """Raises MalformedInput unless the parts fit together and have dimension d."""
        if self.dense is not None:
            if self.left is not None or self.right is not None or self.scale != 0:
                raise MalformedInput(f"{name} is given both dense and as a sum")
            check_shape(self.dense, (dimension, dimension), name)
        elif self.left is not None and self.right is not None:
            check_shape(self.left, (dimension, 1), name)
            check_shape(self.right, (dimension, 1), name)
        elif self.left is not None or self.right is not None:
            raise MalformedInput(f"{name} has one factor of its rank-one part without the other")


@dataclass(frozen=True, slots=True)
class FeedForward:
    """x -> eta x + W relu(U x + b); width 0 is allowed."""

    eta: fmpq
    W: fmpq_mat
    U: fmpq_mat
    b: fmpq_mat

    @property
    def width(self) -> int:
        """Number of ReLU units w."""
        return int(self.U.nrows())

    def is_identity(self) -> bool:
        """Whether the layer has no units and eta = 1."""
        return self.width == 0 and self.eta == 1


@dataclass(frozen=True, slots=True)
class Head:
    """The scores and the values of one head."""

    A: SquareMatrix
    V: SquareMatrix


@dataclass(frozen=True, slots=True)
class SelfAttention:
    """x_i -> rho x_i + the sum over all heads of V (weighted mean of the x_l)."""

    rho: fmpq = fmpq(1)
    A: SquareMatrix = SquareMatrix()
    V: SquareMatrix = SquareMatrix()
    _: KW_ONLY
    causal: bool = False  # the mean is over l <= i alone
    further: tuple[Head, ...] = ()  # heads beside (A, V)

    @classmethod
    def join(cls, rho: fmpq, heads: Iterable[tuple[SquareMatrix, SquareMatrix]], causal: bool = False) -> SelfAttention:
        """The layer with these (A, V), one at least."""
        first, *further = (Head(A, V) for A, V in heads)
        return cls(rho, first.A, first.V, causal=causal, further=tuple(further))

    @property
    def heads(self) -> tuple[Head, ...]:
        """All heads, (A, V) first."""
        return (Head(self.A, self.V), *self.further)

    def find_acting(self, dimension: int) -> list[Head]:
        """The heads with V != 0: no other has an effect."""
        return [head for head in self.heads if not head.V.is_zero(dimension)]


@dataclass(frozen=True, slots=True)
class Block:
    """Self-attention after feed-forward: the unit that the theorems count."""

    feed_forward: FeedForward
    attention: SelfAttention = SelfAttention()


@dataclass(frozen=True, slots=True)
class Transformer:
    """A witness: dimension, blocks, and what its header claims (shown, never believed)."""

    dimension: int
    blocks: Sequence[Block]
    header: dict[str, Any] = field(default_factory=dict)
    digest: str = ""

    def __post_init__(self) -> None:
        d = self.dimension
        for k, block in enumerate(self.blocks, 1):
            layer, place = block.feed_forward, f"block {k}: "
            check_shape(layer.W, (d, layer.width), place + "W")
            check_shape(layer.U, (layer.width, d), place + "U")
            check_shape(layer.b, (layer.width, 1), place + "b")
            for head in block.attention.heads:
                head.A.check_shape(d, place + "A")
                head.V.check_shape(d, place + "V")


def identity_feed_forward(dimension: int) -> FeedForward:
    """The layer x -> x."""
    return FeedForward(fmpq(1), fmpq_mat(dimension, 0), fmpq_mat(0, dimension), fmpq_mat(0, 1))


def check_shape(matrix: fmpq_mat, shape: tuple[int, int], name: str) -> None:
    """Raises MalformedInput unless the matrix has that shape."""
    found = (int(matrix.nrows()), int(matrix.ncols()))
    if found != shape:
        raise MalformedInput(f"{name} has shape {found[0]} x {found[1]}, expected {shape[0]} x {shape[1]}")
