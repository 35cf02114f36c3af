"""Untrusted. Safetensors files: float weights, and in their metadata the transformer file they are the roundings of."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from interp.export.rounding import FORMATS, Array, round_state
from interp.export.state import encode_state
from interp.optional import load_optional
from proofs.kernel.decode import TRANSFORMER_FORMAT, decode_transformer
from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.rational import Limits

MAX_METADATA = 90_000_000  # bytes: readers of safetensors stop at a header of 100 MB


def encode_safetensors(arrays: dict[str, Array], exact: bytes | None = None) -> bytes:
    """The file. ``exact`` is the transformer file that goes into the metadata, under the name of its format.

    Raises: UsageError without safetensors, LimitReached.
    """
    metadata = None
    if exact is not None:
        if len(exact) > MAX_METADATA:
            raise LimitReached(f"{len(exact)} bytes of exact numbers", hint="use --to torch, which has floats only")
        metadata = {TRANSFORMER_FORMAT: exact.decode()}  # one entry: the library writes several in any order
    content: bytes = load_optional("safetensors.numpy").save(arrays, metadata)
    return content


def read_safetensors(data: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    """Tensors by name, each with dtype, shape and data, and the metadata. Raises: MalformedInput, UsageError."""
    safetensors = load_optional("safetensors")
    try:
        tensors = dict(safetensors.deserialize(data))
    except safetensors.SafetensorError as error:
        raise MalformedInput(f"not a readable safetensors file: {error}") from error
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return tensors, header.get("__metadata__") or {}


def decode_exact(data: bytes, limits: Limits) -> bytes:
    """The transformer file inside, whose numbers the floats beside it must be the roundings of.

    Raises: MalformedInput when there is none, or when the floats were changed since.
    """
    tensors, metadata = read_safetensors(data)
    if TRANSFORMER_FORMAT not in metadata:
        hint = "for the floats alone: interp import torch FILE"
        raise MalformedInput("no exact numbers are in the metadata", TRANSFORMER_FORMAT, hint)
    exact = metadata[TRANSFORMER_FORMAT].encode()
    state = encode_state(decode_transformer(exact, limits))
    kinds = {"F64": "float64", "F32": "float32"}
    for name, tensor in state.items():
        found = tensors.get(name, {"dtype": None})
        if found["dtype"] not in kinds or tuple(found["shape"]) != tensor.shape:
            raise MalformedInput("the float tensor does not go with the exact numbers", name)
        wanted = round_state({name: tensor}, FORMATS[kinds[found["dtype"]]])[0][name]
        floats = np.frombuffer(found["data"], wanted.dtype).reshape(wanted.shape)
        if floats.tobytes() != wanted.tobytes():
            hint = "trained since? interp import torch FILE takes the floats"
            raise MalformedInput("the floats are not the roundings of the exact numbers", name, hint)
    if unknown := sorted(set(tensors) - set(state) - {"dimension", "temperature"}):
        raise MalformedInput("a tensor that the exact numbers do not have", unknown[0])
    return exact
