"""Trusted. Whether a layer is a gradient step for all residuals, decided exactly although exp(1/3) is no rational.

By induction X_l = X_0 (the step leaves the points alone), so all scores <B x_i, C x_j> are rational and known. A layer
adds sum_heads V_h Z M H_h; the step adds sum_terms diag(0, -r w_t) Z M K_t. They agree for every last row of Z if and
only if, for each query j, these d + n numbers are zero, the last ones for each key i:

    sum_i sum_heads (A_h x_i) h_h(s^h_ij),        sum_heads rho_h h_h(s^h_ij) + sum_terms r w_t h_t(s^t_ij).       (*)

Every h(s) is a rational factor times a function e^a, or a softmax weight, which is given by i and by the scores of its
column up to a common constant. The factors of the same function are added; if all sums are zero, so is (*). If only e^a
with different a are left in one number, it is not zero, because these are linearly independent over Q
(Lindemann-Weierstrass); one softmax weight alone is not zero either. Other remainders are left undecided.
"""

from __future__ import annotations

from typing import Any

from flint import fmpq, fmpq_mat

from proofs.functional_gd.descent import rate_factor
from proofs.functional_gd.model import Activation, Claim, Context, Head, Transformer
from proofs.kernel.errors import Status


def decide_layers(transformer: Transformer, context: Context, claim: Claim) -> tuple[Status, str]:
    """Whether every layer is the step of the claim, and the first place where it is not."""
    d, n = context.dimension, len(context.points)
    for l, (heads, step) in enumerate(zip(transformer.layers, claim.steps, strict=True), 1):
        r = step * rate_factor(claim.loss, n)
        terms = tuple(Head(t.activation, t.B, t.B, fmpq_mat(d, d), r * t.weight) for t in claim.kernel.terms)
        for j, z in enumerate((*context.points, context.query)):
            sums: dict[Any, list[fmpq]] = {}
            for head in (*heads, *terms):
                right = head.B.transpose() * (head.C * fmpq_mat(d, 1, list(z)))
                scores = [(fmpq_mat(1, d, list(x)) * right)[0, 0] for x in context.points]
                for i, x in enumerate(context.points):
                    function, factor = _basis(head.activation, scores, i)
                    total = sums.setdefault(function, [fmpq(0)] * (d + n))
                    for c, a in enumerate((head.A * fmpq_mat(d, 1, list(x))).entries()):
                        total[c] += a * factor
                    total[d + i] += head.rho * factor
            numbers = [[function for function, total in sums.items() if total[c] != 0] for c in range(d + n)]
            left = [functions for functions in numbers if functions]
            if left:
                independent = any(len(fs) == 1 or all(isinstance(f, fmpq) for f in fs) for fs in left)
                place = "the query" if j == n else f"point {j}"
                refuted = independent and not claim.kernel.rational  # a rational claim is about this Y only
                return Status.REFUTED if refuted else Status.UNDECIDED, f"layer {l} is not the step at {place}"
    return Status.VERIFIED, f"all {len(claim.steps)} layers are the step for every residual row"


def _basis(activation: Activation, scores: list[fmpq], i: int) -> tuple[Any, fmpq]:
    """The function whose multiple h(score of key i) is, and the factor: a stands for e^a, a tuple for softmax."""
    s, zero, one = scores[i], fmpq(0), fmpq(1)
    return {
        "linear": (zero, s),
        "relu": (zero, max(s, zero)),
        "polynomial": (zero, (1 + s) ** activation.degree),
        "exp": (s, one),
        "softmax": ((i, *(score - scores[0] for score in scores)), one),
    }[activation.name]
