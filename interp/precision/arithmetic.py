"""Untrusted, approximate. The operations of a run in one floating-point type: numpy, torch, or bfloat16 by its bits.

Arrays are opaque between ``array`` and ``to_numpy``; values given and taken are float64 arrays that the type holds
exactly.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from interp.optional import load_optional
from proofs.kernel.errors import UsageError

BACKENDS = ("numpy", "torch")
Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Binary = Callable[[Any, Any], Any]
Unary = Callable[[Any], Any]


@dataclass(frozen=True)
class Arithmetic:
    """Operations whose results are numbers of the type; ``matmul`` sums in an order of its own."""

    array: Callable[[Floats], Any]
    to_numpy: Callable[[Any], Floats]
    exp: Unary
    relu: Unary
    sum_last: Unary  # over the last axis, which is kept
    concatenate: Callable[[list[Any]], Any]
    add: Binary = operator.add
    multiply: Binary = operator.mul
    divide: Binary = operator.truediv
    matmul: Binary = operator.matmul


def make_arithmetic(dtype: str, backend: str) -> Arithmetic:
    """The arithmetic of ``dtype`` in a backend. Raises: UsageError."""
    if backend == "torch":
        return _make_torch(dtype)
    if backend != "numpy":
        raise UsageError(f"backend {backend!r}", "--backend", f"one of {', '.join(BACKENDS)}")
    return _make_bfloat16() if dtype == "bfloat16" else _make_numpy(dtype)


def _widen(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _make_numpy(dtype: str) -> Arithmetic:
    """float32 or float64 as numpy and its BLAS compute them."""
    return Arithmetic(
        array=lambda values: values.astype(dtype),
        to_numpy=_widen,
        exp=np.exp,
        relu=lambda values: np.maximum(values, 0),
        sum_last=lambda values: values.sum(axis=-1, keepdims=True),
        concatenate=np.concatenate,
    )


def _make_torch(dtype: str) -> Arithmetic:
    """float32, float64 or bfloat16 as torch computes them. Raises: UsageError without torch."""
    torch = load_optional("torch")
    kind = getattr(torch, dtype)
    return Arithmetic(
        array=lambda values: torch.from_numpy(np.ascontiguousarray(values)).to(kind),
        to_numpy=lambda values: _widen(values.double().numpy()),
        exp=torch.exp,
        relu=torch.relu,
        sum_last=lambda values: values.sum(dim=-1, keepdim=True),
        concatenate=torch.cat,
    )


def round_bfloat16(values: Singles) -> Singles:
    """The nearest bfloat16 of every float32, ties to even: the upper half of its bits."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    even = ((bits >> 16) & 1).astype(np.uint64)
    rounded = ((bits + 0x7FFF + even) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(values), rounded, values).astype(np.float32)


def _make_bfloat16() -> Arithmetic:
    """bfloat16, every product and every sum rounded, sums from left to right.

    A float32 has more than twice as many bits and two: rounding its result again is rounding the exact result once.
    Source: S. Figueroa, When is double rounding innocuous?, SIGNUM Newsletter 30 (1995).
    """

    def rounded(operation: Binary) -> Binary:
        return lambda left, right: round_bfloat16(operation(left, right))

    add, multiply = rounded(operator.add), rounded(operator.mul)

    def matmul(left: Singles, right: Singles) -> Singles:
        total: Singles = np.zeros((left.shape[0], right.shape[1]), dtype=np.float32)
        for c in range(left.shape[1]):
            total = add(total, multiply(left[:, c, None], right[None, c, :]))
        return total

    def sum_last(values: Singles) -> Singles:
        total = values[..., :1]
        for c in range(1, values.shape[-1]):
            total = add(total, values[..., c : c + 1])
        return total

    return Arithmetic(
        array=lambda values: values.astype(np.float32),
        to_numpy=_widen,
        exp=lambda values: round_bfloat16(np.exp(values)),
        relu=lambda values: np.maximum(values, np.float32(0)),
        sum_last=sum_last,
        concatenate=np.concatenate,
        add=add,
        multiply=multiply,
        divide=rounded(operator.truediv),
        matmul=matmul,
    )
