"""A transformer of ReLU layers and hardmax or softmax attention in NumPy. Needs numpy, nothing else.

    FF(x)   = eta x + W relu(U x + b)
    SA_i(X) = rho x_i + V (weighted mean of the x_l),  score_il = <A x_i, x_l>
    block   = SA after FF

At temperature 0 (hardmax) all x_l of largest score weigh the same, ties included; at a temperature > 0 (softmax) x_l
weighs exp(score_il / temperature). A and V are scale I + left right^T, or dense, or 0 when they are missing.
In a layer that is causal the mean of token i is over l <= i alone.

    weights = load()              # the arrays beside this file, or load("weights.npz")
    outputs = run(weights, x)     # x and outputs (n, d): the tokens of one sequence, one a row

Everything here is floating point, of the type of the weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Weights = dict[str, Array]


def load(path: str | Path | None = None) -> Weights:
    """The arrays of a file by name, such as ``blocks.0.feed_forward.W``; by default of this module's name beside it."""
    with np.load(path or Path(__file__).with_suffix(".npz"), allow_pickle=False) as arrays:
        return dict(arrays)


def run(weights: Weights, tokens: Array) -> Array:
    """The final tokens (n, d) of one sequence (n, d)."""
    dtype = next((value.dtype for name, value in weights.items() if name.startswith("blocks.")), np.dtype(np.float64))
    x = np.asarray(tokens, dtype=dtype)
    if x.ndim != 2 or len(x) == 0 or x.shape[1] != weights["dimension"]:
        raise ValueError(f"tokens have shape {x.shape}, expected (n, {weights['dimension']}) with n > 0")
    temperature = float(weights["temperature"])
    k = 0
    while f"blocks.{k}.attention.rho" in weights:
        x = feed_forward(weights, f"blocks.{k}.feed_forward.", x)
        x = attention(weights, f"blocks.{k}.attention.", x, temperature)
        k += 1
    return x


def feed_forward(weights: Weights, prefix: str, x: Array) -> Array:
    """eta x + W relu(U x + b) for each token."""
    result = weights[prefix + "eta"] * x
    if prefix + "W" in weights:
        units: Array = np.maximum(x @ weights[prefix + "U"].T + weights[prefix + "b"], 0)
        result = result + units @ weights[prefix + "W"].T
    return result


def attention(weights: Weights, prefix: str, x: Array, temperature: float) -> Array:
    """rho x_i + V (weighted mean of the x_l) for each i."""
    A, V = square_matrix(weights, prefix + "A."), square_matrix(weights, prefix + "V.")
    result: Array = weights[prefix + "rho"] * x
    if not V:
        return result
    causal = bool(weights.get(prefix + "causal", 0))
    return result + multiply(V, weighted_mean(A, x, temperature, causal))


def weighted_mean(A: Weights, x: Array, temperature: float, causal: bool = False) -> Array:
    """The mean for each i, over l <= i if causal, (n, d); (1, d) when it is the same for all i."""
    if not A and not causal:
        plain: Array = x.sum(0, keepdims=True) / x.dtype.type(len(x))
        return plain
    scores = score(A, x) if A else np.zeros((len(x), len(x)), x.dtype)
    if causal:
        scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf).astype(x.dtype)
    best = scores.max(1, keepdims=True)
    if temperature == 0:
        share = (scores == best).astype(x.dtype)
    else:
        share = np.exp((scores - best) / x.dtype.type(temperature))
    mean: Array = (share @ x) / share.sum(1, keepdims=True)
    return mean


def square_matrix(weights: Weights, prefix: str) -> Weights:
    """The parts that there are of scale I + left right^T or of a dense matrix; none for 0."""
    return {part: weights[prefix + part] for part in ("scale", "left", "right", "dense") if prefix + part in weights}


def multiply(matrix: Weights, x: Array) -> Array:
    """M x for each token."""
    parts: list[Array] = []
    if "dense" in matrix:
        parts.append(x @ matrix["dense"].T)
    if "scale" in matrix:
        parts.append(matrix["scale"] * x)
    if "left" in matrix:
        parts.append((x @ matrix["right"])[:, None] * matrix["left"])
    return sum(parts[1:], start=parts[0])


def score(A: Weights, x: Array) -> Array:
    """<A x_i, x_l> for all i and l, (n, n)."""
    parts: list[Array] = []
    if "dense" in A:
        parts.append((x @ A["dense"].T) @ x.T)
    if "scale" in A:
        parts.append(A["scale"] * (x @ x.T))
    if "left" in A:
        parts.append((x @ A["right"])[:, None] * (x @ A["left"])[None, :])
    return sum(parts[1:], start=parts[0])
