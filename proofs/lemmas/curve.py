"""Piecewise-linear curves: k kinks write any values at k increasing places, and the slopes in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.lemmas.lemma import Lemma

if TYPE_CHECKING:
    from sympy import Expr


def identities() -> list[Expr]:
    """The step of the induction: with the new column, the curve hits v at s and keeps its values at b and before."""
    from sympy import simplify, symbols

    v, old, s, b = symbols("v old s b", real=True)  # old: the value at s of the curve made so far
    column = (v - old) / (s - b)

    def unit(t: Expr) -> Expr:
        return t - b  # relu(t - b) for t >= b

    return [simplify(old + column * unit(s) - v), simplify(column * unit(b))]


LEMMA = Lemma(
    name="curve",
    title="k kinks write any k values",
    statement=(
        "For s_1 < .. < s_k, b_1 < s_1, s_(i-1) <= b_i < s_i and values v_1, .., v_k in Q^d there are unique "
        "w_1, .., w_k in Q^d with sum_i w_i relu(s_r - b_i) = v_r for all r. If every w_i is orthogonal to u,"
        " the sum of units w_i relu(<u, x> - b_i) does not change <u, x>, so the units may be spread over "
        "ceil(k / 4) blocks."
    ),
    hypotheses=("s_1 < .. < s_k", "b_1 < s_1 and s_(i-1) <= b_i < s_i"),
    proof=(
        "Induction on k: the unit with kink b_k >= s_(k-1) vanishes at s_1, .., s_(k-1), and w_k = (v_k - "
        "value so far at s_k) / (s_k - b_k) is the one choice that hits v_k. The identities of this step are "
        "reduced to 0."
    ),
    kind="symbolic",
    source="docs/explanation/mathematics.md",
    identities=identities,
)
