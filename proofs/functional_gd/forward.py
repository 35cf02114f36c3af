"""Trusted. Side one: the transformer's forward pass. No code is shared with side two (``descent``).

Z is (d+1) x (n+1), a list of rows. Column i < n is (x_i, y_i), the last column is (x, 0). One layer is

    Z + sum over heads of V Z M H,    V = diag(A, rho),    M = diag(I_n, 0),    H_ij = h(<B x_i, C x_j>).

M takes the whole row n+1 of H away: the query is nobody's key, not even its own. The prediction is minus the last
entry of the last row. Numbers are fmpq, or Arb balls in the precision that holds when they are computed (or anything
else with their operations); ``convert`` makes one of a rational.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flint import fmpq, fmpq_mat

from proofs.functional_gd.model import Activation, Context, Head, Transformer
from proofs.kernel.errors import InternalFault

Matrix = list[list[Any]]  # rows
Convert = Callable[[fmpq], Any]


def initial_state(context: Context, convert: Convert) -> Matrix:
    """Z_0."""
    labelled = zip(context.points, context.labels, strict=True)
    columns = [*((*x, y) for x, y in labelled), (*context.query, fmpq(0))]
    return [[convert(x) for x in row] for row in zip(*columns, strict=True)]


def run_forward(transformer: Transformer, context: Context, convert: Convert) -> Iterator[Matrix]:
    """Z_0, Z_1, .., Z_L. With balls, use the states while their precision holds."""
    Z = initial_state(context, convert)
    yield Z
    for heads in transformer.layers:
        Z = apply_layer(heads, Z, convert)
        yield Z


def apply_layer(heads: tuple[Head, ...], Z: Matrix, convert: Convert) -> Matrix:
    """Z + sum of V Z M H."""
    d, n = len(Z) - 1, len(Z[0]) - 1
    result = Z
    for head in heads:
        H = attention(head, Z[:d], convert)
        points, labels = [row[:n] for row in Z[:d]], Z[d][:n]  # the keys i < n only: the mask
        VZ = [*_product(_convert(head.A, convert), points), [convert(head.rho) * y for y in labels]]
        update = _product(VZ, H)
        result = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(result, update, strict=True)]
    return result


def attention(head: Head, X: Matrix, convert: Convert) -> Matrix:
    """The first n rows of H, n x (n+1): row i is key i."""
    BX, CX = _product(_convert(head.B, convert), X), _product(_convert(head.C, convert), X)
    keys = [list(column) for column in zip(*BX, strict=True)][:-1]
    return _activate(head.activation, _product(keys, CX), convert)


def _activate(activation: Activation, scores: Matrix, convert: Convert) -> Matrix:
    if activation.name == "linear":
        return scores
    if activation.name == "relu":
        return [[_relu(s) for s in row] for row in scores]
    if activation.name == "polynomial":
        return [[(convert(fmpq(1)) + s) ** activation.degree for s in row] for row in scores]
    if activation.name not in ("exp", "softmax"):
        raise InternalFault(f"activation {activation}")
    weights = [[s.exp() for s in row] for row in scores]
    if activation.name == "exp":
        return weights
    totals = [sum(column) for column in zip(*weights, strict=True)]
    return [[w / total for w, total in zip(row, totals, strict=True)] for row in weights]


def _relu(value: Any) -> Any:
    """max(value, 0); a ball has its own, which does not widen."""
    if isinstance(value, fmpq):
        return value if value > 0 else fmpq(0)
    return value.max(0)


def _convert(matrix: fmpq_mat, convert: Convert) -> Matrix:
    return [[convert(x) for x in row] for row in matrix.tolist()]


def _product(left: Matrix, right: Matrix) -> Matrix:
    columns = list(zip(*right, strict=True))
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in left]
