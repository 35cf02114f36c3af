"""The grammar of numbers, and rows as the one form of a token."""

from __future__ import annotations

import re
from fractions import Fraction
from math import gcd

import pytest
from flint import fmpq
from hypothesis import example, given
from hypothesis import strategies as st

from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.rational import (
    Limits,
    coordinates_of,
    integer_text,
    parse_rational,
    primitive_row,
    rational_text,
    row_of,
)
from tests.strategies import to_fractions, to_row

# The specification once more, written apart from the code.
GRAMMAR = re.compile(
    "-?(0|[1-9][0-9]*)"  # integer
    "|-?(0|[1-9][0-9]*)/[1-9][0-9]*"  # fraction
    r"|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"  # decimal
)


def value_of(text: str) -> Fraction:
    number = parse_rational(text)
    return Fraction(int(number.p), int(number.q))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("7", 7),
        ("-12", -12),
        ("6/4", Fraction(3, 2)),
        ("-6/4", Fraction(-3, 2)),
        ("0/9", 0),
        ("0.1", Fraction(1, 10)),
        ("-0.10", Fraction(-1, 10)),
        ("-0.5", Fraction(-1, 2)),
        ("0.0", 0),
        ("1e3", 1000),
        ("1E+3", 1000),
        ("12.5e-1", Fraction(5, 4)),
        ("8.3E-4", Fraction(83, 100000)),
        ("1e0", 1),
        ("1e007", 10**7),
        ("0e9999", 0),
    ],
)
def test_accepted_numbers_have_their_exact_value(text, value):
    assert value_of(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "\n", "\t", "\0", "-", "+", "."),
        *("１", "１/３", "٣", "1²", "¹", "−1", "1⁄2", "½", "1\u200b", "\ufeff1"),  # noqa: RUF001 - these are the trap
        *("1_000", "1/1_0", "1.0_0", "1e1_0"),
        *("1\n", "1/3\n", "0.5\n", "1e5\n", "1\r", " 1", "1 ", "1 /2", "1/ 2", "- 1", "1\x00", "1 000"),
        *("+1", "+1/2", "1/+2", "--1", "-+1", "1-", "1-2"),
        *(".5", "-.5", "1.", "1.e5", "1.5.5", "1..5", ".", "1,5", "1'000"),
        *("01", "-01", "00", "00.5", "01/2", "1/02", "01e5"),
        *("1/0", "1/00", "0/0", "1/-2", "1//2", "1/2/3", "/2", "1/", "1.5/2", "1/2.5", "1e2/3", "1/2e3"),
        *("0x1", "0X1", "0b1", "0o7", "1f", "1L", "1j", "0x1p3", "1e", "e5", "1e+", "1e5.5", "1e1e1", "1d5"),
        *("NaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "oo", "true", "false", "null", "None", "True"),
        *("[1]", "{}", '"1"', "1;2", "(1)", "1%", "$1", "1#"),
    ],
)
def test_whatever_else_is_refused(text):
    with pytest.raises(MalformedInput):
        parse_rational(text)


@given(
    st.text(alphabet="0123456789+-./eE_ \n", max_size=12)
    | st.text(max_size=6)
    | st.from_regex(GRAMMAR, fullmatch=True).filter(lambda text: len(text) < 60)
)
@example("1e-5")
def test_the_grammar_is_that_of_the_specification_and_the_value_that_of_fraction(text):
    allowed = GRAMMAR.fullmatch(text) is not None and text.isascii()
    try:
        value = parse_rational(text)
    except MalformedInput:
        assert not allowed
    except LimitReached:
        assert allowed
    else:
        assert allowed
        assert (int(value.p), int(value.q)) == Fraction(text).as_integer_ratio()


@given(st.fractions())
def test_text_and_value_are_inverse(value):
    number = fmpq(value.numerator, value.denominator)
    assert rational_text(number) == str(value)
    assert parse_rational(str(value)) == number


@pytest.mark.parametrize(
    "exponent", ["100000000", "-100000000", "10001", "-10001", "9" * 30, "-" + "9" * 30, "+" + "9" * 19]
)
def test_a_large_exponent_is_a_limit_and_not_a_computation(exponent):
    with pytest.raises(LimitReached, match="exponent"):
        parse_rational(f"1e{exponent}", "$.x")


def test_the_exponent_limit_itself_is_allowed():
    assert value_of("1e10000") == 10**10000
    assert value_of("1e-10000") == Fraction(1, 10**10000)


def test_exponents_cannot_be_combined_with_digits_beyond_what_the_limits_allow():
    limits = Limits(max_digits=10, max_exponent=5)
    assert parse_rational("0.1234e5", limits=limits) == 12340
    for text in ("0.1e6", "1e-6", "1" * 31, "0." + "1" * 30, "1/" + "1" * 30):
        with pytest.raises(LimitReached):
            parse_rational(text, limits=limits)


@pytest.mark.parametrize("template", ["{}", "-{}", "1/{}", "{}/3", "0.{}", "{}e5", "{}x"])
def test_a_number_above_the_digit_limit_is_a_limit_with_its_place(template):
    with pytest.raises(LimitReached) as fault:
        parse_rational(template.format("7" * 20_000), "$.pairs[0].input[0][0]")
    assert fault.value.path == "$.pairs[0].input[0][0]"
    assert "--max-digits" in fault.value.hint


@pytest.mark.parametrize("digits", [4300, 4301, 9999])
def test_integers_beyond_the_limit_of_python_text_conversion_work(digits):
    text = "1" + "0" * (digits - 2) + "7"
    number = parse_rational(text)
    assert int(number.p) == 10 ** (digits - 1) + 7
    assert rational_text(number) == text
    assert integer_text(-int(number.p)) == "-" + text


def test_long_fractions_and_decimals_work():
    assert value_of("-1/1" + "0" * 5000) == Fraction(-1, 10**5000)
    assert value_of("0." + "0" * 4999 + "1") == Fraction(1, 10**5000)


def test_a_refused_number_is_shown_shortened():
    with pytest.raises(MalformedInput) as fault:
        parse_rational("x" * 9000)
    assert len(str(fault.value)) < 200


@given(st.lists(st.fractions(), min_size=1, max_size=6))
def test_a_token_has_exactly_one_row(token):
    row = to_row(token)
    assert row[-1] > 0
    assert gcd(*row) == 1
    assert to_fractions(row) == tuple(token)
    assert row_of(coordinates_of(row)) == row


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=5), st.integers(1, 60), st.integers(1, 60))
def test_scaled_numerators_give_the_same_row(numerators, denominator, factor):
    row = primitive_row(numerators, denominator)
    assert row == primitive_row([factor * x for x in numerators], factor * denominator)
    assert row == to_row([Fraction(x, denominator) for x in numerators])


def test_the_origin_has_denominator_one():
    assert primitive_row([0, 0], 12) == (0, 0, 1)


pairs = st.lists(st.fractions(min_value=-2, max_value=2, max_denominator=3), min_size=2, max_size=2)


@given(pairs, pairs)
def test_rows_are_equal_exactly_when_tokens_are(left, right):
    assert (to_row(left) == to_row(right)) == (left == right)


@pytest.mark.parametrize("text", ["1234567890", "-1234567890", "-1.23456789e0", "-12345/67890", "1e5", "0.000000001"])
def test_the_digit_limit_counts_digits_and_nothing_else(text):
    digits = sum(map(str.isdigit, text))
    assert parse_rational(text, limits=Limits(max_digits=digits)) == parse_rational(text)
    with pytest.raises(LimitReached, match="--max-digits"):
        parse_rational(text, limits=Limits(max_digits=digits - 1))
