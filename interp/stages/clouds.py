"""Untrusted. Labelled points, and half-spaces that tell some classes from others (linear programming proposes).

Shapes: n points of Q^d with a class each. scipy's HiGHS gives a direction in floating point; it is rounded to small
integers, and whether these separate is decided by exact products. Needs scipy (extra ``labels``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from interp.optional import load_optional
from interp.stages.dyadic import find_simple_dyadic
from interp.stages.tokens import TokenState
from proofs.kernel.model import FeedForward
from proofs.kernel.rational import Row, row_of

COARSEST, FINEST = 2, 24  # a direction is rounded to multiples of 2^-k of its largest entry, k from 2 to 24
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points, one for each sequence, and the class of each, an index into ``targets``."""

    points: fmpq_mat  # (n, d)
    labels: tuple[int, ...]
    targets: tuple[Row, ...]

    @property
    def num_classes(self) -> int:
        """C."""
        return len(self.targets)

    @cached_property
    def approx_points(self) -> Floats:
        """The points in floating point."""
        rows = [[float(x.p) / float(x.q) for x in row] for row in self.points.tolist()]
        return np.array(rows, dtype=np.float64)

    @cached_property
    def approx_labels(self) -> Any:
        """The classes as an array."""
        return np.array(self.labels)

    def rows(self) -> list[Row]:
        """The kernel rows of the points."""
        return [row_of(row) for row in self.points.tolist()]

    def products(self, direction: Sequence[int]) -> list[fmpq]:
        """<u, x> of every point."""
        return (self.points * fmpq_mat(len(direction), 1, list(direction))).entries()

    def moved(self, layer: FeedForward) -> Cloud:
        """The points after a layer with V = 0, exactly."""
        units = self.points * layer.U.transpose()
        bias = layer.b.entries()
        active = [[max(x + b, fmpq(0)) for x, b in zip(row, bias, strict=True)] for row in units.tolist()]
        moved = self.points * layer.eta + fmpq_mat(active) * layer.W.transpose()
        return Cloud(moved, self.labels, self.targets)


def make_cloud(state: TokenState, targets: Sequence[Row], layer: FeedForward | None = None) -> Cloud:
    """The mean of every sequence, of its tokens or of what ``layer`` makes of them."""
    distinct = tuple(dict.fromkeys(targets))
    index = {row: c for c, row in enumerate(distinct)}
    tokens = list_tokens(state)
    if layer is not None:
        tokens = Cloud(tokens, (), ()).moved(layer).points
    return Cloud(find_means(state, tokens), tuple(index[row] for row in targets), distinct)


def list_tokens(state: TokenState) -> fmpq_mat:
    """All tokens, (K, d)."""
    return fmpq_mat(state.numerators.tolist()) / state.denominator


def find_means(state: TokenState, tokens: fmpq_mat) -> fmpq_mat:
    """The mean of every sequence, copies counted, (N, d), of tokens (K, d)."""
    rows, means = tokens.tolist(), []
    for member in state.members():
        weights = [state.multiplicity[i] for i in member]
        total = sum(weights)
        columns = zip(*(rows[i] for i in member), strict=True)
        means.append([sum((w * x for w, x in zip(weights, c, strict=True)), fmpq(0)) / total for c in columns])
    return fmpq_mat(means)


@dataclass(frozen=True)
class HalfSpace:
    """<u, x> > threshold on the classes inside, <= threshold on those outside; margin: how well, in floating point."""

    direction: tuple[int, ...]
    inside: frozenset[int]
    threshold: fmpq
    approx_margin: float


def find_half_space(cloud: Cloud, inside: Collection[int], outside: Collection[int]) -> HalfSpace | None:
    """A half-space that holds all points of the classes inside and none of those outside, or None.

    Raises: UsageError without scipy.
    """
    chosen = np.isin(cloud.approx_labels, list(inside))
    relevant = chosen | np.isin(cloud.approx_labels, list(outside))
    points = cloud.approx_points[relevant]
    scale = points.std(axis=0)
    scale[scale == 0] = 1
    signs = np.where(chosen[relevant], -1.0, 1.0)[:, None]
    size, d = points.shape
    # largest t with signs (<u, z> + b) + t <= 0, |u|_oo <= 1
    matrix = np.hstack([signs * (points - points.mean(axis=0)) / scale, signs, np.ones((size, 1))])
    bounds = [(-1, 1)] * d + [(None, None), (None, 1)]
    cost = np.zeros(d + 2)
    cost[-1] = -1
    found = load_optional("scipy.optimize", "scipy").linprog(
        cost, A_ub=matrix, b_ub=np.zeros(size), bounds=bounds, method="highs"
    )
    if found.x is None or found.x[-1] <= 0:
        return None
    return _round(cloud, found.x[:d] / scale, frozenset(inside), frozenset(outside), float(found.x[-1]))


def round_direction(approx_direction: Floats, bits: int) -> tuple[int, ...]:
    """The direction in integers of at most so many bits."""
    return tuple(int(x) for x in np.rint(approx_direction / np.abs(approx_direction).max() * 2**bits))


def _round(
    cloud: Cloud, approx_direction: Floats, inside: frozenset[int], outside: frozenset[int], approx_margin: float
) -> HalfSpace | None:
    if not np.abs(approx_direction).max() > 0:
        return None
    for bits in range(COARSEST, FINEST + 1):
        direction = round_direction(approx_direction, bits)
        low, high = find_gap(cloud, direction, inside, outside)
        if low < high:
            return HalfSpace(direction, inside, find_simple_dyadic(low, high, include_low=True), approx_margin)
    return None


def find_gap(
    cloud: Cloud, direction: Sequence[int], inside: Collection[int], outside: Collection[int]
) -> tuple[fmpq, fmpq]:
    """The largest <u, x> outside and the smallest inside, exactly."""
    products = cloud.products(direction)
    low = max(x for x, c in zip(products, cloud.labels, strict=True) if c in outside)
    high = min(x for x, c in zip(products, cloud.labels, strict=True) if c in inside)
    return low, high
