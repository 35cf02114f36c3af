"""Counts: blocks of the constructions against the theorems, and scalars of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proofs.lemmas.lemma import Lemma

if TYPE_CHECKING:
    from sympy import Expr


def identities() -> list[Expr]:
    """Slack of each construction minus its closed form, and scalars of a block minus 10 d + 8 (12 d + 8)."""
    from sympy import expand, symbols

    M, N, d = symbols("M N d", positive=True, integer=True)
    width = 4
    units = width * d + width * d + width  # W, U, b
    block = units + 2 + (1 + 2 * d) + 1  # eta, rho; alpha, p, q; beta
    hardmax, softmax = (N - 1) + M + M, (N - 1) + M + 1 + M
    return [
        expand((2 * M + 2 * N + 1) - hardmax - (N + 2)),
        expand((2 * M + 3 * N) - softmax - 2 * N),
        expand(block - (10 * d + 8)),
        expand(block + 2 * d - (12 * d + 8)),
    ]


LEMMA = Lemma(
    name="counts",
    title="Blocks and parameters of the constructions",
    statement=(
        "Separation N - 1, leaders M, interpolation M make 2M + N - 1 blocks, N + 2 below 2M + 2N + 1. With "
        "one block for the line, softmax has 2M + N, 2N below 2M + 3N. A block of width 4 with A = alpha I + "
        "p q^T and V = beta I has 10 d + 8 scalars, with V = beta I + r t^T 12 d + 8."
    ),
    hypotheses=("N, M, d >= 1",),
    proof=("Polynomial identities in M, N and d, each reduced to 0."),
    kind="symbolic",
    source="docs/explanation/mathematics.md; the constant 10 d + 8 is ours, the paper has O(dM)",
    identities=identities,
)
