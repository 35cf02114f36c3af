"""Untrusted. Interpolation (lemma ``interpolation``): M blocks, one hat a point, each point to its target."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

from flint import fmpq

from interp.stages.hat import (
    build_feed_forward,
    build_hat,
    build_trapezoid,
    find_gentle_direction,
    find_injective_direction,
)
from interp.stages.tokens import TokenState, power_of_two_at_most, require
from proofs.engine.integers import Array
from proofs.kernel.model import Block
from proofs.kernel.rational import Row, coordinates_of
from proofs.lemmas import interpolation as lemma


def build_interpolation(
    state: TokenState, targets: Sequence[Sequence[Row]], bound: fmpq, rng: random.Random, gentle: bool = False
) -> list[Block]:
    """M blocks. targets[j] lists the m_j distinct targets of sequence j; all lie in (-bound, bound)^d, no point does.

    ``gentle``: as for ``build_leaders``. Raises: InternalFault if the promise breaks.
    """
    d = state.dimension
    if gentle:
        direction, array = find_gentle_direction(state.array, rng, lambda _, values: relative_gap(values))
        products = array.tolist()
    else:
        direction, products = find_injective_direction(state.array, rng)
    projections = [fmpq(s, state.denominator) for s in products]
    zone = bound * sum(direction)  # targets project strictly inside (-zone, zone)
    points = sorted([*projections, -zone, zone])
    place = {s: k for k, s in enumerate(points)}
    wanted = [target for group in targets for target in group]
    blocks, placed = [], []
    for row, s, target in zip(state.rows(), projections, wanted, strict=True):
        k = place[s]
        gaps = [abs(points[other] - s) for other in (k - 1, k + 1) if 0 <= other < len(points)]
        shift = [y - x for x, y in zip(coordinates_of(row), coordinates_of(target), strict=True)]
        build_move = build_trapezoid if gentle else build_hat
        blocks.append(Block(build_feed_forward(d, build_move(direction, s, power_of_two_at_most(min(gaps)), shift))))
        placed.append(target)
    after = TokenState.from_rows(placed, state.sequence, state.multiplicity)
    require(lemma.check_promise(after.sequences(), targets), "interpolation")
    return blocks


def relative_gap(values: Array) -> fmpq:
    """The smallest distance of two of several different values, by the largest modulus."""
    ordered = sorted(values.tolist())
    gap = min((b - a for a, b in pairwise(ordered)), default=1)
    return fmpq(gap, max(1, *map(abs, ordered)))
