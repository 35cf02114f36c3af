"""Trusted. Bytes in, statement or witness out; whatever is not exactly in the format is refused with its path.

The formats are specified in docs/reference/formats.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from flint import fmpq, fmpq_mat

from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix, Transformer, identity_feed_forward
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, Row, parse_rational, row_of
from proofs.kernel.statement import Dataset, Pair

DATASET_FORMAT = "interp-dataset/1"
DATASET_LINES_FORMAT = "interp-dataset-lines/1"
TRANSFORMER_FORMAT = "interp-transformer/1"
HEADER_KEYS = {"attention", "temperatures", "construction", "generator", "seed", "dataset", "phases", "comment"}


class Literal(str):
    """A JSON number exactly as written: it never becomes a float."""


def _refuse_constant(name: str) -> NoReturn:
    raise MalformedInput(f"{name} is not a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise MalformedInput(f"key {key!r} is given twice")
        result[key] = value
    return result


def decode_json(data: bytes, place: str = "") -> Any:
    """Strict JSON: UTF-8 without BOM, no repeated key, no NaN or Infinity, numbers kept as text."""
    try:
        return json.loads(
            data.decode("utf-8"),
            parse_int=Literal,
            parse_float=Literal,
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique,
        )
    except UnicodeDecodeError as error:
        raise MalformedInput(f"not UTF-8 at byte {error.start}", place) from error
    except json.JSONDecodeError as error:
        raise MalformedInput(f"not JSON: {error.msg} at line {error.lineno} column {error.colno}", place) from error
    except RecursionError as error:
        raise MalformedInput("nested too deeply", place) from error
    except MalformedInput as error:
        raise MalformedInput(error.message, place) from error


def read_object(value: Any, path: str, required: set[str], optional: set[str] = frozenset()) -> dict[str, Any]:  # type: ignore[assignment]
    """An object with exactly these keys, the optional ones or not. Raises: MalformedInput."""
    if not isinstance(value, dict):
        raise MalformedInput("expected an object", path)
    if missing := sorted(required - value.keys()):
        raise MalformedInput(f"key {missing[0]!r} is missing", path)
    if unknown := sorted(value.keys() - required - optional):
        raise MalformedInput(f"unknown key {unknown[0]!r}", path)
    return value


def read_list(value: Any, path: str) -> list[Any]:
    """A list. Raises: MalformedInput."""
    if not isinstance(value, list):
        raise MalformedInput("expected a list", path)
    return value


def read_count(value: Any, path: str) -> int:
    """A plain JSON integer of at most 15 digits. Raises: MalformedInput."""
    if not isinstance(value, Literal) or not value.isascii() or not value.isdigit() or len(value) > 15:
        raise MalformedInput("expected a count", path)
    return int(value)


def read_rational(value: Any, path: str, limits: Limits) -> fmpq:
    """A number of the grammar, as text or as a JSON number. Raises: MalformedInput."""
    if not isinstance(value, str):
        raise MalformedInput("expected a number", path, "NaN, infinity, null and true are not numbers")
    return parse_rational(value, path, limits)


def _token(value: Any, path: str, limits: Limits) -> Row:
    return row_of([read_rational(x, f"{path}[{c}]", limits) for c, x in enumerate(read_list(value, path))])


def decode_tokens(value: Any, path: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Row, ...]:
    """The tokens in a decoded JSON list of lists of numbers. Raises: MalformedInput, LimitReached."""
    return tuple(_token(token, f"{path}[{i}]", limits) for i, token in enumerate(read_list(value, path)))


def _pairs(values: Iterable[tuple[str, Any]], limits: Limits) -> tuple[Pair, ...]:
    """The pairs in decoded JSON objects, each with its path."""
    pairs, tokens = [], 0
    for path, value in values:
        record = read_object(value, path, {"input", "output"})
        tokens += sum(len(read_list(record[side], f"{path}.{side}")) for side in record)
        if tokens > limits.max_tokens:
            raise LimitReached(f"more than {limits.max_tokens} tokens", path, "raise --max-tokens")
        pairs.append(Pair(*(decode_tokens(record[side], f"{path}.{side}", limits) for side in ("input", "output"))))
    return tuple(pairs)


def is_lines(data: bytes) -> bool:
    """Whether the first line is an object of its own that names the format of lines; elsewhere that is just text."""
    first = data.partition(b"\n")[0]
    if DATASET_LINES_FORMAT.encode() not in first:
        return False
    try:
        header = decode_json(first)
    except MalformedInput:
        return False
    return isinstance(header, dict) and DATASET_LINES_FORMAT in str(header.get("format"))


def decode_dataset(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Dataset:
    """A dataset from JSON or JSON lines. Raises: MalformedInput, LimitReached."""
    check_size(data, limits)
    if is_lines(data):
        first, _, rest = data.partition(b"\n")
        return _decode_dataset_lines(first, rest, limits)
    record = read_object(decode_json(data, "$"), "$", {"format", "dimension", "pairs"}, {"comment"})
    if record["format"] != DATASET_FORMAT or isinstance(record["format"], Literal):
        raise MalformedInput(f"expected {DATASET_FORMAT!r}", "$.format")
    values = ((f"$.pairs[{j}]", value) for j, value in enumerate(read_list(record["pairs"], "$.pairs")))
    return Dataset(read_count(record["dimension"], "$.dimension"), _pairs(values, limits))


def _decode_dataset_lines(first: bytes, rest: bytes, limits: Limits) -> Dataset:
    header = read_object(decode_json(first, "line 1"), "line 1", {"format", "dimension", "pairs"}, {"comment"})
    if header["format"] != DATASET_LINES_FORMAT:
        raise MalformedInput(f"expected {DATASET_LINES_FORMAT!r}", "line 1: $.format")
    pairs = _pairs(((f"line {k}: $", decode_json(line, f"line {k}")) for k, line in _numbered(rest)), limits)
    if len(pairs) != read_count(header["pairs"], "line 1: $.pairs"):
        message = f"{len(pairs)} pairs where the header says {header['pairs']}"
        raise MalformedInput(message, "line 1: $.pairs", "cut short?")
    return Dataset(read_count(header["dimension"], "line 1: $.dimension"), pairs)


def _numbered(rest: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines after the first with their numbers; only a final newline may be followed by nothing."""
    lines = rest.split(b"\n")
    return enumerate(lines if lines[-1] else lines[:-1], 2)


