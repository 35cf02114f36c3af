"""Evaluates a transformer file at temperature 0 with ``fractions.Fraction`` and nothing else.

Written from the definitions, as slow and plain as they are, so that agreement with the kernel means something:

    FF(x)   = eta x + W relu(U x + b)
    SA_i(X) = rho x_i + sum over the heads (A, V) of V (mean of the x_l that maximise <A x_i, x_l>, equal maxima
              counting equally), l <= i under a causal mask
    block   = SA after FF

A file is JSON lines: a header, one block a line, an end record. This module trusts the file to be well formed (the
kernel's reader has its own tests) and shares no code with the project. It counts sizes from the same lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

Token = tuple[Fraction, ...]
Matrix = list[list[Fraction]]

DIGITS_AT_ONCE = 4000  # below the limit that Python sets on int(text)


def read_integer(text: str) -> int:
    """An integer of any length."""
    if text.startswith("-"):
        return -read_integer(text[1:])
    value = 0
    for start in range(0, len(text), DIGITS_AT_ONCE):
        part = text[start : start + DIGITS_AT_ONCE]
        value = value * 10 ** len(part) + int(part)
    return value


def read_number(text: str) -> Fraction:
    """An integer, a fraction p/q or a decimal, as it is written in a file."""
    numerator, slash, denominator = text.partition("/")
    if slash:
        return Fraction(read_integer(numerator), read_integer(denominator))
    if text.lstrip("-").isdigit():
        return Fraction(read_integer(text))
    return Fraction(text)


def read_lines(data: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and the block records; every number is still text."""
    records = [json.loads(line, parse_int=str, parse_float=str) for line in data.decode().rstrip("\n").split("\n")]
    return records[0], records[1:-1]


def read_vector(values: list[str]) -> list[Fraction]:
    """A list of numbers."""
    return [read_number(value) for value in values]


def read_matrix(value: Any) -> Matrix:
    """Rows, or the product of a column and a row."""
    if isinstance(value, dict):
        column, row = map(read_vector, value["outer"])
        return [[a * b for b in row] for a in column]
    return [read_vector(row) for row in value]


def read_square(value: Any, names: tuple[str, str, str], dimension: int) -> Matrix:
    """All d x d entries of scale I + left right^T, or of a dense matrix; 0 when nothing is given."""
    zero = [[Fraction(0)] * dimension for _ in range(dimension)]
    if value is None:
        return zero
    if "dense" in value:
        return read_matrix(value["dense"])
    scale, left, right = names
    for i in range(dimension):
        zero[i][i] += read_number(value.get(scale, "0"))
    if left in value:
        for i, a in enumerate(read_vector(value[left])):
            for j, b in enumerate(read_vector(value[right])):
                zero[i][j] += a * b
    return zero


def product(left: Iterable[Fraction], right: Iterable[Fraction]) -> Fraction:
    """<x, y>."""
    return sum((a * b for a, b in zip(left, right, strict=True) if a and b), Fraction(0))


def apply(matrix: Matrix, vector: Iterable[Fraction]) -> list[Fraction]:
    """M x."""
    entries = list(vector)
    return [product(row, entries) for row in matrix]


def run_feed_forward(record: dict[str, Any] | None, tokens: list[Token]) -> list[Token]:
    """eta x + W relu(U x + b), token by token."""
    if record is None:
        return tokens
    eta = read_number(record["eta"])
    if "W" not in record:
        return [tuple(eta * x for x in token) for token in tokens]
    W, U, b = read_matrix(record["W"]), read_matrix(record["U"]), read_vector(record["b"])
    result = []
    for token in tokens:
        hidden = [max(s + bias, Fraction(0)) for s, bias in zip(apply(U, token), b, strict=True)]
        result.append(tuple(eta * x + y for x, y in zip(token, apply(W, hidden), strict=True)))
    return result


def read_attention(record: dict[str, Any], dimension: int) -> tuple[Fraction, list[tuple[Matrix, Matrix]], bool]:
    """rho, (A, V) of every head with all their entries, and whether the layer has a causal mask."""
    heads = [
        (
            read_square(head.get("A"), ("alpha", "p", "q"), dimension),
            read_square(head.get("V"), ("beta", "r", "t"), dimension),
        )
        for head in record.get("heads", [record])
    ]
    return read_number(record["rho"]), heads, record.get("mask") == "causal"


def run_attention(rho: Fraction, heads: list[tuple[Matrix, Matrix]], causal: bool, tokens: list[Token]) -> list[Token]:
    """rho x_i + sum of V (mean of the tokens of largest score), for one sequence."""
    result = []
    for i, token in enumerate(tokens):
        moved = [rho * x for x in token]
        seen = [other for l, other in enumerate(tokens) if l <= i or not causal]
        for A, V in heads:
            query = apply(A, token)
            scores = [product(query, other) for other in seen]
            largest = max(scores)
            chosen = [other for other, score in zip(seen, scores, strict=True) if score == largest]
            mean = [sum(column, Fraction(0)) / len(chosen) for column in zip(*chosen, strict=True)]
            moved = [x + y for x, y in zip(moved, apply(V, mean), strict=True)]
        result.append(tuple(moved))
    return result


def run(data: bytes, sequences: Iterable[Iterable[Token]]) -> Iterator[list[list[Token]]]:
    """The tokens of all sequences before the first block and after every block."""
    header, blocks = read_lines(data)
    current = [list(tokens) for tokens in sequences]
    yield current
    for block in blocks:
        moved = iter(run_feed_forward(block.get("ff"), [token for tokens in current for token in tokens]))
        current = [[next(moved) for _ in tokens] for tokens in current]
        if "sa" in block:
            layer = read_attention(block["sa"], int(header["dimension"]))
            current = [run_attention(*layer, tokens) for tokens in current]
        yield current


def interpolates(data: bytes, pairs: Iterable[tuple[Iterable[Token], Iterable[Token]]], last: bool = False) -> bool:
    """Whether the tokens of every sequence, or the ``last`` as many as there are targets, are exactly its targets."""
    inputs, outputs = zip(*((list(x), set(y)) for x, y in pairs), strict=True)
    *_, final = run(data, inputs)
    read = [
        tokens[max(len(tokens) - len(y), 0) :] if last else tokens for tokens, y in zip(final, outputs, strict=True)
    ]
    return all(set(tokens) == wanted for tokens, wanted in zip(read, outputs, strict=True))


def count(data: bytes) -> tuple[int, int, int]:
    """Blocks, width and low-rank parameters of a file: U, W, b, eta, rho, and 1, 1 + 2 d or d^2 for each A and V."""
    header, blocks = read_lines(data)
    dimension = int(header["dimension"])
    width = parameters = 0
    for block in blocks:
        units = len(block.get("ff", {}).get("b", ()))
        width = max(width, units)
        parameters += units * (2 * dimension + 1) + 2
        attention = block.get("sa", {})
        heads = attention.get("heads", [attention])
        for matrix, part in ((head.get(name, {}), part) for head in heads for name, part in ("Ap", "Vr")):
            parameters += dimension**2 if "dense" in matrix else 1 + 2 * dimension * (part in matrix)
    return len(blocks), width, parameters
