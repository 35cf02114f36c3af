"""Trusted. Bytes in, encoder out; whatever is not in the format is refused with its path.

The format is specified in docs/reference/boolean-formats.md. Numbers and keys are read by the kernel's own functions.
"""

from __future__ import annotations

import hashlib
from typing import Any

from flint import fmpq, fmpq_mat

from proofs.boolean.model import MLP, Block, Encoder, Head, Norm, Vector
from proofs.kernel.decode import Literal, check_size, decode_json, read_count, read_list, read_object, read_rational
from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.rational import DEFAULT_LIMITS, Limits

ENCODER_FORMAT = "interp-encoder/1"
ACTIVATIONS = ("relu", "tanh")
MAX_BITS = 24


class _Reader:
    """Reads the parts of one file: dimension and limits are the same for all."""

    def __init__(self, dimension: int, limits: Limits) -> None:
        self.dimension, self.limits = dimension, limits

    def vector(self, value: Any, path: str, length: int | None = None) -> Vector:
        length = self.dimension if length is None else length
        entries = read_list(value, path)
        if len(entries) != length:
            raise MalformedInput(f"{len(entries)} numbers, expected {length}", path)
        return tuple(read_rational(x, f"{path}[{c}]", self.limits) for c, x in enumerate(entries))

    def matrix(self, value: Any, path: str, columns: int, rows: int | None = None) -> fmpq_mat:
        found = [self.vector(row, f"{path}[{a}]", columns) for a, row in enumerate(read_list(value, path))]
        if not found or (rows is not None and len(found) != rows):
            raise MalformedInput(f"{len(found)} rows, expected {rows or 'at least one'}", path)
        return fmpq_mat(len(found), columns, [x for row in found for x in row])

    def norm(self, value: Any, path: str) -> Norm:
        record = read_object(value, path, set(), {"gain", "bias"})
        defaults = {"gain": (fmpq(1),) * self.dimension, "bias": (fmpq(0),) * self.dimension}
        return Norm(*(self.vector(record[k], f"{path}.{k}") if k in record else defaults[k] for k in defaults))

    def head(self, value: Any, path: str) -> Head:
        record = read_object(value, path, {"Q", "K", "V", "scale_squared"})
        d = self.dimension
        Q = self.matrix(record["Q"], f"{path}.Q", d)
        K = self.matrix(record["K"], f"{path}.K", d, int(Q.nrows()))
        V = self.matrix(record["V"], f"{path}.V", d, d)
        scale = read_rational(record["scale_squared"], f"{path}.scale_squared", self.limits)
        if scale < 0:
            raise MalformedInput("negative", f"{path}.scale_squared", "scores are multiplied by its square root")
        return Head(Q, K, V, scale)

    def mlp(self, value: Any, path: str) -> MLP:
        record = read_object(value, path, {"W1", "b1", "W2", "b2", "activation", "residual"})
        W1 = self.matrix(record["W1"], f"{path}.W1", self.dimension)
        width = int(W1.nrows())
        W2 = self.matrix(record["W2"], f"{path}.W2", width, self.dimension)
        b1, b2 = self.vector(record["b1"], f"{path}.b1", width), self.vector(record["b2"], f"{path}.b2")
        if isinstance(record["activation"], Literal) or record["activation"] not in ACTIVATIONS:
            raise MalformedInput("unknown activation", f"{path}.activation", f"one of {', '.join(ACTIVATIONS)}")
        if not isinstance(record["residual"], bool):
            raise MalformedInput("expected true or false", f"{path}.residual")
        return MLP(W1, b1, W2, b2, record["activation"], record["residual"])

    def block(self, value: Any, path: str) -> Block:
        record = read_object(value, path, {"heads"}, {"attention_norm", "mlp", "norm"})
        heads = [self.head(h, f"{path}.heads[{k}]") for k, h in enumerate(read_list(record["heads"], f"{path}.heads"))]
        norms = [self.norm(record[k], f"{path}.{k}") if k in record else None for k in ("attention_norm", "norm")]
        mlp = self.mlp(record["mlp"], f"{path}.mlp") if "mlp" in record else None
        return Block(tuple(heads), norms[0], mlp, norms[1])

    def positions(self, value: Any, path: str) -> dict[int, tuple[Vector, ...]]:
        if not isinstance(value, dict) or not value:
            raise MalformedInput("expected an object with a list of vectors for each number of bits", path)
        found = {}
        for key, rows in value.items():
            place = f"{path}.{key}"
            if key not in map(str, range(1, MAX_BITS + 1)):
                raise MalformedInput(f"{key[:20]!r} is no number of bits in 1..{MAX_BITS}", path)
            vectors = tuple(self.vector(p, f"{place}[{i}]") for i, p in enumerate(read_list(rows, place)))
            if len(vectors) != int(key) + 1:
                raise MalformedInput(f"{len(vectors)} vectors for {key} bits and the end token", place)
            found[int(key)] = vectors
        return found


def decode_encoder(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Encoder:
    """An encoder from strict JSON. Raises: MalformedInput, LimitReached."""
    check_size(data, limits)
    keys = {"format", "dimension", "epsilon", "embeddings", "positions", "blocks", "output"}
    record = read_object(decode_json(data, "$"), "$", keys, {"comment"})
    if record["format"] != ENCODER_FORMAT or isinstance(record["format"], Literal):
        raise MalformedInput(f"expected {ENCODER_FORMAT!r}", "$.format")
    dimension = read_count(record["dimension"], "$.dimension")
    if dimension < 1:
        raise MalformedInput("no coordinate: nothing to compute", "$.dimension")
    if dimension > limits.max_dimension:
        raise LimitReached(f"dimension {dimension}", "$.dimension", "raise --max-dimension")
    epsilon = read_rational(record["epsilon"], "$.epsilon", limits)
    if epsilon < 0:
        raise MalformedInput("negative", "$.epsilon")
    reader = _Reader(dimension, limits)
    embeddings = read_object(record["embeddings"], "$.embeddings", {"0", "1", "end"})
    output = read_object(record["output"], "$.output", {"w", "omega"})
    zero, one, end = (reader.vector(embeddings[key], f"$.embeddings.{key}") for key in ("0", "1", "end"))
    blocks = (reader.block(b, f"$.blocks[{l}]") for l, b in enumerate(read_list(record["blocks"], "$.blocks")))
    return Encoder(
        dimension,
        epsilon,
        (zero, one, end),
        reader.positions(record["positions"], "$.positions"),
        tuple(blocks),
        reader.vector(output["w"], "$.output.w"),
        read_rational(output["omega"], "$.output.omega", limits),
        record.get("comment"),
        "sha256:" + hashlib.sha256(data).hexdigest(),
    )
