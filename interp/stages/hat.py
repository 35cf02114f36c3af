"""Untrusted. Blocks made of hats (lemma ``hat``), and directions on which tokens have distinct projections."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
from flint import fmpq, fmpq_mat

from proofs.engine.integers import Array, integer_array, product
from proofs.kernel.model import FeedForward
from proofs.kernel.statement import DEFAULT_MAX_WIDTH

Unit = tuple[Sequence[fmpq | int], Sequence[fmpq | int], fmpq | int]  # W-column, U-row, bias
FIRST_POINTS = (2**12, 2**16)
GENTLE_DIRECTIONS = 256  # directions compared for the widest gaps
MAX_UNITS = DEFAULT_MAX_WIDTH  # units of one layer


def build_feed_forward(dimension: int, units: Sequence[Unit], eta: int = 1) -> FeedForward:
    """The layer with these units."""
    W = fmpq_mat(dimension, len(units), [w[c] for c in range(dimension) for w, _, _ in units])
    U = fmpq_mat(len(units), dimension, [x for _, u, _ in units for x in u])
    return FeedForward(fmpq(eta), W, U, fmpq_mat(len(units), 1, [b for _, _, b in units]))


def count_layers(num_units: int) -> int:
    """Full layers, and perhaps one that is not, for so many units."""
    return -(-num_units // MAX_UNITS)


def build_hat(direction: Sequence[int], center: fmpq, half_width: fmpq, shift: Sequence[fmpq]) -> list[Unit]:
    """Three units: x + shift where <u, x> = center, x where |<u, x> - center| >= half_width."""
    steep = [x / half_width for x in shift]
    return [
        (steep, direction, half_width - center),
        ([-2 * x for x in steep], direction, -center),
        (steep, direction, -half_width - center),
    ]


def build_trapezoid(direction: Sequence[int], center: fmpq, half_width: fmpq, shift: Sequence[fmpq]) -> list[Unit]:
    """Four units that do the same and move all of |<u, x> - center| <= half_width / 2 by shift (lemma ``trapezoid``).

    An error in <u, x> that is smaller than that moves nothing: the hat's would be multiplied by shift / half_width.
    """
    steep = [2 * x / half_width for x in shift]
    flat = [-x for x in steep]
    return [
        (steep, direction, half_width - center),
        (flat, direction, half_width / 2 - center),
        (flat, direction, -half_width / 2 - center),
        (steep, direction, -half_width - center),
    ]


def build_constant(shift: Sequence[fmpq]) -> Unit:
    """One unit that adds a constant to every token."""
    return (shift, [0] * len(shift), 1)


def find_injective_direction(points: Array, rng: random.Random) -> tuple[list[int], list[int]]:
    """Small u > 0 whose products with the distinct integer points (K, d) are distinct, and these products.

    Random entries from a range that grows until it works: few bits when the points allow it.
    """
    direction, products = find_direction(points, rng)
    return direction, products.tolist()


def find_gentle_direction(
    points: Array, rng: random.Random, measure: Callable[[list[int], Array], fmpq], count: int = GENTLE_DIRECTIONS
) -> tuple[list[int], Array]:
    """Of several such directions the one of largest measure, which is given the direction and the products.

    Every second one is drawn from a range of 16 times more entries: wider gaps for a few bits.
    """
    best = find_direction(points, rng)
    largest, score = max(best[0]), measure(*best)
    for k in range(count - 1):
        direction = [rng.randint(1, largest << 4 * (k % 2)) for _ in range(points.shape[1])]
        products = product(points, integer_array(direction))
        if len(np.unique(products)) == len(points) and (found := measure(direction, products)) > score:
            best, score = (direction, products), found
    return best


def find_direction(points: Array, rng: random.Random) -> tuple[list[int], Array]:
    """The same with the products as an array.

    A direction that fails on the first points is not tried on all of them.
    """
    dimension, largest = points.shape[1], 1
    while True:
        for _ in range(4):
            direction = [rng.randint(1, largest) for _ in range(dimension)]
            for size in (*(s for s in FIRST_POINTS if s < len(points)), len(points)):
                products = product(points[:size], integer_array(direction))
                if len(np.unique(products)) < size:
                    break
            else:
                return direction, products
        largest *= 2
