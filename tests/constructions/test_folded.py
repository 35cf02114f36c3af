"""The folded construction: about M / 8 blocks in general position, exact, never longer than compact."""

from __future__ import annotations

import random

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.constructions.compact import build_compact
from interp.constructions.folded import build_folded_transformer, find_folded_plan
from interp.constructions.hardmax import list_targets
from interp.stages.folds import build_folds, count_fold_blocks, locate_in_cell, plan_folds
from interp.stages.tokens import TokenState
from interp.transformers.ledger import Ledger
from proofs.kernel.errors import UsageError
from proofs.kernel.hardmax import apply_feed_forward
from proofs.kernel.rational import row_of
from tests.constructions.test_compact import verify
from tests.strategies import make_dataset

pytest.importorskip("scipy", reason="scipy is not installed (extra: labels)")


def generic(seed, num_pairs, dimension, length=3, full=False, digits=2):
    """Random decimals, one target a sequence or one a token."""
    rng, unit = random.Random(seed), 10**digits

    def token():
        return [f"{rng.randint(-99 * unit, 99 * unit)}/{unit}" for _ in range(dimension)]

    count = length if full else 1
    return make_dataset(
        *(
            (
                [token() for _ in range(length)],
                [[rng.randint(-50, 50) for _ in range(dimension - 1)] + [k] for k in range(count)],
            )
            for _ in range(num_pairs)
        )
    )


def plan_of(dataset, seed=0):
    state = TokenState.from_dataset(dataset)
    return find_folded_plan(state, list_targets(dataset), random.Random(seed))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(8, 30), st.booleans())
def test_every_plan_in_general_position_is_verified(seed, dimension, num_pairs, full):
    dataset = generic(seed, num_pairs, dimension, 2, full)
    plan = plan_of(dataset, seed)
    if plan is None:
        return
    ledger = Ledger(dimension)
    plan.build(ledger)
    assert verify(dataset, ledger, "[0,oo)") == plan.num_blocks


def test_plans_exist_in_general_position():
    for dimension in (2, 3, 4):
        found = [plan_of(generic(seed, 24, dimension)) for seed in range(6)]
        assert sum(plan is not None for plan in found) >= 5


@pytest.mark.parametrize(("num_pairs", "dimension", "most"), [(120, 2, 25), (120, 3, 31)])
def test_fewer_blocks_than_a_chain(num_pairs, dimension, most):
    dataset = generic(1, num_pairs, dimension)
    ledger = build_folded_transformer(dataset)
    assert verify(dataset, ledger, "[0,oo)") <= most
    assert most <= len(build_compact(dataset).blocks)


def test_a_target_for_every_token():
    dataset = generic(3, 40, 2, 3, full=True)
    ledger = build_folded_transformer(dataset)
    assert [phase.name for phase in ledger.phases] == ["points", "groups", "folds"]
    assert verify(dataset, ledger, "[0,oo)") < len(build_compact(dataset).blocks)


@pytest.mark.slow
def test_four_hundred_points_of_the_plane_take_at_most_64_blocks():
    dataset = generic(1, 400, 2)
    assert verify(dataset, build_folded_transformer(dataset), "[0,oo)") <= 64


def test_points_in_special_position_fall_back_to_compact():
    line = make_dataset(*(([[k, k]], [[k % 7, (k * k) % 11]]) for k in range(60)))
    grid = make_dataset(*(([[k % 8, k // 8]], [[k % 7, (k * k) % 11]]) for k in range(64)))
    for dataset in (line, grid):
        ledger = build_folded_transformer(dataset)
        assert verify(dataset, ledger, "[0,oo)") <= len(build_compact(dataset).blocks)


def test_some_but_not_all_targets_and_high_dimensions_are_refused():
    with pytest.raises(UsageError, match="not for this dataset"):
        build_folded_transformer(make_dataset(([[0, 1], [1, 1], [2, 5]], [[2, 2], [3, 3]])))
    with pytest.raises(UsageError):
        build_folded_transformer(make_dataset(([[0, 1, 2, 3, 4]], [[2, 2, 2, 2, 2]])))


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=3),
    st.data(),
)
def test_folds_bring_every_cell_to_its_value(counts, data):
    width, d = fmpq(8), len(counts)
    value = [fmpq(data.draw(st.integers(0, 63)), 8) for _ in counts]
    cell = [data.draw(st.integers(0, count - 1)) for count in counts]
    blocks = build_folds(counts, width, [fmpq(-1)] * d)
    assert len(blocks) == count_fold_blocks(counts)
    rows = [row_of(locate_in_cell(cell, value, width))]
    for block in blocks:
        assert block.feed_forward.width <= 4
        rows = apply_feed_forward(block.feed_forward, rows)
    assert rows == [row_of([v - 1 for v in value])]


def test_a_fold_block_divides_by_nine_in_the_plane():
    assert [len(plan_folds([n, n])) for n in (1, 3, 9, 27, 81)] == [0, 1, 2, 3, 4]
    assert len(plan_folds([625, 1])) == 4
