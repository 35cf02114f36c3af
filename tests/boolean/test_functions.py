"""Functions and profiles: the reader against plain loops, closed forms against brute force."""

from __future__ import annotations

import re

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from interp.boolean.theory import closed_profile
from proofs.boolean.functions import MAX_DEPTH, parse_function
from proofs.boolean.profile import average_sensitivity, compute_profile, flip_table, sum_tables, where_equal
from proofs.kernel.errors import MalformedInput
from tests.boolean.reference import naive_profile

NAMED = {
    "parity": lambda x: sum(x) % 2 == 1,
    "majority": lambda x: 2 * sum(x) > len(x),
    "and": all,
    "or": any,
    "first": lambda x: x[0] == 1,
    "dictator:2": lambda x: x[1] == 1,
    "sparse-parity:2": lambda x: (x[0] + x[1]) % 2 == 1,
    "x1 & x2 | ~x2 ^ 1": lambda x: bool(x[0] & x[1] | ((1 - x[1]) ^ 1)),
    "x1|x2&x1^x2": lambda x: bool(x[0] | ((x[1] & x[0]) ^ x[1])),
    "~(x1 ^ x2)": lambda x: x[0] == x[1],
    "majority(x1, ~x2, 1)": lambda x: x[0] + (1 - x[1]) + 1 > 1.5,
    "and(x1,or(x2,parity(x1,x2)))": lambda x: bool(x[0] and (x[1] or (x[0] + x[1]) % 2)),
    "0": lambda x: False,
}


def values_of(table: int, bits: int) -> list[bool]:
    return [bool(table >> t & 1) for t in range(1 << bits)]


@pytest.mark.parametrize("text", NAMED)
@pytest.mark.parametrize("bits", [2, 3, 4, 7])
def test_functions_against_loops(text, bits):
    strings = [[t >> (bits - 1 - i) & 1 for i in range(bits)] for t in range(1 << bits)]
    assert values_of(parse_function(text, bits), bits) == [bool(NAMED[text](x)) for x in strings]


def test_a_truth_table_is_in_the_order_of_strings():
    assert parse_function("truth:0001", 2) == parse_function("x1&x2", 2)
    assert parse_function("truth:0011", 2) == parse_function("x1", 2)
    assert parse_function("truth:01", 1) == parse_function("first", 1)


NO_FUNCTIONS = """x0;x5;x;1x;x1 x2;x1 &;& x1;(x1;x1);~;parity(;parity();parity(x1;truth:01;truth:;truth:012;dictator;or:1
dictator:0;dictator:9;sparse-parity:9;first(x1);nand;x1.real;__import__('os');x1 == x2;x1 if x2;2;x1 and x2;parity:3;xx1
x1&x1|;x99999;x1,x2;\uff581;x\uff11"""


@pytest.mark.parametrize("text", ["", " ", *re.split(";|\n", NO_FUNCTIONS)])
def test_what_is_no_function_is_refused(text):
    with pytest.raises(MalformedInput):
        parse_function(text, 4)


def test_depth_is_limited():
    with pytest.raises(MalformedInput, match="nested"):
        parse_function("(" * 5000 + "x1" + ")" * 5000, 2)
    assert parse_function("(" * (MAX_DEPTH - 1) + "x1" + ")" * (MAX_DEPTH - 1), 2) == parse_function("x1", 2)
    assert parse_function("&".join(["x1"] * 5000), 2) == parse_function("x1", 2)


@given(st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 2**2**n - 1))))
def test_profiles_against_loops(case):
    bits, table = case
    profile = compute_profile(table, bits)
    assert profile == naive_profile(values_of(table, bits), bits)
    assert sum(profile) == 2**bits
    assert profile == compute_profile(table ^ (2**2**bits - 1), bits)  # the complement
    assert all(flip_table(flip_table(table, i, bits), i, bits) == table for i in range(1, bits + 1))


@given(st.lists(st.integers(0, 255), max_size=9))
def test_counters(tables):
    digits = sum_tables(tables)
    for count in range(12):
        wanted = sum(1 << t for t in range(8) if sum(table >> t & 1 for table in tables) == count)
        assert where_equal(digits, count, 3) == wanted


CLOSED = [
    "parity",
    "majority",
    "first",
    "and",
    "or",
    "dictator:2",
    "sparse-parity:3",
    "x1&x2|x3",
    "majority(x1,x2,x3)^x4",
    "0",
]


@pytest.mark.parametrize("function", CLOSED)
@pytest.mark.parametrize("bits", [4, 5, 6, 9, 12])
def test_closed_forms(function, bits):
    assert closed_profile(function, bits) == compute_profile(parse_function(function, bits), bits)


@pytest.mark.parametrize("function", ["parity", "majority", "first", "and", "or"])
@pytest.mark.parametrize("bits", [1, 2, 3])
def test_closed_forms_of_few_bits(function, bits):
    assert closed_profile(function, bits) == compute_profile(parse_function(function, bits), bits)


@pytest.mark.parametrize("function", ["parity(x1,x2)^and", "truth:0110", "first|x2"])
def test_no_closed_form_is_claimed_where_none_is_known(function):
    assert closed_profile(function, 2) is None


@pytest.mark.parametrize("function", ["dictator:7", "sparse-parity:9", "x9", "nonsense("])
def test_closed_forms_refuse_what_is_no_function(function):
    with pytest.raises(MalformedInput):
        closed_profile(function, 4)


def test_known_numbers():
    majority = [compute_profile(parse_function("majority", n), n) for n in range(3, 11)]
    assert [profile[0] for profile in majority] == [2, 6, 12, 29, 58, 130, 260, 562]
    assert average_sensitivity(majority[4]) == fmpq(7 * 20, 64)
    assert compute_profile(parse_function("and", 5), 5) == (26, 5, 0, 0, 0, 1)
