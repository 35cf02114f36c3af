"""Untrusted. Writing whole files or nothing."""

from __future__ import annotations

import glob
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from proofs.kernel.errors import UsageError

STALE_SECONDS = 3600


def write_file(path: Path, data: bytes) -> None:
    """The whole content of a file. Raises: as ``replace_file``."""
    with replace_file(path) as stream:
        stream.write(data)


@contextmanager
def replace_file(path: Path, check: Callable[[Path], None] = lambda temporary: None) -> Iterator[BinaryIO]:
    """A stream to a temporary file beside the target, which is renamed at the end: the target is never half-written.

    ``check`` looks at the whole temporary file first; if it raises, the target stays as it was.
    Raises: UsageError when the place cannot be written.
    """
    try:
        _remove_leftovers(path)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
            check(Path(temporary))
            mode = os.umask(0)
            os.umask(mode)
            os.chmod(temporary, 0o666 & ~mode)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        hint = "" if path.parent.is_dir() else f"there is no folder {path.parent}"
        raise UsageError(f"cannot be written: {error.strerror}", hint=hint, file=str(path)) from error


def refuse_to_replace(target: Path, *given: Path | None) -> None:
    """Raises UsageError if the file to write is one of the files that were given."""
    for other in given:
        if other is not None and other.exists() and target.exists() and target.samefile(other):
            raise UsageError("this is the file that is read", hint="write to another file", file=str(target))


def _remove_leftovers(path: Path) -> None:
    """Temporary files that a killed run left for this target; a recent one may belong to a run that still writes."""
    for old in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        if time.time() - old.stat().st_mtime > STALE_SECONDS:
            old.unlink(missing_ok=True)
