"""Interpolation: one hat a point moves M distinct points to their targets."""

from __future__ import annotations

from collections.abc import Iterable

from proofs.kernel.rational import Row
from proofs.lemmas.lemma import Lemma, Sequences

LEMMA = Lemma(
    name="interpolation",
    title="M blocks move M points to their targets",
    statement=(
        "Let M distinct points each lie in (B, oo)^d or (-oo, -B)^d, and all targets in (-B, B)^d. Then M "
        "blocks of one hat each move every point to its target."
    ),
    hypotheses=(
        "the promise of the collapse lemma",
        "all coordinates of leaders exceed B in absolute value, with one sign",
    ),
    proof=(
        "Take u > 0 injective on the M points. |<u, y>| < B sum(u) for every target, while <u, z> is above B "
        "sum(u) or below -B sum(u) for every point. A hat around <u, z> narrower than the distance to its "
        "neighbours and to +-B sum(u) moves z alone, and no placed target again."
    ),
    kind="written",
    source="docs/explanation/mathematics.md",
    depends=("hat", "collapse"),
    coq=("Existence.relocate_blocks",),
)


def check_promise(after: Sequences, targets: Iterable[Iterable[Row]]) -> str | None:
    """None, or what is broken: each sequence is its target set."""
    for j, (rows, wanted) in enumerate(zip(after, targets, strict=True)):
        if set(rows) != set(wanted):
            return f"sequence {j} is not its target set"
    return None
