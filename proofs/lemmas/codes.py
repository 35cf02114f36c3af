"""Codes: half-spaces give classes binary codes, which two layers make exact and further ones move to the targets."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.kernel.hardmax import apply_feed_forward
from proofs.kernel.model import FeedForward
from proofs.kernel.rational import Row
from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="codes",
    title="Classes with binary codes go to their targets in about C / 4 blocks",
    statement=(
        "Let finitely many points of Q^d belong to C classes with different targets y_c, and let R <= 4 half-spaces "
        "f_i > 0 contain, or miss, every class as a whole, so that class c has the code b(c) in {0, 1}^R; let the "
        "codes differ and span affinely R dimensions. If the targets are affinely independent, 2 + ceil((C - 1 - R + "
        "[R = 4]) / 4) blocks of width 4 with V = 0 move every point to the target of its class. For any targets, if R "
        "<= d, 2 + ceil(C / 4) blocks do."
    ),
    hypotheses=(
        "every class lies on one side of every half-space, different classes not on the same sides of all",
        "[1, b(c)] has rank R + 1",
        "affinely independent targets (so C <= d + 1), or R <= d",
    ),
    proof=(
        "Scale f_i so that f_i >= 1 on the classes inside. Affinely independent targets: there are R + 1 classes "
        "whose rows [1, b(c)] are independent; let a, p_1, .., p_R solve a + sum_i b_i(c) p_i = y_c for them. As the "
        "targets are affinely independent there are affine l_i with l_i(y_c) = b_i(c) for all C classes; on the R + "
        "1 targets this says l_i(a + sum_k b_k p_k) = b_i for R + 1 codes that span, so for all b in Q^R.\n"
        "Layer 1 (eta = 0) is x -> sum_i p_i relu(f_i(x)), plus a if R <= 3. In what follows a is thought of as "
        "added, the readings l_i being shifted by a constant if it is not. A point of class c is at a + sum_i r_i "
        "p_i, r_i = 0 if b_i(c) = 0, r_i >= 1 else, and l_i reads r_i. Layer 2 adds -p_i relu(l_i - 1): all of class "
        "c is now the point a + sum_i b_i(c) p_i. For a class that is not on its target, q_c = 1 - sum_i |l_i - "
        "b_i(c)|, with |l_i - b| = l_i or 1 - l_i, is affine, 1 where l = b(c), and <= 0 where l is another code. "
        "Corrected or not, class c has l = b(c). So the unit relu(q_c) with column y_c - a - sum_i b_i(c) p_i "
        "corrects class c alone, and these C - 1 - R units may be spread over blocks in any way; for R = 4 one last "
        "unit adds a.\n"
        "Any targets: the same two layers with p_i = e_i, a = 0, l_i = x_i leave class c at the vector b(c); the "
        "binary numbers sum_i 2^(i-1) b_i(c) differ, and a chain that starts with eta = 0 reads them."
    ),
    kind="written",
    source="docs/explanation/frontier.md, theorem C",
    depends=("chain",),
)


def check_promise(layers: Sequence[FeedForward], before: Sequence[Row], after: Sequence[Row]) -> str | None:
    """None, or what is broken: the layers together send every point to the target of its class. O(n d) a layer."""
    rows = list(before)
    for layer in layers:
        rows = apply_feed_forward(layer, rows)
    for j, (row, wanted) in enumerate(zip(rows, after, strict=True)):
        if row != wanted:
            return f"point {j}, {before[j]}, goes to {row}, expected {wanted}"
    return None
