"""Signatures: different numbers for different sequences, with as few kinks as the bound says, and layers that write them."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.stages.intervals import find_scale
from interp.stages.kinks import PRIME, find_kinks
from interp.stages.signature import (
    build_oblique_layers,
    build_signature_layers,
    count_signature_blocks,
    find_signatures,
    project,
)
from interp.stages.tokens import TokenState
from proofs.kernel.errors import MalformedInput
from proofs.kernel.hardmax import apply_feed_forward
from proofs.kernel.rational import coordinates_of
from proofs.lemmas import intervals as intervals_lemma
from proofs.lemmas import signature as lemma
from tests.constructions.compact_cases import local_pairs, symmetric_subsets
from tests.strategies import datasets, make_dataset


def value_of(signature, row):
    """s by its definition."""
    z = sum((u * x for u, x in zip(signature.direction, coordinates_of(row), strict=True)), signature.offset)
    return z + sum((c * max(z - b, fmpq(0)) for b, c in signature.kinks), fmpq(0))


def check_signature(dataset, signature, separate=True):
    means = []
    for pair, numerators in zip(dataset.pairs, signature.numerators, strict=True):
        values = sorted(value_of(signature, row) for row in set(pair.input))
        assert values == [fmpq(x, signature.denominator) for x in numerators]
        assert values[0] > 0
        assert len(set(values)) == len(values) or not separate
        means.append(sum((value_of(signature, row) for row in pair.input), fmpq(0)) / len(pair.input))
    assert means == list(signature.means)
    assert len(set(means)) == len(means)
    assert len(signature.kinks) <= max(dataset.num_pairs - 1, 0)


@settings(max_examples=80)
@given(datasets(largest=8), st.booleans(), st.integers(1, 3))
def test_signatures_keep_their_definition(dataset, separate, count):
    state = TokenState.from_dataset(dataset)
    found = list(find_signatures(state, random.Random(0), separate, count))
    assert 1 <= len(found) <= count
    for signature in found:
        check_signature(dataset, signature, separate)


@pytest.mark.parametrize("dataset", [symmetric_subsets(4, 1), local_pairs(1), local_pairs(3), local_pairs(7)])
@pytest.mark.parametrize("constant", [(0, 0), (-7, 0), (3, fmpq(1, 2))])
def test_layers_write_the_value(dataset, constant):
    [signature] = find_signatures(TokenState.from_dataset(dataset), random.Random(0))
    check_signature(dataset, signature)
    constant = [fmpq(x) for x in constant]
    layers = build_signature_layers(signature, constant)
    assert len(layers) == count_signature_blocks(len(signature.kinks), any(x != 0 for x in constant))
    rows = [row for pair in dataset.pairs for row in pair.input]
    images = rows
    for layer in layers:
        assert layer.width <= 4
        images = apply_feed_forward(layer, images)
    for row, image in zip(rows, images, strict=True):
        assert list(coordinates_of(image)) == [value_of(signature, row) + constant[0], constant[1]]


@pytest.mark.parametrize("dataset", [symmetric_subsets(4, 1), local_pairs(5), local_pairs(9)])
def test_layers_without_projection_turn_the_projection_into_the_value(dataset):
    [signature] = find_signatures(TokenState.from_dataset(dataset), random.Random(0))
    layers = build_oblique_layers(signature)
    assert len(layers) == -(-len(signature.kinks) // 4)
    rows = images = [row for pair in dataset.pairs for row in pair.input]
    for layer in layers:
        images = apply_feed_forward(layer, images)
    for row, image in zip(rows, images, strict=True):
        read = sum((u * x for u, x in zip(signature.direction, coordinates_of(image), strict=True)), fmpq(0))
        assert read == value_of(signature, row) - signature.offset


def test_copies_count_in_the_mean():
    dataset = make_dataset(([[0, 0], [1, 0], [1, 0]], [[1, 1]]), ([[0, 0], [1, 0]], [[2, 2]]))
    [signature] = find_signatures(TokenState.from_dataset(dataset), random.Random(0))
    check_signature(dataset, signature)


def test_kinks_are_found_exactly_when_residues_cannot_tell():
    # all differences are multiples of the prime that scores are taken modulo
    p = PRIME
    dataset = make_dataset(([[-2 * p, 0], [2 * p, 0]], [[1, 1]]), ([[-p, 0], [p, 0]], [[2, 2]]))
    values = project(TokenState.from_dataset(dataset), [1, 0])
    kinks, after = find_kinks(values)
    assert len(kinks) == 1
    assert len(set(after.means())) == 2


def test_equal_sequences_are_refused():
    dataset = make_dataset(([[0, 0], [1, 0]], [[1, 1]]), ([[1, 0], [0, 0]], [[2, 2]]))
    with pytest.raises(MalformedInput, match="two input sequences are equal"):
        list(find_signatures(TokenState.from_dataset(dataset), random.Random(0)))


@settings(max_examples=60)
@given(datasets(largest=8))
def test_the_scale_of_the_intervals_is_the_smallest(dataset):
    signature = next(find_signatures(TokenState.from_dataset(dataset), random.Random(0)))
    scale = find_scale(signature)
    order = signature.by_mean()
    ends = [(signature.value(j, 0), signature.value(j, -1)) for j in order]
    means = [signature.means[j] for j in order]
    assert intervals_lemma.check_promise(ends, means, scale) is None
    smaller = {fmpq(0): None}.get(scale, scale / 2)
    if smaller is not None:
        assert intervals_lemma.check_promise(ends, means, fmpq(0)) is not None
        excess = max(a[1] - b[0] for a, b in pairwise(ends))
        assert excess == 0 or intervals_lemma.check_promise(ends, means, smaller) is not None


@pytest.mark.parametrize(
    ("values", "means", "message"),
    [
        ([[0, 1], [2]], [1, 2], "not positive"),
        ([[1, 1], [2]], [1, 2], "same value"),
        ([[1, 2], [2]], [2, 2], "2 sequences have 1"),
    ],
)
def test_the_promise_check_bites(values, means, message):
    values = [[fmpq(x) for x in rising] for rising in values]
    assert message in (lemma.check_promise(values, [fmpq(x) for x in means], True) or "")
    overlapping = intervals_lemma.check_promise([(fmpq(1), fmpq(3)), (fmpq(2), fmpq(4))], [fmpq(1), fmpq(2)], fmpq(1))
    assert overlapping is not None
