"""Untrusted. Runs exported files in the programs they are for: torch, onnxruntime, numpy."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq

from interp.datasets.npz import dyadic_row
from interp.export.rounding import FORMATS, Array, round_nearest
from interp.export.safetensors_file import read_safetensors
from interp.optional import load_optional
from proofs.kernel.check import squared_hausdorff
from proofs.kernel.errors import InternalFault, UsageError
from proofs.kernel.rational import Row, coordinates_of
from proofs.kernel.statement import Dataset, Readout


def round_tokens(rows: Sequence[Row], dtype: str) -> Array:
    """The nearest floats of the tokens of a sequence, (n, d). Raises: OverflowError."""
    target = FORMATS[dtype]
    return np.array([[round_nearest(x, target) for x in coordinates_of(row)] for row in rows], target.dtype)


def measure_export(
    kind: str, path: Path, dataset: Dataset, dtype: str, readout: Readout = Readout.ALL
) -> list[fmpq | None]:
    """The squared Hausdorff distance of every pair's final floats from its targets; None where one is no number.

    Inputs are rounded to the nearest floats. Exactness: distances are those of the floats as the rationals they are.
    Raises: UsageError when an input overflows or the program is missing.
    """
    try:
        sequences = [round_tokens(pair.input, dtype) for pair in dataset.pairs]
    except OverflowError as error:
        raise UsageError(f"a token of the dataset overflows {dtype}", "--dtype", "use float64") from error
    distances: list[fmpq | None] = []
    for outputs, pair in zip(run_export(kind, path, sequences), dataset.pairs, strict=True):
        rows = readout.take(pair, list(outputs))
        if np.isfinite(rows).all():
            distances.append(squared_hausdorff({dyadic_row(row.tolist()) for row in rows}, set(pair.output)))
        else:
            distances.append(None)
    return distances


def run_export(kind: str, path: Path, sequences: Sequence[Array]) -> list[Array]:
    """The final tokens of every sequence, all in one batch where the program has batches.

    Raises: UsageError without the program.
    """
    runners = {"torch": _run_torch, "safetensors": _run_safetensors, "numpy": _run_numpy, "onnx": _run_onnx}
    return runners[kind](path, sequences)


def _load_module(path: Path) -> Any:
    """The exported module, from its own file."""
    spec = importlib.util.spec_from_file_location("exported_transformer", path)
    if spec is None or spec.loader is None:
        raise InternalFault("the exported module cannot be loaded", file=str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run_torch(path: Path, sequences: Sequence[Array]) -> list[Array]:
    load_optional("torch")
    load_optional("safetensors")
    module = _load_module(path)
    return _run_model(module, module.load(), sequences)


def _run_safetensors(path: Path, sequences: Sequence[Array]) -> list[Array]:
    load_optional("torch")
    read_safetensors(path.read_bytes())
    module = load_optional("interp.export.torch_module")
    return _run_model(module, module.load(path), sequences)


def _run_model(module: Any, model: Any, sequences: Sequence[Array]) -> list[Array]:
    torch = load_optional("torch")
    tokens, mask = module.pad([torch.from_numpy(x) for x in sequences], model.dtype)
    with torch.inference_mode():
        outputs = model(tokens, mask).numpy()
    return [row[: len(x)] for row, x in zip(outputs, sequences, strict=True)]


def _run_numpy(path: Path, sequences: Sequence[Array]) -> list[Array]:
    module = _load_module(path)
    weights = module.load()
    return [module.run(weights, x) for x in sequences]


def _run_onnx(path: Path, sequences: Sequence[Array]) -> list[Array]:
    runtime = load_optional("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    lengths = np.array([len(x) for x in sequences])
    mask = np.arange(lengths.max())[None, :] < lengths[:, None]
    tokens = np.zeros((*mask.shape, sequences[0].shape[1]), sequences[0].dtype)
    tokens[mask] = np.concatenate(sequences)
    (outputs,) = session.run(["outputs"], {"tokens": tokens, "mask": mask})
    return [row[: len(x)] for row, x in zip(outputs, sequences, strict=True)]
