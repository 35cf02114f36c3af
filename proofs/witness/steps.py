"""Trusted. Counts and steps of a chunk from its arrays, without a matrix for every block.

A *plain* block has eta = 1, W = c r^T and U = c' u'^T as ``outer``, and no attention. With u' = s u, u primitive with
its first non-zero entry positive, it reads the direction u alone; its units are those of ``engine.program.Lines``.
All others are compiled from their blocks. A run ends with its chunk, as it may end anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import gcd, lcm
from typing import overload

import numpy as np

from proofs.engine.integers import Array, bound_of, integer_array, room
from proofs.engine.program import Line, Step, compile_program, join_lines, split_lines
from proofs.kernel.counts import Counts
from proofs.kernel.model import FeedForward, Transformer
from proofs.witness.chunk import (
    A_FORM,
    DENSE,
    DENSE_OUTER,
    FACTORS,
    FF,
    MASKED,
    SA,
    SCALE,
    U_OUTER,
    V_FORM,
    W_OUTER,
    WIDTH,
    Chunk,
)
from proofs.witness.numbers import Integers


def count_chunk(chunk: Chunk) -> Counts:
    """The kernel's counts of the blocks of a chunk."""
    d, rows, K = chunk.dimension, chunk.structure, len(chunk.structure)
    width = rows[:, WIDTH].tolist()
    units = sum(w * (2 * d + 1) + 2 for w in width)
    stored = sum(_stored(form, d) for form in rows[:, [A_FORM, V_FORM]].ravel().tolist())
    # eta = 1 and rho = 1 of what is missing
    nonzero, largest = int((rows[:, FF] == 0).sum() + (rows[:, SA] == 0).sum()), 1
    for name in chunk.numbers:
        found, height = _measure(chunk, name)
        nonzero, largest = nonzero + found, max(largest, height)
    masked = rows[:, SA] == MASKED
    unmasked = int(np.count_nonzero(_acting(chunk) & ~masked))
    dense = units + 2 * d * d * K
    bits = largest.bit_length()
    return Counts(K, max(width), units + stored, dense, nonzero, bits, 1, int(np.count_nonzero(masked)), unmasked)


def _acting(chunk: Chunk) -> Array:
    """Where V != 0 (K,): scale I + r t^T is 0 only if the scale is and r t^T is, as d >= 2."""
    rows, counts, d = chunk.structure, chunk.counts["V"], chunk.dimension
    found, ends = np.zeros(len(rows), dtype=bool), np.cumsum(counts)
    for k in np.flatnonzero(counts).tolist():
        values = _array(chunk.numbers["V"].numerators[ends[k] - counts[k] : ends[k]]) != 0
        form = int(rows[k, V_FORM])
        scale, rest = (values[:1], values[1:]) if form < DENSE and form & SCALE else (values[:0], values)
        factors = form in (FACTORS, SCALE + FACTORS, DENSE_OUTER)
        found[k] = scale.any() or (rest[:d].any() and rest[d:].any() if factors else rest.any())
    return found


def _stored(form: int, d: int) -> int:
    return d * d if form >= DENSE else 1 + 2 * d if form & FACTORS else 1


