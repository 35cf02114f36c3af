"""Trusted. Faults with the place where they were found, and the exit code of every outcome."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """Every outcome of a command, with its exit code (never 1, which is Python's own crash)."""

    VERIFIED = ("verified", 0)
    USAGE = ("usage error", 2)
    REFUTED = ("refuted", 10)
    UNDECIDED = ("undecided", 11)
    MALFORMED = ("malformed input", 12)
    LIMIT = ("limit reached", 13)
    FAULT = ("internal fault", 14)

    def __init__(self, label: str, exit_code: int) -> None:
        self.label = label
        self.exit_code = exit_code


class InterpError(Exception):
    """A fault with its place: the file, the path inside it (``$.pairs[3].input[0][1]``) and what to do."""

    status = Status.FAULT

    def __init__(self, message: str, path: str = "", hint: str = "", file: str = "") -> None:
        super().__init__(message)
        self.message, self.path, self.hint, self.file = message, path, hint, file

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.file, self.path) if part)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text} ({self.hint})" if self.hint else text


class UsageError(InterpError):
    """The options given do not make a statement."""

    status = Status.USAGE


class MalformedInput(InterpError):
    """A file or a value does not follow its format."""

    status = Status.MALFORMED


class LimitReached(InterpError):
    """A resource limit was hit before the question could be answered."""

    status = Status.LIMIT


class InternalFault(InterpError):
    """A promise of the program itself was broken: never the user's fault."""

    status = Status.FAULT
