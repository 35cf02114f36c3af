"""The forward pass at temperature 0: by hand, and token by token against the reference on arbitrary transformers."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import LimitReached
from proofs.kernel.hardmax import apply_block
from proofs.kernel.rational import Limits
from tests.reference import evaluator
from tests.strategies import fractions_of, loose_sequences, to_row, transformer_bytes, transformers

F = Fraction
AVERAGE = {"sa": {"rho": 0, "V": {"beta": 1}}}
COLLAPSE = {"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}


def run(block, *sequences, limits=None):
    """One block of the kernel on plain tokens."""
    rows = [[to_row(token) for token in tokens] for tokens in sequences]
    decoded = decode_transformer(transformer_bytes(len(sequences[0][0]), [block])).blocks[0]
    return fractions_of(apply_block(decoded, rows, *([limits] if limits else [])))


def tokens(*rows):
    return [tuple(map(F, row)) for row in rows]


# ------------------------------------------------------------------------------------------------------- differential


@st.composite
def cases(draw):
    dimension = draw(st.integers(1, 4))
    return draw(transformers(dimension)), draw(loose_sequences(dimension))


@st.composite
def wider_cases(draw):
    """Masks and several heads too."""
    dimension = draw(st.integers(1, 3))
    return draw(transformers(dimension, 3, plain=False)), draw(loose_sequences(dimension))


@settings(max_examples=300)
@given(cases() | wider_cases())
def test_every_token_after_every_block_is_that_of_the_reference(case):
    data, sequences = case
    rows = [[to_row(token) for token in sequence] for sequence in sequences]
    states = evaluator.run(data, sequences)
    assert fractions_of(rows) == next(states)
    for block, expected in zip(decode_transformer(data).blocks, states, strict=True):
        rows = apply_block(block, rows)
        assert fractions_of(rows) == expected
        # equality of rows is equality of tokens only while every row is the primitive one
        assert all(row[-1] > 0 and gcd(*row) == 1 for sequence in rows for row in sequence)


@given(cases(), st.randoms(use_true_random=False))
def test_sequences_do_not_see_each_other_and_order_does_not_matter(case, rng):
    data, sequences = case
    for block in decode_transformer(data).blocks[:1]:
        rows = [[to_row(token) for token in sequence] for sequence in sequences]
        together = apply_block(block, rows)
        assert together == [apply_block(block, [sequence])[0] for sequence in rows]
        for sequence, image in zip(rows, together, strict=True):
            order = list(range(len(sequence)))
            rng.shuffle(order)
            assert apply_block(block, [[sequence[i] for i in order]]) == [[image[i] for i in order]]


@given(cases())
def test_a_forward_pass_leaves_its_input_alone_and_repeats_itself(case):
    data, sequences = case
    rows = [[to_row(token) for token in sequence] for sequence in sequences]
    copy = [list(sequence) for sequence in rows]
    for block in decode_transformer(data).blocks:
        first = apply_block(block, rows)
        assert rows == copy
        assert apply_block(block, rows) == first
        first[0][0] = ("spoilt",)
        assert rows == copy


# ------------------------------------------------------------------------------------------------------------ by hand


def test_relu_is_zero_at_zero_and_below():
    unit = {"ff": {"eta": 1, "W": [[1], [0]], "U": [[1, 0]], "b": [-1]}}
    assert run(unit, tokens((1, 5), (0, 5), (2, 5))) == [tokens((1, 5), (0, 5), (3, 5))]
    hair = F(1, 10**300)
    assert run(unit, tokens((1 + hair, 0), (1 - hair, 0))) == [tokens((1 + 2 * hair, 0), (1 - hair, 0))]


def test_active_units_that_cancel_leave_eta_x():
    block = {"ff": {"eta": "1/2", "W": [[1, -1], [2, -2]], "U": [[1, 1], [1, 1]], "b": [0, 0]}}
    assert run(block, tokens((2, 4), (-2, -4))) == [tokens((1, 2), (-1, -2))]


def test_eta_zero_forgets_the_token():
    assert run({"ff": {"eta": 0}}, tokens((2, "4/3"), (1, 1))) == [tokens((0, 0), (0, 0))]


def test_equal_scores_average_all_of_them_and_not_the_first_or_the_last():
    # queries 1: both others score 1 for (1, 0)
    assert run(COLLAPSE, tokens((1, 0), (1, 2), (1, -2))) == [
        tokens((1, 0), (1, 2), (1, -2)),
    ]
    assert run(COLLAPSE, tokens((1, 1), (3, 0), (0, 3))) == [tokens(("3/2", "3/2"), (3, 0), (0, 3))]


def test_repeated_tokens_count_as_often_as_they_stand_there():
    assert run(AVERAGE, tokens((0, 0), (0, 0), (3, 0))) == [tokens((1, 0), (1, 0), (1, 0))]
    assert run(AVERAGE, tokens((0, 0), (3, 0))) == [tokens(("3/2", 0), ("3/2", 0))]
    # a tie of (3,0), (3,0) and (0,3) for the query (1,1)
    assert run(COLLAPSE, tokens((1, 1), (3, 0), (0, 3), (3, 0)))[0][0] == (2, 1)


def test_the_zero_query_ties_with_everything():
    assert run(COLLAPSE, tokens((0, 0), (4, 0), (-1, 3))) == [tokens((1, 1), (4, 0), (-1, 3))]


def test_a_score_larger_by_a_hair_wins_alone():
    big = 10**60
    ahead = run(COLLAPSE, tokens((1, 0), (big, 0), (F(big) + F(1, big), 7)))
    assert ahead[0][0] == (F(big) + F(1, big), 7)
    tie = run(COLLAPSE, tokens((1, 0), (big, 0), (big, 7)))
    assert tie[0][0] == (big, F(7, 2))


def test_negative_scores_pick_the_largest_and_not_the_largest_size():
    flipped = {"sa": {"rho": 0, "A": {"alpha": -1}, "V": {"beta": 1}}}
    assert run(flipped, tokens((1, 0), (5, 0))) == [tokens((1, 0), (1, 0))]


def test_scores_use_A_times_the_query_and_not_its_transpose():
    block = {"sa": {"rho": 0, "A": {"dense": [[0, 1], [0, 0]]}, "V": {"beta": 1}}}
    # <A x_i, x_l> = x_i2 x_l1: the query (0, 1) looks for the largest first coordinate
    assert run(block, tokens((0, 1), (2, 0), (1, 9)))[0][0] == (2, 0)


def test_attention_with_value_zero_still_scales_by_rho():
    assert run({"sa": {"rho": "-1/2", "A": {"alpha": 1}}}, tokens((2, 4))) == [tokens((-1, -2))]


def test_value_matrix_acts_on_the_mean():
    block = {"sa": {"rho": 1, "V": {"dense": [[0, 1], [2, 0]]}}}
    assert run(block, tokens((1, 2), (3, 4))) == [tokens((1 + 3, 2 + 4), (3 + 3, 4 + 4))]


def test_a_tie_decided_after_the_feed_forward_layer():
    # the layer makes (1,0) and (2,0) equal, so that the mean over three tokens weighs it twice
    flat = {"eta": 1, "W": [[-1], [0]], "U": [[1, 0]], "b": [-1]}
    assert run({"ff": flat} | AVERAGE, tokens((1, 0), (2, 0), (-2, 3))) == [tokens(*[(0, 1)] * 3)]


def test_long_numbers_stay_exact():
    p = 10**4000 + 1
    assert run({"ff": {"eta": f"1/{p}"}}, [(F(p), F(p + 1))]) == [[(1, F(p + 1, p))]]


# -------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    "block",
    [
        {"ff": {"eta": "1/1" + "0" * 40}},
        {"ff": {"eta": "1" + "0" * 40}},
        {"ff": {"eta": 1, "W": [["1e40"], [0]], "U": [[0, 0]], "b": [1]}},
        {"sa": {"rho": "1e40"}},
        {"sa": {"rho": "1e-40"}},
        {"sa": {"rho": 0, "V": {"beta": "-1e40"}}},
    ],
)
def test_numbers_beyond_the_bit_limit_are_a_limit_whether_numerator_or_denominator(block):
    with pytest.raises(LimitReached, match="100 bits"):
        run(block, tokens((1, 1), (2, 3)), limits=Limits(max_height=100))
    assert run(block, tokens((1, 1), (2, 3)), limits=Limits(max_height=140))
