"""Untrusted. Writes a transformer as JSON lines (docs/reference/formats.md); the reader is the kernel's."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from flint import fmpq, fmpq_mat

from interp.files.numbers import Number, encode_number
from proofs.kernel.decode import TRANSFORMER_FORMAT
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix, Transformer


def encode_transformer(transformer: Transformer) -> bytes:
    """The file of a transformer: deterministic, byte for byte."""
    header = {"format": TRANSFORMER_FORMAT, "dimension": transformer.dimension, "blocks": len(transformer.blocks)}
    header |= {key: value for key, value in transformer.header.items() if key not in header}
    lines = [_line(header)]
    lines += [_line({"block": k} | _encode_block(block)) for k, block in enumerate(transformer.blocks, 1)]
    body = "".join(lines).encode()
    end = {"end": {"blocks": len(transformer.blocks), "sha256": hashlib.sha256(body).hexdigest()}}
    return body + _line(end).encode()


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":")) + "\n"


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


def _encode_block(block: Block) -> dict[str, Any]:
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
    for name, matrix, parts in (("A", layer.A, ("alpha", "p", "q")), ("V", layer.V, ("beta", "r", "t"))):
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
