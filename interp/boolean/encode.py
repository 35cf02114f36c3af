"""Untrusted. Writes encoders (docs/reference/boolean-formats.md); the reader is in ``proofs``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from flint import fmpq, fmpq_mat

from interp.files.numbers import Number, encode_number
from proofs.boolean.decode import ENCODER_FORMAT
from proofs.boolean.model import Block, Encoder, Norm


def encode_encoder(encoder: Encoder) -> bytes:
    """The file of an encoder: deterministic, byte for byte."""
    zero, one, end = map(_vector, encoder.embeddings)
    record = {
        "format": ENCODER_FORMAT,
        "comment": encoder.comment,
        "dimension": encoder.dimension,
        "epsilon": encode_number(encoder.epsilon),
        "embeddings": {"0": zero, "1": one, "end": end},
        "positions": {str(bits): [_vector(p) for p in rows] for bits, rows in sorted(encoder.positions.items())},
        "blocks": [_block(block) for block in encoder.blocks],
        "output": {"w": _vector(encoder.w), "omega": encode_number(encoder.omega)},
    }
    if encoder.comment is None:
        del record["comment"]
    return (json.dumps(record, separators=(",", ":")) + "\n").encode()


def _vector(values: Sequence[fmpq]) -> list[Number]:
    return [encode_number(x) for x in values]


def _matrix(matrix: fmpq_mat) -> list[list[Number]]:
    return [_vector(row) for row in matrix.tolist()]


def _norm(norm: Norm) -> dict[str, Any]:
    """Gain 1 and bias 0 are left out."""
    record: dict[str, Any] = {}
    if any(x != 1 for x in norm.gain):
        record["gain"] = _vector(norm.gain)
    if any(x != 0 for x in norm.bias):
        record["bias"] = _vector(norm.bias)
    return record


def _block(block: Block) -> dict[str, Any]:
    heads = [
        {"Q": _matrix(h.Q), "K": _matrix(h.K), "V": _matrix(h.V), "scale_squared": encode_number(h.scale_squared)}
        for h in block.heads
    ]
    record: dict[str, Any] = {"heads": heads}
    if block.attention_norm is not None:
        record["attention_norm"] = _norm(block.attention_norm)
    if block.mlp is not None:
        mlp = block.mlp
        record["mlp"] = {
            "W1": _matrix(mlp.W1),
            "b1": _vector(mlp.b1),
            "W2": _matrix(mlp.W2),
            "b2": _vector(mlp.b2),
            "activation": mlp.activation,
            "residual": mlp.residual,
        }
    if block.norm is not None:
        record["norm"] = _norm(block.norm)
    return record
