"""Trusted. Exact forward pass at temperature 0 (hardmax, ties average): dense, general, no shortcuts.

A sequence is a list of rows (X_1, .., X_d, D). Weights become integer matrices over one denominator, so that every
product is an integer matrix product; D > 0 makes the sign of a numerator the sign of the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

from flint import fmpq_mat, fmpz_mat

from proofs.kernel.errors import LimitReached
from proofs.kernel.model import Block, FeedForward, SelfAttention
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
    """rho x_i + V (mean of the x_l of largest score), for one sequence.

    Over a common denominator D of the sequence, score_il = <A x_i, x_l> is the integer (X A^T X^T)_il over a positive
    number that does not depend on l: comparing integers compares scores, and equal integers are exact ties.
    """
    dimension, count = len(rows[0]) - 1, len(rows)
    rho, rho_denominator = int(layer.rho.p), int(layer.rho.q)
    if layer.V.is_zero(dimension):
        if layer.rho == 1:
            return list(rows)
        return [primitive_row([rho * x for x in row[:-1]], rho_denominator * row[-1]) for row in rows]
    D = lcm(*(row[-1] for row in rows))
    X = [[x * (D // row[-1]) for x in row[:-1]] for row in rows]
    tokens = fmpz_mat(count, dimension, [x for row in X for x in row])
    if layer.A.is_zero(dimension):
        choices = [tuple(range(count))] * count
    else:
        scores = (tokens * integer_matrix(layer.A.to_dense(dimension))[0].transpose() * tokens.transpose()).tolist()
        choices = []
        for row_scores in scores:
            best = max(row_scores)
            choices.append(tuple(i for i, score in enumerate(row_scores) if score == best))
    V, v = integer_matrix(layer.V.to_dense(dimension))
    common = lcm(rho_denominator, v)
    keep, add = rho * (common // rho_denominator), common // v
    attended: dict[tuple[int, ...], list[int]] = {}
    result = []
    for x, choice in zip(X, choices, strict=True):
        if choice not in attended:
            total = [sum(column) for column in zip(*(X[i] for i in choice), strict=True)]
            attended[choice] = [int(y) for y in (V * fmpz_mat(dimension, 1, total)).entries()]
        ties = len(choice)
        numerators = [keep * ties * a + add * b for a, b in zip(x, attended[choice], strict=True)]
        result.append(primitive_row(numerators, common * ties * D))
    return result


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
