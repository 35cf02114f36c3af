"""Peeling: hardmax numbers the largest tokens of all sequences at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from flint import fmpq

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="peeling",
    title="m - 1 hardmax layers peel m - 1 tokens off every sequence",
    statement=(
        "Let the tokens of sequence j be (s, g_j) with g_j > 0 different, s different inside each sequence, and m "
        ">= 2. With A = e_1 e_2^T (score <e_2, x_i> <e_1, x_l>) and V = -e_1 e_1^T, hardmax, m blocks turn sequence "
        "j into min(m, n_j) points of the e_1 axis; all points of all sequences are different. The last block has "
        "no attention. With two heads and d >= 3, 1 + ceil((m - 1) / 2) blocks do."
    ),
    hypotheses=("hardmax", "g_j > 0", "d >= 2"),
    proof=(
        "Every token has x_2 > 0, so it attends to the token of largest x_1 of its sequence, the top, and subtracts "
        "its x_1: tops stand at x_1 = 0, the others at <= -gap, gap the smallest distance of two values inside a "
        "sequence. Let 0 < delta <= gap, R the largest value minus the smallest inside any sequence, B >= R + "
        "delta. The unit relu(x_1 + delta) is delta at tops and 0 elsewhere. Step q = 1, 2, .. uses it to add 2^q "
        "eps to x_2 and to subtract B from x_1 at tops; the same attention then subtracts the new maximum. In the "
        "values at the start a token that was peeled p times stands at s - p B, up to a constant of the sequence, "
        "so a sequence peels its tokens in decreasing order, and starts again when all have been peeled once; "
        "distances of different tokens stay >= delta, as B - R >= delta. Every step adds to one token of each "
        "sequence; so different tokens have different labels sum 2^q eps, except those never peeled: after m - 1 "
        "steps they are n_j - m + 1 if n_j >= m, and at most one otherwise. The last step needs no attention: a "
        "layer with eta = 0 writes x_2 + 2^(m-1) eps [top] to coordinate 1. Labels are below 2^m eps; if that is at "
        "most the smallest distance of two g_j, different sequences have disjoint ranges.\n"
        "Two heads: block 1 writes -x_1 to coordinate 3, and the second head has A = e_3 e_2^T and V = -e_3 e_3^T, "
        "so x_3 is 0 at the smallest token, the bottom, and <= -gap elsewhere. Both units relu(x_1 + delta) and "
        "relu(x_3 + delta) subtract B from both coordinates of what they peel and have labels 2^q eps of their "
        "own. A token that was peeled p times stands at s - p B and -s - p B up to constants of the sequence, so a "
        "block peels the largest and the smallest of the tokens that were peeled least; if only one is left it "
        "gets both labels."
    ),
    kind="written",
    source="docs/explanation/compact.md, theorem B",
    depends=("signature", "chain"),
)


def check_promise(
    values: Sequence[Sequence[fmpq]],
    means: Sequence[fmpq],
    num_steps: int,
    numbers: tuple[fmpq, fmpq, fmpq],
) -> str | None:
    """None, or what is broken; values[j] in increasing order, numbers = (delta, B, eps). O(K + N log N)."""
    delta, drop, eps = numbers
    if any(g <= 0 for g in means):
        return "a signature is not positive"
    if delta <= 0 or eps <= 0:
        return "delta and eps must be positive"
    for j, rising in enumerate(values):
        if any(b - a < delta for a, b in pairwise(rising)):
            return f"two tokens of sequence {j} are closer than delta = {delta}"
        if drop < rising[-1] - rising[0] + delta:
            return f"the drop {drop} does not clear sequence {j}"
    ordered = sorted(means)
    if any(b - a < eps * 2 ** (num_steps + 1) for a, b in pairwise(ordered)):
        return f"labels of step eps = {eps} reach the next sequence"
    return None
