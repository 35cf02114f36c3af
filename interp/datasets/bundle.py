"""Untrusted. The datasets that come with the package, named ``bundled:NAME`` wherever a dataset file is expected."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from proofs.kernel.errors import UsageError

PREFIX = "bundled:"


def bundled_names() -> list[str]:
    """The names of all bundled datasets."""
    return sorted(path.stem for path in _files())


def bundled_path(name: str) -> Path:
    """The file of a bundled dataset. Raises: UsageError."""
    for path in _files():
        if path.stem == name:
            return path
    raise UsageError(f"no bundled dataset {name!r}", hint=f"there are {', '.join(bundled_names())}")


def resolve(path: Path | str) -> Path:
    """The path, or the bundled file that it names. Raises: UsageError."""
    text = str(path)
    return bundled_path(text.removeprefix(PREFIX)) if text.startswith(PREFIX) else Path(path)


def _files() -> list[Path]:
    folder = Path(str(files("interp.datasets"))) / "bundled"
    return [path for path in folder.iterdir() if path.suffix in (".ts", ".npz")]
