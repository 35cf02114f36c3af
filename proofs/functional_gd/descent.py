"""Trusted. Side two: gradient descent in the RKHS of K. No code is shared with side one (``forward``).

Functional gradient. Let E(f) = c sum_i (f(x_i) - y_i)^2 on the RKHS of K. By the reproducing property f(x_i) = <f,
K(x_i, .)>, the derivative of E at f in direction g is 2c sum_i (f(x_i) - y_i) g(x_i) = <2c sum_i (f(x_i) - y_i) K(x_i,
.), g>. So a step of size r changes f = sum_i alpha_i K(x_i, .) into the function with coefficients

    alpha_i + 2 c r (y_i - f(x_i)),      f(x_j) = sum_i alpha_i K(x_i, x_j),

and f_0 = 0. c is 1/2, 1 or 1/n by the claim's loss. Softmax: K(x_i, z) = e^<x_i, z> / D(z), D(z) = sum_i e^<x_i, z>.
This is no symmetric kernel; the recursion is the same and is what is meant by its descent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq, fmpq_mat

from proofs.functional_gd.model import Claim, Context, Kernel, Term
from proofs.kernel.errors import InternalFault

Numbers = list[Any]
Point = tuple[fmpq, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """columns[j][i] = K(x_i, x_j) and nu[i] = K(x_i, x), x the query; own = K(x, x) (None if there is softmax)."""

    columns: list[Numbers]
    nu: Numbers
    own: Any


@dataclass(frozen=True, slots=True)
class State:
    """After l steps: y_j - f_l(x_j), and f_l(x)."""

    residuals: Numbers
    prediction: Any


def rate_factor(loss: str, num_points: int) -> fmpq:
    """2 c."""
    return {"half-sum": fmpq(1), "sum": fmpq(2), "mean": fmpq(2, num_points)}[loss]


def kernel_table(kernel: Kernel, context: Context, balls: bool) -> Table:
    """All values of K that the descent needs, as balls in the current precision or as rationals."""
    columns = [_kernel_column(kernel, context.points, z, balls) for z in context.points]
    nu = _kernel_column(kernel, context.points, context.query, balls)
    if any(term.activation.name == "softmax" for term in kernel.terms):
        return Table(columns, nu, None)
    return Table(columns, nu, _kernel_column(kernel, (context.query,), context.query, balls)[0])


def _kernel_column(kernel: Kernel, points: tuple[Point, ...], z: Point, balls: bool) -> Numbers:
    """K(x_i, z) for every i."""
    column: Numbers = [fmpq(0) for _ in points]
    for term in kernel.terms:
        image = term.B.transpose() * term.B * fmpq_mat(len(z), 1, list(z))
        scores = [(fmpq_mat(1, len(z), list(x)) * image)[0, 0] for x in points]
        values = _profile(term, [arb(s) if balls and not term.activation.rational else s for s in scores])
        column = [old + term.weight * value for old, value in zip(column, values, strict=True)]
    return [arb(1) * value for value in column] if balls else column


def _profile(term: Term, scores: Numbers) -> Numbers:
    """h(score) for each key."""
    name = term.activation.name
    if name == "linear":
        return scores
    if name == "relu":
        return [(s + abs(s)) / fmpq(2) for s in scores]
    if name == "polynomial":
        values = [fmpq(1) for _ in scores]
        for _ in range(term.activation.degree):
            values = [value + value * s for value, s in zip(values, scores, strict=True)]
        return values
    if name == "exp":
        return [s.exp() for s in scores]
    if name == "softmax":
        total = sum((s.exp() for s in scores), fmpq(0))
        return [s.exp() / total for s in scores]
    raise InternalFault(f"kernel {name}")


def run_descent(table: Table, context: Context, claim: Claim) -> list[State]:
    """The L + 1 states of the descent, in the arithmetic of the table."""
    alpha: Numbers = [fmpq(0) for _ in context.points]
    factor = rate_factor(claim.loss, len(context.points))
    states = [_state(table, context, alpha)]
    for step in claim.steps:
        alpha = [a + factor * step * r for a, r in zip(alpha, states[-1].residuals, strict=True)]
        states.append(_state(table, context, alpha))
    return states


def _state(table: Table, context: Context, alpha: Numbers) -> State:
    values = [combine(alpha, column) for column in table.columns]
    residuals = [y - value for y, value in zip(context.labels, values, strict=True)]
    return State(residuals, combine(alpha, table.nu))


def combine(left: Numbers, right: Numbers) -> Any:
    """The sum of the products."""
    return sum((a * b for a, b in zip(left, right, strict=True)), fmpq(0))
