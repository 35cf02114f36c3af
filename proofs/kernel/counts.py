"""Trusted. Counts taken from decoded weights, never from a header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flint import fmpq

from proofs.kernel.model import Block, SquareMatrix, Transformer


@dataclass(frozen=True, slots=True)
class Counts:
    """Sizes of a transformer. ``parameters`` is the low-rank count that a budget is compared with."""

    blocks: int
    width: int
    parameters: int
    dense_parameters: int
    nonzero_parameters: int
    max_bits: int
    heads: int  # of the layer that has most
    masked: int  # attention layers with a causal mask
    unmasked: int  # attention layers without one, V != 0


def count_block(block: Block, dimension: int) -> Counts:
    """The counts of one block: at most 10 d + 8 parameters for width 4, one head, A = alpha I + p q^T, V = beta I."""
    layer, attention = block.feed_forward, block.attention
    units = layer.width * (2 * dimension + 1) + 2  # W, U, b; eta and rho
    low_rank = units + sum(_stored(matrix, dimension) for head in attention.heads for matrix in (head.A, head.V))
    scalars = list(list_scalars(block))
    nonzero = sum(1 for x in scalars if x != 0)
    bits = max(max(int(x.p).bit_length(), int(x.q).bit_length()) for x in scalars)
    heads, masked = len(attention.heads), int(attention.causal)
    unmasked = int(not attention.causal and bool(attention.find_acting(dimension)))
    dense = units + 2 * dimension**2 * heads
    return Counts(1, layer.width, low_rank, dense, nonzero, bits, heads, masked, unmasked)


def count_transformer(transformer: Transformer) -> Counts:
    """The counts of all blocks."""
    return add_counts([count_block(block, transformer.dimension) for block in transformer.blocks])


def add_counts(parts: Sequence[Counts]) -> Counts:
    """The sums, and the maxima for width, bits and heads."""
    return Counts(
        sum(part.blocks for part in parts),
        max((part.width for part in parts), default=0),
        sum(part.parameters for part in parts),
        sum(part.dense_parameters for part in parts),
        sum(part.nonzero_parameters for part in parts),
        max((part.max_bits for part in parts), default=0),
        max((part.heads for part in parts), default=0),
        sum(part.masked for part in parts),
        sum(part.unmasked for part in parts),
    )


def _stored(matrix: SquareMatrix, dimension: int) -> int:
    """Scalars of scale I (+ left right^T), or of the dense form."""
    if matrix.dense is not None:
        return dimension**2
    return 1 if matrix.left is None else 1 + 2 * dimension


def list_scalars(block: Block) -> Iterator[fmpq]:
    """Every stored scalar of a block."""
    layer, attention = block.feed_forward, block.attention
    yield from (layer.eta, attention.rho)
    for matrix in (layer.W, layer.U, layer.b):
        yield from matrix.entries()
    for square in (matrix for head in attention.heads for matrix in (head.A, head.V)):
        yield square.scale
        for part in (square.left, square.right, square.dense):
            if part is not None:
                yield from part.entries()
