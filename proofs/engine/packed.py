"""Trusted. Transformers prepared for the engine: their steps and counts are found once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from proofs.engine.program import Step, compile_program
from proofs.kernel.counts import Counts
from proofs.kernel.model import Block, Transformer


@dataclass(frozen=True)
class PackedTransformer(Transformer):
    """A transformer that keeps its steps and counts; ``pack_transformer`` alone makes one."""

    def __post_init__(self) -> None:
        """Nothing to check: the shapes of the blocks were, when the transformer was made."""

    @cached_property
    def program(self) -> list[Step]:
        """The steps that the engine runs."""
        return compile_program(self)

    @cached_property
    def counts(self) -> Counts:
        """The kernel's counts."""
        return count_blocks(self.blocks, self.dimension)


def count_blocks(blocks: Sequence[Block], dimension: int) -> Counts:
    """The sums (maxima for width and bits) over all blocks, as ``proofs.kernel.counts`` has them.

    ``fmpq.height_bits`` is the bit length of the larger of |p| and q.
    """
    width = parameters = dense = nonzero = bits = heads = masked = unmasked = 0
    for block in blocks:
        layer, attention = block.feed_forward, block.attention
        scalars = [layer.eta, attention.rho]
        for matrix in (layer.W, layer.U, layer.b):
            scalars += matrix.entries()
        units = layer.width * (2 * dimension + 1) + 2
        parameters += units
        for square in [matrix for head in attention.heads for matrix in (head.A, head.V)]:
            scalars.append(square.scale)
            parts = [part.entries() for part in (square.left, square.right, square.dense) if part is not None]
            scalars += [x for part in parts for x in part]
            parameters += dimension**2 if square.dense is not None else 1 + sum(map(len, parts))
        width = max(width, layer.width)
        dense += units + 2 * dimension**2 * len(attention.heads)
        heads = max(heads, len(attention.heads))
        masked += attention.causal
        unmasked += not attention.causal and bool(attention.find_acting(dimension))
        nonzero += sum(map(bool, scalars))
        bits = max(bits, *map(fmpq.height_bits, scalars))
    return Counts(len(blocks), width, parameters, dense, nonzero, int(bits), heads, masked, unmasked)


def pack_transformer(transformer: Transformer) -> PackedTransformer:
    """The same transformer, prepared."""
    if isinstance(transformer, PackedTransformer):
        return transformer
    return PackedTransformer(transformer.dimension, transformer.blocks, transformer.header, transformer.digest)


def program_of(transformer: Transformer) -> list[Step]:
    """The steps of a transformer."""
    return pack_transformer(transformer).program


def count_packed(transformer: Transformer) -> Counts:
    """The kernel's counts of a transformer."""
    return pack_transformer(transformer).counts
