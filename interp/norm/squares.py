"""Untrusted. The parameter norm: exact sums of squared weights, by block and by kind of weight.

Two parametrisations are told apart. ``stored`` counts the scalars of the file: for A = alpha I + p q^T these are alpha,
p and q. ``dense`` counts A and V as d x d matrices, which is what is trained. W, U, b, eta and rho count alike in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Literal

from flint import fmpq, fmpq_mat

from proofs.kernel.model import Block, SquareMatrix, Transformer

Form = Literal["stored", "dense"]


@dataclass(frozen=True, slots=True)
class Squares:
    """Sums of squared weights, each of one kind."""

    eta: fmpq = fmpq(0)
    W: fmpq = fmpq(0)
    U: fmpq = fmpq(0)
    b: fmpq = fmpq(0)
    rho: fmpq = fmpq(0)
    A: fmpq = fmpq(0)
    V: fmpq = fmpq(0)

    @property
    def total(self) -> fmpq:
        """|theta|^2."""
        return sum((getattr(self, field.name) for field in fields(self)), fmpq(0))

    def __add__(self, other: Squares) -> Squares:
        return Squares(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def square_sum(entries: Iterable[fmpq]) -> fmpq:
    """The sum of the squares."""
    return sum((x * x for x in entries), fmpq(0))


def matrix_squares(matrix: SquareMatrix, dimension: int, form: Form) -> fmpq:
    """Of scale, left, right (``stored``), or of all entries of scale I + left right^T; a dense matrix is its entries.

    |s I + l r^T|^2 = d s^2 + 2 s <l, r> + |l|^2 |r|^2 in the Frobenius norm.
    """
    if matrix.dense is not None:
        return square_sum(matrix.dense.entries())
    s, left, right = matrix.scale, matrix.left, matrix.right
    if left is None or right is None:
        return s * s * (dimension if form == "dense" else 1)
    l, r = square_sum(left.entries()), square_sum(right.entries())
    if form == "stored":
        return s * s + l + r
    product: fmpq_mat = left.transpose() * right
    return dimension * s * s + 2 * s * product[0, 0] + l * r


def block_squares(block: Block, dimension: int, form: Form = "stored") -> Squares:
    """The sums of one block."""
    layer, attention = block.feed_forward, block.attention
    W, U, b = (square_sum(matrix.entries()) for matrix in (layer.W, layer.U, layer.b))
    heads = [[matrix_squares(matrix, dimension, form) for matrix in (head.A, head.V)] for head in attention.heads]
    A, V = (sum(column, fmpq(0)) for column in zip(*heads, strict=True))
    return Squares(layer.eta**2, W, U, b, attention.rho**2, A, V)


def sum_blocks(blocks: Iterable[Block], dimension: int, form: Form = "stored") -> Squares:
    """The sums over blocks."""
    return sum((block_squares(block, dimension, form) for block in blocks), Squares())


def sum_squares(transformer: Transformer, form: Form = "stored") -> fmpq:
    """|theta|^2 in one of the two parametrisations."""
    return sum_blocks(transformer.blocks, transformer.dimension, form).total
