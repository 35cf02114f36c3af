"""Caps, merging unit and the first units of the chain: applied to all tokens, not only to those the builder looks at."""

from __future__ import annotations

import random

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings

from interp.constructions.compact import CapsPlan, make_caps_plan, to_point
from interp.constructions.hardmax import list_targets
from interp.stages.box import PointBox
from interp.stages.caps import solve_caps
from interp.stages.chain import to_row
from interp.stages.hat import build_feed_forward
from interp.stages.signature import find_signatures
from interp.stages.tokens import TokenState
from interp.transformers.ledger import Ledger
from proofs.kernel.errors import InternalFault
from proofs.kernel.hardmax import apply_block
from proofs.lemmas import caps as lemma
from proofs.lemmas import key as key_lemma
from proofs.lemmas import remainders as remainders_lemma
from tests.strategies import datasets, make_dataset


def plan_of(dataset) -> CapsPlan | None:
    targets = list_targets(dataset)
    if all(len(group) == 1 for group in targets):
        return None
    signature = next(find_signatures(TokenState.from_dataset(dataset), random.Random(0)))
    return make_caps_plan(dataset.dimension, signature, targets)


@settings(max_examples=60)
@given(datasets(largest=6))
def test_after_the_caps_leaders_are_targets_and_every_rest_is_one_point(dataset):
    plan = plan_of(dataset)
    if plan is None:
        return
    ledger = Ledger(dataset.dimension)
    plan.build(ledger)
    last = next(phase.last for phase in ledger.phases if phase.name == "caps")
    states = [list(pair.input) for pair in dataset.pairs]
    for block in ledger.blocks[:last]:
        states = apply_block(block, states)
    for rows, ordered in zip(states, plan.ordered, strict=True):
        assert set(ordered[:-1]) <= set(rows)
        assert len(set(rows) - set(ordered[:-1])) <= 1
    if dataset.num_pairs > 1:
        assert len(ledger.blocks) == plan.num_blocks


def test_a_cap_that_does_not_see_its_leader_is_a_fault():
    plan = plan_of(make_dataset(([[0, 0], [1, 0], [2, 0]], [[5, 5], [6, 6]]), ([[0, 0], [1, 1]], [[7, 7]])))
    cap = plan.caps[0]
    wrong = type(cap)(cap.sequence, cap.rank, cap.slope, cap.constant - 1000)
    with pytest.raises(InternalFault):
        solve_caps([wrong], [], plan.frame, [to_point((5, 5, 1))])


def test_the_promise_checks_bite():
    plan = plan_of(make_dataset(([[0, 0], [1, 0], [2, 0]], [[5, 5], [6, 6]]), ([[0, 0], [1, 1]], [[7, 7]])))
    cap, target = plan.caps[0], to_point(plan.ordered[0][0])
    layer = build_feed_forward(2, solve_caps([cap], [], plan.frame, [target]))
    leader, following = (to_row(plan.frame.point(0, rank)) for rank in (0, 1))
    box = PointBox([target])
    silent = (box.low, box.high)
    assert lemma.check_promise(layer, [leader], [to_row(target)], [[following]], silent) is None
    assert "sees" in (lemma.check_promise(layer, [leader], [to_row(target)], [[leader]], silent) or "")
    assert "goes to" in (lemma.check_promise(layer, [leader], [leader], [[following]], silent) or "")
    point = fmpq_mat(2, 1, [plan.frame.point(0, 0)[0, 0] - 10**6, fmpq(0)]).entries()
    assert "unit 1" in (lemma.check_promise(layer, [], [], [[]], (point, point)) or "")
    assert "goes to" in (remainders_lemma.check_promise(layer, [leader], [leader], ([], [])) or "")


@pytest.mark.parametrize(
    ("kinks", "runs", "message"),
    [
        ([(1, 1), (2, -1)], [(0, 1, 0), (2, 5, 1)], None),
        ([(1, 1), (2, -1)], [(0, 1, 0), (2, 5, 2)], "phi is 1"),
        ([(1, 1), (3, -1)], [(0, 1, 0), (2, 5, 1)], "a kink inside run 1"),
        ([(1, 1), (2, -1), (9, 1)], [(0, 1, 0), (2, 5, 1)], "behind the last"),
    ],
)
def test_the_promise_check_of_the_key_bites(kinks, runs, message):
    numbers = [(fmpq(a), fmpq(b)) for a, b in kinks]
    found = key_lemma.check_promise(numbers, [(fmpq(a), fmpq(b), key) for a, b, key in runs])
    assert (found is None) if message is None else (message in (found or ""))
