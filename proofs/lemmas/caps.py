"""Caps: one unit puts one leader on its target."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.kernel.model import FeedForward
from proofs.kernel.rational import Row
from proofs.lemmas.lemma import Lemma
from proofs.lemmas.units import Box, check_images, check_silence

LEMMA = Lemma(
    name="caps",
    title="M - N units place all leaders",
    statement=(
        "After the lift with D >= the largest value that is (m_j)-th smallest in its sequence, minus the smallest "
        "value of all, and if the shift a is negative enough, M - N units, four a layer, move the m_j - 1 tokens of "
        "smallest value of each sequence j to targets of theirs, and no other token and no target."
    ),
    hypotheses=(
        "the promise of the lift lemma for the sequences with m_j >= 2",
        "different values inside each sequence",
        "X2 = x_2 - a > max g on targets",
    ),
    proof=(
        "Write s_1 < s_2 < .. for the values of sequence j, X1 = x_1 - a, X2 = x_2 - a. The cap of leader q < m_j "
        "is h = C + sigma_j X2 - X1 with s_q < C - f(g_j) + sigma_j g_j <= s_(q+1). On a token of value s of "
        "sequence j it is C - f(g_j) + sigma_j g_j - s, positive exactly for s <= s_q. On a token of value s' of "
        "sequence i != j it is at most s_(q+1) + l_j(g_i) - s' - f(g_i) < s_(q+1) - s' - D <= 0. On a target (y_1, "
        "y_2, ..) it is C + sigma_j y_2 - y_1 + a (1 - sigma_j), and 1 - sigma_j >= 1: <= 0 for a negative enough.\n"
        "Take the caps in order of q inside each sequence. In one layer, leader q is seen by the caps of leaders q, "
        "q + 1, .. of its own sequence only, so the columns follow one after another from the last cap: column_q = "
        "(target - token - what the later units of the layer add) / h_q(token). Leaders of earlier layers are on "
        "targets, where all caps vanish; other tokens are seen by no cap. Other units of the same layer, whose "
        "columns are known, are taken into account in the same way."
    ),
    kind="written",
    source="docs/explanation/compact.md, theorem A2",
    depends=("lift",),
)


def check_promise(
    layer: FeedForward,
    before: Sequence[Row],
    after: Sequence[Row],
    unseen: Sequence[Sequence[Row]],
    targets: Box,
) -> str | None:
    """None, or what is broken: leaders before[i] go to after[i], cap q is silent on unseen[q] and on targets.

    The builder passes for each cap the next token of its sequence and the first tokens of the neighbouring
    sequences: by the lift lemma the others are farther away. O(d) a cap.
    """
    for q, rows in enumerate(unseen):
        for row in rows:
            products = zip(layer.U.tolist()[q], row[:-1], strict=True)
            if sum((u * x for u, x in products if u != 0), layer.b[q, 0] * row[-1]) > 0:
                return f"cap {q} sees {row}"
    return check_images(layer, before, after) or check_silence(layer, targets)
