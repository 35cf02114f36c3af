"""Trusted. A transformer as steps that the engine runs: runs of hats, dense feed-forward layers, attention layers.

A *run* is a sequence of blocks whose feed-forward layers have eta = 1 and read one direction u, and whose attention is
the identity (in all blocks but the last, whose attention is a step of its own). Block l of a run is
x -> x + g_l(<u, x>) with g_l(s) = sum_k W_lk relu(c_lk s + b_lk), a curve with kinks at -b_lk / c_lk (c_lk != 0).
To the left of all kinks g_l is sum of W_lk (c_lk s + b_lk) over c_lk < 0, to the right the same over c_lk > 0, in both
cases plus the constant part, sum of W_lk b_lk over c_lk = 0 and b_lk > 0. A block is a *hat* if both slopes are 0 and
both values agree, exactly: then g_l is one constant vector, the shift of the block, outside of its *support*, the open
interval between the smallest and the largest kink (nothing if there is none). Blocks that are no hats are dense steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd, lcm

import numpy as np
from flint import fmpq_mat

from proofs.engine.integers import Array, bound_of, integer_array, room
from proofs.kernel.model import Block, FeedForward, SelfAttention, Transformer


@dataclass(frozen=True)
class Lines:
    """Feed-forward layers with eta = 1 that read one direction u; the numbers of their blocks, from 1.

    Unit k of layer l is relu((C_lk <u, x> + B_lk) / g_l), its column of W is W_lk / h_l; unused units are 0.
    """

    direction: Array  # (d,), primitive
    blocks: Array  # (L,)
    C: Array  # (L, w)
    B: Array  # (L, w)
    W: Array  # (L, w, d)
    g: Array  # (L,), positive
    h: Array  # (L,), positive

    def part(self, first: int, last: int) -> Lines:
        """Layers first .. last - 1."""
        arrays = (array[first:last] for array in (self.blocks, self.C, self.B, self.W, self.g, self.h))
        return Lines(self.direction, *arrays)


@dataclass(frozen=True)
class Run:
    """Hats: layers with their shifts (L, d), over g h."""

    lines: Lines
    shift: Array

    @cached_property
    def scale(self) -> Array:
        """g h, the denominator of what a layer adds beyond that of the tokens."""
        g, h = room(bound_of(self.lines.g) * bound_of(self.lines.h), self.lines.g, self.lines.h)
        return g * h

    @cached_property
    def shifted(self) -> list[int]:
        """The layers that have a shift."""
        return [int(l) for l in np.flatnonzero((self.shift != 0).any(axis=1))]

    @cached_property
    def bounds(self) -> tuple[int, int, int]:
        """Of C, B and W."""
        return bound_of(self.lines.C), bound_of(self.lines.B), bound_of(self.lines.W)


@dataclass(frozen=True)
class Dense:
    """The feed-forward layer of a block, on every token."""

    block: int
    layer: FeedForward


@dataclass(frozen=True)
class Attention:
    """The attention layer of a block."""

    block: int
    layer: SelfAttention


Step = Run | Dense | Attention


def acts(layer: SelfAttention, dimension: int) -> bool:
    """Whether an attention layer moves anything."""
    return layer.rho != 1 or bool(layer.find_acting(dimension))


def compile_program(transformer: Transformer, before: int = 0) -> list[Step]:
    """The steps of a transformer, in order; ``before`` blocks come before its first."""
    steps: list[Step] = []
    collected = _Collected(transformer.dimension)
    for k, block in enumerate(transformer.blocks, before + 1):
        if not block.feed_forward.is_identity() and not collected.take(k, block):
            steps += collected.close()
            if not collected.take(k, block):
                steps.append(Dense(k, block.feed_forward))
        if acts(block.attention, transformer.dimension):
            steps += collected.close()
            steps.append(Attention(k, block.attention))
    return steps + collected.close()


@dataclass(frozen=True)
class Line:
    """One feed-forward layer that reads one direction (None: it reads none)."""

    direction: tuple[int, ...] | None
    C: list[int]
    B: list[int]
    W: list[list[int]]  # (w, d)
    g: int
    h: int


def join_lines(direction: tuple[int, ...], blocks: Sequence[int], lines: Sequence[Line]) -> Lines:
    """The layers of these blocks, which read this direction or none; narrower ones get units of zeros."""
    width = max(len(line.C) for line in lines)
    blank = [0] * len(direction)
    missing = [width - len(line.C) for line in lines]
    return Lines(
        integer_array(direction),
        integer_array(list(blocks)),
        integer_array([line.C + [0] * m for line, m in zip(lines, missing, strict=True)]),
        integer_array([line.B + [0] * m for line, m in zip(lines, missing, strict=True)]),
        integer_array([line.W + [blank] * m for line, m in zip(lines, missing, strict=True)]),
        integer_array([line.g for line in lines]),
        integer_array([line.h for line in lines]),
    )


class _Collected:
    """Consecutive blocks that read one direction."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._direction: tuple[int, ...] | None = None
        self._blocks: list[int] = []
        self._lines: list[Line] = []
        self._layers: list[FeedForward] = []

    def take(self, number: int, block: Block) -> bool:
        """Takes a block in if it reads the direction of those before."""
        line = find_line(block.feed_forward)
        if line is None or (self._direction and line.direction and line.direction != self._direction):
            return False
        self._direction = self._direction or line.direction
        self._blocks.append(number)
        self._lines.append(line)
        self._layers.append(block.feed_forward)
        return True

    def close(self) -> list[Step]:
        """The steps of the blocks taken in."""
        if not self._lines:
            return []
        lines = join_lines(self._direction or (1,) + (0,) * (self._dimension - 1), self._blocks, self._lines)
        layers = self._layers
        self._direction, self._blocks, self._lines, self._layers = None, [], [], []
        return split_lines(lines, layers)


