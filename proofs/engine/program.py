"""Trusted. A transformer as steps that the engine runs: runs of hats, dense feed-forward layers, attention layers.

A *run* is a sequence of blocks whose feed-forward layers have eta = 1 and read one direction u, and whose attention is
the identity (in all blocks but the last, whose attention is a step of its own). Block l of a run is
x -> x + g_l(<u, x>) with g_l(s) = sum_k W_lk relu(c_lk s + b_lk), a curve with kinks at -b_lk / c_lk (c_lk != 0).
To the left of all kinks g_l is sum of W_lk (c_lk s + b_lk) over c_lk < 0, to the right the same over c_lk > 0, in both
cases plus the constant part, sum of W_lk b_lk over c_lk = 0 and b_lk > 0. A block is a *hat* if both slopes are 0 and
both values agree, exactly: then g_l is one constant vector, the shift of the block, outside of its *support*, the open
interval between the smallest and the largest kink (nothing if there is none). Blocks that are no hats are dense steps.

A layer with eta other than 0 and 1 and those after it are *scaled*: with E the product of their etas and z = x / E,

    x' = eta x + W relu(U x + b)  is  z' = x' / (eta E) = z + (W / (eta E)) relu(E U z + b),

a layer with eta = 1. A step of its own, E z, gives the tokens back: before a layer with eta = 0, before E has more than
``SCALE_BITS`` bits, before attention, and at the end. Attention with V = 0 is the layer rho x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd, lcm

import numpy as np
from flint import fmpq, fmpq_mat

from proofs.engine.integers import Array, bound_of, integer_array, room
from proofs.kernel.model import FeedForward, SelfAttention, Transformer, identity_feed_forward

SCALE_BITS = 256  # of the numerator and of the denominator of E


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
    """Hats: layers with their shifts (L, d), over g h; ``layers`` are the same as matrices."""

    lines: Lines
    shift: Array
    layers: Sequence[FeedForward]

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
class Scale(Dense):
    """E z: back from the tokens z = x / E of scaled layers, the last in this block or before."""


@dataclass(frozen=True)
class Attention:
    """The attention layer of a block."""

    block: int
    layer: SelfAttention


Step = Run | Dense | Attention


def compile_program(transformer: Transformer, before: int = 0) -> list[Step]:
    """The steps of a transformer, in order; ``before`` blocks come before its first."""
    compiler = _Compiler(transformer.dimension)
    for k, block in enumerate(transformer.blocks, before + 1):
        compiler.add(k, block.feed_forward)
        if block.attention.find_acting(transformer.dimension):
            compiler.close()
            compiler.steps.append(Attention(k, block.attention))
        elif block.attention.rho != 1:
            compiler.add(k, replace(identity_feed_forward(transformer.dimension), eta=block.attention.rho))
    compiler.close()
    return compiler.steps


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


class _Compiler:
    """Steps from feed-forward layers, of which consecutive ones that read one direction are held back."""

    def __init__(self, dimension: int) -> None:
        self.steps: list[Step] = []
        self._identity = identity_feed_forward(dimension)
        self._unread = (1,) + (0,) * (dimension - 1)
        self._direction: tuple[int, ...] | None = None
        self._blocks: list[int] = []
        self._lines: list[Line] = []
        self._layers: list[FeedForward] = []
        self._scale, self._scaled, self._last = fmpq(1), False, 0  # E; whether there is one; the last block

    def add(self, number: int, layer: FeedForward) -> None:
        """A layer of block ``number``."""
        if not may_scale(self._scale * layer.eta):
            self.close()
        before, after = self._scale, self._scale * layer.eta
        if may_scale(after) and not (before == 1 == after):
            layer = FeedForward(fmpq(1), layer.W / after, layer.U * before, layer.b)
            self._scale, self._scaled = after, True
        self._last = number
        if layer.is_identity():
            return
        line = find_line(layer)
        if line is None or (self._direction and line.direction and line.direction != self._direction):
            self._close_run()
        if line is None:
            self.steps.append(Dense(number, layer))
            return
        self._direction = self._direction or line.direction
        self._blocks.append(number)
        self._lines.append(line)
        self._layers.append(layer)

    def close(self) -> None:
        """Whatever comes next finds the tokens themselves."""
        self._close_run()
        if self._scaled:
            self.steps.append(Scale(self._last, replace(self._identity, eta=self._scale)))
            self._scale, self._scaled = fmpq(1), False

    def _close_run(self) -> None:
        if self._lines:
            lines = join_lines(self._direction or self._unread, self._blocks, self._lines)
            self.steps += split_lines(lines, self._layers)
            self._direction, self._blocks, self._lines, self._layers = None, [], [], []


def may_scale(scale: fmpq) -> bool:
    """Whether tokens may be divided by this number."""
    return bool(scale != 0 and scale.height_bits() <= SCALE_BITS)


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
            steps.append(Run(lines.part(first, last), shift[first:last], layers[first:last]))
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
