"""Untrusted. Groups of 2d points that d units can move (lemma ``folded groups``), proposed in floating point.

Shapes: n points of Q^d still to be placed. A group is P, d points on a hyperplane, and Q, the d points strictly below
it in the last coordinate, all others lying strictly above. l is the height below the hyperplane (0 on P, > 0 on Q, < 0
elsewhere) and phi_a the affine function with value 1 at p_a, -1 at the rest of P; l + eps phi_a > 0 on Q and p_a only,
for eps small enough. Proposals are checked exactly by the builder. Needs scipy (extra ``labels``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from interp.optional import load_optional
from interp.stages.clouds import Floats

RIDGES = 12  # ridges of the lower hull about which a hyperplane is turned
TINY = 1e-12
SAFE = 0.6  # part of the largest eps that is taken


@dataclass(frozen=True)
class Group:
    """Indices of P and Q, and the largest eps that keeps all signs, in floating point."""

    on: tuple[int, ...]
    below: tuple[int, ...]
    approx_eps: float


def find_group(points: Floats, remaining: Sequence[int], used: Sequence[int], rng: Any) -> Group | None:
    """The group without used points whose heights are smallest in terms of eps, among some; None if there is none.

    points (N, d) are those of all indices.
    """
    d = points.shape[1]
    if len(remaining) < 3 * d + 1:
        return None
    index = np.array(remaining)
    here = points[index]
    taken = np.isin(index, used)
    best: tuple[float, Group] | None = None
    for ridge in _lower_ridges(here, rng):
        if taken[list(ridge)].any():
            continue
        for score, on, below, eps in _turn(here, np.array(ridge), taken):
            if best is None or score < best[0]:
                best = score, Group(tuple(index[on].tolist()), tuple(index[below].tolist()), eps)
    return best[1] if best is not None else None


def _lower_ridges(points: Floats, rng: Any) -> list[tuple[int, ...]]:
    """Some ridges (d - 1 points) of the lower hull."""
    spatial = load_optional("scipy.spatial", "scipy")
    try:
        hull = spatial.ConvexHull(points)
    except spatial.QhullError:
        return []  # points in special position
    lower = hull.simplices[hull.equations[:, -2] < -TINY]
    ridges = sorted({tuple(sorted(np.delete(simplex, k).tolist())) for simplex in lower for k in range(len(simplex))})
    rng.shuffle(ridges)
    return ridges[:RIDGES]


def _turn(points: Floats, ridge: Any, taken: Any) -> list[tuple[float, Any, Any, float]]:
    """(score, P, Q, eps) of the hyperplanes through the ridge and one more point with d points below."""
    size, d = points.shape
    others = np.setdiff1d(np.flatnonzero(~taken), ridge)
    on = np.hstack([np.tile(ridge, (len(others), 1)), others[:, None]])
    planes = np.concatenate([points[on][:, :, :-1], np.ones((len(others), d, 1))], axis=2)
    steep = np.abs(np.linalg.det(planes)) > TINY
    on, planes = on[steep], planes[steep]
    if not len(on):
        return []
    slopes = np.linalg.solve(planes, points[on][:, :, -1:])[:, :, 0]
    flat = np.hstack([points[:, :-1], np.ones((size, 1))])
    heights = slopes @ flat.T - points[:, -1]
    np.put_along_axis(heights, on, 0.0, axis=1)
    found = []
    for k in np.flatnonzero((heights > TINY).sum(axis=1) == d):
        below = np.flatnonzero(heights[k] > TINY)
        if taken[below].any():
            continue
        tilt = flat @ np.linalg.solve(planes[k], 2 * np.eye(d) - 1)  # (n, d): phi_a at every point
        eps = _largest_eps(heights[k], tilt, on[k], below)
        score = float(((heights[k][below, None] + SAFE * eps * tilt[below]) / (SAFE * eps)).max())
        found.append((score, on[k], below, eps))
    return found


def _largest_eps(heights: Floats, tilt: Floats, on: Any, below: Any) -> float:
    """l + eps phi_a stays positive on Q and negative above."""
    rest = np.setdiff1d(np.arange(len(heights)), np.concatenate([on, below]))
    falling = tilt[below] < 0
    limits = (heights[below, None] / np.where(falling, -tilt[below], 1))[falling]
    rising = tilt[rest].max(axis=1) > 0
    limits = np.concatenate([limits, -heights[rest][rising] / tilt[rest].max(axis=1)[rising]])
    return float(limits.min()) if len(limits) else float(heights[below].max())
