"""Untrusted. Leader selection (lemma ``leaders``): M blocks of one hat each.

Leaders move by a few fixed vectors, C (1, .., 1) and -S (a, b, 1, .., 1), so that no new denominators arise.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from flint import fmpq

from interp.stages.circle import find_circle_points
from interp.stages.hat import build_constant, build_feed_forward, build_hat, find_injective_direction
from interp.stages.separation import find_positive_shift
from interp.stages.tokens import TokenState, power_of_two_above, power_of_two_at_most, require
from proofs.kernel.model import Block
from proofs.lemmas import leaders as lemma


def build_leaders(
    state: TokenState, sizes: Sequence[int], bound: fmpq, rng: random.Random
) -> tuple[list[Block], TokenState]:
    """M blocks and the state after them. sizes[j] = m_j; ``bound`` exceeds every |coordinate| of every target.

    Raises: InternalFault if the promise breaks.
    """
    d = state.dimension
    shift = find_positive_shift(state)
    offset = fmpq(0) if shift is None else shift
    direction, products = find_injective_direction(state.numerators, rng)
    projections = [fmpq(s, state.denominator) + offset * sum(direction) for s in products]
    gaps = _gaps(projections)
    chosen = [_widest(member, gaps, size) for member, size in zip(state.members(), sizes, strict=True)]
    largest = fmpq(max(state.numerators.ravel().tolist()), state.denominator) + offset
    vectors = _find_vectors(state, chosen, largest, max(bound, largest), offset)
    blocks: list[Block] = []
    for leader, vector in vectors.items():
        half_width = power_of_two_at_most(gaps[leader])
        center = projections[leader]
        if shift is not None and not blocks:  # this hat reads tokens before the shift, all later ones after it
            units = [
                *build_hat(direction, center - offset * sum(direction), half_width, vector),
                build_constant([offset] * d),
            ]
        else:
            units = build_hat(direction, center, half_width, vector)
        blocks.append(Block(build_feed_forward(d, units)))
    after = _move(state, vectors, offset)
    require(lemma.check_promise(after.sequences(), sizes), "leader selection")
    return blocks, after


def _gaps(projections: Sequence[fmpq]) -> list[fmpq]:
    """For each positive projection the distance to its nearest neighbour, 0 counting as one."""
    order = sorted(range(len(projections)), key=lambda i: projections[i])
    points = [fmpq(0), *(projections[i] for i in order)]
    gaps = [fmpq(0)] * len(projections)
    for k, i in enumerate(order, 1):
        below = points[k] - points[k - 1]
        gaps[i] = min(below, points[k + 1] - points[k]) if k + 1 < len(points) else below
    return gaps


def _widest(member: list[int], gaps: list[fmpq], size: int) -> list[int]:
    """The tokens of a sequence with the widest gaps: gentle hats, few bits."""
    return sorted(member, key=lambda i: (-gaps[i], i))[:size]


def _find_vectors(
    state: TokenState, chosen: list[list[int]], largest: fmpq, bound: fmpq, offset: fmpq
) -> dict[int, tuple[fmpq, ...]]:
    """Leader -> the vector it moves by; C, S powers of two, S doubled until every negative leader selects itself."""
    d = state.dimension
    up = (2 * power_of_two_above(bound),) * d
    circle = find_circle_points(max(len(leaders) for leaders in chosen) - 1)
    S = power_of_two_above(bound + largest)
    while True:
        down = [(-S * a, -S * b, *[-S] * (d - 2)) for a, b in circle]
        vectors = {i: v for leaders in chosen for i, v in zip(leaders, (up, *down), strict=False)}
        if lemma.check_promise(_move(state, vectors, offset).sequences(), [len(leaders) for leaders in chosen]) is None:
            return vectors
        S *= 2


def _move(state: TokenState, vectors: dict[int, tuple[fmpq, ...]], offset: fmpq) -> TokenState:
    """Every token moved by offset, leaders also by their vectors."""
    parts = [offset, *(x for vector in vectors.values() for x in vector)]
    denominator = int(np.lcm.reduce([state.denominator, *(int(x.q) for x in parts)], dtype=object))
    numerators = state.numerators * (denominator // state.denominator) + int(offset * denominator)
    for i, vector in vectors.items():
        numerators[i] += np.array([int(x * denominator) for x in vector], dtype=object)
    return state.moved(numerators, denominator)
