"""Untrusted. One thing that is wrong with a dataset: which rule, where, and what mends it."""

from __future__ import annotations

from dataclasses import dataclass

from proofs.kernel.errors import MalformedInput


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule with its place in the file; ``option`` is the reading option that mends it, if one does."""

    rule: str
    path: str
    message: str
    fix: str = ""
    option: str = ""

    def error(self) -> MalformedInput:
        """The fault to raise where the first violation ends the reading."""
        return MalformedInput(self.message, self.path, self.fix)
