"""Untrusted, approximate. Runs a transformer in mpmath or float64: for looking, never for a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
from flint import fmpq

from proofs.kernel.errors import UsageError
from proofs.kernel.model import Block, FeedForward, SelfAttention, Transformer

Number = Any  # float or mpmath.mpf: both have + - * / and comparisons
Vector = list[Number]


@dataclass(frozen=True)
class Arithmetic:
    """A number type: how to make one from a rational, and its exponential."""

    name: str
    number: Callable[[fmpq], Number]
    exp: Callable[[Number], Number]


def find_arithmetic(name: str) -> Arithmetic:
    """``float64`` or ``mpmath:DIGITS``. Raises: UsageError."""
    if name == "float64":
        return Arithmetic(name, lambda x: int(x.p) / int(x.q), math.exp)
    kind, _, digits = name.partition(":")
    if kind == "mpmath" and digits.isascii() and digits.isdigit() and 1 <= int(digits) <= 100_000:
        context = mpmath.mp.clone()
        context.dps = int(digits)
        return Arithmetic(name, lambda x: context.mpf(int(x.p)) / context.mpf(int(x.q)), context.exp)
    raise UsageError(f"arithmetic {name!r}", "--arithmetic", "write rational, float64 or mpmath:DIGITS")


def approx_run(
    transformer: Transformer, tokens: Sequence[Sequence[fmpq]], arithmetic: Arithmetic, temperature: fmpq
) -> Iterator[list[Vector]]:
    """The tokens after each block, the input first. Temperature 0 is hardmax: equal scores average."""
    current = [[arithmetic.number(x) for x in token] for token in tokens]
    yield current
    for block in transformer.blocks:
        current = _apply_block(block, current, arithmetic, arithmetic.number(temperature), transformer.dimension)
        yield current


def _apply_block(
    block: Block, tokens: list[Vector], arithmetic: Arithmetic, temperature: Number, dimension: int
) -> list[Vector]:
    moved = [_feed_forward(block.feed_forward, x, arithmetic) for x in tokens]
    return _attention(block.attention, moved, arithmetic, temperature, dimension)


def _feed_forward(layer: FeedForward, x: Vector, arithmetic: Arithmetic) -> Vector:
    eta = arithmetic.number(layer.eta)
    result = [eta * c for c in x]
    for k, (row, b) in enumerate(zip(layer.U.tolist(), layer.b.entries(), strict=True)):
        unit = _dot([arithmetic.number(u) for u in row], x) + arithmetic.number(b)
        if unit > 0:
            result = [c + arithmetic.number(layer.W[i, k]) * unit for i, c in enumerate(result)]
    return result


def _attention(
    layer: SelfAttention, tokens: list[Vector], arithmetic: Arithmetic, temperature: Number, dimension: int
) -> list[Vector]:
    rho = arithmetic.number(layer.rho)
    result = [[rho * c for c in x] for x in tokens]
    for head in layer.find_acting(dimension):
        A, V = (
            [[arithmetic.number(x) for x in row] for row in matrix.to_dense(dimension).tolist()]
            for matrix in (head.A, head.V)
        )
        for i, x in enumerate(tokens):
            seen = tokens[: i + 1] if layer.causal else tokens
            query = [_dot(row, x) for row in A]
            weights = _weights([_dot(query, z) for z in seen], arithmetic, temperature)
            total = sum(weights)
            mean = [sum(w * z[c] for w, z in zip(weights, seen, strict=True)) / total for c in range(dimension)]
            result[i] = [c + _dot(row, mean) for c, row in zip(result[i], V, strict=True)]
    return result


def _weights(scores: Vector, arithmetic: Arithmetic, temperature: Number) -> Vector:
    best = max(scores)
    if temperature == 0:
        return [1 if score == best else 0 for score in scores]
    return [arithmetic.exp((score - best) / temperature) for score in scores]


def _dot(left: Sequence[Number], right: Sequence[Number]) -> Number:
    return sum(a * b for a, b in zip(left, right, strict=True))
