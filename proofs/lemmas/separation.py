"""Separation: afterwards no token belongs to two sequences, and every token lies in the open positive orthant."""

from __future__ import annotations

from proofs.kernel.rational import Row
from proofs.lemmas.lemma import Lemma, Sequences

LEMMA = Lemma(
    name="separation",
    title="N - 1 blocks make all sequences disjoint",
    statement=(
        "For N pairwise different finite sets of tokens there are at most N - 1 blocks after which the sets "
        "are pairwise disjoint, each of its original size, and inside the open positive orthant (the last "
        "claim when N > 1 or a shift is made)."
    ),
    hypotheses=("tokens inside one sequence are distinct", "the sets are pairwise different"),
    proof=(
        "Join two sequences when they share a token and look at a connected component with at least two "
        "members. Some token t lies in some but not all of them: otherwise all members are equal. One block: "
        "the hat lemma moves t, in every sequence that holds it, to t' = t + lambda v; then every x of "
        "sequence j becomes x + eps a_j, where a_j is either the token of largest projection on v > 0 (A = v "
        "v^T: all tokens are positive, so <v, x> > 0 and each token picks the largest <v, .>; lambda makes t'"
        " the largest) or the mean of the sequence (A = 0). All sequences with t share the same a_j in the "
        "first case, and in the second lambda can be chosen so that no mean of a sequence with t equals the "
        "mean of one without. So for a token x of a sequence with t and a token y of one without, x + eps a_i"
        " = y + eps a_j with a_i != a_j holds for at most one eps. The same is true for two disjoint "
        "sequences with a_i != a_j, and never happens for a_i = a_j, x != y. All but finitely many eps > 0 "
        "therefore keep disjoint sequences disjoint and separate those with t from those without: the number "
        "of components grows by at least one, and it is N at the end. Within one sequence all tokens move by "
        "the same vector, so they stay distinct; positive tokens stay positive."
    ),
    kind="written",
    source="docs/explanation/mathematics.md; arXiv 2502.02270v3, theorem 1.6; the uniform variant is ours",
    depends=("hat",),
    coq=("Existence.separation_step", "Existence.separation_phase"),
)


def check_promise(before: Sequences, after: Sequences) -> str | None:
    """None, or what is broken: sizes kept, sequences pairwise disjoint, all coordinates positive."""
    owner: dict[Row, int] = {}
    for j, (old, new) in enumerate(zip(before, after, strict=True)):
        if len(set(old)) != len(set(new)):
            return f"sequence {j} had {len(set(old))} distinct tokens and has {len(set(new))}"
        for row in set(new):
            if min(row) <= 0:
                return f"a token of sequence {j} is outside the open positive orthant"
            if owner.setdefault(row, j) != j:
                return f"sequences {owner[row]} and {j} share a token"
    return None
