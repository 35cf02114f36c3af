"""Counts against values worked out by hand, and against the reference evaluator's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.kernel.counts import count_transformer
from proofs.kernel.decode import decode_transformer
from tests.reference import evaluator
from tests.strategies import transformer_bytes, transformers


def counts_of(dimension, *blocks):
    return count_transformer(decode_transformer(transformer_bytes(dimension, blocks)))


def full(d, w=4, x=1):
    return {
        "ff": {"eta": x, "W": [[x] * w] * d, "U": [[x] * d] * w, "b": [x] * w},
        "sa": {"rho": x, "A": {"alpha": x, "p": [x] * d, "q": [x] * d}, "V": {"beta": x}},
    }


@pytest.mark.parametrize("d", [2, 3, 16, 64])
def test_a_full_block_has_ten_d_plus_eight_parameters(d):
    counts = counts_of(d, full(d))
    assert (counts.blocks, counts.width, counts.parameters) == (1, 4, 10 * d + 8)
    assert counts.dense_parameters == 4 * (2 * d + 1) + 2 + 2 * d * d
    assert counts.nonzero_parameters == 10 * d + 8


def test_a_rank_one_value_matrix_adds_two_d():
    block = full(3)
    block["sa"]["V"] = {"beta": 1, "r": [1, 1, 1], "t": [1, 1, 1]}
    assert counts_of(3, block).parameters == 12 * 3 + 8


@pytest.mark.parametrize(
    ("block", "parameters", "nonzero"),
    [
        ({}, 4, 2),  # eta, rho, alpha, beta; eta = rho = 1
        ({"ff": {"eta": 0}}, 4, 1),
        ({"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}, 4, 3),
        ({"sa": {"rho": 1, "A": {"p": [1, 0, 0], "q": [0, 0, 0]}}}, 4 + 6, 3),
        ({"sa": {"rho": 1, "A": {"dense": [[0] * 3] * 3}}}, 3 + 9, 2),
        ({"sa": {"rho": 1, "V": {"dense": {"outer": [[1, 0, 0], [1, 1, 0]]}}}}, 3 + 9, 4),
        ({"ff": {"eta": 1, "W": [[0]] * 3, "U": [[0] * 3], "b": [0]}}, 4 + 7, 2),  # a unit that does nothing counts
        ({"ff": {"eta": 1, "W": {"outer": [[1, 1, 1], [1]]}, "U": [[0] * 3], "b": [1]}}, 4 + 7, 6),
    ],
)
def test_parts_by_hand(block, parameters, nonzero):
    counts = counts_of(3, block)
    assert (counts.parameters, counts.nonzero_parameters) == (parameters, nonzero)


def test_writing_a_matrix_as_an_outer_product_does_not_lower_the_count():
    rows = {"ff": {"eta": 1, "W": [[1, 2], [2, 4]], "U": [[1, 1], [1, 1]], "b": [0, 0]}}
    outer = {
        "ff": {"eta": 1, "W": {"outer": [[1, 2], [1, 2]]}, "U": {"outer": [[1, 1], [1, 1]]}, "b": [0, 0]},
    }
    assert counts_of(2, rows) == counts_of(2, outer)


def test_sums_and_maxima_over_blocks():
    counts = counts_of(2, full(2, 1), full(2, 6, "-8/3"), {})
    assert counts.blocks == 3
    assert counts.width == 6
    assert counts.parameters == (1 * 5 + 2 + 5 + 1) + (6 * 5 + 2 + 5 + 1) + 4
    assert counts.max_bits == 4


def test_bits_are_those_of_numerators_and_denominators():
    assert counts_of(2, {"ff": {"eta": "1/1024"}}).max_bits == 11
    assert counts_of(2, {"sa": {"rho": -1023}}).max_bits == 10
    assert counts_of(2, {"sa": {"rho": "1e30"}}).max_bits == (10**30).bit_length()


def test_nothing_has_no_counts():
    counts = counts_of(2)
    assert (counts.blocks, counts.width, counts.parameters, counts.max_bits) == (0, 0, 0, 0)


@given(st.integers(2, 4).flatmap(transformers))
def test_counts_agree_with_the_reference(data):
    counts = count_transformer(decode_transformer(data))
    assert (counts.blocks, counts.width, counts.parameters) == evaluator.count(data)
    assert counts.nonzero_parameters <= counts.parameters
