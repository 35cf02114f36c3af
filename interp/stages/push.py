"""Untrusted. Push (lemma ``push``): one unit moves one class away, so that its code can be chosen.

Shapes: n points of Q^d in C classes. The unit relu(h) of a class is positive on all of its points and on no others; its
column lambda v has <u_i, v> > 0 where the class shall have bit 1 and < 0 where 0, so a large lambda takes the class to
the right side of every half-space.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import fmpq

from interp.stages.clouds import FINEST, Cloud, HalfSpace, find_gap, round_direction
from interp.stages.codes import BitCode
from interp.stages.hat import Unit, build_feed_forward
from interp.stages.tokens import power_of_two_above
from proofs.kernel.model import FeedForward


def build_push(cloud: Cloud, code: BitCode, caps: Sequence[HalfSpace]) -> FeedForward | None:
    """The layer that gives the class of each cap the code it is promised; None if no direction is found.

    The other classes stay. Raises: InternalFault.
    """
    pushed = {c for cap in caps for c in cap.inside}
    others = set(range(cloud.num_classes)) - pushed
    units: list[Unit] = []
    for cap in caps:
        [c] = cap.inside
        column = _find_column(code, code.codes[c])
        if column is None:
            return None
        heights = [x - cap.threshold for x in cloud.products(cap.direction)]
        members = [k for k, label in enumerate(cloud.labels) if label == c]
        scale = fmpq(1)
        for i, space in enumerate(code.spaces):
            inside = {k for k in others if code.codes[k][i]}
            low, high = find_gap(cloud, space.direction, inside, others - inside)
            products = cloud.products(space.direction)
            speed = sum(u * v for u, v in zip(space.direction, column, strict=True))
            goal = high if code.codes[c][i] else low
            needed = max((goal - products[k]) / (speed * heights[k]) for k in members)
            scale = max(scale, power_of_two_above(max(needed, fmpq(0))))
        units.append(([scale * v for v in column], cap.direction, -cap.threshold))
    return build_feed_forward(cloud.points.ncols(), units)


def _find_column(code: BitCode, bits: Sequence[int]) -> tuple[int, ...] | None:
    """Small integers v whose products with the directions have the signs of the bits, about equally far from 0."""
    rows = np.array([[float(u) for u in space.direction] for space in code.spaces])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    signs = np.array([1.0 if bit else -1.0 for bit in bits])
    approx_column = np.linalg.pinv(rows) @ signs
    for size in range(3, FINEST):
        column = round_direction(approx_column, size)
        speeds = [sum(u * v for u, v in zip(space.direction, column, strict=True)) for space in code.spaces]
        if all(speed != 0 and (speed > 0) == bool(bit) for speed, bit in zip(speeds, bits, strict=True)):
            return column
    return None
