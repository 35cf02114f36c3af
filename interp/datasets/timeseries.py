"""Untrusted. Reads UEA time series (``.ts``): one case a line, every value the exact decimal that is written.

Shapes: a case has n tokens of Q^d, the t-th token holding the t-th value of each of the d dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import fmpq

from interp.datasets.draft import Token, Tokens
from interp.datasets.violation import Violation
from proofs.kernel.errors import MalformedInput
from proofs.kernel.rational import Limits, parse_rational, row_of

FLAGS = ("timestamps", "missing", "univariate", "equallength", "targetlabel")
COUNTS = ("dimensions", "serieslength")
TEXTS = ("problemname", "classlabel", "data")
MISSING = ("", "?", "nan")


@dataclass(frozen=True, slots=True)
class Case:
    """One series, the line it stands on, and its class label ("" without labels)."""

    line: int
    tokens: Tokens
    label: str


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """All cases; labels in the order of the header; d is None in a file without cases and without @dimensions."""

    dimension: int | None
    labels: tuple[str, ...]
    cases: tuple[Case, ...]
    violations: tuple[Violation, ...]
    dimension_path: str


def read_ts(data: bytes, limit: int | None, limits: Limits) -> TimeSeries:
    """The first ``limit`` cases of a file (all for None) and every fault up to there. Raises: LimitReached."""
    reader = _Reader(limits)
    cases: list[Case] = []
    lines = _content(data)
    if reader.read_header(lines):
        for count, (number, line) in enumerate(lines):
            if limit is not None and count == limit:
                break
            case = reader.read_case(number, line)
            if case is not None:
                cases.append(case)
    return TimeSeries(reader.dimension, reader.labels, tuple(cases), tuple(reader.found), reader.dimension_path)


def _content(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are neither empty nor comments, with their numbers."""
    for number, raw in enumerate(data.split(b"\n"), 1):
        line = raw.strip()
        if line and not line.startswith(b"#"):
            yield number, line


class _Reader:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.found: list[Violation] = []
        self.flags = dict.fromkeys(FLAGS, False)
        self.counts: dict[str, int] = {}
        self.labels: tuple[str, ...] = ()
        self.dimension: int | None = None
        self.dimension_path = ""
        self.length: int | None = None

    def add(self, rule: str, path: str, message: str, fix: str = "") -> None:
        self.found.append(Violation(rule, path, message, fix))

    def read_header(self, lines: Iterator[tuple[int, bytes]]) -> bool:
        """Whether the cases can be read with this header."""
        seen: set[str] = set()
        for number, line in lines:
            path = f"line {number}"
            text = self.decode(path, line)
            if not text.startswith("@"):
                self.add("header", path, "expected a header line '@..' before @data", "is @data missing?")
                return False
            words = text[1:].split(maxsplit=1) or [""]
            key, value = words[0].lower(), words[1].strip() if len(words) > 1 else ""
            if key in seen:
                self.add("header", path, f"@{key} is given twice")
            seen.add(key)
            if key == "data":
                return self.finish_header()
            self.read_key(path, key, value)
        self.add("header", "end of file", "no line @data", "is this a .ts file?")
        return False

    def read_key(self, path: str, key: str, value: str) -> None:
        if key in FLAGS:
            if value.lower() not in ("true", "false"):
                self.add("header", path, f"@{key} {value!r}, expected true or false")
            self.flags[key] = value.lower() == "true"
            if self.flags[key] and key == "univariate" and not self.dimension_path:
                self.dimension_path = path
            if self.flags[key] and key == "timestamps":
                fix = "write the values alone and set @timeStamps false"
                self.add("header", path, "series with time stamps are not read", fix)
            if self.flags[key] and key == "targetlabel":
                self.add("header", path, "regression targets are not read", "give class labels, or leave them out")
        elif key in COUNTS:
            if value.isascii() and value.isdigit() and 0 < len(value) < 10:
                self.counts[key] = int(value)
                self.dimension_path = path if key == "dimensions" else self.dimension_path
            else:
                self.add("header", path, f"@{key} {value!r}, expected a count")
        elif key == "classlabel":
            self.read_labels(path, value.split())
        elif key not in TEXTS:
            known = ", ".join("@" + name for name in (*TEXTS, *FLAGS, *COUNTS))
            self.add("header", path, f"unknown key {'@' + key!r}", f"the keys are {known}")

    def read_labels(self, path: str, words: list[str]) -> None:
        flag, labels = words[0].lower() if words else "", words[1:]
        if flag not in ("true", "false") or (flag == "true") != bool(labels):
            self.add("header", path, "expected '@classLabel false' or '@classLabel true' and the labels")
        elif len(set(labels)) != len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            self.add("header", path, f"label {twice!r} is given twice")
        self.labels = tuple(dict.fromkeys(labels))

    def finish_header(self) -> bool:
        self.dimension = 1 if self.flags["univariate"] else None
        self.dimension = self.counts.get("dimensions", self.dimension)
        self.length = self.counts.get("serieslength")
        return not self.found

    def decode(self, path: str, line: bytes) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            self.add("syntax", path, f"not UTF-8 at byte {error.start} of the line")
            return line.decode("utf-8", "replace")

    def read_case(self, number: int, line: bytes) -> Case | None:
        """One line of values, or None when its shape is wrong."""
        path = f"line {number}"
        parts = self.decode(path, line).split(":")
        label = parts.pop().strip() if self.labels else ""
        if self.labels and label not in self.labels:
            known = " ".join(self.labels)
            self.add("label", path, f"label {label!r} is not in the header", f"@classLabel names {known}")
        columns = [part.split(",") for part in parts]
        if self.dimension is None:
            self.dimension, self.dimension_path = len(columns), path
        if len(columns) != self.dimension:
            self.add("ragged-token", path, f"{len(columns)} dimensions, expected {self.dimension}")
            return None
        length = len(columns[0]) if columns else 0
        uneven = [c for c, column in enumerate(columns, 1) if len(column) != length]
        for c in uneven:
            message = f"dimension {c} has {len(columns[c - 1])} values, dimension 1 has {length}"
            self.add("ragged-token", path, message, "all dimensions of a case have one length")
        if uneven:
            return None
        self.check_length(path, length)
        values = [self.read_column(f"{path}: dimension {c}", column) for c, column in enumerate(columns, 1)]
        return Case(number, tuple(_token(coordinates) for coordinates in zip(*values, strict=True)), label)

    def check_length(self, path: str, length: int) -> None:
        if self.flags["equallength"]:
            expected = self.length = length if self.length is None else self.length
            if length != expected:
                message = f"a case of length {length}, expected {expected}"
                self.add("length", path, message, "set @equalLength false if lengths differ")

    def read_column(self, path: str, column: list[str]) -> list[fmpq | None]:
        return [self.read_value(f"{path}, value {t}", field.strip()) for t, field in enumerate(column, 1)]

    def read_value(self, path: str, field: str) -> fmpq | None:
        if field.lower() in MISSING:
            fix = "fill it in or drop the case: interpolation needs every value"
            self.add("number", path, f"a missing value ({field!r})", fix)
            return None
        try:
            return parse_rational(field, path, self.limits)
        except MalformedInput as fault:
            self.add("number", fault.path, fault.message, fault.hint)
            return None


def _token(coordinates: tuple[fmpq | None, ...]) -> Token:
    known = [x for x in coordinates if x is not None]
    return row_of(known) if len(known) == len(coordinates) else None
