"""Untrusted. A transformer as named tensors of rationals: the names are those of a PyTorch state dict.

For block k, from 0, with dimension d and width w:

    blocks.k.feed_forward.eta ()   .W (d, w)  .U (w, d)  .b (w,)     the three together or not at all
    blocks.k.attention.rho ()
    blocks.k.attention.causal ()                                     1 for a causal mask; 0 or nothing for none
    blocks.k.attention.A.scale ()  .left (d,)  .right (d,)           scale I + left right^T, left and right together;
    blocks.k.attention.A.dense (d, d)                                or dense alone; nothing for A = 0; V likewise
    dimension ()                   may be missing where a weight tells d

A ``scale`` that is missing is 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from flint import fmpq, fmpq_mat

from proofs.kernel.errors import LimitReached, MalformedInput, UsageError
from proofs.kernel.model import (
    Block,
    FeedForward,
    SelfAttention,
    SquareMatrix,
    Transformer,
    identity_feed_forward,
)
from proofs.kernel.rational import DEFAULT_LIMITS, Limits

DIMENSION = "dimension"
TEMPERATURE = "temperature"
_SQUARE = "scale left right dense"
_PARTS = {
    "feed_forward": ["eta", "W", "U", "b"],
    "attention": ["rho", "causal", *(f"{matrix}.{part}" for matrix in "AV" for part in _SQUARE.split())],
}
_NAME = re.compile(r"blocks\.(0|[1-9][0-9]{0,8})\.(feed_forward|attention)\.([A-Za-z.]+)\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class ExactTensor:
    """Rationals in row-major order."""

    shape: tuple[int, ...]
    values: Sequence[fmpq]

    def place(self, name: str, index: int) -> str:
        """The entry of that flat index, such as ``W[1,2]``."""
        places = []
        for size in reversed(self.shape):
            index, place = divmod(index, size)
            places.append(str(place))
        return f"{name}[{','.join(reversed(places))}]" if places else name


ExactState = Mapping[str, ExactTensor]


def encode_state(transformer: Transformer) -> dict[str, ExactTensor]:
    """All weights by name, in the order of the layers; zero matrices and identities are left out where they can be.

    Raises: UsageError, as ``check_plain`` where a mask is allowed.
    """
    check_plain(transformer, allow_mask=True)
    return dict(_encode(transformer))


def check_plain(transformer: Transformer, allow_mask: bool = False) -> None:
    """Raises UsageError for attention that is more than rho, A, V and, where allowed, a causal mask.

    Left out, it would be another transformer.
    """
    for k, block in enumerate(transformer.blocks):
        attention = block.attention
        causal = attention.causal and allow_mask
        if attention != SelfAttention(attention.rho, attention.A, attention.V, causal=causal):
            what = "several heads" if allow_mask else "several heads or a mask"
            hint = "exports have one head" if allow_mask else "this export has one head, that attends to all tokens"
            raise UsageError(f"attention with {what} is not exported", f"blocks.{k}.attention", hint)


def _encode(transformer: Transformer) -> Iterator[tuple[str, ExactTensor]]:
    d = transformer.dimension
    for k, block in enumerate(transformer.blocks):
        layer, attention, prefix = block.feed_forward, block.attention, f"blocks.{k}."
        yield prefix + "feed_forward.eta", ExactTensor((), [layer.eta])
        if w := layer.width:
            yield prefix + "feed_forward.W", ExactTensor((d, w), layer.W.entries())
            yield prefix + "feed_forward.U", ExactTensor((w, d), layer.U.entries())
            yield prefix + "feed_forward.b", ExactTensor((w,), layer.b.entries())
        yield prefix + "attention.rho", ExactTensor((), [attention.rho])
        if attention.causal:
            yield prefix + "attention.causal", ExactTensor((), [fmpq(1)])
        for name, matrix in (("A", attention.A), ("V", attention.V)):
            for part, tensor in _encode_square(matrix, d):
                yield f"{prefix}attention.{name}.{part}", tensor


def _encode_square(matrix: SquareMatrix, d: int) -> Iterator[tuple[str, ExactTensor]]:
    if matrix.dense is not None:
        yield "dense", ExactTensor((d, d), matrix.dense.entries())
        return
    if matrix.scale != 0:
        yield "scale", ExactTensor((), [matrix.scale])
    if matrix.left is not None and matrix.right is not None:
        yield "left", ExactTensor((d,), matrix.left.entries())
        yield "right", ExactTensor((d,), matrix.right.entries())


def decode_state(state: ExactState, header: dict[str, Any], limits: Limits = DEFAULT_LIMITS) -> Transformer:
    """The transformer of named tensors, with that header.

    Raises: MalformedInput for names or shapes that do not fit, LimitReached.
    """
    groups: dict[int, dict[str, ExactTensor]] = {}
    for name, tensor in state.items():
        if len(tensor.values) != prod(tensor.shape):
            raise MalformedInput(f"{len(tensor.values)} entries in shape {tensor.shape}", name)
        if name in (DIMENSION, TEMPERATURE):
            continue
        match = _NAME.match(name)
        if not match or match[3] not in _PARTS[match[2]]:
            raise MalformedInput("no weight of this architecture has that name", name, "see docs/how-to/export.md")
        groups.setdefault(int(match[1]), {})[f"{match[2]}.{match[3]}"] = tensor
    missing = next((k for k in range(len(groups)) if k not in groups), None)
    if missing is not None:
        raise MalformedInput(f"no weight of block {missing}, the last block is {max(groups)}", f"blocks.{missing}")
    d = _find_dimension(state)
    if d > limits.max_dimension:
        raise LimitReached(f"dimension {d}, more than {limits.max_dimension}", DIMENSION, "raise --max-dimension")
    blocks = [_decode_block(groups[k], d, f"blocks.{k}.") for k in range(len(groups))]
    return Transformer(d, tuple(blocks), header)


def _find_dimension(state: ExactState) -> int:
    """What ``dimension`` says, or else the first weight that tells."""
    sizes = {"W": 0, "U": 1, "left": 0, "right": 0, "dense": 0}
    if DIMENSION in state:
        value = _scalar(state[DIMENSION], DIMENSION)
        if value.q != 1 or value < 1:
            raise MalformedInput(f"{value} is no dimension", DIMENSION)
        return int(value.p)
    for name, tensor in state.items():
        axis = sizes.get(name.rpartition(".")[2])
        if axis is not None and axis < len(tensor.shape):
            return tensor.shape[axis]
    raise MalformedInput("no weight tells the dimension", DIMENSION, "add the scalar `dimension`")


def _decode_block(parts: dict[str, ExactTensor], d: int, prefix: str) -> Block:
    layer = _decode_feed_forward(parts, d, prefix)
    A, V = (_decode_square(parts, f"attention.{name}", d, prefix) for name in "AV")
    rho = _scalar(_part(parts, "attention.rho", prefix), prefix + "attention.rho")
    return Block(layer, SelfAttention(rho, A, V, causal=_decode_mask(parts, prefix)))


def _decode_mask(parts: dict[str, ExactTensor], prefix: str) -> bool:
    """Whether the layer is causal. Raises: MalformedInput for what is neither 0 nor 1."""
    name = "attention.causal"
    value = _scalar(parts[name], prefix + name) if name in parts else fmpq(0)
    if value not in (0, 1):
        raise MalformedInput(f"{value} is no mask", prefix + name, "1 is a causal mask, 0 is none")
    return bool(value == 1)


def _decode_feed_forward(parts: dict[str, ExactTensor], d: int, prefix: str) -> FeedForward:
    eta = _scalar(_part(parts, "feed_forward.eta", prefix), prefix + "feed_forward.eta")
    if not any(f"feed_forward.{name}" in parts for name in "WUb"):
        identity = identity_feed_forward(d)
        return FeedForward(eta, identity.W, identity.U, identity.b)
    b = _part(parts, "feed_forward.b", prefix)
    w = len(b.values)
    matrices = []
    for name, shape in (("W", (d, w)), ("U", (w, d)), ("b", (w,))):
        tensor = _shaped(_part(parts, f"feed_forward.{name}", prefix), shape, f"{prefix}feed_forward.{name}")
        matrices.append(fmpq_mat(shape[0], shape[1] if len(shape) > 1 else 1, list(tensor.values)))
    return FeedForward(eta, *matrices)


def _decode_square(parts: dict[str, ExactTensor], name: str, d: int, prefix: str) -> SquareMatrix:
    found = {part: parts[f"{name}.{part}"] for part in _SQUARE.split() if f"{name}.{part}" in parts}
    if "dense" in found:
        if len(found) > 1:
            raise MalformedInput("dense goes with no other part", f"{prefix}{name}")
        return SquareMatrix(dense=fmpq_mat(d, d, list(_shaped(found["dense"], (d, d), f"{prefix}{name}.dense").values)))
    if ("left" in found) != ("right" in found):
        raise MalformedInput("left and right go together", f"{prefix}{name}")
    columns = [
        fmpq_mat(d, 1, list(_shaped(found[part], (d,), f"{prefix}{name}.{part}").values))
        for part in ("left", "right")
        if part in found
    ]
    scale = _scalar(found["scale"], f"{prefix}{name}.scale") if "scale" in found else fmpq(0)
    return SquareMatrix(scale, *columns)


def _part(parts: dict[str, ExactTensor], name: str, prefix: str) -> ExactTensor:
    if name not in parts:
        raise MalformedInput("the weight is missing", prefix + name)
    return parts[name]


def _scalar(tensor: ExactTensor, place: str) -> fmpq:
    return _shaped(tensor, (), place).values[0]


def _shaped(tensor: ExactTensor, shape: tuple[int, ...], place: str) -> ExactTensor:
    if tensor.shape != shape:
        raise MalformedInput(f"shape {tensor.shape}, expected {shape}", place)
    return tensor
