"""Untrusted. Writes a transformer as JSON lines (docs/reference/formats.md); the reader is the kernel's."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from io import BytesIO
from typing import Any, BinaryIO

from flint import fmpq, fmpq_mat

from interp.files.numbers import Number, encode_number
from proofs.kernel.decode import TRANSFORMER_FORMAT, Literal
from proofs.kernel.errors import InternalFault
from proofs.kernel.model import Block, FeedForward, Head, SelfAttention, SquareMatrix, Transformer


def encode_transformer(transformer: Transformer) -> bytes:
    """The file of a transformer: deterministic, byte for byte."""
    stream = BytesIO()
    write_lines(stream, make_header(transformer), transformer.blocks)
    return stream.getvalue()


def make_header(transformer: Transformer) -> dict[str, Any]:
    """The header of a transformer's file."""
    header = {"format": TRANSFORMER_FORMAT, "dimension": transformer.dimension, "blocks": len(transformer.blocks)}
    return header | {key: value for key, value in transformer.header.items() if key not in header}


def write_lines(stream: BinaryIO, header: dict[str, Any], blocks: Iterable[Block]) -> str:
    """Writes header, blocks and end record one after the other; returns the digest of the file."""
    digest, done = hashlib.sha256(), 0

    def write(line: bytes) -> None:
        digest.update(line)
        stream.write(line)

    write(encode_header(header))
    for done, block in enumerate(blocks, 1):
        write(encode_line({"block": done} | encode_block(block)))
    if done != header["blocks"]:
        raise InternalFault(f"{done} blocks where the header says {header['blocks']}")
    write(encode_end(done, digest.hexdigest()))
    return "sha256:" + digest.hexdigest()


def encode_line(record: dict[str, Any]) -> bytes:
    """One line."""
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def encode_header(header: dict[str, Any]) -> bytes:
    """Line 1; a number that was read from a file stands there as it did."""
    return _encode_value(header).encode() + b"\n"


def _encode_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_encode_value(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_encode_value, value)) + "]"
    return str(value) if isinstance(value, Literal) else json.dumps(value)


def encode_end(blocks: int, digest: str) -> bytes:
    """The end record; ``digest`` is that of all lines before."""
    return encode_line({"end": {"blocks": blocks, "sha256": digest}})


def _vector(column: fmpq_mat) -> list[Number]:
    return [encode_number(x) for x in column.entries()]


def _matrix(matrix: fmpq_mat) -> Any:
    """Rows, or column and row when the matrix has rank one and that is shorter."""
    rows = matrix.tolist()
    factors = _find_outer(rows)
    if factors is not None and len(rows) * len(rows[0]) > len(rows) + len(rows[0]):
        return {"outer": [[encode_number(x) for x in factor] for factor in factors]}
    return [[encode_number(x) for x in row] for row in rows]


def _find_outer(rows: list[list[fmpq]]) -> tuple[list[fmpq], list[fmpq]] | None:
    """Column and row whose product is the matrix, the row being its first non-zero row, or None."""
    pivot = next((row for row in rows if any(x != 0 for x in row)), None)
    if pivot is None:
        return None
    place = next(j for j, x in enumerate(pivot) if x != 0)
    column = [row[place] / pivot[place] for row in rows]
    for factor, row in zip(column, rows, strict=True):
        if any(factor * a != b for a, b in zip(pivot, row, strict=True)):
            return None
    return column, pivot


def encode_block(block: Block) -> dict[str, Any]:
    """What the line of a block holds beside its number."""
    record: dict[str, Any] = {}
    if not block.feed_forward.is_identity():
        record["ff"] = _encode_feed_forward(block.feed_forward)
    if block.attention != SelfAttention():
        record["sa"] = _encode_attention(block.attention)
    return record


def _encode_feed_forward(layer: FeedForward) -> dict[str, Any]:
    record: dict[str, Any] = {"eta": encode_number(layer.eta)}
    if layer.width:
        record |= {"W": _matrix(layer.W), "U": _matrix(layer.U), "b": _vector(layer.b)}
    return record


def _encode_attention(layer: SelfAttention) -> dict[str, Any]:
    record: dict[str, Any] = {"rho": encode_number(layer.rho)}
    heads = [_encode_head(head) for head in layer.heads]
    record |= {"heads": heads} if layer.further else heads[0]
    return record | ({"mask": "causal"} if layer.causal else {})


def _encode_head(head: Head) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, matrix, parts in (("A", head.A, ("alpha", "p", "q")), ("V", head.V, ("beta", "r", "t"))):
        if encoded := _encode_square(matrix, parts):
            record[name] = encoded
    return record


def _encode_square(matrix: SquareMatrix, names: tuple[str, str, str]) -> dict[str, Any]:
    if matrix.dense is not None:
        return {"dense": _matrix(matrix.dense)}
    record: dict[str, Any] = {}
    if matrix.scale != 0:
        record[names[0]] = encode_number(matrix.scale)
    if matrix.left is not None and matrix.right is not None:
        record |= {names[1]: _vector(matrix.left), names[2]: _vector(matrix.right)}
    return record
