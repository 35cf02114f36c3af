"""Untrusted. Writes a transformer in the binary form (docs/reference/formats.md), chunk by chunk, from its lines."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

import numpy as np
from flint import fmpz

from interp.files.numbers import Number
from interp.transformers.encode import encode_block, encode_end, encode_header, encode_line
from proofs.kernel.errors import InternalFault, UsageError
from proofs.kernel.model import Block
from proofs.witness.arrays import ARRAYS_FORMAT
from proofs.witness.chunk import DENSE, DENSE_OUTER, FACTORS, FIELDS, MASKED, MAX_BLOCKS, SCALE

Array = np.ndarray[Any, np.dtype[Any]]
CHUNK_NUMBERS = 1_000_000  # after which a chunk ends with its block
WIDTHS = tuple(np.dtype(name) for name in ("<i1", "<i2", "<i4", "<i8"))
_EPOCH = (1980, 1, 1, 0, 0, 0)
_npy: Any = np.lib.format  # untyped in some releases of numpy


def write_arrays(stream: BinaryIO, header: dict[str, Any], blocks: Iterable[Block]) -> str:
    """Writes the archive and returns the digest of the lines it stands for: deterministic, byte for byte."""
    line = encode_header(header)
    body, done = hashlib.sha256(line), 0
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        _write(archive, "format", np.frombuffer(ARRAYS_FORMAT.encode(), dtype=np.uint8))
        _write(archive, "header", np.frombuffer(line[:-1], dtype=np.uint8))
        for label, chunk in enumerate(_chunks(blocks), 1):
            for record in chunk.records:
                done += 1
                body.update(encode_line({"block": done} | record))
            for name, array in chunk.arrays():
                _write(archive, f"{label}/{name}", array)
        if done != header["blocks"]:
            raise InternalFault(f"{done} blocks where the header says {header['blocks']}")
        _write(archive, "sha256", np.frombuffer(body.digest(), dtype=np.uint8))
    body.update(encode_end(done, body.hexdigest()))
    return "sha256:" + body.hexdigest()


def _write(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    content = io.BytesIO()
    _npy.write_array(content, array, version=(1, 0), allow_pickle=False)
    member = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
    member.create_system, member.external_attr = 3, 0o644 << 16
    archive.writestr(member, content.getvalue())


class _Collected:
    """The records of some blocks, as their lines have them, with their numbers field by field."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.size = 0
        self._structure: list[list[int]] = []
        self._numbers: dict[str, list[Number]] = {name: [] for name in FIELDS}

    def add(self, block: Block) -> None:
        """Takes a block in."""
        record = encode_block(block)
        ff, sa = record.get("ff"), record.get("sa")
        row = [0] * 7
        if ff is not None:
            row[0] = 1
            self._numbers["eta"].append(ff["eta"])
            if "b" in ff:
                row[0], row[3] = 2, len(ff["b"])
                row[1], row[2] = self._add_matrix("W", ff["W"]), self._add_matrix("U", ff["U"])
                self._numbers["b"] += ff["b"]
        if sa is not None:
            if "heads" in sa:
                raise UsageError("the binary form holds one head a layer", hint="write JSON lines")
            row[4] = MASKED if "mask" in sa else 1
            self._numbers["rho"].append(sa["rho"])
            row[5], row[6] = self._add_square("A", sa.get("A", {})), self._add_square("V", sa.get("V", {}))
        self.records.append(record)
        self._structure.append(row)
        self.size = sum(map(len, self._numbers.values()))

    def _add_matrix(self, name: str, matrix: Any) -> int:
        """1 for column and row, 0 for all rows."""
        outer = isinstance(matrix, dict)
        for part in matrix["outer"] if outer else matrix:
            self._numbers[name] += part
        return int(outer)

    def _add_square(self, name: str, record: dict[str, Any]) -> int:
        """The form of A or V."""
        if "dense" in record:
            return DENSE_OUTER if self._add_matrix(name, record["dense"]) else DENSE
        form = 0
        for value in record.values():
            form |= FACTORS if isinstance(value, list) else SCALE
            self._numbers[name] += value if isinstance(value, list) else [value]
        return form

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """The arrays of the chunk with their names."""
        yield "structure", _narrow(self._structure)
        for name, numbers in self._numbers.items():
            if not numbers:
                continue
            ratios = [_ratio(number) for number in numbers]
            yield from _integers(name, [p for p, _ in ratios])
            if any(q != 1 for _, q in ratios):
                yield from _integers(f"{name}_denominators", [q for _, q in ratios])


def _chunks(blocks: Iterable[Block]) -> Iterator[_Collected]:
    """Blocks in chunks of at most ``MAX_BLOCKS``, fewer when they have many numbers."""
    waiting = iter(blocks)
    for block in waiting:
        chunk = _Collected()
        chunk.add(block)
        for further in islice(waiting, MAX_BLOCKS - 1):
            chunk.add(further)
            if chunk.size >= CHUNK_NUMBERS:
                break
        yield chunk


def _ratio(number: Number) -> tuple[int, int]:
    """Numerator and denominator of a number as it stands in a line (``int`` stops at 4300 digits, FLINT does not)."""
    if isinstance(number, int):
        return number, 1
    numerator, _, denominator = number.partition("/")
    return int(fmpz(numerator)), int(fmpz(denominator or "1"))


def _integers(name: str, values: Sequence[int]) -> Iterator[tuple[str, Array]]:
    """One array of the smallest type, or sizes and bytes (two's complement, lowest first) beyond 64 bits."""
    if all(-(2**63) < value < 2**63 for value in values):
        yield name, _narrow(values)
        return
    sizes = [(value if value >= 0 else ~value).bit_length() // 8 + 1 for value in values]
    content = b"".join(value.to_bytes(size, "little", signed=True) for value, size in zip(values, sizes, strict=True))
    yield f"{name}_sizes", _narrow(sizes)
    yield f"{name}_bytes", np.frombuffer(content, dtype=np.uint8)


def _narrow(values: Sequence[Any]) -> Array:
    array = np.array(values, dtype=np.int64)
    low, high = int(array.min()), int(array.max())
    kind = next(kind for kind in WIDTHS if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return array.astype(kind)
