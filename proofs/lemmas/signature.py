"""Signature: one number tells each sequence from all others, and numbers tell its tokens apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from flint import fmpq

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="signature",
    title="Different sequences get different means",
    statement=(
        "Let X_1, .., X_N be sequences in Q^d that differ as sets. There are u in Z^d, c_0 and k <= N - 1 kinks "
        "(b_i, c_i), c_i > 0, such that s(x) = <u, x> + c_0 + sum_i c_i relu(<u, x> + c_0 - b_i) is positive on all "
        "tokens, different on different tokens, and the means g_j of s over X_j (copies counted) are pairwise "
        "different. One feed-forward layer of width 4 with eta = 0 writes s(x) e_1 if k <= 3, else ceil((k + 2) / "
        "4) layers do; with one unit more they also add a constant vector: one layer if k <= 2, else ceil((k + 3) / "
        "4). Without a projection, ceil(k / 4) layers x -> x + .. e with <u, e> = 1 turn <u, x> into s(x) - c_0."
    ),
    hypotheses=("the sequences differ as sets", "d >= 2 when the units do not fit into one layer"),
    proof=(
        "u: finitely many hyperplanes of directions fail to separate the finitely many tokens. c_0 makes all <u, x> "
        "+ c_0 positive. Write z for <u, x> + c_0, an injective number of the token; as all c_i > 0, s is strictly "
        "increasing in z: it stays positive and injective.\n"
        "Kinks: suppose X_i != X_j have the same g. Let m_i(b) be the mean of relu(z - b) over X_i. As a function "
        "of b it is piecewise linear with corners at the values z of tokens of X_i, 0 above the largest and (mean "
        "of z) - b below the smallest. If m_i and m_j agreed at every token value of both, they would agree above "
        "the largest of them (both 0), between neighbouring ones (both linear), and below the smallest (both of "
        "slope -1): everywhere. Then their second derivatives, the distributions of z on X_i and X_j, agree, and as "
        "z is injective, X_i = X_j as sets. So some token value b has m_i(b) != m_j(b). Adding c relu(z - b) "
        "changes each g_j to g_j + c m_j(b). For all c > 0 but finitely many this keeps different means different "
        "and makes g_i and g_j differ: the number of different means grows. It is at least 1 before the first kink "
        "and N at the end, so k <= N - 1.\n"
        "Layers: if all units fit into one, each reads u. Else the first writes z e_1 and three kinks e_2, the "
        "following ones read z > 0 from coordinate 1 with four kinks each into coordinate 2, and the last writes "
        "its own kinks into coordinate 1 and carries coordinate 2, a sum of non-negative terms and so equal to its "
        "own relu, over by a unit with column e_1 - e_2: 1 + k + 1 units in all, every layer but the last full.\n"
        "Without a projection, take the kinks by increasing b. After some layers <u, x> + c_0 = p(z), p increasing "
        "and linear, of slope t, beyond the kinks used so far; (c / t) relu(p(z) - p(b)) = c relu(z - b) for the "
        "next ones."
    ),
    kind="written",
    source="docs/explanation/compact.md, theorem A1; arXiv 2502.02270 separates by attention instead",
)


def check_promise(values: Sequence[Sequence[fmpq]], means: Sequence[fmpq], separate_tokens: bool) -> str | None:
    """None, or what is broken: values[j] are the values s of the different tokens of sequence j, in order. O(K + N)."""
    for j, rising in enumerate(values):
        if not rising or rising[0] <= 0:
            return f"a value of sequence {j} is not positive"
        if separate_tokens and any(a >= b for a, b in pairwise(rising)):
            return f"two tokens of sequence {j} have the same value"
    if len(set(means)) != len(values):
        return f"{len(values)} sequences have {len(set(means))} different means"
    return None
