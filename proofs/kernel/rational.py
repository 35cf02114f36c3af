"""Trusted. The grammar of numbers, and tokens as primitive integer rows.

A rational is an ``fmpq``. A token of Q^d is a row (X_1, .., X_d, D) of Python integers with D > 0 and gcd 1, that
stands for (X_1/D, .., X_d/D): every token has exactly one row, so equality of tokens is equality of tuples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd, lcm

from flint import fmpq, fmpz

from proofs.kernel.errors import LimitReached, MalformedInput

Row = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a reader accepts before it answers "limit reached" (exit code 13)."""

    max_digits: int = 10_000  # digits of one number as written
    max_exponent: int = 10_000  # absolute value of a decimal exponent
    max_bytes: int = 4_000_000_000  # size of one file
    max_dimension: int = 4_000  # d: a dense matrix has d^2 entries
    max_tokens: int = 100_000_000  # of all inputs and outputs of a dataset
    max_depth: int = 10_000_000  # blocks of a transformer
    max_height: int = 4_000_000  # bits of one number that arises in a forward pass


DEFAULT_LIMITS = Limits()

# re.ASCII: unicode digits are refused; \Z: a trailing newline is refused.
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)\Z", re.ASCII)
_FRACTION = re.compile(r"(-?(?:0|[1-9][0-9]*))/([1-9][0-9]*)\Z", re.ASCII)
_DECIMAL = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?\Z", re.ASCII)


def parse_rational(text: str, path: str = "", limits: Limits = DEFAULT_LIMITS) -> fmpq:
    """The exact value of an integer, a decimal or a fraction ``p/q``.

    Exactness: 0.1 is 1/10; no float is ever made. Raises: MalformedInput, LimitReached.
    """
    if len(text) > limits.max_digits < sum(map(str.isdigit, text)):
        raise LimitReached(f"a number of more than {limits.max_digits} digits", path, "raise --max-digits")
    if _INTEGER.match(text):
        return fmpq(fmpz(text))
    if match := _FRACTION.match(text):
        return fmpq(fmpz(match[1]), fmpz(match[2]))
    if match := _DECIMAL.match(text):
        sign, whole, part, exponent = match[1], match[2], match[3] or "", match[4] or "0"
        if len(exponent) > 20 or abs(int(exponent)) > limits.max_exponent:
            raise LimitReached(f"an exponent above {limits.max_exponent}", path, "raise --max-exponent")
        digits = fmpz(whole + part) * (-1 if sign else 1)
        shift = int(exponent) - len(part)
        return fmpq(digits * fmpz(10) ** shift) if shift >= 0 else fmpq(digits, fmpz(10) ** -shift)
    shown = text if len(text) <= 40 else text[:37] + "..."
    raise MalformedInput(f"{shown!r} is not a number", path, "write an integer, a decimal or a fraction p/q")


def integer_text(value: int) -> str:
    """Decimal digits of any integer (``str`` of a Python integer stops at 4300 digits)."""
    return str(value) if value.bit_length() < 10_000 else str(fmpz(value))


def rational_text(value: fmpq) -> str:
    """The canonical text: ``p`` or ``p/q`` in lowest terms."""
    numerator, denominator = integer_text(int(value.p)), integer_text(int(value.q))
    return numerator if denominator == "1" else f"{numerator}/{denominator}"


def primitive_row(numerators: Iterable[int], denominator: int) -> Row:
    """The unique row of the token numerators / denominator, denominator > 0."""
    row = (*numerators, denominator)
    divisor = gcd(*row)
    return row if divisor == 1 else tuple(x // divisor for x in row)


def row_of(coordinates: Sequence[fmpq]) -> Row:
    """The row of a token given by its coordinates."""
    denominator = lcm(*(int(x.q) for x in coordinates))
    return (*(int(x.p) * (denominator // int(x.q)) for x in coordinates), denominator)


def coordinates_of(row: Row) -> tuple[fmpq, ...]:
    """The coordinates of the token that a row stands for."""
    return tuple(fmpq(x, row[-1]) for x in row[:-1])


def short_decimal(value: fmpq) -> str:
    """Four significant digits, rounded down: for messages only."""
    if value == 0:
        return "0"
    numerator, denominator = abs(int(value.p)), int(value.q)
    exponent = (numerator.bit_length() - denominator.bit_length()) * 30103 // 100000
    scaled = numerator * 10**6 // denominator if exponent >= -3 else numerator * 10 ** (6 - exponent) // denominator
    digits = integer_text(scaled)
    sign, shift = "-" if value < 0 else "", len(digits) - 1 - (6 if exponent >= -3 else 6 - exponent)
    return f"{sign}{digits[0]}.{digits[1:4]}e{shift}"
