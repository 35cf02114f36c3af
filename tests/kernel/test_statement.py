"""The statement: datasets and their sizes, temperatures, and claims whose defaults come from the dataset alone."""

from __future__ import annotations

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.statement import (
    Claim,
    Dataset,
    Pair,
    Temperatures,
    count_hardmax_bound,
    count_parameter_bound,
    count_softmax_bound,
    make_claim,
    parse_temperatures,
)
from tests.strategies import datasets, make_dataset

TWO = make_dataset(([(1, 0), (2, 0)], [(3, 1), (4, 1)]), ([(0, 1)], [(3, 1)]))

# -------------------------------------------------------------------------------------------------------- datasets


@pytest.mark.parametrize(
    ("dimension", "pairs", "path"),
    [
        (2, (), "$.pairs"),
        (1, (Pair(((1, 1),), ((1, 1),)),), "$.dimension"),
        (0, (Pair(((1,),), ((1,),)),), "$.dimension"),
        (2, (Pair((), ((1, 1, 1),)),), "$.pairs[0].input"),
        (2, (Pair(((1, 1, 1),), ()),), "$.pairs[0].output"),
        (2, (Pair(((1, 1, 1),), ((1, 1, 1, 1),)),), "$.pairs[0].output[0]"),
        (2, (Pair(((1, 1, 1), (1, 1)), ((1, 1, 1),)),), "$.pairs[0].input[1]"),
        (3, (Pair(((1, 1, 1, 1),), ((1, 1, 1, 1),)), Pair(((1, 1, 1),), ((1, 1, 1, 1),))), "$.pairs[1].input[0]"),
    ],
)
def test_a_dataset_that_states_nothing_or_has_wrong_shapes_cannot_be_made(dimension, pairs, path):
    with pytest.raises(MalformedInput) as fault:
        Dataset(dimension, pairs)
    assert fault.value.path == path


def test_sizes_by_hand():
    assert (TWO.num_pairs, TWO.num_outputs, TWO.num_tokens, TWO.max_length) == (2, 3, 3, 2)


@given(datasets(largest=4), st.integers(2, 4))
def test_repeating_pairs_or_tokens_buys_no_budget(dataset, times):
    repeated = Dataset(dataset.dimension, dataset.pairs * times)
    tokens = Dataset(dataset.dimension, tuple(Pair(p.input * times, p.output * times) for p in dataset.pairs))
    shuffled = Dataset(dataset.dimension, tuple(Pair(p.input[::-1], p.output[::-1]) for p in dataset.pairs)[::-1])
    for other in (repeated, tokens, shuffled, Dataset(dataset.dimension, dataset.pairs + shuffled.pairs)):
        assert (other.num_pairs, other.num_outputs) == (dataset.num_pairs, dataset.num_outputs)
        claim, own = make_claim(other), make_claim(dataset)
        assert claim == own


@given(datasets(largest=6))
def test_sizes_are_those_of_the_definition(dataset):
    assert dataset.num_pairs == len(dataset.pairs)
    assert dataset.num_outputs == sum(len(set(pair.output)) for pair in dataset.pairs)


def test_the_digest_is_of_the_content():
    same = make_dataset(([("2/2", 0), ("4/2", "0/7")], [("6/2", 1), (4, 1)]), ([(0, 1)], [(3, 1)]))
    assert same.digest == TWO.digest


@pytest.mark.parametrize(
    "other",
    [
        make_dataset(([(1, 0), (2, 0)], [(3, 1), (4, 1)])),
        make_dataset(([(0, 1)], [(3, 1)]), ([(1, 0), (2, 0)], [(3, 1), (4, 1)])),
        make_dataset(([(2, 0), (1, 0)], [(3, 1), (4, 1)]), ([(0, 1)], [(3, 1)])),
        make_dataset(([(1, 0)], [(2, 0), (3, 1), (4, 1)]), ([(0, 1)], [(3, 1)])),
        make_dataset(([(1, 0), (2, 0)], [(3, 1), (4, 1)]), ([(0, 1)], [("3/2", 1)])),
        make_dataset(([(1, 0), (2, 0)], [(3, 1), (4, 1)]), ([(0, -1)], [(3, 1)])),
        make_dataset(([(1, 0, 0), (2, 0, 0)], [(3, 1, 0), (4, 1, 0)]), ([(0, 1, 0)], [(3, 1, 0)])),
        make_dataset(([(3, 1), (4, 1)], [(1, 0), (2, 0)]), ([(0, 1)], [(3, 1)])),
    ],
)
def test_any_difference_in_content_gives_another_digest(other):
    assert other.digest != TWO.digest


@given(datasets(largest=3), datasets(largest=3))
def test_equal_digests_mean_equal_datasets(left, right):
    assert (left.digest == right.digest) == (left == right)


# ---------------------------------------------------------------------------------------------------- temperatures


