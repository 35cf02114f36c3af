"""Trusted. Truth tables as integers of 2^N bits, and their sensitivity profiles, by whole-table operations.

String number t of N bits is the binary numeral t with x_1 in front; bit t of a table is the function's value there.
The sensitivity of f at x is the number of positions whose flip changes f. K_n is the number of strings with
sensitivity n, for n = 0..N.
"""

from __future__ import annotations

from collections.abc import Iterable

from flint import fmpq


def full_table(bits: int) -> int:
    """The constant 1."""
    return (1 << (1 << bits)) - 1


def variable_table(i: int, bits: int) -> int:
    """The truth table of x_i, 1 <= i <= N."""
    half = 1 << (bits - i)
    table, width = ((1 << half) - 1) << half, 2 * half
    while width < 1 << bits:
        table, width = table | table << width, 2 * width
    return table


def flip_table(table: int, i: int, bits: int) -> int:
    """The truth table of x -> f(x with x_i flipped)."""
    half, ones = 1 << (bits - i), variable_table(i, bits)
    return (table & ones) >> half | (table << half) & ones


def sum_tables(tables: Iterable[int]) -> list[int]:
    """Binary digits, lowest first, of how many of the tables are 1: a counter for every string at once."""
    digits: list[int] = []
    for carry in tables:
        for k, digit in enumerate(digits):
            digits[k], carry = digit ^ carry, digit & carry
        digits.append(carry)
        while digits and not digits[-1]:
            digits.pop()
    return digits


def where_equal(digits: list[int], count: int, bits: int) -> int:
    """The table of the strings at which the counter shows ``count``."""
    full = full_table(bits)
    if count >> len(digits):
        return 0
    table = full
    for k, digit in enumerate(digits):
        table &= digit if count >> k & 1 else full ^ digit
    return table


def compute_profile(table: int, bits: int) -> tuple[int, ...]:
    """K_0 .. K_N."""
    digits = sum_tables(table ^ flip_table(table, i, bits) for i in range(1, bits + 1))
    return tuple(where_equal(digits, count, bits).bit_count() for count in range(bits + 1))


def average_sensitivity(profile: tuple[int, ...]) -> fmpq:
    """The mean of the sensitivity over all 2^N strings."""
    return fmpq(sum(n * count for n, count in enumerate(profile)), sum(profile))
