"""Trusted. A feed-forward layer of any kind on all tokens, over one denominator; radii as ``proofs.kernel.boxes``."""

from __future__ import annotations

from math import lcm

import numpy as np

from proofs.engine.integers import Array, add, integer_array, multiply, product
from proofs.engine.radii import combine, uncertain, upper
from proofs.engine.state import State
from proofs.kernel.hardmax import integer_affine, integer_matrix
from proofs.kernel.model import FeedForward


def apply_dense(state: State, layer: FeedForward) -> None:
    """eta x + W relu(U x + b).

    With [U | b] = G / g, W = H / h and x = X / D: U x + b = (G [X, D]) / (g D).
    """
    eta, eta_denominator = int(layer.eta.p), int(layer.eta.q)
    affine, g = integer_affine(layer)
    matrix, h = integer_matrix(layer.W)
    G = integer_array([[int(x) for x in row] for row in affine.tolist()]).reshape(layer.width, state.dimension + 1)
    H = integer_array([[int(x) for x in row] for row in matrix.tolist()]).reshape(state.dimension, layer.width)
    linear = product(state.numerators, G[:, :-1].T)
    values = add(linear, multiply(G[:, -1], state.denominator))
    common = lcm(eta_denominator, g * h)
    keep, moving = eta * (common // eta_denominator), common // (g * h)
    if state.radii is not None:
        doubt = uncertain(values, combine(upper(G[:, :-1], 1), state.radii), state.denominator)
        # where all signs are certain, x -> M x + const with M = (keep I + moving H P G) / common, P the active units
        patterns, place = np.unique(values > 0, axis=0, return_inverse=True)
        radii = np.empty_like(state.radii)
        for k, active in enumerate(patterns):
            unity = multiply(np.eye(state.dimension, dtype=np.int64), keep)
            M = add(unity, multiply(product(H[:, active], G[active, :-1]), moving))
            rows = place.ravel() == k
            radii[rows] = combine(upper(M, common), state.radii[rows])
        radii[doubt] = np.inf
        state.radii = radii
    hidden: Array = np.maximum(values, 0)
    moved = multiply(product(hidden, H.T), moving)
    state.replace(add(multiply(state.numerators, keep), moved), common * state.denominator)
