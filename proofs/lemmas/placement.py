"""Flatten and place: an interval of the axis becomes one point, exactly."""

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="flatten and place",
    title="One block turns an interval into its target, exactly",
    statement=(
        "Let a < b < c < e and g the piecewise-linear function through (a, 0), (b, y - b e_1), (c, y - c "
        "e_1), (e, 0), constant 0 outside [a, e]. FF(x) = x + g(x_1) (four units) maps every point x_1 e_1 "
        "with b <= x_1 <= c to y, and fixes every x with x_1 outside (a, e)."
    ),
    hypotheses=("a < b <= c < e",),
    proof=(
        "On [b, c] the curve is g(x_1) = y - x_1 e_1 (both ends lie on that line), so x_1 e_1 + g(x_1) = y. "
        "Outside (a, e) g is 0. g is the sum of w_k relu(x_1 - kink_k), w_k the change of slope at each of "
        "the four kinks; the slopes sum to 0."
    ),
    kind="coq",
    source="docs/explanation/mathematics.md",
    coq=("Lemmas.flatten_and_place", "Lemmas.four_points_outside"),
)
