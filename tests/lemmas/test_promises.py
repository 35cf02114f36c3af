"""The promise checks bite: a state that meets the promise passes, and one with any clause broken does not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proofs.kernel.decode import decode_transformer
from proofs.kernel.hardmax import apply_block
from proofs.lemmas import collapse, interpolation, leaders, separation
from tests.strategies import to_row, transformer_bytes

F = Fraction


def states(*sequences):
    return [[to_row(token) for token in tokens] for tokens in sequences]


# ------------------------------------------------------------------------------------------------------ separation

BEFORE = states([(1, 1), (2, 2)], [(1, 1), (3, 3)])
APART = states([(1, 5), (2, 6)], [(1, 7), (3, 8)])


def test_separation_accepts_what_it_promises():
    assert separation.check_promise(BEFORE, APART) is None


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (BEFORE, "share"),
        (states([(1, 5), (2, 6)], [(1, 7), (2, 6)]), "sequences 0 and 1 share"),
        (states([(1, 5), (1, 5)], [(1, 7), (3, 8)]), "sequence 0 had 2 distinct tokens and has 1"),
        (states([(1, 5), (2, 6)], [(1, 7)]), "sequence 1 had 2 distinct tokens and has 1"),
        (states([(1, 5), (2, 6)], [(1, 7), (3, 8), (4, 9)]), "sequence 1 had 2 distinct tokens and has 3"),
        (states([(1, 5), (2, 6)], [(1, 7), (3, -8)]), "outside"),
        (states([(1, 5), (2, 6)], [(1, 7), (0, 8)]), "sequence 1 is outside"),
        (states([(0, 0), (2, 6)], [(1, 7), (3, 8)]), "sequence 0 is outside"),
        (states([(1, F(-1, 10**50)), (2, 6)], [(1, 7), (3, 8)]), "outside"),
    ],
)
def test_separation_refuses_any_clause_broken(after, reason):
    assert reason in (separation.check_promise(BEFORE, after) or "nothing was refused")


def test_separation_refuses_a_token_shared_by_later_sequences():
    before = states([(1, 1)], [(2, 2)], [(3, 3)], [(4, 4)])
    after = states([(1, 5)], [(2, 6)], [(3, 7)], [(2, 6)])
    assert "sequences 1 and 3 share" in (separation.check_promise(before, after) or "nothing was refused")


def test_separation_allows_repeated_tokens_inside_a_sequence():
    assert separation.check_promise(states([(1, 1), (1, 1)]), states([(2, 2), (2, 2)])) is None


def test_a_sequence_too_few_is_not_passed_over():
    with pytest.raises(ValueError, match="zip"):
        separation.check_promise(BEFORE, APART[:1])
    with pytest.raises(ValueError, match="zip"):
        leaders.check_promise(APART, [1])
    with pytest.raises(ValueError, match="zip"):
        collapse.check_promise(APART, [2])
    with pytest.raises(ValueError, match="zip"):
        interpolation.check_promise(APART, APART[:1])


# --------------------------------------------------------------------------------------------------------- leaders

GOOD = [(1, 2), (2, 1), (9, 9), (-70, -10), (-10, -70)]  # three leaders, two of them negative


def broken_leaders(token, other):
    return states([(1, 1)], [other if t == token else t for t in GOOD])


def test_leaders_accepts_what_it_promises():
    assert leaders.check_promise(states([(1, 1)], GOOD), [1, 3]) is None
    assert leaders.check_promise(states([(1, 1)]), [1]) is None


@pytest.mark.parametrize(
    ("after", "sizes", "reason"),
    [
        # signs
        (broken_leaders((1, 2), (0, 2)), [1, 3], "neither positive nor negative"),
        (broken_leaders((1, 2), (-1, 2)), [1, 3], "neither positive nor negative"),
        (broken_leaders((-70, -10), (-70, 0)), [1, 3], "neither positive nor negative"),
        (broken_leaders((-70, -10), (-70, F(1, 10**40))), [1, 3], "neither positive nor negative"),
        # how many
        (states([(1, 1)], GOOD), [1, 2], "2 negative tokens, expected 1"),
        (states([(1, 1)], GOOD), [1, 4], "2 negative tokens, expected 3"),
        (states([(1, 1)], GOOD), [2, 3], "sequence 0 has 0 negative tokens, expected 1"),
        (states([(1, 1)], [t for t in GOOD if min(t) < 0]), [1, 3], "sequence 1"),
        (states([(-1, -1)], GOOD), [2, 3], "sequence 0"),
        (broken_leaders((-70, -10), (-10, -70)), [1, 3], "1 negative tokens, expected 2"),
        # the top
        (broken_leaders((9, 9), (9, 2)), [1, 3], "no token of sequence 1 exceeds"),
        (broken_leaders((9, 9), (9, 1)), [1, 3], "no token of sequence 1 exceeds"),
        (broken_leaders((9, 9), (2, 9)), [1, 3], "no token of sequence 1 exceeds"),
        (broken_leaders((9, 9), (F(3, 2), 9)), [1, 3], "no token of sequence 1 exceeds"),
        # self-selection of the negative ones
        (broken_leaders((-70, -10), (-7, -1)), [1, 3], "does not select itself"),
        (broken_leaders((-70, -10), (-10, -71)), [1, 3], "does not select itself"),
        (broken_leaders((-70, -10), (F(-1, 10), F(-7, 10))), [1, 3], "does not select itself"),
        # equality is not enough: <q, q> = <q, z> is a tie
        (states([(1, 1), (-1, -1), (F(-1, 2), F(-3, 2))]), [3], "does not select itself"),
    ],
)
def test_leaders_refuses_any_clause_broken(after, sizes, reason):
    assert reason in (leaders.check_promise(after, sizes) or "nothing was refused")


coordinates = st.integers(1, 6)
positives = st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=5)
negatives = st.lists(st.tuples(st.integers(-9, 1), st.integers(-9, 1)), max_size=3)


@given(positives, negatives, st.integers(0, 9))
def test_a_state_that_leaders_accepts_collapses_to_m_points(positive, negative, top):
    tokens = [*positive, *negative, (top, top)]
    state, size = states(tokens), len(set(negative)) + 1
    assume(leaders.check_promise(state, [size]) is None)
    block = decode_transformer(transformer_bytes(2, [{"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}])).blocks[
        0
    ]
    assert collapse.check_promise(apply_block(block, state), [size]) is None


# -------------------------------------------------------------------------------------------------------- collapse


def test_collapse_accepts_what_it_promises():
    assert collapse.check_promise(states([(1, 1), (1, 1)], [(2, 2), (3, 3)]), [1, 2]) is None


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (states([(1, 1), (1, 2)], [(2, 2), (3, 3)]), "sequence 0 is 2 points, expected 1"),
        (states([(1, 1)], [(2, 2), (2, 2)]), "sequence 1 is 1 points, expected 2"),
        (states([(1, 1)], [(2, 2), (3, 3), (4, 4)]), "sequence 1 is 3 points, expected 2"),
        (states([(2, 2)], [(2, 2), (3, 3)]), "sequence 1 shares a point"),
        (states([], [(2, 2), (3, 3)]), "sequence 0 is 0 points"),
    ],
)
def test_collapse_refuses_any_clause_broken(after, reason):
    assert reason in (collapse.check_promise(after, [1, 2]) or "nothing was refused")


def test_a_point_may_return_in_a_third_sequence_only_when_it_is_not_there_before():
    assert collapse.check_promise(states([(1, 1)], [(2, 2)], [(1, 1)]), [1, 1, 1]) is not None


# --------------------------------------------------------------------------------------------------- interpolation

TARGETS = states([(1, 1)], [(2, 2), (3, 3)])


def test_interpolation_accepts_what_it_promises():
    assert interpolation.check_promise(states([(1, 1), (1, 1)], [(3, 3), (2, 2)]), TARGETS) is None


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (states([(1, 2)], [(2, 2), (3, 3)]), "sequence 0"),
        (states([(1, 1)], [(2, 2)]), "sequence 1"),
        (states([(1, 1)], [(2, 2), (3, 3), (4, 4)]), "sequence 1"),
        (states([(1, 1)], [(2, 2), (3, 3 + F(1, 10**60))]), "sequence 1"),
        (states([(2, 2)], [(1, 1), (3, 3)]), "sequence 0"),
        (states([(1, 1)], []), "sequence 1"),
    ],
)
def test_interpolation_refuses_any_clause_broken(after, reason):
    assert reason in (interpolation.check_promise(after, TARGETS) or "nothing was refused")
