"""The two existence theorems, proved in Coq for every dataset."""

from proofs.lemmas.lemma import Lemma

HYPOTHESES = (
    "d >= 2, all tokens and targets of length d",
    "no sequence is empty, tokens inside X_j and inside Y_j are distinct, m_j <= n_j",
    "the sets X_j are pairwise different",
)

HARDMAX = Lemma(
    name="theorem 1.6",
    title="Hardmax interpolates every dataset in 2M + 2N + 1 blocks",
    statement=(
        "For every dataset there is a transformer of at most 2M + 2N + 1 blocks of width 4 and at most (10 d "
        "+ 8)(2M + 2N + 1) parameters that maps every X_j onto Y_j at temperature 0; rational if the data "
        "are."
    ),
    hypotheses=HYPOTHESES,
    proof=(
        "In Coq, by a shift, separation with uniform attention, leaders at positions of their own, collapse, "
        "and a hat for each point; the built files differ in details that need fewer blocks."
    ),
    kind="coq",
    source="arXiv 2502.02270v3, theorem 1.6",
    depends=("hat", "dominance", "equal norms"),
    coq=("Existence.hardmax_existence", "Existence.rational_hardmax_existence"),
)

SOFTMAX = Lemma(
    name="theorem 1.8",
    title="Softmax interpolates every dataset in 2M + 3N blocks at all small temperatures",
    statement=(
        "For every dataset there are a transformer of at most 2M + 3N blocks of width 4 and tau* > 0 such "
        "that it maps every X_j onto Y_j at every temperature in (0, tau*]; both rational if the data are."
    ),
    hypotheses=HYPOTHESES,
    proof=("In Coq: as for theorem 1.6 up to the collapse, then the line and flatten and place."),
    kind="coq",
    source="arXiv 2502.02270v3, theorem 1.8",
    depends=("hat", "dominance", "equal norms", "gap bound", "flatten and place"),
    coq=("Existence.softmax_existence", "Existence.rational_softmax_existence"),
)

COMPACT = Lemma(
    name="compact bound",
    title="About M / 4 blocks, exact at every temperature",
    statement=(
        "With k kinks in the signature: 1 + ceil(M / 4) blocks if all m_j = 1 or all m_j = n_j and k <= 3 "
        "(A1); for every dataset 1 + ceil(N_2 / 4) + ceil((M + 1) / 4) if k <= 2 (A2), N_2 the number of j "
        "with m_j >= 2; for d >= 3 also with ceil(D / 2) in place of ceil(N_2 / 4), D the binary digits of "
        "the lift (A3). All attention is uniform."
    ),
    hypotheses=HYPOTHESES,
    proof=(
        "Count the units of the lemmas that it uses, four to a block: docs/explanation/compact.md has the "
        "theorems with their proofs, interp/constructions/bounds.py the formulas."
    ),
    kind="written",
    source="docs/explanation/compact.md",
    depends=("signature", "chain", "intervals", "lift", "caps", "remainders"),
)
