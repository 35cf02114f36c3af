"""Exact tests that promise checks share: where a layer sends points, and where its units are silent."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from proofs.kernel.hardmax import apply_feed_forward
from proofs.kernel.model import FeedForward
from proofs.kernel.rational import Row

Box = tuple[Sequence[fmpq], Sequence[fmpq]]  # smallest and largest value of every coordinate, or empty


def check_images(layer: FeedForward, before: Sequence[Row], after: Sequence[Row]) -> str | None:
    """None, or the first point that the layer does not send where it should."""
    for i, (row, wanted) in enumerate(zip(apply_feed_forward(layer, before), after, strict=True)):
        if row != wanted:
            return f"point {i} of the block, {before[i]}, goes to {row}, expected {wanted}"
    return None


def check_silence(layer: FeedForward, box: Box) -> str | None:
    """None, or a unit that is positive somewhere in the box."""
    low, high = box
    if not low:
        return None
    for q, (row, bias) in enumerate(zip(layer.U.tolist(), layer.b.entries(), strict=True), 1):
        corners = zip(row, low, high, strict=True)
        top = sum((u * (b if u > 0 else a) for u, a, b in corners if u != 0), bias)
        if top > 0:
            return f"unit {q} reaches {top} in the box of placed points"
    return None
