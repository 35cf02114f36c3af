"""An evaluator that shares nothing with the project: plain fractions, the matrices of the definition written out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

Rows = list[list[Fraction]]


def fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def fractions(matrix: Any) -> Rows:
    return [[fraction(x) for x in row] for row in matrix.tolist()]


def times(left: Rows, right: Rows) -> Rows:
    return [[sum(a * right[k][j] for k, a in enumerate(row)) for j in range(len(right[0]))] for row in left]


def activate(name: str, degree: int, score: Fraction) -> Fraction:
    return {"linear": score, "relu": max(score, Fraction(0)), "polynomial": (1 + score) ** degree}[name]


def start(context: Any) -> Rows:
    columns = [[*map(fraction, x), fraction(y)] for x, y in zip(context.points, context.labels, strict=True)]
    columns.append([*map(fraction, context.query), Fraction(0)])
    return [[column[c] for column in columns] for c in range(len(columns[0]))]


def mask(n: int, kind: str) -> Any:
    """Which entries (key, query) of H stay. "keys" is right; "corner" leaks; "queries" forgets the prediction."""
    return {
        "keys": lambda i, j: i < n,
        "corner": lambda i, j: not (i == n and j == n),
        "queries": lambda i, j: j < n and i < n,
    }[kind]


def forward(transformer: Any, context: Any, kind: str = "keys") -> list[Rows]:
    """Z_0 .. Z_L for rational heads."""
    Z, states = start(context), []
    d, n = len(Z) - 1, len(Z[0]) - 1
    keep = mask(n, kind)
    states.append(Z)
    for heads in transformer.layers:
        total = [list(row) for row in Z]
        for head in heads:
            BX, CX = times(fractions(head.B), Z[:d]), times(fractions(head.C), Z[:d])
            H = [
                [
                    activate(
                        head.activation.name,
                        head.activation.degree,
                        sum(b[i] * c[j] for b, c in zip(BX, CX, strict=True)),
                    )
                    if keep(i, j)
                    else Fraction(0)
                    for j in range(n + 1)
                ]
                for i in range(n + 1)
            ]
            V = [[*row, Fraction(0)] for row in fractions(head.A)] + [[*[Fraction(0)] * d, fraction(head.rho)]]
            update = times(times(V, Z), H)
            total = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(total, update, strict=True)]
        Z = total
        states.append(Z)
    return states
