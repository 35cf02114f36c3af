"""Thresholds come from verified interpolants only, and diagnoses from certain inequalities only."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.execution.distance import Enclosure
from interp.export.rounding import exact_rational
from interp.tikhonov.loss import enclose_loss, exactly
from interp.tikhonov.model import Architecture, dense_norm, transformer_of
from interp.tikhonov.teacher import make_taught_dataset
from interp.tikhonov.yardstick import (
    Diagnosis,
    Point,
    diagnose,
    find_interpolant,
    find_smaller,
    make_zero_point,
    place_interpolant,
)
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.model import Block, SelfAttention, Transformer
from proofs.kernel.rational import coordinates_of
from tests.strategies import datasets, make_dataset

ONE = fmpq(1)
DATA = make_dataset(([[0, 0], [1, 0], [1, 1]], [[1, 1], [0, 1]]), ([[0, 0], [2, 1]], [[1, 0]]))


def interval(low, high):
    return Enclosure(fmpq(low), fmpq(high))


@pytest.mark.parametrize(
    ("objective", "smaller", "expected"),
    [
        (interval(4, 5), False, Diagnosis.CONSISTENT),
        (interval(4, 5), True, Diagnosis.BEATEN),
        (interval(5, 5), False, Diagnosis.CONSISTENT),  # equality is what a minimiser may reach
        (interval(5, 6), False, Diagnosis.UNDECIDED),
        (interval(4, 6), False, Diagnosis.UNDECIDED),
        (interval(fmpq(51, 10), 6), False, Diagnosis.ABOVE),
        (interval(6, 7), True, Diagnosis.ABOVE),
    ],
)
def test_diagnoses(objective, smaller, expected):
    assert diagnose(objective, fmpq(5), Point("p", exactly(fmpq(0)), ONE) if smaller else None) is expected


def test_a_smaller_objective_is_certain():
    points = [Point("zero", exactly(fmpq(9)), fmpq(0)), Point("run", interval(1, 2), fmpq(10))]
    assert find_smaller(interval(10, 11), fmpq(1, 10), points).name == "run"  # at most 3
    assert find_smaller(interval(10, 11), fmpq(10), points).name == "zero"
    assert find_smaller(interval(3, 11), fmpq(1, 10), points) is None  # perhaps equal


def test_zero():
    dataset = make_dataset(([[5, 5]], [[3, 4]]), ([[1, 1], [0, 1]], [[1, 0], [0, 2]]))
    zero = make_zero_point(dataset)
    assert (zero.loss, zero.squares) == (exactly(fmpq(25 + 4, 2)), 0)


def test_the_known_block_interpolates_its_data():
    dataset, teacher = make_taught_dataset(num_pairs=3, dimension=3, length=5, width=2, seed=7)
    assert enclose_loss(dataset, teacher, ONE) == exactly(fmpq(0))
    layer = teacher.blocks[0].feed_forward
    for pair in dataset.pairs:  # (I + W U) mean + W b
        mean = [sum(column, fmpq(0)) / 5 for column in zip(*map(coordinates_of, pair.input), strict=True)]
        image = layer.W * (layer.U * type(layer.W)(3, 1, mean) + layer.b)
        assert [coordinates_of(row) for row in pair.output] == [
            tuple(m + y for m, y in zip(mean, image.entries(), strict=True))
        ]
    weights = [*layer.W.entries(), *layer.U.entries(), *layer.b.entries()]
    assert all(0 <= x <= 1 for x in weights)
    assert dense_norm(teacher) == sum((x * x for x in weights), fmpq(0)) + 1 + 3  # eta^2 and |I|^2
    assert make_taught_dataset(3, 3, 5, 2, 7) == (dataset, teacher)
    assert make_taught_dataset(3, 3, 5, 2, 8) != (dataset, teacher)


def test_a_placed_interpolant_is_verified_padded_and_rescaled():
    dataset, teacher = make_taught_dataset(num_pairs=3, dimension=3, length=5)
    alone = place_interpolant(dataset, teacher, "known", Architecture(3, 1, 4, ONE))
    assert alone.given == dense_norm(teacher)
    assert alone.point.squares <= alone.given
    padded = Architecture(3, 4, 4, ONE)
    assert dense_norm(padded.place(teacher)) == dense_norm(teacher) + 2 * 3
    longer = place_interpolant(dataset, teacher, "known", padded)
    assert len(longer.transformer.blocks) == 4
    assert alone.point.squares < longer.point.squares <= alone.point.squares + 6
    assert enclose_loss(dataset, longer.transformer, ONE) == exactly(fmpq(0))


def test_what_does_not_interpolate_gives_no_threshold():
    dataset, teacher = make_taught_dataset(num_pairs=3, dimension=3, length=5)
    block = teacher.blocks[0]
    attention = replace(block.attention, rho=fmpq(1, 10**30))
    wrong = Transformer(3, (Block(block.feed_forward, attention),))
    architecture = Architecture(3, 1, 4, ONE)
    with pytest.raises(UsageError, match="refuted as an interpolant"):
        place_interpolant(dataset, wrong, "wrong", architecture)
    with pytest.raises(UsageError, match="no point of an architecture"):
        place_interpolant(dataset, teacher, "wide", Architecture(3, 1, 3, ONE))
    deep = replace(teacher, blocks=teacher.blocks * 2)
    with pytest.raises(UsageError, match="no point of an architecture"):
        place_interpolant(dataset, deep, "deep", architecture)
    with pytest.raises(UsageError, match="dimension 3"):
        place_interpolant(DATA, teacher, "other", Architecture(2, 1, 4, ONE))


@settings(max_examples=10)
@given(datasets(largest=3), st.sampled_from([fmpq(1, 2), fmpq(1)]))
def test_every_dataset_has_a_yardstick(dataset, temperature):
    found, architecture = find_interpolant(dataset, temperature, 4)
    assert enclose_loss(dataset, found.transformer, temperature) == exactly(fmpq(0))
    assert len(found.transformer.blocks) == architecture.blocks


def test_too_few_blocks_for_any_construction():
    with pytest.raises(UsageError, match="no construction gives a threshold"):
        find_interpolant(DATA, ONE, 4, blocks=1)


def test_hypotheses_are_checked():
    with pytest.raises(MalformedInput):
        find_interpolant(make_dataset(([[0, 0]], [[1, 1], [2, 2]])), ONE, 4)


WEIGHTS = {
    "eta": [0.5], "W": [[[1.0], [2.0]]], "U": [[[3.0, 4.0]]], "b": [[0.1]],
    "rho": [0.0], "A": [[[0.0, 1.0], [2.0, 3.0]]], "V": [[[1.0, 0.0], [0.0, -1.0]]],
}  # fmt: skip


def test_weights_that_are_no_numbers_are_refused():
    with pytest.raises(MalformedInput, match=r"nan is not a number \(training diverged"):
        transformer_of(WEIGHTS | {"b": [[float("nan")]]}, 2)


def test_weights_become_blocks():
    (block,) = transformer_of(WEIGHTS, 2).blocks
    assert block.feed_forward.b[0, 0] == exact_rational(0.1) != fmpq(1, 10)
    assert block.feed_forward.W.tolist() == [[1], [2]]
    assert block.attention.A.dense.tolist() == [[0, 1], [2, 3]]
    assert block.attention != SelfAttention()
    assert dense_norm(transformer_of(WEIGHTS, 2)) == fmpq(1, 4) + 5 + 25 + exact_rational(0.1) ** 2 + 14 + 2
    shapes = Architecture(2, 1, 1, ONE).shapes()
    assert Architecture(2, 1, 1, ONE).num_parameters == 15
    assert list(shapes) == list(WEIGHTS)
