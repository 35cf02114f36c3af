"""Trusted. Zip archives of numpy arrays, read strictly: stored members one after the other and nothing else.

No array is made before its type, shape and size were compared with the bytes that are there; nothing is unpickled and
nothing is unpacked, so that a file never takes more memory than its own size.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from math import prod
from typing import Any

import numpy as np

from proofs.engine.integers import Array
from proofs.kernel.errors import MalformedInput

MAGIC = b"PK\x03\x04"
END_SIZE = 22  # bytes of a zip archive's end record without comment
HINT = "write it with `interp convert`"
HEADER = re.compile(
    rb"\{'descr': '(<i[248]|\|[iu]1)', 'fortran_order': False, 'shape': \(([0-9]{1,15}),(?: ([0-9]{1,15}))?\), \} *\n"
)


@dataclass(frozen=True, slots=True)
class Member:
    """Where the content of a member stands in the file."""

    name: str
    start: int
    size: int
    check: int  # CRC-32


def list_members(stream: BufferedReader, size: int) -> list[Member]:
    """All members, in the order in which they stand in the file. Raises: MalformedInput."""
    stream.seek(max(0, size - END_SIZE))
    end = stream.read()
    # a larger directory would need a zip64 record; a smaller one is listed in bounded memory
    if len(end) != END_SIZE or not end.startswith(b"PK\x05\x06") or end[-2:] != b"\0\0" or end[8:12].count(255) == 4:
        raise MalformedInput("the end of the archive is missing", hint="cut short, or something follows it?")
    directory = int.from_bytes(end[16:20], "little")
    if directory + int.from_bytes(end[12:16], "little") + END_SIZE != size:
        raise MalformedInput("the directory of the archive does not reach from its members to its end")
    try:
        with zipfile.ZipFile(stream) as archive:
            return list(_check_layout(stream, archive.infolist(), directory))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise MalformedInput(f"not a readable archive: {str(error)[:80]!a}", hint=HINT) from error


def _check_layout(stream: BufferedReader, members: list[zipfile.ZipInfo], directory: int) -> Iterator[Member]:
    """Members fill the file up to the directory, each with its own name, none compressed or encrypted."""
    place = 0
    seen: set[str] = set()
    for member in members:
        name = member.filename
        if name in seen:
            raise MalformedInput("the array is given twice", repr(name))
        seen.add(name)
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits or member.compress_size != member.file_size:
            raise MalformedInput("compressed or encrypted", repr(name), HINT)
        stream.seek(place)
        local = stream.read(30)
        lengths = [int.from_bytes(local[k : k + 2], "little") for k in (26, 28)]
        if member.header_offset != place or not local.startswith(MAGIC) or len(local) < 30:
            raise MalformedInput("members do not follow each other", repr(name))
        if stream.read(lengths[0]) != name.encode():
            raise MalformedInput("named differently in the directory", repr(name))
        start = place + 30 + sum(lengths)
        place = start + member.file_size
        if place > directory or not name.endswith(".npy"):
            raise MalformedInput("not an array of this archive", repr(name), HINT)
        yield Member(name.removesuffix(".npy"), start, member.file_size, member.CRC)
    if place != directory:
        raise MalformedInput("something stands between the members and the directory")


def read_member(stream: BufferedReader, member: Member) -> bytes:
    """The content of a member. Raises: MalformedInput."""
    stream.seek(member.start)
    content = stream.read(member.size)
    if len(content) != member.size or zlib.crc32(content) != member.check:
        raise MalformedInput("damaged: the checksum is another one", member.name)
    return content


def decode_array(content: bytes, name: str) -> Array:
    """The array of integers in a ``.npy`` file of version 1. Raises: MalformedInput."""
    length = int.from_bytes(content[8:10], "little")
    match = HEADER.fullmatch(content[10 : 10 + length])
    if not content.startswith(b"\x93NUMPY\x01\x00") or match is None:
        raise MalformedInput("not an array of integers in C order", name, HINT)
    shape = tuple(int(x) for x in match.groups()[1:] if x is not None)
    kind: np.dtype[Any] = np.dtype(match[1].decode())
    if prod(shape) * kind.itemsize != len(content) - 10 - length:
        raise MalformedInput("the array does not fill its shape", name, "cut short?")
    return np.frombuffer(content, dtype=kind, offset=10 + length).reshape(shape)
