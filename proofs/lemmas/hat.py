"""The hat: three ReLUs that move one token and no other."""

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="hat",
    title="Three units move one token",
    statement=(
        "Let u, delta in Q^d, s0 in Q, omega > 0. With h(s) = (relu(s - s0 + omega) - 2 relu(s - s0) + relu(s"
        " - s0 - omega)) / omega, FF(x) = x + delta h(<u, x>) maps every x with <u, x> = s0 to x + delta and "
        "fixes every x with |<u, x> - s0| >= omega. A fourth unit with U-row 0, bias 1 and W-column c adds "
        "the constant c to every token."
    ),
    hypotheses=("omega > 0",),
    proof=(
        "For s <= s0 - omega all three units vanish. At s = s0 only the first is active, with value omega, so"
        " h = 1. For s >= s0 + omega the sum is (s - s0 + omega) - 2 (s - s0) + (s - s0 - omega) = 0. The "
        "fourth unit is relu(1) = 1 everywhere."
    ),
    kind="coq",
    source="docs/explanation/mathematics.md; arXiv 2502.02270v3, proof of theorem 1.6",
    coq=("Lemmas.hat_outside", "Lemmas.hat_middle"),
)
