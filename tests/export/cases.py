"""Transformers and sequences on which floating point is exact, so that equality may be asserted.

Weights and tokens are integers up to 2, there are at most two different tokens, each as often as the other (once or
twice): means are over 1, 2 or 4 tokens. With d = 2, width <= 2 and two blocks every number that arises, scores included,
is an integer below 2^40 over 2^6, so float64 is exact; after one block all are integers below 2^16 over 2^4, so float32
is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from hypothesis import strategies as st

from interp.export.files import ENDINGS, export_floats
from interp.export.runtimes import run_export
from proofs.kernel.decode import decode_transformer
from tests.strategies import Token, small_numbers, transformer_bytes, vectors

NEEDS = {
    "torch": ("torch", "safetensors"),
    "safetensors": ("torch", "safetensors"),
    "onnx": ("onnx", "onnxruntime"),
    "numpy": (),
}
KINDS = tuple(NEEDS)


def need(*modules: str) -> None:
    """Skips where a module is missing."""
    for module in modules:
        pytest.importorskip(module, reason=f"{module} is not installed", exc_type=ImportError)


@st.composite
def small_transformers(draw: st.DrawFn, max_blocks: int, dimension: int = 2, causal: bool = False) -> bytes:
    """Small integers everywhere; every kind of layer, ties common. ``causal``: attention has a causal mask, or may."""
    d = dimension
    rows = st.lists(vectors(d, small_numbers), min_size=d, max_size=d)
    blocks = []
    for _ in range(draw(st.integers(1, max_blocks))):
        block: dict[str, Any] = {}
        if draw(st.booleans()):
            w = draw(st.integers(0, 2))
            block["ff"] = {
                "eta": draw(small_numbers),
                "W": draw(st.lists(vectors(w, small_numbers), min_size=d, max_size=d)),
                "U": draw(st.lists(vectors(d, small_numbers), min_size=w, max_size=w)),
                "b": draw(vectors(w, small_numbers)),
            }
        if draw(st.integers(0, 3)):
            block["sa"] = {"rho": draw(small_numbers)}
            if causal and draw(st.integers(0, 3)):
                block["sa"]["mask"] = "causal"
            for name, (scale, left, right) in (("A", ("alpha", "p", "q")), ("V", ("beta", "r", "t"))):
                vector = vectors(d, small_numbers)
                form = draw(st.integers(0, 4))
                if form == 1:
                    block["sa"][name] = {"dense": draw(rows)}
                elif form > 1:
                    parts = {scale: draw(small_numbers)} if form in (2, 4) else {}
                    block["sa"][name] = parts | ({left: draw(vector), right: draw(vector)} if form > 2 else {})
        blocks.append(block)
    return transformer_bytes(d, blocks)


@st.composite
def small_sequences(draw: st.DrawFn, dimension: int = 2) -> list[list[Token]]:
    """Sequences of lengths 1, 2 and 4, each token as often as the others."""
    token = st.tuples(*[st.integers(-2, 2).map(Fraction)] * dimension)
    pools = draw(st.lists(st.lists(token, min_size=1, max_size=2, unique=True), min_size=1, max_size=4))
    return [pool * draw(st.integers(1, 2)) for pool in pools]


def run_floats(
    kind: str,
    data: bytes,
    sequences: Sequence[Sequence[Token]],
    folder: Path,
    dtype: str = "float64",
    temperature: fmpq | None = None,
) -> list[np.ndarray]:
    """What the exported files give in the program they are for."""
    output = folder / f"exported{ENDINGS[kind][0]}"
    for path, content in export_floats(
        decode_transformer(data), data, kind, output, dtype, temperature or fmpq(0)
    ).contents.items():
        path.write_bytes(content)
    arrays = [np.array([[float(x) for x in token] for token in tokens], dtype) for tokens in sequences]
    results = run_export(kind, output, arrays)
    assert all(result.dtype == np.dtype(dtype) for result in results)
    return results


def as_fractions(results: Sequence[np.ndarray]) -> list[list[Token]]:
    """Floats as the rationals that they are."""
    return [[tuple(map(Fraction, row)) for row in result.tolist()] for result in results]
