"""Untrusted. Writing whole files or nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from proofs.kernel.errors import UsageError


def write_file(path: Path, data: bytes) -> None:
    """Writes to a temporary file beside the target, then renames: the target is never half-written.

    Raises: UsageError when the place cannot be written.
    """
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            mode = os.umask(0)
            os.umask(mode)
            os.chmod(temporary, 0o666 & ~mode)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", file=str(path)) from error
