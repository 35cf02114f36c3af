"""Independent evaluator of softmax transformers in mpmath: high precision, for confirming or contradicting a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import mpmath

from tests.reference.evaluator import Token, read_attention, read_lines, read_matrix, read_number, read_vector

DIGITS = 400  # kinks amplify: the tokens of a witness agree with targets to far fewer digits than are carried


def interpolates_at(
    data: bytes,
    pairs: Iterable[tuple[Iterable[Token], Iterable[Token]]],
    temperature: Fraction,
    digits: int = 60,
    last: bool = False,
) -> bool:
    """Whether every final token is within 10^-digits of a target, and every target of a token, at that temperature.

    ``last``: of the last tokens alone, as many as there are targets.
    """
    header, blocks = read_lines(data)
    with mpmath.workdps(DIGITS):
        bound = mpmath.mpf(10) ** -digits
        for tokens, targets in pairs:
            current = [list(map(_number, token)) for token in tokens]
            for block in blocks:
                current = _run_block(block, current, int(header["dimension"]), _number(temperature))
            goals = [list(map(_number, target)) for target in dict.fromkeys(targets)]
            current = current[max(len(current) - len(goals), 0) :] if last else current
            table = [[max(abs(a - b) for a, b in zip(x, y, strict=True)) for y in goals] for x in current]
            worst = max(*(min(row) for row in table), *(min(column) for column in zip(*table, strict=True)))
            if worst > bound:
                return False
    return True


def _number(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def _product(left: Iterable[Any], right: Iterable[Any]) -> Any:
    return mpmath.fsum(a * b for a, b in zip(left, right, strict=True))


def _run_block(block: dict[str, Any], tokens: list[list[Any]], dimension: int, temperature: Any) -> list[list[Any]]:
    if "ff" in block:
        tokens = [_feed_forward(block["ff"], token) for token in tokens]
    if "sa" not in block:
        return tokens
    rho, heads, causal = read_attention(block["sa"], dimension)
    parts = [[[list(map(_number, row)) for row in matrix] for matrix in head] for head in heads]
    result = []
    for i, token in enumerate(tokens):
        moved, seen = [_number(rho) * x for x in token], tokens[: i + 1] if causal else tokens
        for A, V in parts:
            query = [_product(row, token) for row in A]
            scores = [_product(query, other) for other in seen]
            weights = [mpmath.exp((score - max(scores)) / temperature) for score in scores]
            mean = [_product(weights, column) / mpmath.fsum(weights) for column in zip(*seen, strict=True)]
            moved = [x + _product(row, mean) for x, row in zip(moved, V, strict=True)]
        result.append(moved)
    return result


def _feed_forward(record: dict[str, Any], token: list[Any]) -> list[Any]:
    eta = _number(read_number(record["eta"]))
    if "W" not in record:
        return [eta * x for x in token]
    W, U = ([list(map(_number, row)) for row in read_matrix(record[name])] for name in ("W", "U"))
    b = map(_number, read_vector(record["b"]))
    hidden = [max(_product(row, token) + bias, 0) for row, bias in zip(U, b, strict=True)]
    return [eta * x + _product(row, hidden) for x, row in zip(token, W, strict=True)]
