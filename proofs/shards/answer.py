"""Trusted. What a shard answers: one line of JSON, decoded strictly."""

from __future__ import annotations

import json
from dataclasses import dataclass

from proofs.kernel.decode import decode_json, read_count, read_list, read_object
from proofs.kernel.errors import MalformedInput, Status

KEYS = {"question", "first", "last", "pairs", "transformer", "status", "wrong", "parts"}
STATUSES = (Status.VERIFIED, Status.REFUTED, Status.UNDECIDED, Status.LIMIT)


@dataclass(frozen=True, slots=True)
class ShardAnswer:
    """The answer about pairs first .. last - 1. Pairs count through the whole dataset, blocks from 1."""

    question: str  # its digest
    first: int
    last: int
    pairs: str  # digest of the pairs that were read
    transformer: str  # digest of the transformer that was read
    status: Status
    wrong: int = 0  # how many pairs are wrong at temperature 0
    pair: int | None = None  # the first pair that is wrong or undecided
    block: int | None = None  # where the pass stopped: a sign stayed open, or a limit was reached
    parts: tuple[str, ...] = ()
    error: tuple[str, str, str] | None = None  # of a limit: message, path, hint

    def __post_init__(self) -> None:
        """Raises MalformedInput for an answer that cannot be one."""
        verified = self.status is Status.VERIFIED
        if self.status not in STATUSES or self.last <= self.first or not self.parts:
            raise MalformedInput("an answer about nothing")
        if verified and (self.wrong or self.pair is not None or self.block is not None or self.error is not None):
            raise MalformedInput("a success with a fault")
        if (self.status is Status.LIMIT) != (self.error is not None):
            raise MalformedInput("a limit without its reason")
        if self.status is Status.LIMIT and self.block is None:
            raise MalformedInput("a limit without its place")
        if self.status in (Status.REFUTED, Status.UNDECIDED):
            if self.pair is None or not self.first <= self.pair < self.last:
                raise MalformedInput("a fault outside of the shard")
            if self.wrong > self.last - self.pair or (self.status is Status.UNDECIDED and self.wrong):
                raise MalformedInput("more wrong pairs than there are")

    def encode(self) -> str:
        """One line of JSON."""
        record = {key: getattr(self, key) for key in sorted(KEYS)} | {"status": self.status.name.lower()}
        given = {key: getattr(self, key) for key in ("pair", "block", "error")}
        return json.dumps(record | {key: value for key, value in given.items() if value is not None})


def decode_answer(line: str) -> ShardAnswer:
    """The answer in a line. Raises: MalformedInput."""
    record = read_object(decode_json(line.encode(), "$"), "$", KEYS, {"pair", "block", "error"})
    counts = {key: read_count(record[key], f"$.{key}") for key in ("first", "last", "wrong")}
    places = {key: read_count(record[key], f"$.{key}") if key in record else None for key in ("pair", "block")}
    texts = {key: _text(record[key], f"$.{key}") for key in ("question", "pairs", "transformer", "status")}
    names = {status.name.lower(): status for status in STATUSES}
    if texts["status"] not in names:
        raise MalformedInput("no such status", "$.status")
    parts = tuple(_text(part, "$.parts") for part in read_list(record["parts"], "$.parts"))
    error = None
    if "error" in record:
        message, path, hint = ([*read_list(record["error"], "$.error"), "", "", ""])[:3]
        error = (_text(message, "$.error"), _text(path, "$.error"), _text(hint, "$.error"))
    return ShardAnswer(
        texts["question"],
        counts["first"],
        counts["last"],
        texts["pairs"],
        texts["transformer"],
        names[texts["status"]],
        counts["wrong"],
        places["pair"],
        places["block"],
        parts,
        error,
    )


def _text(value: object, path: str) -> str:
    """A JSON text; the decoder gives numbers a type of their own. Raises: MalformedInput."""
    if type(value) is not str:
        raise MalformedInput("expected a text", path)
    return value
