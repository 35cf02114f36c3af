"""Trusted. Bytes and options in, context, claim or transformer out; whatever is not in the format is refused.

The formats are specified in docs/reference/fgd-formats.md. Numbers, keys, counts and the signed end of a file are read
by the kernel's own functions, so that their rules are the same.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from flint import fmpq, fmpq_mat

from proofs.functional_gd import model
from proofs.functional_gd.model import Claim, Context, Head, Kernel, Term, Transformer, scaled_identity
from proofs.kernel.decode import check_size, decode_json, read_count, read_list, read_object, read_rational, split_end
from proofs.kernel.errors import LimitReached, MalformedInput, UsageError
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, parse_rational

CONTEXT_FORMAT = "interp-context/1"
TRANSFORMER_FORMAT = "interp-fgd/1"
HEADER_KEYS = {"kernel", "steps", "loss", "context", "generator", "comment"}
_TERM = re.compile(r"(?:([^*\[\]]+)\*)?([a-z]+(?::[0-9]+)?)(\[.*\])?\Z", re.ASCII)


def _text(value: Any, path: str, wanted: str = "") -> str:
    # decode_json keeps a number as a subclass of str: a text is a plain str
    if type(value) is not str or (wanted and value != wanted):
        raise MalformedInput(f"expected {wanted!r}" if wanted else "expected a text", path)
    return value


def _numbers(value: Any, path: str, limits: Limits) -> tuple[fmpq, ...]:
    return tuple(read_rational(x, f"{path}[{c}]", limits) for c, x in enumerate(read_list(value, path)))


def _matrix(value: Any, path: str, d: int, limits: Limits) -> fmpq_mat:
    """A list of p >= 1 rows of d numbers, or one number s for s I."""
    if isinstance(value, str):
        return scaled_identity(d, parse_rational(value, path, limits))
    rows = [_numbers(row, f"{path}[{a}]", limits) for a, row in enumerate(read_list(value, path))]
    if not rows or any(len(row) != d for row in rows):
        raise MalformedInput(f"expected a number, or rows of {d} entries", path)
    return fmpq_mat(len(rows), d, [x for row in rows for x in row])


def decode_context(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Context:
    """A context. Raises: MalformedInput, LimitReached."""
    check_size(data, limits)
    keys = {"format", "dimension", "points", "labels", "query"}
    record = read_object(decode_json(data, "$"), "$", keys, {"comment"})
    _text(record["format"], "$.format", CONTEXT_FORMAT)
    points = [_numbers(x, f"$.points[{i}]", limits) for i, x in enumerate(read_list(record["points"], "$.points"))]
    labels, query = (_numbers(record[name], f"$.{name}", limits) for name in ("labels", "query"))
    if read_count(record["dimension"], "$.dimension") != len(query):
        raise MalformedInput(f"{len(query)} coordinates, expected {record['dimension']}", "$.query")
    return Context(tuple(points), labels, query, "sha256:" + hashlib.sha256(data).hexdigest())


def parse_kernel(text: str, dimension: int, limits: Limits = DEFAULT_LIMITS) -> Kernel:
    """A sum of terms ``weight*name[B]``, [B] being coordinates from 1 that are kept, or the rows of a matrix.

    Examples: ``exp``, ``linear[1]+1/2*polynomial:2[2,3]``, ``relu[["1/2",0],[1,1]]``. Raises: MalformedInput.
    """
    terms = []
    for part in re.split(r"\+(?![^\[]*\])", text.replace(" ", "")):  # not inside brackets
        match = _TERM.match(part)
        if match is None:
            raise MalformedInput(f"{part[:40]!r} is not a term", "--kernel", "write weight*name[coordinates]")
        weight = parse_rational(match[1], "--kernel", limits) if match[1] else fmpq(1)
        B = scaled_identity(dimension, fmpq(1))
        if match[3]:
            chosen = decode_json(match[3].encode(), "--kernel")
            if all(isinstance(x, str) for x in chosen):
                chosen = [_unit(read_count(x, "--kernel"), dimension) for x in chosen]
            B = _matrix(chosen, "--kernel", dimension, limits)
        terms.append(Term(weight, model.parse_activation(match[2], "--kernel"), B))
    return Kernel(tuple(terms), text)


def _unit(coordinate: int, dimension: int) -> list[str]:
    if not 1 <= coordinate <= dimension:
        raise MalformedInput(f"no coordinate {coordinate} among 1..{dimension}", "--kernel")
    return [str(int(c == coordinate)) for c in range(1, dimension + 1)]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user claims; never read from a witness."""

    kernel: str
    steps: str
    layers: int | None = None
    loss: str = "half-sum"
    target_bits: int = 64

    def claim(self, context: Context, limits: Limits = DEFAULT_LIMITS) -> Claim:
        """The claim: one step size for every layer, or one for all with their number. Raises: UsageError."""
        kernel = parse_kernel(self.kernel, context.dimension, limits)
        steps = [parse_rational(part.strip(), "--steps", limits) for part in self.steps.split(",")]
        layers = len(steps) if self.layers is None else self.layers
        if len(steps) == 1 and 0 <= layers <= model.MAX_LAYERS:
            steps *= layers
        if layers != len(steps):
            raise UsageError(f"{len(steps)} steps for {layers} layers", "--steps", "one for each, or one for all")
        if self.loss not in model.LOSSES or not 1 <= self.target_bits <= 100_000:
            raise UsageError(f"loss {self.loss}, {self.target_bits} target bits", hint="see --loss, --target-bits")
        return Claim(kernel, tuple(steps), self.loss, self.target_bits)


