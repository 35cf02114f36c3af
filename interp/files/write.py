"""Untrusted. Writing whole files or nothing."""

from __future__ import annotations

import glob
import os
import tempfile
import time
from pathlib import Path

from proofs.kernel.errors import UsageError

STALE_SECONDS = 3600


def write_file(path: Path, data: bytes) -> None:
    """Writes to a temporary file beside the target, then renames: the target is never half-written.

    Raises: UsageError when the place cannot be written.
    """
    try:
        _remove_leftovers(path)
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


def _remove_leftovers(path: Path) -> None:
    """Temporary files that a killed run left for this target; a recent one may belong to a run that still writes."""
    for old in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        if time.time() - old.stat().st_mtime > STALE_SECONDS:
            old.unlink(missing_ok=True)
