"""The trapezoid: four ReLUs that move a whole interval rigidly."""

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="trapezoid",
    title="Four units move an interval",
    statement=(
        "For kinks a < b <= c < e the four units relu(s - a), relu(s - b), relu(s - c), relu(s - e) combine "
        "to a function that is 1 on [b, c] and 0 outside (a, e). So FF(x) = x + delta t(<u, x>) moves every x"
        " with <u, x> in [b, c] by delta and fixes every x with <u, x> outside (a, e)."
    ),
    hypotheses=("a < b <= c < e",),
    proof=(
        "t(s) = (relu(s - a) - relu(s - b)) / (b - a) - (relu(s - c) - relu(s - e)) / (e - c). On [b, c] the "
        "first part is 1 and the second 0; below a both are 0; above e both are 1."
    ),
    kind="coq",
    source="docs/explanation/mathematics.md",
    coq=("Lemmas.trapezoid_outside", "Lemmas.trapezoid_top"),
)