def _measure(chunk: Chunk, name: str) -> tuple[int, int]:
    """How many scalars of a field are not 0, and the largest numerator or denominator; ``outer`` is multiplied out."""
    numbers, rows, counts = chunk.numbers[name], chunk.structure, chunk.counts[name]
    p = _array(numbers.numerators)
    q = np.ones(len(p), dtype=np.int64) if numbers.denominators is None else _array(numbers.denominators)
    columns = {"W": (W_OUTER, 1), "U": (U_OUTER, 1), "A": (A_FORM, DENSE_OUTER), "V": (V_FORM, DENSE_OUTER)}
    outer = np.zeros(len(rows), dtype=bool)
    if name in columns:
        column, form = columns[name]
        outer = rows[:, column] == form
    flat = np.repeat(~outer, counts)
    nonzero, largest = int(np.count_nonzero(p[flat])), max(bound_of(p[flat]), bound_of(q[flat]))
    starts = np.cumsum(counts) - counts
    for size in np.unique(counts[outer]).tolist():
        places = starts[outer & (counts == size)][:, None] + np.arange(size)
        split = size - chunk.dimension if name == "U" else chunk.dimension
        top = _outer(p[places], split)
        below = _outer(q[places], split)
        divisors = np.gcd(top, below)
        nonzero += int(np.count_nonzero(top))
        largest = max(largest, bound_of(top // divisors), bound_of(below // divisors))
    return nonzero, largest


def _outer(values: Array, split: int) -> Array:
    """Column times row of every block: (L, a + b) -> (L, a, b)."""
    left, right = values[:, :split], values[:, split:]
    left, right = room(bound_of(left) * bound_of(right), left.astype(_wide(left)), right.astype(_wide(right)))
    return left[:, :, None] * right[:, None, :]


def _wide(array: Array) -> type:
    return object if array.dtype == object else np.int64


def _array(values: Integers) -> Array:
    return integer_array(values) if isinstance(values, list) else values.astype(np.int64)


class _Layers(Sequence[FeedForward]):
    """The feed-forward layers of some blocks of a chunk, each made when it is asked for."""

    def __init__(self, chunk: Chunk, indices: range) -> None:
        self._chunk, self._indices = chunk, indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> FeedForward: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[FeedForward]: ...
    def __getitem__(self, index: int | slice) -> FeedForward | Sequence[FeedForward]:
        if isinstance(index, slice):
            return _Layers(self._chunk, self._indices[index])
        place = self._indices[index]
        return self._chunk.blocks(place, place + 1)[0].feed_forward


def compile_chunk(chunk: Chunk) -> list[Step]:
    """The engine's steps for the blocks of a chunk."""
    steps: list[Step] = []
    place = 0
    for direction, group in groupby(_find_lines(chunk), lambda line: None if line is None else line.direction):
        lines = list(group)
        last = place + len(lines)
        plain = [line for line in lines if line is not None]
        if direction is None:
            before = chunk.first + place - 1
            steps += compile_program(Transformer(chunk.dimension, chunk.blocks(place, last)), before)
        else:
            numbers = range(chunk.first + place, chunk.first + last)
            steps += split_lines(join_lines(direction, numbers, plain), _Layers(chunk, range(place, last)))
        place = last
    return steps


def _find_lines(chunk: Chunk) -> list[Line | None]:
    """The plain blocks, None for the others."""
    d = chunk.dimension
    lists = {name: numbers.lists() for name, numbers in chunk.numbers.items()}
    found: list[Line | None] = []
    directions: dict[tuple[tuple[int, ...], int], tuple[tuple[int, ...], int]] = {}
    for row, spans in chunk.rows():
        if (row[FF], row[W_OUTER], row[U_OUTER], row[SA]) != (2, 1, 1, 0):
            found.append(None)
            continue
        parts = {name: _scaled(*lists[name], a, b) for name, a, b in spans if a < b}
        (U, u), (W, w), (B, b) = parts["U"], parts["W"], parts["b"]
        read, width = tuple(U[row[WIDTH] :]), row[WIDTH]
        if parts["eta"] != ([1], 1) or not any(read):
            found.append(None)
            continue
        known = directions.get((read, u))
        if known is None:
            known = directions[read, u] = _primitive(read)
        direction, factor = known
        g = lcm(u * u, b)
        C = [x * factor * (g // (u * u)) for x in U[:width]]
        B = [x * (g // b) for x in B]
        if (divisor := gcd(g, *C, *B)) > 1:
            g, C, B = g // divisor, [x // divisor for x in C], [x // divisor for x in B]
        h = w * w
        columns = [[x * y for x in W[:d]] for y in W[d:]]
        divisor = gcd(h, *(x for column in columns for x in column)) if h > 1 else 1
        if divisor > 1:
            h, columns = h // divisor, [[x // divisor for x in column] for column in columns]
        found.append(Line(direction, C, B, columns, g, h))
    return found


def _primitive(row: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """(u, f) with row = f u, u primitive and its first non-zero entry positive."""
    factor = gcd(*row) if next(x for x in row if x) > 0 else -gcd(*row)
    return tuple(x // factor for x in row), factor


def _scaled(numerators: list[int], denominators: list[int] | None, first: int, last: int) -> tuple[list[int], int]:
    """Numbers first .. last - 1 as integers over one denominator."""
    if denominators is None:
        return numerators[first:last], 1
    common = lcm(*denominators[first:last])
    pairs = zip(numerators[first:last], denominators[first:last], strict=True)
    return ([p * (common // q) for p, q in pairs], common) if common != 1 else (numerators[first:last], 1)
