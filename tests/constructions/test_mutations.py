"""Planted faults: whatever is changed in a true statement, only what the reference confirms is verified.

Mutants are signed again, so that counts and digest are consistent and nothing but the mathematics can refuse them.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

from proofs.kernel.errors import Status
from proofs.kernel.statement import Dataset, Pair, make_claim
from tests.constructions.build import build_file, judge
from tests.reference import evaluator
from tests.strategies import (
    block_records,
    leave_one_out,
    make_dataset,
    pairs_of,
    places_of,
    to_fractions,
    to_row,
    transformer_bytes,
    with_number,
)

SUBJECTS = {
    "shared tokens": make_dataset(([(0, 0), (1, 2), (3, 1)], [(1, 1), (-2, 0)]), ([(0, 0), (1, 2)], [(1, 1)])),
    "leave one out": leave_one_out(3),
    "one pair": make_dataset(([(0, "1/2"), (-1, 3), (2, 2)], [(5, 5), (0, 0)])),
}


def confirmed(dataset, data):
    """Whether the whole default claim is true, by the reference alone."""
    claim = make_claim(dataset)
    blocks, width, parameters = evaluator.count(data)
    within = blocks <= claim.max_blocks and width <= claim.max_width and parameters <= claim.max_parameters
    return within and evaluator.interpolates(data, pairs_of(dataset))


def verdicts(dataset, mutants):
    """How many mutants were verified; each of them, and no other, confirmed by the reference."""
    count = verified = 0
    for data in mutants:
        status = judge(dataset, data).status
        assert status in (Status.VERIFIED, Status.REFUTED)
        assert (status is Status.VERIFIED) == confirmed(dataset, data)
        count, verified = count + 1, verified + (status is Status.VERIFIED)
    return count, verified


CHANGES = {
    "plus one": lambda x: x + 1,
    "plus a hair": lambda x: x + Fraction(1, 10**40),
    "negated": lambda x: -x or 1,
    "doubled": lambda x: 2 * x or -1,
    "zero": lambda x: 0 if x else Fraction(1, 2),
}


@pytest.fixture(scope="module", params=SUBJECTS)
def subject(request):
    dataset = SUBJECTS[request.param]
    data = build_file(dataset)
    assert judge(dataset, data).status is Status.VERIFIED
    assert confirmed(dataset, data)
    return dataset, block_records(data)


@pytest.mark.parametrize("change", CHANGES)
def test_one_number_changed(subject, change):
    dataset, blocks = subject
    mutants = (
        transformer_bytes(dataset.dimension, with_number(blocks, path, CHANGES[change])) for path in places_of(blocks)
    )
    count, verified = verdicts(dataset, mutants)
    assert count > 50
    assert verified < count / 2  # most numbers matter


def test_two_blocks_exchanged(subject):
    dataset, blocks = subject

    def mutants():
        for i, j in combinations(range(len(blocks)), 2):
            mutant = list(blocks)
            mutant[i], mutant[j] = mutant[j], mutant[i]
            yield transformer_bytes(dataset.dimension, mutant)

    count, verified = verdicts(dataset, mutants())
    assert verified < count


def test_one_block_dropped(subject):
    dataset, blocks = subject
    mutants = (transformer_bytes(dataset.dimension, blocks[:k] + blocks[k + 1 :]) for k in range(len(blocks)))
    count, verified = verdicts(dataset, mutants)
    assert (count, verified) == (len(blocks), 0)


def test_one_block_doubled(subject):
    dataset, blocks = subject
    mutants = (transformer_bytes(dataset.dimension, blocks[:k] + blocks[k - 1 :]) for k in range(1, len(blocks) + 1))
    count, verified = verdicts(dataset, mutants)
    assert verified < count


def test_one_layer_dropped(subject):
    dataset, blocks = subject
    mutants = (
        transformer_bytes(
            dataset.dimension, [*blocks[:k], {key: v for key, v in block.items() if key != layer}, *blocks[k + 1 :]]
        )
        for k, block in enumerate(blocks)
        for layer in block
    )
    count, verified = verdicts(dataset, mutants)
    assert verified < count / 2


def test_padding_is_verified_until_the_budget_is_spent_and_refuted_after(subject):
    dataset, blocks = subject
    allowed = make_claim(dataset).max_blocks
    for total in (allowed, allowed + 1):
        data = transformer_bytes(dataset.dimension, blocks + [{}] * (total - len(blocks)))
        assert verdicts(dataset, [data]) == (1, int(total <= allowed))


def test_one_target_changed_in_any_single_pair(subject):
    dataset, blocks = subject
    data = transformer_bytes(dataset.dimension, blocks)
    for j, pair in enumerate(dataset.pairs):
        for i in range(len(pair.output)):
            for step in (1, Fraction(-1, 10**50)):
                x, *rest = to_fractions(pair.output[i])
                output = [*pair.output[:i], to_row((x + step, *rest)), *pair.output[i + 1 :]]
                pairs = [*dataset.pairs[:j], Pair(pair.input, tuple(output)), *dataset.pairs[j + 1 :]]
                other = Dataset(dataset.dimension, tuple(pairs))
                verdict = judge(other, data)
                assert not confirmed(other, data)
                assert verdict.status is Status.REFUTED
                assert verdict.failed[-1].mismatch.pair == j


def test_one_target_added_or_taken_away(subject):
    dataset, blocks = subject
    data = transformer_bytes(dataset.dimension, blocks)
    for j, pair in enumerate(dataset.pairs):
        others = [(*pair.output, to_row([77] * dataset.dimension))]
        if len(pair.output) > 1:
            others.append(pair.output[1:])
        for output in others:
            pairs = [*dataset.pairs[:j], Pair(pair.input, output), *dataset.pairs[j + 1 :]]
            other = Dataset(dataset.dimension, tuple(pairs))
            assert judge(other, data).status is Status.REFUTED


def test_one_input_token_changed(subject):
    dataset, blocks = subject
    data = transformer_bytes(dataset.dimension, blocks)
    for j, pair in enumerate(dataset.pairs):
        for i in range(len(pair.input)):
            x, *rest = to_fractions(pair.input[i])
            tokens = [*pair.input[:i], to_row((x + Fraction(1, 3), *rest)), *pair.input[i + 1 :]]
            pairs = [*dataset.pairs[:j], Pair(tuple(tokens), pair.output), *dataset.pairs[j + 1 :]]
            verdicts(Dataset(dataset.dimension, tuple(pairs)), [data])
