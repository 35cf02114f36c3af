"""Trusted. Exact forward pass at temperature 0 (hardmax, ties average): dense, general, no shortcuts.

A sequence is a list of rows (X_1, .., X_d, D). Weights become integer matrices over one denominator, so that every
product is an integer matrix product; D > 0 makes the sign of a numerator the sign of the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

from flint import fmpq_mat, fmpz_mat

from proofs.kernel.errors import LimitReached
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, Row, primitive_row


def integer_matrix(matrix: fmpq_mat) -> tuple[fmpz_mat, int]:
    """Numerators over one positive denominator."""
    numerators, denominator = matrix.numer_denom()
    return numerators, int(denominator)


def integer_affine(layer: FeedForward) -> tuple[fmpz_mat, int]:
    """[U | b] as w x (d + 1) numerators over one positive denominator."""
    rows = zip(layer.U.tolist(), layer.b.entries(), strict=True)
    return integer_matrix(fmpq_mat(layer.width, int(layer.W.nrows()) + 1, [x for u, b in rows for x in (*u, b)]))


def apply_feed_forward(layer: FeedForward, rows: Sequence[Row]) -> list[Row]:
    """eta x + W relu(U x + b) for each row.

    With [U | b] = G / g, W = H / h and x = X / D: U x + b = (G [X, D]) / (g D), whose sign is that of the integer
    G [X, D]. A row without an active unit is eta x exactly.
    """
    if layer.is_identity():
        return list(rows)
    width, dimension = layer.width, int(layer.W.nrows())
    eta, eta_denominator = int(layer.eta.p), int(layer.eta.q)
    G, g = integer_affine(layer)
    H, h = integer_matrix(layer.W)
    activations = (fmpz_mat(len(rows), dimension + 1, [x for row in rows for x in row]) * G.transpose()).tolist()
    active = [i for i, a in enumerate(activations) if any(x > 0 for x in a)]
    positive = [x if x > 0 else 0 for i in active for x in activations[i]]
    moved = (fmpz_mat(len(active), width, positive) * H.transpose()).tolist()
    if layer.eta == 1:
        result = list(rows)
    else:
        result = [primitive_row([eta * x for x in row[:-1]], eta_denominator * row[-1]) for row in rows]
    common = lcm(eta_denominator, g * h)
    keep, move = eta * (common // eta_denominator), common // (g * h)
    for i, shift in zip(active, moved, strict=True):
        if not any(shift):  # the active units cancel: eta x exactly
            continue
        row = rows[i]
        result[i] = primitive_row(
            [keep * x + move * int(s) for x, s in zip(row, shift, strict=False)], common * row[-1]
        )
    return result


def apply_attention(layer: SelfAttention, rows: Sequence[Row]) -> list[Row]:
    """rho x_i + the sum over the heads of V (mean of the x_l of largest score), for one sequence."""
    dimension, rho = len(rows[0]) - 1, int(layer.rho.p)
    heads = layer.find_acting(dimension)
    if not heads and layer.rho == 1:
        return list(rows)
    D = lcm(*(row[-1] for row in rows))
    X = [[x * (D // row[-1]) for x in row[:-1]] for row in rows]
    result = [([rho * a for a in x], int(layer.rho.q)) for x in X]  # numerators over this times D
    for head in heads:
        V, v = integer_matrix(head.V.to_dense(dimension))
        attended: dict[Sequence[int], list[int]] = {}
        for i, choice in enumerate(choose_largest(head.A, X, layer.causal)):
            if choice not in attended:
                total = [sum(column) for column in zip(*(X[l] for l in choice), strict=True)]
                attended[choice] = [int(y) for y in (V * fmpz_mat(dimension, 1, total)).entries()]
            numerators, below = result[i]
            common = lcm(below, v * len(choice))
            keep, add = common // below, common // (v * len(choice))
            result[i] = ([keep * a + add * b for a, b in zip(numerators, attended[choice], strict=True)], common)
    return [primitive_row(numerators, below * D) for numerators, below in result]


def choose_largest(A: SquareMatrix, X: Sequence[Sequence[int]], causal: bool) -> Sequence[Sequence[int]]:
    """For each query i, the l (l <= i under a causal mask) of largest score; X holds numerators over one D > 0.

    score_il = <A x_i, x_l> is the integer (X A^T X^T)_il over a positive number that does not depend on l: comparing
    integers compares scores, and equal integers are exact ties.
    """
    n, dimension = len(X), len(X[0])
    seen = [range(i + 1 if causal else n) for i in range(n)]
    if A.is_zero(dimension):
        return seen
    tokens = fmpz_mat(n, dimension, [x for row in X for x in row])
    scores = (tokens * integer_matrix(A.to_dense(dimension))[0].transpose() * tokens.transpose()).tolist()
    best = [max(scores[i][l] for l in row) for i, row in enumerate(seen)]
    return [tuple(l for l in row if scores[i][l] == best[i]) for i, row in enumerate(seen)]


def apply_block(block: Block, sequences: Sequence[Sequence[Row]], limits: Limits = DEFAULT_LIMITS) -> list[list[Row]]:
    """One block on every sequence. Raises: LimitReached when numbers outgrow the bit limit."""
    flat = apply_feed_forward(block.feed_forward, [row for rows in sequences for row in rows])
    result, start = [], 0
    for rows in sequences:
        result.append(apply_attention(block.attention, flat[start : start + len(rows)]))
        start += len(rows)
    if max(x.bit_length() for rows in result for row in rows for x in row) > limits.max_height:
        raise LimitReached(f"a number of more than {limits.max_height} bits arose", hint="raise --max-height")
    return result
