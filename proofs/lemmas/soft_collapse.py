"""Soft collapse: softmax with A = alpha I brings every token close to its leader, at every temperature up to tau*."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from flint import fmpq

from proofs.kernel.boxes import Box
from proofs.kernel.rational import Row
from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="soft collapse",
    title="One softmax layer brings each sequence close to its leaders, at every temperature up to tau*",
    statement=(
        "Let the sequence be as the leader lemma leaves it and g > 0 the smallest difference between the "
        "largest and the second largest score <x_i, x_l> over all its tokens x_i. With A = alpha I, rho = 0, "
        "V = I and any temperature in (0, tau*], the token x_i is mapped within n 2^-floor(alpha g / tau*) of"
        " the leader that it selects, in units of the extent of the sequence, coordinate by coordinate."
    ),
    hypotheses=("the promise of the leader lemma", "alpha > 0", "0 < temperature <= tau*"),
    proof=(
        "Scores are alpha <x_i, x_l>. A token l that is not selected has weight at most exp(-alpha g / "
        "temperature) <= exp(-alpha g / tau*) <= 2^-floor(alpha g / tau*), as e > 2. The mean is the selected"
        " leader plus the sum of weight (x_l - leader) over fewer than n such tokens, each at most the extent"
        " away."
    ),
    kind="written",
    source="docs/explanation/mathematics.md",
    depends=("leaders", "gap bound", "dominance"),
    coq=("Existence.soft_mean_near",),
)


Interval = tuple[fmpq, fmpq]


def check_promise(boxes: Sequence[Sequence[Box]], sizes: Sequence[int], direction: Sequence[int]) -> str | None:
    """None, or what is broken: sequence j is near m_j points, and all points have disjoint intervals <direction, .>."""
    for j, (group, size) in enumerate(zip(boxes, sizes, strict=True)):
        if (found := len({box.center for box in group})) != size:
            return f"sequence {j} is near {found} points, expected {size}"
    intervals = project(boxes, direction)
    if len(intervals) != sum(sizes):
        return "two sequences are near the same point"
    ordered = sorted(intervals.values())
    if any(left[1] >= right[0] for left, right in pairwise(ordered)):
        return "two intervals overlap"
    return None


def project(boxes: Sequence[Sequence[Box]], direction: Sequence[int]) -> dict[Row, Interval]:
    """For each center the smallest interval that holds <direction, x> for all boxes around it, direction >= 0."""
    intervals: dict[Row, Interval] = {}
    for box in (box for group in boxes for box in group):
        middle = _product(direction, box.center)
        spread = _product(direction, box.radius)
        low, high = intervals.get(box.center, (middle, middle))
        intervals[box.center] = (min(low, middle - spread), max(high, middle + spread))
    return intervals


def _product(direction: Sequence[int], row: Row) -> fmpq:
    return fmpq(sum(u * x for u, x in zip(direction, row[:-1], strict=True)), row[-1])
