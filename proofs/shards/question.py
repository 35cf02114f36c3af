"""Trusted. What a shard is asked, and the canonical text in which its pairs travel."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from flint import fmpz

from proofs.kernel.errors import InternalFault
from proofs.kernel.rational import Row, integer_text
from proofs.kernel.statement import Dataset, Pair

PROOFS = Path(__file__).parent.parent
PARTS = (".", "kernel", "engine", "planes", "balls", "witness", "shards")  # folders of what a worker loads


@dataclass(frozen=True, slots=True)
class Question:
    """One pass over pairs of one dataset; equal questions have equal answers. ``bits`` is for balls alone."""

    version: str  # digest of the checker
    dataset: str
    transformer: str
    passes: str  # engine or kernel
    max_height: int
    name: str  # hardmax or softmax
    temperatures: str
    readout: str
    bits: int | None = None

    @property
    def text(self) -> str:
        """The question as JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def digest(self) -> str:
        """What an answer is bound to."""
        return digest_of(self.text.encode())


def digest_of(data: bytes) -> str:
    """SHA-256 as digests are written."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


@lru_cache(maxsize=1)
def checker_digest() -> str:
    """The version of everything that gives answers: sources of the checker, python-flint, numpy."""
    state = hashlib.sha256(f"python-flint {version('python-flint')} numpy {version('numpy')}\n".encode())
    for part in PARTS:
        for path in sorted((PROOFS / part).glob("*.py")):
            state.update(f"{part}/{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return "sha256:" + state.hexdigest()


def encode_pairs(dimension: int, pairs: Sequence[Pair]) -> bytes:
    """The text whose SHA-256 is the digest of the dataset of these pairs (docs/reference/formats.md)."""
    lines = [f"{_encode_tokens(pair.input)};{_encode_tokens(pair.output)}\n" for pair in pairs]
    return f"interp-dataset/1 {dimension} {len(pairs)}\n{''.join(lines)}".encode()


def _encode_tokens(tokens: tuple[Row, ...]) -> str:
    return " ".join([",".join(map(integer_text, row)) for row in tokens])


def decode_pairs(data: bytes) -> Dataset:
    """The dataset with this canonical text, which is the text that its digest is taken of. Raises: InternalFault."""
    try:
        head, *lines = data.decode("ascii").split("\n")[:-1]
        sides = [tuple(map(_decode_tokens, line.split(";"))) for line in lines]
        dataset = Dataset(int(head.split(" ")[1]), tuple(Pair(x, y) for x, y in sides))
    except (ValueError, IndexError) as error:
        raise InternalFault("pairs that do not follow their format") from error
    if dataset.digest != digest_of(data):
        raise InternalFault("pairs that do not follow their format")
    return dataset


def _decode_tokens(text: str) -> tuple[Row, ...]:
    return tuple(tuple(map(_decode_integer, token.split(","))) for token in text.split(" "))


def _decode_integer(text: str) -> int:
    """Any integer (``int`` of a text stops at 4300 digits)."""
    return int(text) if len(text) < 4000 else int(fmpz(text))
