"""Trusted. Boxes: where a token is known to lie at every temperature of a claim, and feed-forward layers on them.

A token is known to lie in a box for every such temperature: |x_c - center_c| <= radius_c. Centers and radii are
rows (numerators, positive denominator); a radius row of zeros means that the token is that point at every temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from proofs.kernel.hardmax import apply_feed_forward, integer_affine
from proofs.kernel.model import FeedForward
from proofs.kernel.rational import Row, coordinates_of, row_of, short_decimal

RADIUS_BITS = 32  # significant bits that a radius keeps when it is rounded up


@dataclass(frozen=True, slots=True)
class Box:
    """All x with |x_c - center_c| <= radius_c."""

    center: Row
    radius: Row

    @property
    def is_point(self) -> bool:
        """Whether the radius is zero."""
        return not any(self.radius[:-1])


class Undecided(Exception):
    """A sign could not be certified: the place and the margin."""

    def __init__(self, token: int, detail: str) -> None:
        super().__init__(detail)
        self.token, self.detail = token, detail


def point(row: Row) -> Box:
    """The box that holds one token."""
    return Box(row, (0,) * (len(row) - 1) + (1,))


def apply_feed_forward_boxes(layer: FeedForward, boxes: Sequence[Box]) -> list[Box]:
    """The layer on every box. Raises: Undecided.

    On a box where every unit <u, x> + b keeps its sign (center value h, radius |u| r, certified if |h| >= |u| r) the
    layer is x -> M x + const, M = eta I + W D U with D the 0/1 pattern of active units. So the center goes to its exact
    image and the radius to |M| r, which is exactly 0 where the entries of M cancel on the columns that carry a radius.
    """
    if layer.is_identity():
        return list(boxes)
    centers = apply_feed_forward(layer, [box.center for box in boxes])
    result = [box if new is box.center else point(new) for box, new in zip(boxes, centers, strict=True)]
    wide = [i for i, box in enumerate(boxes) if not box.is_point]
    dimension, width = int(layer.W.nrows()), layer.width
    G, g = integer_affine(layer)
    U = [[abs(int(x)) for x in row[:-1]] for row in G.tolist()]
    flat = [x for i in wide for x in boxes[i].center]
    values = (fmpz_mat(len(wide), dimension + 1, flat) * G.transpose()).tolist()
    radii = fmpz_mat(len(wide), dimension, [x for i in wide for x in boxes[i].radius[:-1]])
    spreads = (radii * fmpz_mat(width, dimension, [x for row in U for x in row]).transpose()).tolist()
    moduli: dict[tuple[bool, ...], fmpq_mat | None] = {}
    for i, value, spread in zip(wide, values, spreads, strict=True):
        D, E = boxes[i].center[-1], boxes[i].radius[-1]
        for k, (h, r) in enumerate(zip(value, spread, strict=True)):
            if abs(h) * E < r * D:
                middle, margin = (short_decimal(fmpq(x, g * scale)) for x, scale in ((h, D), (r, E)))
                raise Undecided(i, f"the sign of unit {k}: value {middle}, radius {margin}")
        # h * E >= r * D >= 0 here means h >= 0 on the whole box
        pattern = tuple(h > 0 for h in value)
        if pattern not in moduli:
            moduli[pattern] = _modulus(layer, pattern)
        modulus = moduli[pattern]
        if modulus is None:
            result[i] = boxes[i] if centers[i] is boxes[i].center else Box(centers[i], boxes[i].radius)
        else:
            column = fmpq_mat(dimension, 1, list(coordinates_of(boxes[i].radius)))
            result[i] = Box(centers[i], round_up((modulus * column).entries()))
    return result


def _modulus(layer: FeedForward, pattern: tuple[bool, ...]) -> fmpq_mat | None:
    """|eta I + W D U| entry by entry, None for the identity."""
    dimension, width = int(layer.W.nrows()), layer.width
    diagonal = fmpq_mat(width, width)
    for k, active in enumerate(pattern):
        diagonal[k, k] = fmpq(int(active))
    matrix = layer.W * diagonal * layer.U
    for i in range(dimension):
        matrix[i, i] += layer.eta
    modulus = absolute(matrix)
    return None if all(x == (i == j) for i, row in enumerate(modulus.tolist()) for j, x in enumerate(row)) else modulus


def contains(box: Box, row: Row) -> bool:
    """Whether the token lies in the box."""
    pairs = zip(coordinates_of(box.center), coordinates_of(box.radius), coordinates_of(row), strict=True)
    return all(abs(c - x) <= r for c, r, x in pairs)


def absolute(matrix: fmpq_mat) -> fmpq_mat:
    """Entrywise absolute values."""
    return fmpq_mat(matrix.nrows(), matrix.ncols(), [abs(x) for x in matrix.entries()])


def round_up(radius: Sequence[fmpq]) -> Row:
    """A radius row at least as large in every coordinate, each a dyadic of 32 significant bits; 0 stays 0."""
    return row_of([_round_up(x) for x in radius])


def _round_up(value: fmpq) -> fmpq:
    if value == 0:
        return value
    shift = RADIUS_BITS - (int(value.p).bit_length() - int(value.q).bit_length())
    scaled = value * (fmpq(1 << shift) if shift >= 0 else fmpq(1, 1 << -shift))
    mantissa: fmpz = scaled.ceil()
    return fmpq(mantissa << -shift) if shift < 0 else fmpq(mantissa, 1 << shift)
