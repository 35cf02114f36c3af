"""Untrusted. Writes a dataset as JSON or JSON lines; the reader is the kernel's.

The bytes depend on the content alone. Formats: docs/reference/datasets.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from interp.files.numbers import encode_number
from proofs.kernel.decode import DATASET_FORMAT, DATASET_LINES_FORMAT
from proofs.kernel.rational import Row, coordinates_of
from proofs.kernel.statement import Dataset


def encode_dataset_json(dataset: Dataset) -> bytes:
    """One JSON document, one pair a line."""
    header = _text({"format": DATASET_FORMAT, "dimension": dataset.dimension})
    pairs = ",\n".join(_pairs(dataset))
    return f'{header[:-1]},"pairs":[\n{pairs}\n]}}\n'.encode()


def encode_dataset_lines(dataset: Dataset) -> bytes:
    """JSON lines: a header, then one pair a line."""
    header = {"format": DATASET_LINES_FORMAT, "dimension": dataset.dimension, "pairs": len(dataset.pairs)}
    return "".join(f"{line}\n" for line in (_text(header), *_pairs(dataset))).encode()


def _pairs(dataset: Dataset) -> Iterator[str]:
    for pair in dataset.pairs:
        yield _text({"input": _tokens(pair.input), "output": _tokens(pair.output)})


def _tokens(rows: tuple[Row, ...]) -> list[list[int | str]]:
    return [[encode_number(x) for x in coordinates_of(row)] for row in rows]


def _text(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"))
