"""Untrusted. Members of numpy's ``.npz`` archives, read with their size checked first and never unpickled."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from math import prod
from typing import Any

import numpy as np

from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.rational import Limits

Array = np.ndarray[Any, np.dtype[Any]]
Check = Callable[[tuple[int, ...], np.dtype[Any]], None]  # raises for a shape or a type that is not wanted
_npy: Any = np.lib.format  # untyped in some releases of numpy
_EPOCH = (1980, 1, 1, 0, 0, 0)


@contextmanager
def open_members(data: bytes, limits: Limits) -> Iterator[list[tuple[str, Callable[[], bytes]]]]:
    """The names of the arrays in an archive, each with what reads its content. Raises: MalformedInput, LimitReached."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > limits.max_bytes:
                raise LimitReached(f"arrays of more than {limits.max_bytes} bytes", hint="raise --max-bytes")
            yield [(m.filename.removesuffix(".npy"), lambda m=m: archive.read(m)) for m in members]  # type: ignore[misc]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise MalformedInput("not a readable .npz archive", hint="write it with numpy.savez") from error


def decode_array(name: str, content: bytes, check: Check) -> Array:
    """The array in one ``.npy`` member; ``check`` sees its shape and type before numpy makes it."""
    stream = BytesIO(content)
    try:
        version = _npy.read_magic(stream)
        readers = {(1, 0): _npy.read_array_header_1_0, (2, 0): _npy.read_array_header_2_0}
        shape, _, dtype = readers[version](stream)
    except Exception as error:  # numpy parses the header as Python text and lets every fault of the parser through
        raise MalformedInput("not a readable .npy array", name, "write it with numpy.savez") from error
    check(shape, dtype)
    if prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise MalformedInput("the array does not fill its shape", name, "cut short?")
    stream.seek(0)
    result: Array = _npy.read_array(stream, allow_pickle=False)
    return result


def write_member(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    """One array, with neither date nor owner: the same bytes every time."""
    content = BytesIO()
    _npy.write_array(content, array, version=(1, 0), allow_pickle=False)
    member = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
    member.create_system, member.external_attr = 3, 0o644 << 16
    archive.writestr(member, content.getvalue())
