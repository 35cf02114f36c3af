"""Each phase alone: the state that a builder says it leaves is the state that the kernel computes from its blocks."""

from __future__ import annotations

import random

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from interp.constructions.hardmax import find_bound, list_targets
from interp.stages.collapse import build_collapse
from interp.stages.interpolation import build_interpolation
from interp.stages.leaders import build_leaders
from interp.stages.separation import POLICIES, build_separation, find_positive_shift, find_sharing
from interp.stages.tokens import TokenState
from proofs.kernel.counts import count_block
from proofs.kernel.errors import InternalFault, UsageError
from proofs.kernel.hardmax import apply_block
from proofs.kernel.model import Block, identity_feed_forward
from proofs.lemmas import collapse, interpolation, leaders, separation
from tests.strategies import datasets, leave_one_out, make_dataset, to_row


def run(blocks, sequences):
    for block in blocks:
        sequences = apply_block(block, sequences)
    return sequences


def as_sets(sequences):
    return [set(rows) for rows in sequences]


# ------------------------------------------------------------------------------------------------------ separation


@given(datasets(largest=8), st.sampled_from(POLICIES), st.integers(0, 9))
def test_separation_leaves_what_it_says_within_n_minus_one_blocks(dataset, policy, seed):
    before = TokenState.from_dataset(dataset)
    blocks, after = build_separation(before, random.Random(seed), policy)
    assert len(blocks) <= max(0, dataset.num_pairs - 1)
    final = run(blocks, before.sequences())
    assert as_sets(final) == as_sets(after.sequences())
    assert find_sharing(after) == {}
    if blocks:
        assert separation.check_promise(before.sequences(), final) is None
    assert all(count_block(block, dataset.dimension).width <= 4 for block in blocks)
    assert all(count_block(block, dataset.dimension).parameters <= 10 * dataset.dimension + 8 for block in blocks)


def test_disjoint_sequences_need_no_separation():
    state = TokenState.from_dataset(make_dataset(([(-1, 0)], [(0, 0)]), ([(0, 0), (5, 5)], [(0, 0)])))
    assert build_separation(state, random.Random(0)) == ([], state)


@pytest.mark.parametrize("num_pairs", range(3, 31))
def test_leaving_one_out_takes_a_leader_block_for_every_sequence_but_one_and_a_single_mean(num_pairs):
    state = TokenState.from_dataset(leave_one_out(num_pairs))
    for policy, expected in (("leader", num_pairs - 1), ("mean", 1), ("auto", 1)):
        blocks, _ = build_separation(state, random.Random(num_pairs), policy)
        assert len(blocks) == expected


def test_sequences_with_equal_means_are_separated_by_every_policy():
    # both have mean (0, 0), one token in common, and every other family member shares it too
    dataset = make_dataset(
        ([(0, 0), (1, 0), (-1, 0)], [(1, 1)]),
        ([(0, 0), (0, 2), (0, -2)], [(2, 2)]),
        ([(0, 0), (3, 3), (-3, -3)], [(3, 3)]),
        ([(0, 0)], [(4, 4)]),
    )
    state = TokenState.from_dataset(dataset)
    for policy in POLICIES:
        for seed in range(10):
            blocks, after = build_separation(state, random.Random(seed), policy)
            assert as_sets(run(blocks, state.sequences())) == as_sets(after.sequences())


def test_sharing_lists_the_holders_of_every_shared_token():
    state = TokenState.from_dataset(
        make_dataset(([(1, 1), (2, 2)], [(0, 0)]), ([(2, 2)], [(0, 0)]), ([(1, 1), (3, 3), (2, 2)], [(0, 0)]))
    )
    assert find_sharing(state) == {to_row((1, 1)): [0, 2], to_row((2, 2)): [0, 1, 2]}


@given(datasets(largest=3))
def test_the_positive_shift_is_enough_and_absent_when_not_needed(dataset):
    state = TokenState.from_dataset(dataset)
    shift = find_positive_shift(state)
    smallest = min(fmpq(x, row[-1]) for row in state.rows() for x in row[:-1])
    if shift is None:
        assert smallest > 0
    else:
        assert smallest <= 0 < smallest + shift


# --------------------------------------------------------------------------- leaders, collapse and interpolation


@given(datasets(largest=5), st.integers(0, 9))
def test_leaders_collapse_and_interpolation_leave_what_they_say(dataset, seed):
    rng = random.Random(seed)
    targets = list_targets(dataset)
    sizes, bound = [len(group) for group in targets], find_bound(targets)
    _, state = build_separation(TokenState.from_dataset(dataset), rng)

    blocks, placed = build_leaders(state, sizes, bound, rng)
    assert len(blocks) == sum(sizes)
    at_leaders = run(blocks, state.sequences())
    assert as_sets(at_leaders) == as_sets(placed.sequences())
    assert leaders.check_promise(at_leaders, sizes) is None

    attention, collapsed = build_collapse(placed, sizes)
    points = run([Block(identity_feed_forward(state.dimension), attention)], at_leaders)
    assert as_sets(points) == as_sets(collapsed.sequences())
    assert collapse.check_promise(points, sizes) is None
    assert all(abs(fmpq(x, row[-1])) > bound for rows in points for row in rows for x in row[:-1])

    last = build_interpolation(collapsed, targets, bound, rng)
    assert len(last) == sum(sizes)
    final = run(last, points)
    assert interpolation.check_promise(final, targets) is None
    assert as_sets(final) == [set(pair.output) for pair in dataset.pairs]


@given(datasets(largest=4))
def test_the_bound_exceeds_every_coordinate_of_every_target(dataset):
    targets = list_targets(dataset)
    bound = find_bound(targets)
    assert all(abs(fmpq(x, row[-1])) < bound for group in targets for row in group for x in row[:-1])
    assert [set(group) for group in targets] == [set(pair.output) for pair in dataset.pairs]


# ---------------------------------------------------------------------------------------- what cannot be done fails


def test_more_targets_than_tokens_is_a_fault_and_not_a_wrong_transformer():
    dataset = make_dataset(([(1, 1)], [(2, 2), (3, 3)]))
    state = TokenState.from_dataset(dataset)
    with pytest.raises(InternalFault):
        build_leaders(state, [2], fmpq(4), random.Random(0))


def test_collapse_refuses_a_state_that_is_not_that_of_the_leader_phase():
    state = TokenState.from_dataset(make_dataset(([(1, 1), (-2, -2)], [(0, 0)]), ([(3, 3)], [(0, 0)])))
    build_collapse(state, [2, 1])
    with pytest.raises(InternalFault):
        build_collapse(state, [1, 1])


@pytest.mark.parametrize("policy", POLICIES)
def test_equal_sets_cannot_be_separated(policy):
    state = TokenState.from_dataset(make_dataset(([(1, 1), (2, 2)], [(0, 0)]), ([(2, 2), (1, 1)], [(3, 3)])))
    with pytest.raises(InternalFault):
        build_separation(state, random.Random(0), policy)


def test_a_policy_that_does_not_exist_is_not_taken_for_another():
    state = TokenState.from_dataset(leave_one_out(3))
    with pytest.raises(UsageError):
        build_separation(state, random.Random(0), "laeder")
