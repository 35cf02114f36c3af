"""Untrusted. Packages that only some commands need (the extras of setup.cfg)."""

from __future__ import annotations

import importlib
from shlex import quote
from typing import Any

from proofs.kernel.errors import UsageError


def load_optional(module: str, package: str = "") -> Any:
    """A module that need not be installed. Raises: UsageError that says what to install.

    ``package`` is what brings it, if that has another name; an extra as ``exact-interp[NAME]``.
    """
    name = module.partition(".")[0] if not package or "[" in package else package
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"{name} is not installed", hint=f"pip install {quote(package or name)}") from error


def load_matplotlib() -> Any:
    """matplotlib, for its settings. Raises: UsageError without it."""
    return load_optional("matplotlib", "exact-interp[plot]")


def make_figure(width: float, height: float) -> Any:
    """An empty figure of matplotlib, in inches, that no window shows. Raises: UsageError without it."""
    return load_optional("matplotlib.figure", "exact-interp[plot]").Figure(
        figsize=(width, height), layout="constrained"
    )
