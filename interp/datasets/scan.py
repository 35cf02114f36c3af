"""Untrusted. A tolerant look at a JSON or JSON lines dataset that the kernel refused: every fault, not only the first.

It follows ``proofs.kernel.decode.decode_dataset``, which alone decides what a dataset is (tests hold the two together),
and goes on after a fault. Numbers are read by the kernel's ``parse_rational``; none becomes a float.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Any

from interp.datasets.draft import Draft, DraftPair, Place, Token, Tokens, json_places, line_places
from interp.datasets.violation import Violation
from proofs.kernel.decode import DATASET_FORMAT, DATASET_LINES_FORMAT, is_lines
from proofs.kernel.errors import MalformedInput
from proofs.kernel.rational import Limits, parse_rational, row_of

DATASET_SHAPE = (
    f'the shape is {{"format": "{DATASET_FORMAT}", "dimension": 2, "pairs": [..]}}: docs/reference/formats.md'
)


def scan_json(data: bytes, limits: Limits) -> Draft:
    """Whatever tokens can be read, and all faults but wrong lengths and dimensions. Raises: LimitReached."""
    scan = _Scan(limits)
    dimension, pairs = scan.lines(data) if is_lines(data) else scan.document(data)
    return Draft(dimension, tuple(pairs), tuple(scan.found))


class _Number(str):
    """A JSON number exactly as written."""


class _Constant(str):
    """NaN, Infinity or -Infinity."""


class _Object(dict[str, Any]):
    """A JSON object that remembers which keys were given twice."""

    repeated: list[str]

    @classmethod
    def from_pairs(cls, pairs: list[tuple[str, Any]]) -> _Object:
        result = cls(pairs)
        names = [key for key, _ in pairs]
        result.repeated = [key for key in result if names.count(key) > 1] if len(result) < len(names) else []
        return result


class _Scan:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.found: list[Violation] = []

    def add(self, rule: str, path: str, message: str, fix: str = "") -> None:
        self.found.append(Violation(rule, path, message, fix))

    def document(self, data: bytes) -> tuple[int | None, list[DraftPair]]:
        record = self.record(self.parse(data, "$"), "$", ("format", "dimension", "pairs"), ("comment",))
        self.check_format(record, "$.format", DATASET_FORMAT)
        values = self.items(record["pairs"], "$.pairs") if "pairs" in record else []
        pairs = [self.pair(value, f"$.pairs[{j}]", json_places(j)) for j, value in enumerate(values)]
        return self.count(record, "dimension", "$.dimension"), pairs

    def lines(self, data: bytes) -> tuple[int | None, list[DraftPair]]:
        lines = data.split(b"\n")
        first, rest = lines[0], lines[1:] if lines[-1] else lines[1:-1]
        record = self.record(self.parse(first, "line 1"), "line 1", ("format", "dimension", "pairs"), ("comment",))
        self.check_format(record, "line 1: $.format", DATASET_LINES_FORMAT)
        pairs = []
        for j, line in enumerate(rest):
            value = self.parse(line, f"line {j + 2}")
            pairs.append(self.pair(value, f"line {j + 2}: $", line_places(j)))
        claimed = self.count(record, "pairs", "line 1: $.pairs")
        if claimed is not None and claimed != len(rest):
            message = f"{len(rest)} pairs where the header says {claimed}"
            self.add("count", "line 1: $.pairs", message, "cut short?")
        return self.count(record, "dimension", "line 1: $.dimension"), pairs

    def parse(self, data: bytes, path: str) -> Any:
        """The JSON value, or the exception class when there is none (then the fault is listed)."""
        try:
            return json.loads(
                data.decode("utf-8"),
                parse_int=_Number,
                parse_float=_Number,
                parse_constant=_Constant,
                object_pairs_hook=_Object.from_pairs,
            )
        except UnicodeDecodeError as error:
            self.add("syntax", path, f"not UTF-8 at byte {error.start}")
        except json.JSONDecodeError as error:
            self.add("syntax", path, f"not JSON: {error.msg} at line {error.lineno} column {error.colno}")
        except RecursionError:
            self.add("syntax", path, "nested too deeply")
        return _Unreadable

    def record(self, value: Any, path: str, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
        """The object without what does not belong into it; {} when the value is none."""
        if value is _Unreadable:
            return {}
        if not isinstance(value, _Object):
            self.add("type", path, "expected an object", DATASET_SHAPE if path == "$" else "")
            return {}
        for key in value.repeated:
            self.add("key", path, f"key {key!r} is given twice")
        unknown = sorted(value.keys() - set(required) - set(optional))
        for key in required:
            if key not in value:
                similar = get_close_matches(key, unknown, 1)
                fix = f"rename {similar[0]!r}" if similar else DATASET_SHAPE if path == "$" else ""
                self.add("key", path, f"key {key!r} is missing", fix)
        for key in unknown:
            self.add("key", path, f"unknown key {key!r}")
        return value

    def check_format(self, record: dict[str, Any], path: str, expected: str) -> None:
        if "format" in record and (record["format"] != expected or type(record["format"]) is not str):
            self.add("format", path, f"expected {expected!r}")

    def count(self, record: dict[str, Any], key: str, path: str) -> int | None:
        if key not in record:
            return None
        value = record[key]
        if isinstance(value, _Number) and value.isdigit() and len(value) <= 15:
            return int(value)
        self.add("count", path, "expected a count")
        return None

    def items(self, value: Any, path: str) -> list[Any]:
        if isinstance(value, list):
            return value
        self.add("type", path, "expected a list")
        return []

    def pair(self, value: Any, path: str, place: Place) -> DraftPair:
        record = self.record(value, path, ("input", "output"), ())
        return DraftPair(self.side(record, "input", place), self.side(record, "output", place), place)

    def side(self, record: dict[str, Any], name: str, place: Place) -> Tokens:
        """The tokens of a side; one unread token where the side itself is missing or is no list."""
        if name not in record:
            return (None,)
        if not isinstance(record[name], list):
            self.add("type", place(name, None), "expected a list")
            return (None,)
        return tuple(self.token(token, place(name, i)) for i, token in enumerate(record[name]))

    def token(self, value: Any, path: str) -> Token:
        if not isinstance(value, list):
            self.add("type", path, "expected a list")
            return None
        known = len(self.found)
        numbers = [self.number(x, f"{path}[{c}]") for c, x in enumerate(value)]
        return row_of([x for x in numbers if x is not None]) if len(self.found) == known else None

    def number(self, value: Any, path: str) -> Any:
        if isinstance(value, _Constant) or not isinstance(value, str):
            named = f"{value} is not a number" if isinstance(value, _Constant) else "expected a number"
            self.add("number", path, named, "NaN, infinity, null and true are not numbers: correct or drop the token")
            return None
        try:
            return parse_rational(value, path, self.limits)
        except MalformedInput as fault:
            self.add("number", fault.path, fault.message, fault.hint)
            return None


class _Unreadable:
    """Stands for a value that is not JSON."""
