"""Intervals: uniform attention moves the values of different sequences into disjoint intervals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from flint import fmpq

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="intervals",
    title="One uniform attention makes the sequences disjoint intervals of a line",
    statement=(
        "Let tokens be s e_1 (or any points with <u, x> = s) and the means g_j of s over the sequences be "
        "different. Attention with A = 0, rho = 1, V = lambda I makes s + lambda g_j of s, at every temperature. "
        "With the sequences in the order of the g_j and S_j the values of sequence j, the images lie in disjoint "
        "intervals in this order iff lambda (g_j' - g_j) > max S_j - min S_j' for neighbours j, j'; all large "
        "lambda do."
    ),
    hypotheses=("the g_j are pairwise different",),
    proof=(
        "Equal scores give weights 1/n at every temperature, so the layer adds lambda times the mean. Neighbouring "
        "images are in order iff max S_j + lambda g_j < min S_j' + lambda g_j', and order of neighbours is order of "
        "all. As g_j' > g_j, it holds for lambda large."
    ),
    kind="written",
    source="docs/explanation/compact.md, theorem A1",
    depends=("signature",),
)


def check_promise(ends: Sequence[tuple[fmpq, fmpq]], means: Sequence[fmpq], scale: fmpq) -> str | None:
    """None, or what is broken: smallest and largest value of every sequence, in the order of the means. O(N)."""
    images = [(low + scale * mean, high + scale * mean) for (low, high), mean in zip(ends, means, strict=True)]
    for place, ((_, before), (after, _)) in enumerate(pairwise(images)):
        if before >= after:
            return f"the intervals at places {place} and {place + 1} overlap"
    return None
