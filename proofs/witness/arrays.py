"""Trusted. The binary form of a transformer: it stands for one file of JSON lines, and its digest is that of this file.

Members: ``format``, ``header``, then the chunks ``1/..``, ``2/..``, ..., and ``sha256``. The lines are made again, one
chunk after the other, to find their digest; blocks and the engine's steps come from the arrays themselves.
"""

from __future__ import annotations

import hashlib
import json
from io import BufferedReader
from itertools import groupby
from pathlib import Path

import numpy as np

from proofs.engine.integers import Array
from proofs.engine.program import Step
from proofs.kernel.counts import Counts
from proofs.kernel.decode import check_count, decode_header
from proofs.kernel.errors import MalformedInput
from proofs.kernel.model import Block
from proofs.kernel.rational import Limits
from proofs.witness.archive import Member, decode_array, list_members, read_member
from proofs.witness.chunk import Chunk, read_chunk
from proofs.witness.steps import compile_chunk, count_chunk
from proofs.witness.windows import FileTransformer, WindowedBlocks, Windows, unchanged

ARRAYS_FORMAT = "interp-transformer-npz/1"


class ChunkWindows(Windows):
    """The blocks of a file in the binary form: chunk w + 1 is window w and has the digest digests[w]."""

    def __init__(
        self,
        path: Path,
        starts: list[int],
        groups: list[list[Member]],
        digests: list[bytes],
        read_as: tuple[int, Limits],
    ) -> None:
        super().__init__(path, starts)
        self._groups, self._digests = groups, digests
        self._dimension, self._limits = read_as

    def chunk(self, window: int) -> Chunk:
        """The arrays of one chunk. Raises: MalformedInput."""
        with self.path.open("rb") as stream:
            contents = [read_member(stream, member) for member in self._groups[window]]
        unchanged(_digest(contents), self._digests[window], self.path)
        return _chunk(self._groups[window], contents, window, self.starts[window], self._dimension, self._limits)

    def decode(self, window: int) -> tuple[Block, ...]:
        """The blocks of one chunk."""
        return self.chunk(window).blocks()

    def count(self, window: int) -> Counts:
        """The counts of one chunk, from its arrays."""
        return count_chunk(self.chunk(window))

    def steps(self, window: int) -> list[Step]:
        """The engine's steps for the blocks of one chunk, from its arrays."""
        return compile_chunk(self.chunk(window))


def _digest(contents: list[bytes]) -> bytes:
    return hashlib.sha256(b"".join(contents)).digest()


def _chunk(
    members: list[Member], contents: list[bytes], window: int, before: int, dimension: int, limits: Limits
) -> Chunk:
    arrays = {
        member.name.partition("/")[2]: decode_array(content, member.name)
        for member, content in zip(members, contents, strict=True)
    }
    return read_chunk(arrays, str(window + 1), before + 1, dimension, limits)


def read_arrays(path: Path, limits: Limits) -> FileTransformer:
    """The transformer in a file of the binary form, all of which is checked. Raises: MalformedInput, LimitReached."""
    with path.open("rb") as stream:
        members = list_members(stream, path.stat().st_size)
        groups = _group_chunks(members)
        if _read_text(stream, members[0]) != ARRAYS_FORMAT.encode():
            raise MalformedInput(f"expected {ARRAYS_FORMAT!r}", "format")
        line = _read_text(stream, members[1])
        if b"\n" in line:
            raise MalformedInput("the header is one line", "header")
        header, dimension = decode_header(line, limits)
        body = hashlib.sha256(line + b"\n")
        starts, digests = [0], []
        for window, group in enumerate(groups):
            contents = [read_member(stream, member) for member in group]
            chunk = _chunk(group, contents, window, starts[-1], dimension, limits)
            for text in chunk.lines(limits):
                body.update(text.encode())
            starts.append(starts[-1] + len(chunk.structure))
            digests.append(_digest(contents))
        said = decode_array(read_member(stream, members[-1]), "sha256")
    check_count(starts[-1], {"the header": header["blocks"]})
    if said.shape != (32,) or said.dtype != np.uint8 or said.tobytes() != body.digest():
        raise MalformedInput("not the digest of the lines that the arrays stand for", "sha256", "the file was changed")
    end = {"end": {"blocks": starts[-1], "sha256": body.hexdigest()}}
    body.update(json.dumps(end, separators=(",", ":")).encode() + b"\n")
    windows = ChunkWindows(path, starts[:-1], groups, digests, (dimension, limits))
    blocks = WindowedBlocks(windows, range(starts[-1]))
    return FileTransformer(dimension, blocks, header, "sha256:" + body.hexdigest(), windows=windows)


def _group_chunks(members: list[Member]) -> list[list[Member]]:
    """The members of chunk 1, chunk 2, ...; format and header stand before them, sha256 behind."""
    names = [member.name for member in members]
    if names[:2] != ["format", "header"] or names[-1:] != ["sha256"]:
        raise MalformedInput("not a transformer: the arrays are format, header, .., sha256", hint="a dataset?")
    groups: list[list[Member]] = []
    for label, group in groupby(members[2:-1], lambda member: member.name.partition("/")[0]):
        if label != str(len(groups) + 1):
            raise MalformedInput(f"chunk {len(groups) + 1} belongs here", repr(label)[:80])
        groups.append(list(group))
    return groups


def _read_text(stream: BufferedReader, member: Member) -> bytes:
    found: Array = decode_array(read_member(stream, member), member.name)
    if found.ndim != 1 or found.dtype != np.uint8:
        raise MalformedInput("expected bytes", member.name)
    return found.tobytes()
