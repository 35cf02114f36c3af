"""Collapse: one hardmax attention with A = I, rho = 0, V = I leaves exactly m_j points of sequence j."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.kernel.rational import Row
from proofs.lemmas.lemma import Lemma, Sequences

LEMMA = Lemma(
    name="collapse",
    title="One attention layer collapses each sequence onto its leaders",
    statement=(
        "If sequence j is as the leader lemma leaves it, hardmax attention with A = I, rho = 0, V = I maps it"
        " onto its m_j leaders, and the M leaders of all sequences are distinct."
    ),
    hypotheses=("the promise of the leader lemma",),
    proof=(
        "Let x > 0 be no leader. For another positive z, <x, p_j - z> > 0 as p_j - z > 0; for negative q, <x,"
        " q> < 0 < <x, p_j>. So x picks p_j alone, and so does p_j. A negative leader q has <q, z> < 0 < <q, "
        "q> for positive z and <q, q> > <q, q'> for other leaders: it picks itself. Leaders of different "
        "sequences differ: p_j are translates of distinct tokens by one vector, q's with the same lattice "
        "point likewise, and with different ones they differ by at least S > R in some coordinate."
    ),
    kind="written",
    source="docs/explanation/mathematics.md",
    depends=("leaders", "dominance"),
    coq=("Existence.collapse",),
)


def check_promise(after: Sequences, sizes: Sequence[int]) -> str | None:
    """None, or what is broken: sequence j is m_j points, and all points of all sequences are distinct."""
    seen: set[Row] = set()
    for j, (rows, size) in enumerate(zip(after, sizes, strict=True)):
        points = set(rows)
        if len(points) != size:
            return f"sequence {j} is {len(points)} points, expected {size}"
        if points & seen:
            return f"sequence {j} shares a point with an earlier one"
        seen |= points
    return None
