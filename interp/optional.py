"""Untrusted. Packages that only some commands need (the extras of setup.cfg)."""

from __future__ import annotations

import importlib
from typing import Any

from proofs.kernel.errors import UsageError


def load_optional(module: str, package: str = "") -> Any:
    """A module that need not be installed. Raises: UsageError that says what to install."""
    package = package or module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"{package} is not installed", hint=f"pip install {package}") from error
