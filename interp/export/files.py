"""Untrusted. The files of an export: which they are, what they say, and what was rounded."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO
from pathlib import Path

import numpy as np
from flint import fmpq

from interp.export.onnx_graph import encode_onnx
from interp.export.rounding import FORMATS, Array, RoundingReport, round_nearest, round_state
from interp.export.safetensors_file import encode_safetensors
from interp.export.state import DIMENSION, TEMPERATURE, encode_state
from interp.files.npz import write_member
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Transformer

# format -> the ending of the file, and of the weights beside it
ENDINGS = {
    "torch": (".py", ".safetensors"),
    "numpy": (".py", ".npz"),
    "safetensors": (".safetensors", ""),
    "onnx": (".onnx", ""),
}


@dataclass(frozen=True, slots=True)
class Export:
    """Contents by path, the file that was asked for first, and what rounding did."""

    contents: dict[Path, bytes]
    report: RoundingReport


def export_floats(
    transformer: Transformer, source: bytes, kind: str, output: Path, dtype: str, temperature: fmpq
) -> Export:
    """The files of a transformer in floating point. ``source`` is its own file, which safetensors carries along.

    Raises: UsageError for a weight that overflows, a temperature that is not positive in the format, an ending that
    is not the format's, or a package that is missing; LimitReached.
    """
    ending, beside = ENDINGS[kind]
    if output.suffix != ending:
        raise UsageError(f"{kind} is written to a file that ends in {ending}", "--output")
    target = FORMATS[dtype]
    arrays, report = round_state(encode_state(transformer), target)
    nearest = _round_temperature(temperature, dtype)
    if kind == "onnx":
        size = len(transformer.blocks)
        return Export({output: encode_onnx(arrays, transformer.dimension, size, nearest, target.dtype)}, report)
    arrays |= {
        DIMENSION: np.array(transformer.dimension, "<i8"),
        TEMPERATURE: np.array(nearest, "<f8"),
    }
    if kind == "safetensors":
        return Export({output: encode_safetensors(arrays, source)}, report)
    weights = encode_npz(arrays) if kind == "numpy" else encode_safetensors(arrays)
    module = files("interp.export").joinpath(f"{kind}_module.py").read_bytes()
    return Export({output: module, output.with_suffix(beside): weights}, report)


def _round_temperature(temperature: fmpq, dtype: str) -> float:
    try:
        nearest = round_nearest(temperature, FORMATS[dtype])
    except OverflowError as error:
        raise UsageError(f"the temperature overflows {dtype}", "--temperature") from error
    if nearest < 0 or (nearest == 0 and temperature != 0):
        raise UsageError(f"the temperature {temperature} is not positive in {dtype}", "--temperature")
    return nearest


def encode_npz(arrays: dict[str, Array]) -> bytes:
    """The archive, stored and without dates: the same bytes for the same arrays."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            write_member(archive, name, array)
    return stream.getvalue()
