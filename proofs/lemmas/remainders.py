"""Remainders: one unit merges the rest of every sequence into one point of a line."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.kernel.model import FeedForward
from proofs.kernel.rational import Row
from proofs.lemmas.lemma import Lemma
from proofs.lemmas.units import Box, check_images, check_silence

LEMMA = Lemma(
    name="remainders",
    title="One unit for all remainders",
    statement=(
        "When the leaders are on their targets and the other tokens of sequence j are (s + f(g_j), g_j) in the "
        "coordinates (X1, X2), one unit moves all of these to the point (kappa g_j - c, g_j), for all j at once, "
        "and no target. These N points lie on a line, in the order of the g_j. A chain along it by decreasing g, "
        "reading t = -X2, may start in the same layer; so caps, this unit and the chain take M - N + 1 + N = M + 1 "
        "units, ceil((M + 1) / 4) blocks."
    ),
    hypotheses=("X2 > max g + 1 on targets", "the promise of the caps lemma"),
    proof=(
        "The unit n = X1 - kappa X2 + c with column -e_1 sends (X1, X2) with n >= 0 to (kappa X2 - c, X2). Let c >= "
        "kappa g_j - s - f(g_j) for all tokens left, so n >= 0 on them. On a target n = X1 - kappa X2 + c <= 0 is "
        "wanted: with G = max g, c may be at most kappa G + a constant independent of kappa, and X2 >= G + 1, so n "
        "<= X1 - kappa + const, <= 0 for kappa large. (X1, kappa g_j - c) is a point of the line X1 = kappa X2 - c, "
        "t = -g_j its parameter.\n"
        "A chain unit relu(-X2 - b) reads X2 only, which the unit n does not change, so the layer sends a token "
        "left to (kappa g_j - c, g_j) plus the curve at t = -g_j. On targets -X2 < -G - 1 < -g_j for all j: the "
        "reading t = -X2 and any b in [max over targets of -X2, -G) serve."
    ),
    kind="written",
    source="docs/explanation/compact.md, theorem A2",
    depends=("caps",),
)


def check_promise(layer: FeedForward, before: Sequence[Row], after: Sequence[Row], targets: Box) -> str | None:
    """None, or what is broken: before[i] goes to after[i], and no unit acts on the box of targets.

    The builder passes the first and the last token of every remainder: n >= 0 at the first, and all between move
    like them. O(N d).
    """
    return check_images(layer, before, after) or check_silence(layer, targets)
