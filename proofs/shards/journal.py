"""Trusted. The journal of a long check: a line for each shard that was answered, so that a later run can go on.

The first line says what the answers are about; it must be what is asked now. A line is on the disk before the next
answer is taken; one that was cut short is dropped. The journal is believed as it stands.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from proofs.kernel.decode import decode_json, read_object
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.shards.answer import ShardAnswer, decode_answer

FORMAT = "interp-journal/1"
ANOTHER = "name another file with --resume"


class Journal:
    """An open journal about ``subject`` (names and digests), locked against other runs.

    Raises: MalformedInput when the file is none, or is about something else; UsageError when it cannot be written or
    another run writes it.
    """

    def __init__(self, path: Path, subject: dict[str, str]) -> None:
        self.path = path
        head = json.dumps({"format": FORMAT, **subject}).encode() + b"\n"
        try:
            if path.exists() and not path.is_file():
                raise MalformedInput("not a regular file", file=str(path))
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._lock()
            self.answers = self._read(head, subject)
        except BaseException:
            os.close(self._handle)
            raise

    def append(self, answer: ShardAnswer) -> None:
        """Puts an answer on the disk."""
        self._write(answer.encode().encode() + b"\n")

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)

    def _lock(self) -> None:
        with suppress(ImportError):
            import fcntl

            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UsageError("another run writes this journal", "--resume", file=str(self.path)) from error

    def _read(self, head: bytes, subject: dict[str, str]) -> list[ShardAnswer]:
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end == 0:
            if not head.startswith(data):
                raise MalformedInput("not a journal", file=str(self.path), hint=ANOTHER)
            self._cut(0)
            self._write(head)
            return []
        first, *lines = data[:end].split(b"\n")[:-1]
        self._check_subject(first, subject)
        answers = []
        for number, line in enumerate(lines, 2):
            try:
                answers.append(decode_answer(line.decode()))
            except (MalformedInput, UnicodeDecodeError) as error:
                hint = "the file was changed: remove it to start again"
                raise MalformedInput("not an answer", f"line {number}", hint, str(self.path)) from error
        self._cut(end)
        return answers

    def _check_subject(self, first: bytes, subject: dict[str, str]) -> None:
        try:
            found = read_object(decode_json(first, "line 1"), "line 1", {"format", *subject})
        except MalformedInput as error:
            raise MalformedInput("not a journal", "line 1", ANOTHER, str(self.path)) from error
        for name, value in {"format": FORMAT, **subject}.items():
            if found[name] != value:
                message = f"the journal is about another {name}: {str(found[name])[:100]}, not {value}"
                raise MalformedInput(message, "line 1", f"{ANOTHER}, or remove this one to start again", str(self.path))

    def _cut(self, size: int) -> None:
        os.ftruncate(self._handle, size)

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._handle, data) :]
            os.fsync(self._handle)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"cannot be written: {error.strerror}", "--resume", file=str(self.path))
