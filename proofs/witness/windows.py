"""Trusted. The blocks of a transformer file as a sequence, decoded window by window when they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import overload

from proofs.engine.packed import PackedTransformer
from proofs.engine.program import Step
from proofs.kernel.counts import Counts, add_counts
from proofs.kernel.errors import InterpError, MalformedInput
from proofs.kernel.model import Block

KEPT = 2  # windows that stay decoded


class Windows(ABC):
    """A file whose window w holds the blocks from starts[w] on (counted from 0), up to starts[w + 1]."""

    def __init__(self, path: Path, starts: Sequence[int]) -> None:
        self.path, self.starts = path, starts
        self._kept: dict[int, tuple[Block, ...]] = {}

    @abstractmethod
    def decode(self, window: int) -> tuple[Block, ...]:
        """The blocks of one window. Raises: MalformedInput, LimitReached."""

    @abstractmethod
    def count(self, window: int) -> Counts:
        """The counts of one window."""

    @abstractmethod
    def steps(self, window: int) -> list[Step]:
        """The engine's steps for the blocks of one window."""

    def block(self, index: int) -> Block:
        """Block ``index``, from 0."""
        window = bisect_right(self.starts, index) - 1
        if window not in self._kept:
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            try:
                self._kept[window] = self.decode(window)
            except InterpError as error:
                error.file = str(self.path)
                raise
        return self._kept[window][index - self.starts[window]]


class WindowedBlocks(Sequence[Block]):
    """Some blocks of a file. A slice is such a sequence again; equal to every sequence of the same blocks."""

    def __init__(self, windows: Windows, indices: range) -> None:
        self._windows, self._indices = windows, indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Block]: ...
    def __getitem__(self, index: int | slice) -> Block | Sequence[Block]:
        if isinstance(index, slice):
            return WindowedBlocks(self._windows, self._indices[index])
        return self._windows.block(self._indices[index])

    def __iter__(self) -> Iterator[Block]:
        return map(self._windows.block, self._indices)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(left == right for left, right in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class FileTransformer(PackedTransformer):
    """A transformer that stays in its file. Shapes are checked whenever a window is decoded."""

    windows: Windows = field(kw_only=True)

    @cached_property
    def counts(self) -> Counts:
        """The kernel's counts, window by window."""
        return add_counts([self.windows.count(window) for window in range(len(self.windows.starts))])

    @property
    def program(self) -> Iterator[Step]:  # type: ignore[override]
        """The steps that the engine runs, window by window."""
        for window in range(len(self.windows.starts)):
            yield from self.windows.steps(window)


def unchanged(found: bytes, wanted: bytes, path: Path) -> None:
    """Raises MalformedInput unless a window has the digest that it had when the file was read first."""
    if found != wanted:
        raise MalformedInput("the file was changed while it was read", file=str(path))
