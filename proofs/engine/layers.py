"""Trusted. A feed-forward layer of any kind on all tokens, over one denominator."""

from __future__ import annotations

from math import lcm

import numpy as np

from proofs.engine.integers import Array, add, integer_array, multiply, product
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
    hidden: Array = np.maximum(add(linear, multiply(G[:, -1], state.denominator)), 0)
    common = lcm(eta_denominator, g * h)
    kept = multiply(state.numerators, eta * (common // eta_denominator))
    moved = multiply(product(hidden, H.T), common // (g * h))
    state.replace(add(kept, moved), common * state.denominator)
