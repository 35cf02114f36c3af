"""Archives taken apart and put together again, faults included."""

from __future__ import annotations

import hashlib
import io
import zipfile
from typing import Any

import numpy as np

from interp.transformers.arrays import write_arrays
from interp.transformers.encode import make_header
from proofs.kernel.decode import decode_transformer
from proofs.kernel.model import Transformer
from tests.reference.arrays import json_lines


def archive_of(transformer: Transformer) -> bytes:
    """The binary form."""
    stream = io.BytesIO()
    write_arrays(stream, make_header(transformer), transformer.blocks)
    return stream.getvalue()


def archive_of_lines(data: bytes) -> bytes:
    """The binary form of JSON lines."""
    return archive_of(decode_transformer(data))


def arrays_of(data: bytes) -> dict[str, Any]:
    """All arrays, in order."""
    with np.load(io.BytesIO(data)) as archive:
        return {name: archive[name] for name in archive.files}


def npy(array: Any) -> bytes:
    """One ``.npy`` file; an array of objects is pickled."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=True)
    return stream.getvalue()


def pack(members: dict[str, Any], compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of arrays, or of bytes as they are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content if isinstance(content, bytes) else npy(content))
    return stream.getvalue()


def resign(members: dict[str, Any]) -> bytes:
    """The archive with the digest that its lines have, so that a reader comes to what stands behind it."""
    lines = json_lines(pack(members))
    body = lines[: lines.rindex(b"\n", 0, -1) + 1]
    return pack(members | {"sha256": np.frombuffer(hashlib.sha256(body).digest(), dtype=np.uint8)})
