"""Untrusted. Named tensors in safetensors and ``.npz`` files as rationals: every float is the dyadic that it is.

Nothing is ever unpickled: what PyTorch writes with ``torch.save`` is refused.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from interp.export.rounding import exact_rational
from interp.export.safetensors_file import read_safetensors
from interp.export.state import ExactState, ExactTensor
from interp.files.npz import Array, decode_array, open_members
from proofs.kernel.errors import MalformedInput
from proofs.kernel.rational import Limits

TORCH_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
SAVE_HINT = "write it with safetensors.torch.save_file(model.state_dict(), FILE)"


def decode_safetensors(data: bytes) -> ExactState:
    """The tensors of a safetensors file. Raises: MalformedInput, UsageError without safetensors."""
    try:
        tensors, _ = read_safetensors(data)
    except MalformedInput as error:  # only now: the first byte of a good file may be that of a pickle, too
        raise _explain_refusal(data) or error from error
    state = {}
    for name, tensor in tensors.items():
        kind = tensor["dtype"]
        if kind not in TORCH_TYPES:
            raise MalformedInput(f"a tensor of type {kind} is not read", name, f"write {', '.join(TORCH_TYPES)}")
        flat = np.frombuffer(tensor["data"], TORCH_TYPES[kind])
        if kind == "BF16":  # the upper half of a float32
            flat = (flat.astype("<u4") << 16).view("<f4")
        state[name] = _exact(name, flat.reshape(tensor["shape"]))
    return state


def _explain_refusal(data: bytes) -> MalformedInput | None:
    """What the file is instead, if it is one of those that come in mistake for safetensors."""
    if data.startswith(b"PK") and b".npy" in data[:256]:
        return MalformedInput("an .npz archive, not safetensors", hint="interp import numpy FILE")
    if data.startswith((b"PK", b"\x80")):
        return MalformedInput("a pickle of torch.save, which is never opened: it may run any code", hint=SAVE_HINT)
    return None


def decode_npz(data: bytes, limits: Limits) -> ExactState:
    """The arrays of an archive. Raises: MalformedInput, LimitReached."""
    state: dict[str, ExactTensor] = {}
    with open_members(data, limits) as members:
        for name, read in members:
            if name in state:
                raise MalformedInput("the array is given twice", name)
            state[name] = _exact(name, decode_array(name, read(), partial(_check_type, name)))
    return state


def _check_type(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "iuf" or dtype.itemsize > 8:
        raise MalformedInput(
            f"an array of type {dtype} is not read", name, "write float64, float32, float16 or integers"
        )


def _exact(name: str, array: Array) -> ExactTensor:
    """Raises: MalformedInput for the first entry that is no number."""
    tensor = ExactTensor(array.shape, ())
    values = []
    for index, value in enumerate(array.ravel().tolist()):
        try:
            values.append(exact_rational(value))
        except MalformedInput as error:
            error.path = tensor.place(name, index)
            raise
    return ExactTensor(array.shape, values)
