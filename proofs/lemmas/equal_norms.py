"""Equal norms: a token among tokens of its own norm scores itself highest."""

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="equal norms",
    title="Tokens of equal norm select themselves",
    statement="If <p, p> = <z, z> and p != z, then <p, z> < <p, p>. Any dimension.",
    hypotheses=("<p, p> = <z, z>", "p != z"),
    proof="0 < <p - z, p - z> = <p, p> - 2 <p, z> + <z, z> = 2 (<p, p> - <p, z>).",
    kind="coq",
    source="docs/explanation/mathematics.md",
    coq=("Lemmas.equal_norms", "Lemmas.hard_mean_unique"),
)
