"""Ordered key: two uniform causal layers give every ordered prefix a number of its own."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="ordered key",
    title="Two uniform causal layers number all ordered prefixes",
    statement=(
        "Tokens are given values s. A layer with A = 0, rho = 1, V = e_2 e_1^T after s e_1, and one with A = 0, "
        "rho = 1, V = lambda I, both causal, take token i to a point where x_1 + mu x_2 = s_i + (lambda + mu) g_i + "
        "lambda mu h_i; g_i is the mean of s_1, .., s_i, h_i = (1/i) sum_k (H_i - H_(k-1)) s_k with the harmonic "
        "numbers H. For values s that kinks can reach and all but finitely many (lambda, mu) these numbers differ "
        "from one marked prefix to the next."
    ),
    hypotheses=("the tokens of one sequence are distinct",),
    proof=(
        "Block 1 makes (s_i, g_i), block 2 (s_i + lambda g_i, g_i + lambda h_i), h_i the mean of g_1, .., g_i, in "
        "which s_k counts sum over i' from k to i of 1/(i i') = (H_i - H_(k-1))/i. Let two prefixes have equal "
        "(f(x_i), mean f, weighted mean f) for every function f of a token. Means of indicators give the set and so "
        "the length, and the weights (H_i - H_(k-1))/i, strictly decreasing in k and the same for equal lengths, "
        "give the order: the prefixes are equal. Functions 1, <u, x> with u injective on tokens, and relu(<u, x> - b) "
        "for b among its values span all f, so one kink more tells two such prefixes apart, and no sooner is that "
        "needed. Different triples (s, g, h) have equal s + (lambda + mu) g + lambda mu h only on a curve of "
        "(lambda, mu)."
    ),
    kind="written",
    source="docs/explanation/causal-and-heads.md, theorem F",
    depends=("signature",),
)


def check_promise(
    values: Sequence[Sequence[fmpq]], places: Sequence[tuple[int, int]], keys: Sequence[fmpq], weights: tuple[int, int]
) -> str | None:
    """None, or what is broken: the keys of the prefixes (pair, length) are what the formula says, and differ."""
    scale, second = weights
    for (j, length), key in zip(places, keys, strict=True):
        tail, mean, weighted = fmpq(0), fmpq(0), fmpq(0)  # tail = H_i - H_(k-1), k falling
        for k in range(length, 0, -1):
            tail += fmpq(1, k)
            mean += values[j][k - 1] / length
            weighted += tail * values[j][k - 1] / length
        if key != values[j][length - 1] + (scale + second) * mean + scale * second * weighted:
            return f"the key of the first {length} tokens of pair {j}"
    return None if len(set(keys)) == len(keys) else "two prefixes have one key"
