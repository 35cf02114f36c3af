"""Trusted. A long transformer file of JSON lines, window by window; each line is decoded by the kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from proofs.engine.packed import count_blocks
from proofs.engine.program import Step, compile_program
from proofs.kernel.counts import Counts
from proofs.kernel.decode import check_count, decode_block, decode_end, decode_header
from proofs.kernel.model import Block, Transformer
from proofs.kernel.rational import Limits
from proofs.witness.windows import FileTransformer, WindowedBlocks, Windows, unchanged

WINDOW = 4096  # lines, at most
WINDOW_BYTES = 4_000_000  # after which a window ends with its line


class LineWindows(Windows):
    """The blocks of a JSON lines file; window w starts at byte offsets[w] and has the digest digests[w]."""

    def __init__(
        self, path: Path, starts: list[int], offsets: list[int], digests: list[bytes], dimension: int, limits: Limits
    ) -> None:
        super().__init__(path, starts[:-1])
        self._ends, self._offsets, self._digests = starts, offsets, digests
        self._dimension, self._limits = dimension, limits

    def decode(self, window: int) -> tuple[Block, ...]:
        """The blocks of one window, each line decoded by the kernel."""
        first, last = self._ends[window : window + 2]
        with self.path.open("rb") as stream:
            stream.seek(self._offsets[window])
            lines = list(islice(stream, last - first))
        unchanged(hashlib.sha256(b"".join(lines)).digest(), self._digests[window], self.path)
        return tuple(
            decode_block(line.removesuffix(b"\n"), k, self._dimension, self._limits)
            for k, line in enumerate(lines, first + 1)
        )

    def count(self, window: int) -> Counts:
        """The counts of one window."""
        return count_blocks(self._blocks(window), self._dimension)

    def steps(self, window: int) -> list[Step]:
        """The engine's steps for the blocks of one window."""
        return compile_program(Transformer(self._dimension, self._blocks(window)), self._ends[window])

    def _blocks(self, window: int) -> tuple[Block, ...]:
        return tuple(self.block(k) for k in range(*self._ends[window : window + 2]))


def read_lines(path: Path, limits: Limits) -> FileTransformer:
    """The transformer in a file of JSON lines, of which only the header, the end and the digests are looked at.

    Raises: MalformedInput, LimitReached; for a block when it is decoded.
    """
    body = hashlib.sha256()
    with path.open("rb") as stream:
        header_line = stream.readline()
        body.update(header_line)
        starts, offsets, digests = [0], [len(header_line)], []
        end_line = b""
        for lines, end_line in _windows(stream):  # noqa: B007  # the last one
            content = b"".join(lines)
            body.update(content)
            if lines:
                starts.append(starts[-1] + len(lines))
                offsets.append(offsets[-1] + len(content))
                digests.append(hashlib.sha256(content).digest())
    whole = body.copy()
    whole.update(end_line)
    end = decode_end(end_line, body.hexdigest())
    header, dimension = decode_header(header_line.removesuffix(b"\n"), limits)
    check_count(starts[-1], {"the header": header["blocks"], "the end record": end["blocks"]})
    windows = LineWindows(path, starts, offsets, digests, dimension, limits)
    blocks = WindowedBlocks(windows, range(starts[-1]))
    return FileTransformer(dimension, blocks, header, "sha256:" + whole.hexdigest(), windows=windows)


def _windows(stream: BinaryIO) -> Iterator[tuple[list[bytes], bytes]]:
    """Lists of lines, and with the last of them the line at the end of the file, which belongs to none."""
    lines: list[bytes] = []
    size = 0
    held = stream.readline()
    for line in stream:
        lines.append(held)
        size += len(held)
        held = line
        if len(lines) == WINDOW or size >= WINDOW_BYTES:
            yield lines, b""
            lines, size = [], 0
    yield lines, held
