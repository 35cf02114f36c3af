"""Untrusted. Proposition 1: the transformer whose layers are gradient steps in the RKHS of a kernel."""

from __future__ import annotations

from flint import fmpq, fmpq_mat

from proofs.functional_gd.model import Claim, Context, Head, Transformer

# Row d+1 of Z_l shall hold the residuals y_j - f_l(x_j) and, for the query, -f_l(x). A step of size r on
# c sum (f(x_i) - y_i)^2 adds 2 c r sum_i (y_i - f_l(x_i)) K(x_i, .) to f_l, so it takes 2 c r sum_i rho_i K(x_i, x_j)
# from entry j. A head with A = 0, B = C and value v adds v sum_i rho_i h(<B x_i, B x_j>). So a term w h(<B u, B v>) of
# K becomes a head with the same h and B, and v = -2 c r w; several heads add up (proposition 3).


def build_descent(context: Context, claim: Claim) -> Transformer:
    """One layer for each step, one head for each term of the kernel. Source: propositions 1 and 3."""
    twice_c = {"half-sum": fmpq(1), "sum": fmpq(2), "mean": fmpq(2, len(context.points))}[claim.loss]
    still = fmpq_mat(context.dimension, context.dimension)
    layers = [
        tuple(Head(t.activation, t.B, t.B, still, -twice_c * step * t.weight) for t in claim.kernel.terms)
        for step in claim.steps
    ]
    return Transformer(context.dimension, tuple(layers))