def decode_transformer(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Transformer:
    """A transformer from JSON lines: header, one block a line, end record. Raises: MalformedInput, LimitReached."""
    check_size(data, limits)
    body, end = split_end(data)
    lines = body.split(b"\n")[:-1]
    header, dimension = decode_header(lines[0], limits)
    check_count(len(lines) - 1, {"the header": header["blocks"], "the end record": end["blocks"]})
    blocks = tuple(decode_block(line, k, dimension, limits) for k, line in enumerate(lines[1:], 1))
    return Transformer(dimension, blocks, header, "sha256:" + hashlib.sha256(data).hexdigest())


def decode_header(line: bytes, limits: Limits) -> tuple[dict[str, Any], int]:
    """The header in line 1 of a transformer, and the dimension. Raises: MalformedInput, LimitReached."""
    header = read_object(decode_json(line, "line 1"), "line 1", {"format", "dimension", "blocks"}, HEADER_KEYS)
    if header["format"] != TRANSFORMER_FORMAT or isinstance(header["format"], Literal):
        raise MalformedInput(f"expected {TRANSFORMER_FORMAT!r}", "line 1: $.format")
    for name, limit in (("dimension", limits.max_dimension), ("blocks", limits.max_depth)):
        if read_count(header[name], f"line 1: $.{name}") > limit:
            hint = "raise --max-dimension" if name == "dimension" else "raise --max-depth"
            raise LimitReached(f"{name} {header[name]}, more than {limit}", f"line 1: $.{name}", hint)
    return header, int(header["dimension"])


def check_count(found: int, said: dict[str, Any]) -> None:
    """Raises MalformedInput unless the number of blocks is what each record says."""
    for name, value in said.items():
        if read_count(value, name) != found:
            raise MalformedInput(f"{found} blocks where {name} says {value}", "$.blocks")


def split_end(data: bytes) -> tuple[bytes, dict[str, Any]]:
    """Everything before the end record, and the end record, whose digest must be that of everything before it."""
    body = data[: data.rfind(b"\n", 0, -1) + 1]
    return body, decode_end(data[len(body) :], hashlib.sha256(body).hexdigest() if body else "")


def decode_end(line: bytes, digest: str) -> dict[str, Any]:
    """The end record in the last line; the digest is that of all lines before ("": none). Raises: MalformedInput."""
    if not line.endswith(b"\n"):
        raise MalformedInput("the last line has no newline", hint="cut short?")
    last = decode_json(line, "last line")
    if not digest or not isinstance(last, dict) or last.keys() != {"end"}:
        raise MalformedInput("the end record is missing", "last line", "cut short?")
    end = read_object(last["end"], "last line: $.end", {"blocks", "sha256"})
    if end["sha256"] != digest:
        message, hint = "the digest in the end record is not that of the lines before it", "the file was changed"
        raise MalformedInput(message, "last line: $.end.sha256", hint)
    return end


def decode_block(line: bytes, index: int, dimension: int, limits: Limits) -> Block:
    """Block ``index`` (from 1) in its line. Raises: MalformedInput, LimitReached."""
    path = f"line {index + 1}: $"
    record = read_object(decode_json(line, f"line {index + 1}"), path, {"block"}, {"ff", "sa"})
    if read_count(record["block"], f"{path}.block") != index:
        raise MalformedInput(f"block {record['block']} where block {index} belongs", f"{path}.block")
    layer, attention = identity_feed_forward(dimension), SelfAttention()
    if "ff" in record:
        ff = read_object(record["ff"], f"{path}.ff", {"eta"}, {"W", "U", "b"})
        if given := ff.keys() & {"W", "U", "b"}:
            if len(given) < 3:
                raise MalformedInput("W, U and b come together", f"{path}.ff")
            b = _vector(ff["b"], f"{path}.ff.b", limits)
            width = int(b.nrows())
            layer = FeedForward(
                read_rational(ff["eta"], f"{path}.ff.eta", limits),
                _matrix(ff["W"], f"{path}.ff.W", (dimension, width), limits),
                _matrix(ff["U"], f"{path}.ff.U", (width, dimension), limits),
                b,
            )
        else:
            layer = FeedForward(read_rational(ff["eta"], f"{path}.ff.eta", limits), layer.W, layer.U, layer.b)
    if "sa" in record:
        attention = _attention(record["sa"], f"{path}.sa", dimension, limits)
    return Block(layer, attention)


def _attention(value: Any, path: str, dimension: int, limits: Limits) -> SelfAttention:
    """One head is A and V; several are the list ``heads`` of such objects, and nothing else."""
    sa = read_object(value, path, {"rho"}, {"A", "V", "mask", "heads"})
    rho = read_rational(sa["rho"], f"{path}.rho", limits)
    if "mask" in sa and sa["mask"] != "causal":
        raise MalformedInput("expected 'causal'", f"{path}.mask", "a layer without a mask has no such key")
    parts = [(path, sa)]
    if "heads" in sa:
        read_object(sa, path, {"rho", "heads"}, {"mask"})
        heads = enumerate(read_list(sa["heads"], f"{path}.heads"))
        parts = [(at := f"{path}.heads[{h}]", read_object(head, at, set(), {"A", "V"})) for h, head in heads]
        if len(parts) < 2:
            raise MalformedInput(f"{len(parts)} heads in the list", f"{path}.heads", "one head is A and V themselves")
    pairs = (
        (
            _square(part.get("A", {}), f"{at}.A", ("alpha", "p", "q"), dimension, limits),
            _square(part.get("V", {}), f"{at}.V", ("beta", "r", "t"), dimension, limits),
        )
        for at, part in parts
    )
    return SelfAttention.join(rho, pairs, "mask" in sa)


def _vector(value: Any, path: str, limits: Limits) -> fmpq_mat:
    entries = [read_rational(x, f"{path}[{i}]", limits) for i, x in enumerate(read_list(value, path))]
    return fmpq_mat(len(entries), 1, entries)


def _matrix(value: Any, path: str, shape: tuple[int, int], limits: Limits) -> fmpq_mat:
    """A list of rows, or {"outer": [column, row]}."""
    if isinstance(value, dict):
        factors = read_list(read_object(value, path, {"outer"})["outer"], f"{path}.outer")
        if len(factors) != 2:
            raise MalformedInput("expected a column and a row", f"{path}.outer")
        column, row = (_vector(factor, f"{path}.outer[{i}]", limits) for i, factor in enumerate(factors))
        found = (int(column.nrows()), int(row.nrows()))
        # a wrong shape is never multiplied out
        entries = (column * row.transpose()).entries() if found == shape else []
    else:
        rows = [_vector(row, f"{path}[{i}]", limits) for i, row in enumerate(read_list(value, path))]
        for i, row in enumerate(rows):
            if row.nrows() != shape[1]:
                raise MalformedInput(f"{row.nrows()} entries, expected {shape[1]}", f"{path}[{i}]")
        found, entries = (len(rows), shape[1]), [x for row in rows for x in row.entries()]
    if found != shape:
        raise MalformedInput(f"shape {found[0]} x {found[1]}, expected {shape[0]} x {shape[1]}", path)
    return fmpq_mat(*shape, entries)


def _square(value: Any, path: str, names: tuple[str, str, str], dimension: int, limits: Limits) -> SquareMatrix:
    scale, left, right = names
    record = read_object(value, path, set(), {scale, left, right, "dense"})
    if "dense" in record:
        read_object(value, path, {"dense"})
        return SquareMatrix(dense=_matrix(record["dense"], f"{path}.dense", (dimension, dimension), limits))
    if (left in record) != (right in record):
        raise MalformedInput(f"{left} and {right} come together", path)
    factors = [_vector(record[name], f"{path}.{name}", limits) if name in record else None for name in (left, right)]
    for name, factor in zip((left, right), factors, strict=True):
        if factor is not None and factor.nrows() != dimension:
            raise MalformedInput(f"{factor.nrows()} entries, expected {dimension}", f"{path}.{name}")
    number = read_rational(record[scale], f"{path}.{scale}", limits) if scale in record else fmpq(0)
    return SquareMatrix(number, *factors)


def check_size(data: bytes, limits: Limits) -> None:
    """Raises LimitReached for a file above the byte limit."""
    if len(data) > limits.max_bytes:
        raise LimitReached(f"{len(data)} bytes, more than {limits.max_bytes}", hint="raise --max-bytes")
