"""Trusted for the exit code only: runs a check in a process of its own, within bounds of time and memory.

A library that runs out of memory may end its process instead of raising; here that ends the child, and the parent
answers "limit reached". A verdict still comes from the check alone: nothing but a complete, well-formed answer of the
child that matches its exit code is passed on.
"""

from __future__ import annotations

import json
import os
import select
import signal
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from proofs.kernel.errors import Status

CHUNK = 1 << 16
WATCH_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Answer:
    """What a check prints and exits with."""

    text: str
    record: dict[str, Any]
    status: Status


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds and megabytes that a check may take."""

    max_seconds: int = 86_400
    max_memory: int = 16_000  # megabytes of address space


DEFAULT_BOUNDS = Bounds()


def run_guarded(work: Callable[[], Answer], bounds: Bounds = DEFAULT_BOUNDS) -> Answer:
    """The answer of ``work``; "limit reached" if it needs more, "internal fault" if its process dies otherwise."""
    if not hasattr(os, "fork"):
        return work()
    reader, writer = os.pipe()
    parent = os.getpid()
    with warnings.catch_warnings():  # the child starts no thread and takes no lock of another one
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reader)
        end_with_parent(parent)
        _answer_and_exit(work, bounds, writer)
    os.close(writer)
    data, in_time = _read_until(reader, time.monotonic() + bounds.max_seconds)
    os.close(reader)
    if not in_time:
        os.kill(child, signal.SIGKILL)
    _, state = os.waitpid(child, 0)
    if not in_time:
        return refuse(Status.LIMIT, f"more than {bounds.max_seconds} seconds", "raise --max-seconds")
    code = os.waitstatus_to_exitcode(state)
    if code in (-signal.SIGABRT, -signal.SIGKILL, -signal.SIGBUS):
        return refuse(Status.LIMIT, f"more than {bounds.max_memory} megabytes of memory", "raise --max-memory")
    return _decode(data, code)


def end_with_parent(parent: int) -> None:
    """From now on this process ends soon after its parent, whose id is given: nobody would read its answer."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(Status.FAULT.exit_code)

    threading.Thread(target=watch, daemon=True).start()


def refuse(status: Status, message: str, hint: str) -> Answer:
    """An answer without a verdict."""
    record = {"verdict": status.label, "exit_code": status.exit_code, "error": message, "hint": hint}
    return Answer(f"{status.label.upper()}: {message} ({hint})", record, status)


def _answer_and_exit(work: Callable[[], Answer], bounds: Bounds, writer: int) -> None:
    """In the child: works within the memory bound, writes the answer and ends without any cleanup of the parent's."""
    code = Status.FAULT.exit_code
    try:
        with suppress(ImportError, ValueError, OSError):
            import resource

            limit = bounds.max_memory * 1_000_000
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        answer = work()
        message = {"text": answer.text, "record": answer.record, "status": answer.status.name}
        data = json.dumps(message).encode()
        while data:
            data = data[os.write(writer, data) :]
        code = answer.status.exit_code
    except MemoryError:
        os.kill(os.getpid(), signal.SIGKILL)
    finally:
        os._exit(code)


def _read_until(reader: int, deadline: float) -> tuple[bytes, bool]:
    """Everything up to the end of the pipe, and whether the end came in time."""
    parts: list[bytes] = []
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reader], [], [], min(left, 60.0))[0]:
            part = os.read(reader, CHUNK)
            if not part:
                return b"".join(parts), True
            parts.append(part)
    return b"", False


def _decode(data: bytes, code: int) -> Answer:
    try:
        message = json.loads(data)
        answer = Answer(message["text"], message["record"], Status[message["status"]])
    except (ValueError, KeyError, TypeError):
        return refuse(Status.FAULT, f"the checking process ended with code {code}", "please report it")
    if answer.status.exit_code != code:
        return refuse(Status.FAULT, f"exit code {code} does not go with the answer", "please report it")
    return answer
