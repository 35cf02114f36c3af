"""The gap bound: a score gap bounds a softmax weight by a power of two, at every temperature up to tau*."""

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="gap bound",
    title="A weight is at most 2^-floor(gap / tau*)",
    statement=(
        "If score l is below the best score by at least g >= 0 and 0 < tau <= tau*, then the softmax weight "
        "of l at temperature tau is at most exp(-g / tau) <= 2^-floor(g / tau*)."
    ),
    hypotheses=("0 < tau <= tau*", "g >= 0"),
    proof=(
        "The weight is exp(s_l / tau) over a sum that contains exp(s_best / tau), so at most exp(-(s_best - "
        "s_l) / tau) <= exp(-g / tau) <= exp(-g / tau*) <= exp(-floor(g / tau*)) <= 2^-floor(g / tau*), as e "
        "> 2."
    ),
    kind="coq",
    source="docs/explanation/mathematics.md",
    coq=("Lemmas.exp_half", "Lemmas.exp_power", "Lemmas.gap_bound", "Lemmas.mean_near_best"),
)