def decode_transformer(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Transformer:
    """A transformer from JSON lines: header, one layer a line, end record. Raises: MalformedInput, LimitReached."""
    check_size(data, limits)
    body, end = split_end(data)
    first, *lines = body.split(b"\n")[:-1]
    header = read_object(decode_json(first, "line 1"), "line 1", {"format", "dimension", "blocks"}, HEADER_KEYS)
    _text(header["format"], "line 1: $.format", TRANSFORMER_FORMAT)
    d = read_count(header["dimension"], "line 1: $.dimension")
    if d > limits.max_dimension or len(lines) > model.MAX_LAYERS:
        raise LimitReached(f"dimension {d}, {len(lines)} layers", "line 1", "raise --max-dimension")
    for name, value in (("the header", header["blocks"]), ("the end record", end["blocks"])):
        if read_count(value, name) != len(lines):
            raise MalformedInput(f"{len(lines)} layers where {name} says {value}", "$.blocks")
    layers = tuple(_layer(decode_json(line, f"line {k + 1}"), k, d, limits) for k, line in enumerate(lines, 1))
    return Transformer(d, layers, header, "sha256:" + hashlib.sha256(data).hexdigest())


def _layer(value: Any, index: int, d: int, limits: Limits) -> tuple[Head, ...]:
    path = f"line {index + 1}: $"
    record = read_object(value, path, {"layer", "heads"})
    if read_count(record["layer"], f"{path}.layer") != index:
        raise MalformedInput(f"layer {record['layer']} where layer {index} belongs", f"{path}.layer")
    heads = read_list(record["heads"], f"{path}.heads")
    return tuple(_head(head, f"{path}.heads[{k}]", d, limits) for k, head in enumerate(heads))


def _head(value: Any, path: str, d: int, limits: Limits) -> Head:
    record = {"A": "0", "B": "1", "C": "1"} | read_object(value, path, {"h", "rho"}, {"A", "B", "C"})
    A, B, C = (_matrix(record[name], f"{path}.{name}", d, limits) for name in ("A", "B", "C"))
    if A.nrows() != d or B.nrows() != C.nrows():
        raise MalformedInput(f"A has {A.nrows()} rows, B {B.nrows()}, C {C.nrows()}: A is square, B like C", path)
    activation = model.parse_activation(_text(record["h"], f"{path}.h"), f"{path}.h")
    return Head(activation, B, C, A, read_rational(record["rho"], f"{path}.rho", limits))
