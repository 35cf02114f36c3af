"""Folds: mirrors at the walls of a lattice bring every cell onto the first."""

from __future__ import annotations

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="folds",
    title="Units divide the number of lattice cells",
    statement=(
        "Let v be in [0, W)^d, n a vector of integers with 0 <= n_k < R_k, and let x have coordinates W n_k + v_k "
        "where n_k is even and W n_k + W - v_k where it is odd. Blocks of width 4 with V = 0 that give q_k units to "
        "coordinate k divide R_k by q_k + 1, rounded up, each time; when all R_k are 1, x has become v for all n."
    ),
    hypotheses=("v in [0, W)^d", "0 <= n_k < R_k"),
    proof=(
        "Let T be the triangular wave of period 2W with T(v) = v on [0, W] and T(-v) = T(v). x is built so that T(x_k) "
        "= v_k. T is invariant under mirrors at multiples of W. With c = ceil(R_k / (q + 1)), the units -2 relu(x - W "
        "c), +2 relu(x - 2 W c), .. give slopes 1, -1, 1, ..: on [W c t, W c (t + 1)], t <= q, the map is a "
        "composition of mirrors at multiples of W c, so it keeps T(x_k), and its image is [0, W c]. When R_k = 1, x_k "
        "is in [0, W], where T is the identity."
    ),
    kind="written",
    source="docs/explanation/frontier.md, theorem D",
)
