"""Untrusted. The phase ledger of a transformer's header: which blocks belong to which phase and lemma."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from proofs.engine.packed import count_blocks
from proofs.kernel.errors import MalformedInput
from proofs.kernel.model import Block


@dataclass(frozen=True, slots=True)
class Phase:
    """Blocks first..last (from 1; last = first - 1 for none). ``shared``: only the attention of its block counts."""

    name: str
    lemma: str
    first: int
    last: int
    bits: int = 0
    shared: bool = False

    @property
    def num_blocks(self) -> int:
        """Blocks that the phase owns."""
        return 0 if self.shared else self.last - self.first + 1


def printable(text: str, most: int = 60) -> str:
    """Text from a header, fit to show: printable ASCII and short, so that it can neither disguise itself nor flood."""
    shown = ascii(text)[1:-1]
    return shown if len(shown) <= most else f"{shown[: most - 2]}.."


_WATCH: ContextVar[Callable[[Phase], None] | None] = ContextVar("_WATCH", default=None)


@contextmanager
def told_of_phases(watch: Callable[[Phase], None]) -> Iterator[None]:
    """Inside, ``watch`` is told of every phase that a construction has built: builders take no progress argument."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


class Ledger:
    """Collects blocks phase by phase."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.blocks: list[Block] = []
        self.phases: list[Phase] = []

    def add(self, name: str, lemma: str, blocks: Sequence[Block]) -> None:
        """Appends a phase with its blocks."""
        first = len(self.blocks) + 1
        bits = count_blocks(blocks, self.dimension).max_bits
        self.phases.append(Phase(name, lemma, first, first + len(blocks) - 1, bits))
        self.blocks.extend(blocks)
        if (watch := _WATCH.get()) is not None:
            watch(self.phases[-1])

    def add_shared(self, name: str, lemma: str) -> None:
        """Records a phase that lives in the attention of the last block."""
        last = len(self.blocks)
        self.phases.append(Phase(name, lemma, last, last, shared=True))


def encode_phases(phases: Sequence[Phase]) -> list[dict[str, Any]]:
    """The ledger as it stands in a header."""
    return [
        {"name": p.name, "lemma": p.lemma, "first": p.first, "last": p.last, "bits": p.bits, "shared": p.shared}
        for p in phases
    ]


def decode_phases(header: dict[str, Any]) -> list[Phase]:
    """The ledger in a header, [] when there is none. Raises: MalformedInput."""
    phases = []
    records = header.get("phases", [])
    if not isinstance(records, list):
        raise MalformedInput("not a list of phases", "line 1: $.phases", "see docs/reference/formats.md")
    for i, record in enumerate(records):
        try:
            phases.append(
                Phase(
                    str(record["name"]),
                    str(record["lemma"]),
                    int(record["first"]),
                    int(record["last"]),
                    int(record["bits"]),
                    record["shared"] is True,
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise MalformedInput("not a phase", f"line 1: $.phases[{i}]", "see docs/reference/formats.md") from error
    return phases
