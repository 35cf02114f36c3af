"""The certified loss: by hand, against an independent evaluation, and enclosures that hold what they must."""

from __future__ import annotations

import itertools

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.execution.approximate import approx_run, find_arithmetic
from interp.execution.distance import Enclosure, enclose_distance
from interp.tikhonov.loss import enclose_loss, exactly
from proofs.kernel.boxes import Box
from proofs.kernel.decode import decode_transformer
from proofs.kernel.model import Block, SelfAttention, SquareMatrix, Transformer, identity_feed_forward
from proofs.kernel.rational import row_of
from tests.reference import evaluator
from tests.strategies import datasets, make_dataset, pairs_of, transformers

IDENTITY = Transformer(2, (Block(identity_feed_forward(2)),))


def squared_hausdorff(left, right):
    """From the definition."""
    table = {(x, y): sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for x in left for y in right}
    far = [min(table[x, y] for y in right) for x in left] + [min(table[x, y] for x in left) for y in right]
    return max(far)


def test_by_hand():
    dataset = make_dataset(([[0, 0], [3, 4]], [[0, 0]]), ([[1, 0]], [[1, 0], [1, 2]]), ([[1, 1]], [[1, 1]]))
    expected = exactly(fmpq(25 + 4 + 0, 3))  # a token without a target, a target without a token, nothing
    assert enclose_loss(dataset, IDENTITY, fmpq(0)) == expected
    assert enclose_loss(dataset, IDENTITY, fmpq(1)) == expected


@given(st.data())
def test_the_loss_at_temperature_0_is_exact(data):
    dataset = data.draw(datasets(largest=4))
    file = data.draw(transformers(dataset.dimension, max_blocks=2))
    pairs = pairs_of(dataset)
    *_, last = evaluator.run(file, [tokens for tokens, _ in pairs])
    expected = sum(squared_hausdorff(x, y) for x, (_, y) in zip(last, pairs, strict=True)) / len(pairs)
    found = enclose_loss(dataset, decode_transformer(file), fmpq(0))
    assert found.is_exact
    assert found.lower == fmpq(expected.numerator, expected.denominator)


def test_uniform_attention_is_exact_at_every_temperature():
    mean = Transformer(2, (Block(identity_feed_forward(2), SelfAttention(fmpq(0), V=SquareMatrix(fmpq(1)))),))
    dataset = make_dataset(([[0, 0], [1, 0], [0, 1]], [[0, 0]]))
    assert enclose_loss(dataset, mean, fmpq(1, 7)) == exactly(fmpq(2, 9))


def test_softmax_is_enclosed():
    A = SquareMatrix(dense=fmpq_mat([[fmpq(1, 3), 1], [0, fmpq(1, 2)]]))
    layer = SelfAttention(fmpq(1, 5), A, SquareMatrix(fmpq(1, 2)))
    transformer = Transformer(2, (Block(identity_feed_forward(2), layer),) * 2)
    dataset = make_dataset(([[0, 0], [1, 2], [2, -1]], [[0, 0], [1, 1]]), ([[1, 1], [0, 1]], [[2, 0]]))
    found = enclose_loss(dataset, transformer, fmpq(2, 3))
    total, arithmetic = 0, find_arithmetic("mpmath:60")
    for (tokens, targets), pair in zip(pairs_of(dataset), dataset.pairs, strict=True):
        exact = [[fmpq(x.numerator, x.denominator) for x in token] for token in tokens]
        *_, last = approx_run(transformer, exact, arithmetic, fmpq(2, 3))
        total += squared_hausdorff([tuple(x) for x in last], targets)
        assert len(pair.output) == len(targets)
    assert not found.is_exact
    assert arithmetic.number(found.lower) <= total / 2 <= arithmetic.number(found.upper)
    assert found.upper - found.lower < found.upper / 10**6


@settings(max_examples=60)
@given(st.data())
def test_boxes_enclose_every_choice_of_points(data):
    small = st.integers(-3, 3)
    point = st.tuples(small, small)
    centers = data.draw(st.lists(point, min_size=1, max_size=3))
    radii = [data.draw(st.tuples(st.integers(0, 2), st.integers(0, 2))) for _ in centers]
    targets = data.draw(st.lists(point, min_size=1, max_size=3))
    boxes = [Box((*c, 1), (*r, 1)) for c, r in zip(centers, radii, strict=True)]
    found = enclose_distance(boxes, [row_of([fmpq(x) for x in y]) for y in targets])
    for signs in itertools.product((-1, 0, 1), repeat=2 * len(centers)):
        moved = [
            (c[0] + signs[2 * i] * r[0], c[1] + signs[2 * i + 1] * r[1])
            for i, (c, r) in enumerate(zip(centers, radii, strict=True))
        ]
        assert found.lower <= squared_hausdorff(moved, targets) <= found.upper
    if not any(map(any, radii)):
        assert found.is_exact


def test_enclosures_add_and_scale():
    a, b = Enclosure(fmpq(1), fmpq(2)), Enclosure(fmpq(3), fmpq(5))
    assert a + b == Enclosure(fmpq(4), fmpq(7))
    assert a * fmpq(1, 2) == Enclosure(fmpq(1, 2), fmpq(1))
    assert not a.is_exact


@pytest.mark.parametrize("temperature", [fmpq(0), fmpq(1)])
def test_repeated_tokens_count_in_the_mean(temperature):
    mean = Transformer(2, (Block(identity_feed_forward(2), SelfAttention(fmpq(0), V=SquareMatrix(fmpq(1)))),))
    dataset = make_dataset(([[0, 0], [0, 0], [3, 0]], [[1, 0]]))
    assert enclose_loss(dataset, mean, temperature) == exactly(fmpq(0))
