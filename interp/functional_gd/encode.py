"""Untrusted. Writes contexts and transformers (docs/reference/fgd-formats.md); the reader is in ``proofs``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from flint import fmpq, fmpq_mat

from interp.files.numbers import Number, encode_number
from proofs.functional_gd.decode import CONTEXT_FORMAT, TRANSFORMER_FORMAT
from proofs.functional_gd.model import Context, Head, Transformer, scaled_identity


def encode_context(context: Context) -> bytes:
    """The file of a context: deterministic, byte for byte."""
    record = {
        "format": CONTEXT_FORMAT,
        "dimension": context.dimension,
        "points": [_vector(x) for x in context.points],
        "labels": _vector(context.labels),
        "query": _vector(context.query),
    }
    return _line(record).encode()


def encode_transformer(transformer: Transformer) -> bytes:
    """The file of a transformer: deterministic, byte for byte."""
    count = len(transformer.layers)
    header = {"format": TRANSFORMER_FORMAT, "dimension": transformer.dimension, "blocks": count}
    header |= {key: value for key, value in transformer.header.items() if key not in header}
    lines = [_line(header)]
    lines += [_line({"layer": k, "heads": [_head(h) for h in heads]}) for k, heads in enumerate(transformer.layers, 1)]
    body = "".join(lines).encode()
    return body + _line({"end": {"blocks": count, "sha256": hashlib.sha256(body).hexdigest()}}).encode()


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":")) + "\n"


def _vector(values: Sequence[fmpq]) -> list[Number]:
    return [encode_number(x) for x in values]


def _matrix(matrix: fmpq_mat) -> Any:
    """One number for a multiple of the identity, rows otherwise."""
    if matrix.nrows() == matrix.ncols() and matrix == scaled_identity(matrix.nrows(), matrix[0, 0]):
        return encode_number(matrix[0, 0])
    return [_vector(row) for row in matrix.tolist()]


def _head(head: Head) -> dict[str, Any]:
    record: dict[str, Any] = {"h": str(head.activation), "rho": encode_number(head.rho)}
    defaults = {"A": fmpq(0), "B": fmpq(1), "C": fmpq(1)}
    for name, matrix in (("A", head.A), ("B", head.B), ("C", head.C)):
        if matrix.nrows() != head.A.nrows() or matrix != scaled_identity(head.A.nrows(), defaults[name]):
            record[name] = _matrix(matrix)
    return record