def _integers(matrix: fmpq_mat) -> tuple[list[int], int]:
    numerators, denominator = matrix.numer_denom()
    return [int(x) for x in numerators.entries()], int(denominator)


def find_line(layer: FeedForward) -> Line | None:
    """The layer as one that reads a single direction and has eta = 1, or None.

    With u primitive and its first non-zero entry positive, a row of U is c u for the c that its pivot gives, or it
    is no multiple of u; u is unique, so equal directions are equal tuples.
    """
    if layer.eta != 1 or layer.width == 0:
        return None
    w, d = layer.width, int(layer.W.nrows())
    U, u_scale = _integers(layer.U)
    b, b_scale = _integers(layer.b)
    W, h = _integers(layer.W)
    g = lcm(u_scale, b_scale)
    rows = [U[k * d : (k + 1) * d] for k in range(w)]
    first = next((row for row in rows if any(row)), None)
    if first is None:
        direction, C = None, [0] * w
    else:
        pivot = next(c for c, x in enumerate(first) if x)
        divisor = gcd(*first) if first[pivot] > 0 else -gcd(*first)
        direction = tuple(x // divisor for x in first)
        C = [row[pivot] // direction[pivot] for row in rows]
        if any(x != c * u for row, c in zip(rows, C, strict=True) for x, u in zip(row, direction, strict=True)):
            return None
    up, across = g // u_scale, g // b_scale
    return Line(direction, [c * up for c in C], [x * across for x in b], [W[k::w] for k in range(w)], g, h)


def split_lines(lines: Lines, layers: Sequence[FeedForward]) -> list[Step]:
    """Runs of those layers that are hats, dense steps for the others."""
    shift, hats = find_hats(lines)
    steps: list[Step] = []
    first = 0
    for last in [*np.flatnonzero(~hats).tolist(), len(hats)]:
        if last > first:
            steps.append(Run(lines.part(first, last), shift[first:last]))
        if last < len(hats):
            steps.append(Dense(int(lines.blocks[last]), layers[last]))
        first = last + 1
    return steps


def find_hats(lines: Lines) -> tuple[Array, Array]:
    """The shift of every layer over g h (L, d), and whether the layer is a hat (L,).

    All sums have w terms below the product of two bounds.
    """
    C, B, W = lines.C, lines.B, lines.W
    bound = W.shape[1] * (2 * max(bound_of(C), bound_of(B))) * bound_of(W)
    C, B, W = room(bound, C, B, W)
    left, right = C < 0, C > 0
    slope_left, slope_right, value_left, value_right, constant = (
        combine_units(coefficients, W)
        for coefficients in (C * left, C * right, B * left, B * right, B * ((C == 0) & (B > 0)))
    )
    hats = ((slope_left == 0) & (slope_right == 0) & (value_left == value_right)).all(axis=1)
    return value_left + constant, hats


def combine_units(coefficients: Array, W: Array) -> Array:
    """sum_k coefficients_lk W_lk."""
    total: Array = coefficients[:, 0, None] * W[:, 0]
    for k in range(1, W.shape[1]):
        total = total + coefficients[:, k, None] * W[:, k]
    return total
