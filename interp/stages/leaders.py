"""Untrusted. Leader selection (lemma ``leaders``): M blocks of one hat each.

Leaders move by a few fixed vectors, C (1, .., 1) and -S (a, b, 1, .., 1), so that no new denominators arise.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
from flint import fmpq

from interp.stages.circle import find_circle_points
from interp.stages.hat import (
    build_constant,
    build_feed_forward,
    build_hat,
    build_trapezoid,
    find_direction,
    find_gentle_direction,
)
from interp.stages.separation import find_positive_shift
from interp.stages.tokens import TokenState, power_of_two_above, power_of_two_at_most, require
from proofs.engine.integers import Array, add, integer_array, multiply
from proofs.kernel.model import Block
from proofs.lemmas import leaders as lemma


@dataclass(frozen=True)
class Leaders:
    """The tokens that move, sequence after sequence, and the vector that each moves by: one of a few."""

    tokens: Array  # (M,)
    kinds: Array  # (M,), from 0 in every sequence


def build_leaders(
    state: TokenState, sizes: Sequence[int], bound: fmpq, rng: random.Random, gentle: bool = False
) -> tuple[list[Block], TokenState]:
    """M blocks and the state after them. sizes[j] = m_j; ``bound`` exceeds every |coordinate| of every target.

    ``gentle``: trapezoids instead of hats, where four units are free, along the direction of widest gaps of several.
    Raises: InternalFault if the promise breaks.
    """
    d = state.dimension
    shift = find_positive_shift(state)
    offset = fmpq(0) if shift is None else shift
    positive = _shift(state, offset)
    wanted = np.array(sizes, dtype=np.int64)

    def shifted(direction: Sequence[int], products: Array) -> Array:
        return add(
            multiply(products, positive.denominator // state.denominator),
            integer_array([_whole(offset * sum(direction), positive.denominator)]),
        )

    def relative_gap(direction: Sequence[int], products: Array) -> fmpq:
        values = shifted(direction, products)
        gaps = _gaps(values)
        return fmpq(int(gaps[_widest(state, gaps, wanted).tokens].min()), int(values.max()))

    if gentle:
        direction, products = find_gentle_direction(state.array, rng, relative_gap)
    else:
        direction, products = find_direction(state.array, rng)
    values = shifted(direction, products)
    gaps = _gaps(values)
    leaders = _widest(state, gaps, wanted)
    largest = fmpq(int(positive.array.max()), positive.denominator)
    vectors, after = _find_vectors(positive, leaders, sizes, largest, max(bound, largest))
    blocks: list[Block] = []
    columns = (array.tolist() for array in (leaders.kinds, values[leaders.tokens], gaps[leaders.tokens]))
    for kind, value, gap in zip(*columns, strict=True):
        half_width = power_of_two_at_most(fmpq(gap, positive.denominator))
        center = fmpq(value, positive.denominator)
        if shift is not None and not blocks:  # this hat reads tokens before the shift, all later ones after it
            units = [
                *build_hat(direction, center - offset * sum(direction), half_width, vectors[kind]),
                build_constant([offset] * d),
            ]
        else:
            build_move = build_trapezoid if gentle else build_hat
            units = build_move(direction, center, half_width, vectors[kind])
        blocks.append(Block(build_feed_forward(d, units)))
    return blocks, after.moved(after.array, after.denominator)


def _whole(value: fmpq, denominator: int) -> int:
    """value times denominator, a whole number."""
    return int((value * denominator).p)


def _shift(state: TokenState, offset: fmpq) -> TokenState:
    """Every token moved by offset in each coordinate; the denominator is one for both."""
    factor = int(offset.q) // gcd(int(offset.q), state.denominator)
    denominator = state.denominator * factor
    array = add(multiply(state.array, factor), integer_array([_whole(offset, denominator)]))
    return TokenState(array, denominator, state.starts, state.copies)


def _gaps(values: Array) -> Array:
    """For each value (positive, all different) the distance to its nearest neighbour, 0 counting as one."""
    order = np.argsort(values)
    below = np.diff(values[order], prepend=0)
    gaps = np.empty_like(values)
    gaps[order] = np.minimum(below, np.append(below[1:], below[-1]))
    return gaps


def _widest(state: TokenState, gaps: Array, sizes: Array) -> Leaders:
    """The tokens of every sequence with the widest gaps: gentle hats, few bits."""
    order = np.lexsort((-gaps, state.owner))
    rank = np.arange(len(order)) - np.repeat(state.starts[:-1], np.diff(state.starts))
    chosen = rank < sizes[state.owner]
    return Leaders(order[chosen], rank[chosen])


def _find_vectors(
    state: TokenState, leaders: Leaders, sizes: Sequence[int], largest: fmpq, bound: fmpq
) -> tuple[list[tuple[fmpq, ...]], TokenState]:
    """The vectors, and the state after the moves; C, S powers of two, S doubled until negative leaders select
    themselves."""
    d = state.dimension
    up = (2 * power_of_two_above(bound),) * d
    circle = find_circle_points(max(sizes) - 1)
    S = power_of_two_above(bound + largest)
    last = S * (1 << 4096)
    while True:
        vectors = [up, *((-S * a, -S * b, *[-S] * (d - 2)) for a, b in circle)]
        after = _move(state, leaders, vectors)
        broken = lemma.check_arrays(after.array, after.starts, sizes)
        if broken is None or last < S:
            require(broken, "leader selection")
            return vectors, after
        S *= 2


def _move(state: TokenState, leaders: Leaders, vectors: list[tuple[fmpq, ...]]) -> TokenState:
    """Leaders moved by their vectors."""
    denominator = int(np.lcm.reduce([state.denominator, *(int(x.q) for v in vectors for x in v)], dtype=object))
    steps = integer_array([[_whole(x, denominator) for x in vector] for vector in vectors])
    array = multiply(state.array, denominator // state.denominator)
    rows = add(array[leaders.tokens], steps[leaders.kinds])
    if rows.dtype == object:
        array = array.astype(object)
    array[leaders.tokens] = rows
    return TokenState(array, denominator, state.starts, state.copies)
