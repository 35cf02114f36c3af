"""Folded groups: d units place 2d points of Q^d up to a lattice."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.kernel.model import FeedForward
from proofs.kernel.rational import Row
from proofs.lemmas import codes
from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="folded groups",
    title="d units place 2d points up to a lattice",
    statement=(
        "Let at least 3d + 1 points of Q^d be in general position, d <= 4, in the slab |x_k| <= B, with targets in [0, "
        "W)^d, W > 8 B, on the cells of ``folds``. After dividing the slopes by a scale of all coordinates but the "
        "last, there are P and Q, d points each, such that d units in one layer move them to cells n with n_d >= 1 "
        "that fold to their targets, and move no other point, placed or not."
    ),
    hypotheses=("general position: any d + 1 of the points are affinely independent, and the systems below regular",),
    proof=(
        "P and Q. Take a facet of the lower hull, all points on or above it, and a ridge of it (d - 1 points). At "
        "least 2d + 2 points are left, so at least d + 1 of them lie on one side of the vertical hyperplane through "
        "the ridge. Turn the facet's hyperplane about the ridge, rising on that side, until it is vertical: the "
        "points of that side come below it one at a time (general position), those of the other side stay above. "
        "When it meets the (d + 1)-st, the d before it are Q, strictly below, and the ridge with this point is P.\n"
        "Signs. l = height below the hyperplane: 0 on P, > 0 on Q, < 0 on the others. phi_a is affine in x_1, .., "
        "x_(d-1), 1 at p_a and -1 at the rest of P. h_a = l + eps phi_a is eps at p_a, -eps at the rest of P, and "
        "for eps small > 0 on Q, < 0 on the others.\n"
        "Placing. Let N_a = 2 e_d + e_a for a < d, N_d = e_d. p_a goes to the cell r N_a: column w_a = (goal - p_a) "
        "/ eps. q in Q goes to the cell sum_a round(r h_a(q) / eps) N_a. The d numbers h'_a(q) that solve sum_a w_a "
        "h'_a(q) = goal - q replace h_a(q): h'_a is the affine function with these values on Q and eps at p_a. As r "
        "grows, w_a eps / (r W) tends to N_a and (goal - q) / (r W) to sum_a h_a(q) N_a / eps. The N_a are "
        "independent, so h'_a(q) tends to h_a(q), h'_a to h_a, and all strict signs hold for large r.\n"
        "Placed points. Divide the slopes of the h_a in x_1, .., x_(d-1) by multiplying these coordinates by one "
        "number, before everything else, until they are at most 1 / (4 d) against -1 in x_d. Goals have n_d >= 1 and "
        "n_k <= n_d. From p_a, where h_a = eps <= W / 4, to a goal x_d grows by W n_d - B >= 7/8 W n_d, and the other "
        "coordinates add at most (W (n_d + 1) + 2 B) / 4 <= 9/16 W n_d: h_a < 0. The builder tests all signs exactly."
    ),
    kind="written",
    source="docs/explanation/frontier.md, theorem D",
    depends=("folds",),
)


def check_promise(layers: Sequence[FeedForward], before: Sequence[Row], after: Sequence[Row]) -> str | None:
    """None, or what is broken: placing and folding layers together send every point to its target. O(n d) a layer."""
    return codes.check_promise(layers, before, after)