@pytest.mark.parametrize(
    ("text", "expected", "shown"),
    [
        ("0", Temperatures(True), "0"),
        (" 0 ", Temperatures(True), "0"),
        ("(0,1]", Temperatures(False, fmpq(1)), "(0, 1]"),
        ("(0, 1/2]", Temperatures(False, fmpq(1, 2)), "(0, 1/2]"),
        ("[0,1e-3]", Temperatures(True, fmpq(1, 1000)), "[0, 1/1000]"),
        ("(0,oo)", Temperatures(False, None, True), "(0, oo)"),
        ("(0, inf)", Temperatures(False, None, True), "(0, oo)"),
        ("[0,oo)", Temperatures(True, None, True), "[0, oo)"),
        ("1", Temperatures(False, single=fmpq(1)), "1"),
        ("3/4", Temperatures(False, single=fmpq(3, 4)), "3/4"),
    ],
)
def test_temperatures_that_can_be_claimed(text, expected, shown):
    found = parse_temperatures(text)
    assert found == expected
    assert str(found) == shown
    assert parse_temperatures(shown) == expected
    assert found.zero or found.positive


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            " ",
            "-1",
            "-0",
            "1_0",
            "00",
            "0.0",
            "(0",
            "0)",
            "()",
            "[]",
            "[0]",
            "(0)",
            "[0,0]",
            "(0,0]",
            "[0,-1]",
            "(0,-1/2]",
        ),
        *(
            "[1,2]",
            "(1,oo)",
            "(0,1)",
            "[0,1)",
            "(0,oo]",
            "[0,inf]",
            "(0,1]]",
            "((0,1]",
            "(0,1],",
            "{0}",
            "0,1",
            "(-1,1]",
        ),
        *("(0,1]\n", "\n0", "(0,\n1]", "(0,1][0,1]", "0 0"),
        *("(0,nan]", "(0,x]", "(0,1/0]", "(0,1_0]", "(0,１]", "(0,+1]", "(0,]", "(0,,1]", "(0,1 0]"),  # noqa: RUF001
    ],
)
def test_anything_else_is_no_claim_about_temperatures(text):
    with pytest.raises(UsageError):
        parse_temperatures(text)


@pytest.mark.parametrize(
    "parts",
    [
        {"zero": False},  # nothing would be claimed, and everything verified
        {"zero": False, "upper": fmpq(1), "all_positive": True},  # told would be (0, oo), checked (0, 1]
        {"zero": False, "upper": fmpq(1), "single": fmpq(2)},
        {"zero": False, "all_positive": True, "single": fmpq(2)},
        {"zero": True, "single": fmpq(2)},
        {"zero": False, "upper": fmpq(0)},
        {"zero": True, "upper": fmpq(-1)},
        {"zero": False, "single": fmpq(0)},
        {"zero": False, "single": fmpq(-1, 2)},
    ],
)
def test_temperatures_that_say_nothing_or_two_things_cannot_be_made(parts):
    with pytest.raises(UsageError):
        Temperatures(**parts)


# ---------------------------------------------------------------------------------------------------------- claims


@pytest.mark.parametrize(("n", "m", "hard", "soft"), [(1, 1, 5, 5), (2, 3, 11, 12), (10, 10, 41, 50), (7, 20, 55, 61)])
def test_the_bounds_of_the_theorems(n, m, hard, soft):
    assert count_hardmax_bound(n, m) == hard
    assert count_softmax_bound(n, m) == soft


def test_the_parameter_bound_is_ten_d_plus_eight_a_block():
    assert count_parameter_bound(2, 1) == 28
    assert count_parameter_bound(16, 541) == 168 * 541


def test_defaults_by_hand():
    assert make_claim(TWO) == Claim(Temperatures(True), 4, 2 * 3 + 2 * 2 + 1, 28 * 11)
    assert make_claim(TWO, "hardmax") == make_claim(TWO)
    assert make_claim(TWO, "softmax") == Claim(Temperatures(False, fmpq(1)), 4, 2 * 3 + 3 * 2, 28 * 12)
    assert make_claim(TWO, temperatures="[0,1]").max_blocks == 11  # the smaller of the two theorems'


def test_what_is_given_is_taken():
    assert make_claim(TWO, None, "0", 1, 2, 3) == Claim(Temperatures(True), 1, 2, 3)
    assert make_claim(TWO, max_blocks=3).max_parameters == 28 * 3
    assert make_claim(TWO, max_width=0, max_blocks=0, max_parameters=0) == Claim(Temperatures(True), 0, 0, 0)


@pytest.mark.parametrize(
    "options",
    [
        {"attention": "linear"},
        {"attention": ""},
        {"attention": "HARDMAX"},
        {"attention": "hardmax", "temperatures": "(0,1]"},
        {"attention": "softmax", "temperatures": "0"},
        {"temperatures": ""},
        {"max_width": -1},
        {"max_blocks": -1},
        {"max_parameters": -5},
    ],
)
def test_options_that_make_no_claim_are_usage_errors(options):
    with pytest.raises(UsageError):
        make_claim(TWO, **options)


def test_a_claim_is_told_in_full():
    assert str(make_claim(TWO)) == (
        "T(X_j) = Y_j for every pair at temperature 0, width <= 4, blocks <= 11, parameters <= 308"
    )
