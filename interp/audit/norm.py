"""Untrusted. The parameter norm: the exact sum of squared weights."""

from __future__ import annotations

from flint import fmpq

from proofs.kernel.counts import list_scalars
from proofs.kernel.model import Transformer


def sum_squares(transformer: Transformer) -> fmpq:
    """|theta|^2 over all stored scalars: W, U, b, eta, rho, alpha, p, q, beta, r, t (or dense A and V)."""
    return sum((x * x for block in transformer.blocks for x in list_scalars(block)), fmpq(0))
