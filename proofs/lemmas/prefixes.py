"""Prefixes: what a causal mask and a read-out at the last tokens make possible."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.kernel.rational import Row
from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="prefixes",
    title="When a causal mask and a read-out at the last tokens admit a transformer",
    statement=(
        "Pair j marks the ordered prefixes (x_1, .., x_i) of X_j with i > n_j - m_j. Some transformer with a causal "
        "mask has the last m_j tokens of T(X_j) = Y_j for all j if and only if every marked prefix can be given one "
        "target so that the marked prefixes of pair j and Y_j correspond one to one, for all j. If all m_j = 1 that "
        "is so whenever the sequences differ in their order or their tokens."
    ),
    hypotheses=("d >= 2", "the tokens of one sequence are distinct"),
    proof=(
        "Necessary: by induction over the blocks, the state of token i is a function of x_1, .., x_i, whichever the "
        "scores are, so the token at the end of a marked prefix is the same in all pairs that mark it; it must be in "
        "each of their target sets, and m_j tokens are m_j targets only if they differ. Sufficient: the ordered key "
        "lemma gives every marked prefix a number of its own at its last token, and the chain lemma takes the numbers "
        "to the targets; what stands at tokens that are not read is free. With m_j = 1 each pair marks X_j alone. If "
        "a token may repeat, (a) and (a, a) have the same state in every such transformer."
    ),
    kind="written",
    source="docs/explanation/causal-and-heads.md, theorem F",
    depends=("ordered key", "chain"),
)


def check_promise(labels: Sequence[Sequence[Row]], targets: Sequence[Sequence[Row]]) -> str | None:
    """None, or what is broken: the labels of the marked prefixes of every pair are its targets, each once."""
    for j, (own, wanted) in enumerate(zip(labels, targets, strict=True)):
        if len(own) != len(wanted) or set(own) != set(wanted):
            return f"the marked prefixes of pair {j} have not its targets"
    return None
