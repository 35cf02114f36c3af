"""Untrusted. Robustness radii between two bounds: certified ones by ``proofs.robustness``, and counterexamples.

The radius of a pair is the supremum of all r such that every input with |x'_ic - x_ic| <= r has the outputs asked for.
Below it: the largest dyadic found for which ``proofs.robustness.is_certified`` says so. Above it: the norm of a changed
input whose outputs are wrong, evaluated exactly (enclosed at positive temperatures).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from flint import fmpq

from interp.execution.distance import measure_distances
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits, Row, coordinates_of, row_of
from proofs.kernel.statement import Dataset, Pair, Temperatures
from proofs.robustness import is_certified

MANTISSA = 16  # a radius is one of 16 to 31, times a power of two
LEAST, MOST = -132, 60  # exponents of those powers that are tried
CLOSER = 12  # times that a counterexample is brought closer


@dataclass(frozen=True, slots=True)
class Radius:
    """lower <= radius of the pair; ``upper`` from a counterexample, None if none was looked for or found."""

    pair: int
    lower: fmpq
    exact: bool  # whether the pair itself has the outputs asked for, as certified
    upper: fmpq | None


def find_radius(
    dataset: Dataset,
    transformer: Transformer,
    index: int,
    temperatures: Temperatures,
    distance: fmpq,
    limits: Limits,
    tries: int = 0,
    seed: int = 0,
) -> Radius:
    """Both bounds for one pair, ``tries`` changed inputs a radius above. Raises: as ``is_certified``."""
    pair = dataset.pairs[index]
    holds = partial(_certifies, transformer, pair, temperatures, distance, limits)
    exact = holds(fmpq(0))
    lower = find_largest(holds) if exact else fmpq(0)
    upper = None
    if exact and tries:
        rng = random.Random(f"{seed} {index}")
        fails = partial(_fails, dataset.dimension, transformer, pair, temperatures, distance, limits)
        upper = find_counterexample(fails, pair, lower, tries, rng)
    return Radius(index, lower, exact, upper)


def _certifies(
    transformer: Transformer, pair: Pair, temperatures: Temperatures, distance: fmpq, limits: Limits, radius: fmpq
) -> bool:
    return is_certified(transformer, pair, radius, temperatures, distance, limits)


def find_largest(holds: Callable[[fmpq], bool]) -> fmpq:
    """The largest m 2^k, 16 <= m < 32, for which ``holds``, found by bisection; 0 if not even the smallest does.

    If smaller radii do not hold where larger ones do the answer still holds, and may not be the largest.
    """
    low, high = LEAST - 1, MOST + 1  # the smallest of exponent low is taken to hold, that of high not to
    while high - low > 1:
        middle = (low + high) // 2
        if holds(_dyadic(MANTISSA, middle)):
            low = middle
        else:
            high = middle
    if low < LEAST:
        return fmpq(0)
    first, last = MANTISSA, 2 * MANTISSA
    while last - first > 1:
        middle = (first + last) // 2
        if holds(_dyadic(middle, low)):
            first = middle
        else:
            last = middle
    return _dyadic(first, low)


def _dyadic(mantissa: int, exponent: int) -> fmpq:
    return fmpq(mantissa) * fmpq(2) ** exponent


Signs = list[list[int]]  # by how many radii each coordinate of each token moves: -1, 0 or 1


def find_counterexample(
    fails: Callable[[list[Signs], fmpq], int | None], pair: Pair, lower: fmpq, tries: int, rng: random.Random
) -> fmpq | None:
    """The norm of a changed input that ``fails``, as small as corners of growing boxes and bisection find it.

    ``fails`` gives the first of several changes that fails at a radius.
    """
    radius = 2 * lower if lower > 0 else _dyadic(MANTISSA, LEAST)
    growth = 2 if lower > 0 else 1 << 12
    while radius < _dyadic(1, MOST):
        changes = [_draw(pair, rng, alone=k % 2 == 1) for k in range(tries)]
        found = fails(changes, radius)
        if found is not None:
            good, bad = lower, radius
            for _ in range(CLOSER):
                middle = (good + bad) / 2
                if fails([changes[found]], middle) is not None:
                    bad = middle
                else:
                    good = middle
            return bad
        radius *= growth
    return None


def _draw(pair: Pair, rng: random.Random, alone: bool) -> Signs:
    """A corner: all tokens move, or only one."""
    mover = rng.randrange(len(pair.input)) if alone else None
    return [
        [rng.choice((-1, 1)) if mover in (None, i) else 0 for _ in range(len(row) - 1)]
        for i, row in enumerate(pair.input)
    ]


def change(pair: Pair, signs: Signs, radius: fmpq) -> Pair:
    """The pair with its input moved and its outputs kept."""
    moved = [_move(row, token, radius) for row, token in zip(pair.input, signs, strict=True)]
    return Pair(tuple(moved), pair.output)


def _move(row: Row, signs: list[int], radius: fmpq) -> Row:
    return row_of([x + s * radius for x, s in zip(coordinates_of(row), signs, strict=True)])


def _fails(
    dimension: int,
    transformer: Transformer,
    pair: Pair,
    temperatures: Temperatures,
    distance: fmpq,
    limits: Limits,
    changes: list[Signs],
    radius: fmpq,
) -> int | None:
    """The first change whose outputs are certainly farther from the targets than allowed at some temperature."""
    moved = Dataset(dimension, tuple(change(pair, signs, radius) for signs in changes))
    found = measure_distances(moved, transformer, temperatures, limits)
    if found is None:
        return None
    return next((k for k, item in enumerate(found) if item.lower > distance * distance), None)
