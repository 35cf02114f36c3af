"""Certified radii hold for every changed input that is tried, evaluated by the independent evaluator's rules."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.api import build
from interp.execution.radius import change, find_largest, find_radius
from proofs.kernel.boxes import contains
from proofs.kernel.check import squared_hausdorff
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.hardmax import apply_block
from proofs.kernel.rational import DEFAULT_LIMITS, row_of
from proofs.kernel.statement import Pair, parse_temperatures
from proofs.robustness import apply_layer, hardmax_mean, is_certified, widen
from tests.strategies import datasets, feed_forwards, make_dataset, transformer_bytes, transformers

ZERO = parse_temperatures("0")
DATA = make_dataset(([(1, 2), (3, 4)], [(1, 0)]), ([(5, 1), (2, 2)], [(0, 1), (2, 1)]))


def images(model, pair):
    sequences = [list(pair.input)]
    for block in model.blocks:
        sequences = apply_block(block, sequences)
    return set(sequences[0])


def draw_near(pair, radius, rng):
    """Corners half of the time, points inside otherwise."""
    signs = [
        [rng.choice((-8, 8)) if rng.random() < 0.5 else rng.randint(-8, 8) for _ in row[:-1]] for row in pair.input
    ]
    return change(pair, signs, radius / 8)


@settings(max_examples=60)
@given(st.data())
def test_no_input_within_a_certified_radius_goes_elsewhere(data):
    dataset = data.draw(datasets(largest=4))
    model = decode_transformer(data.draw(transformers(dataset.dimension, max_blocks=3)))
    given_pair = dataset.pairs[0]
    pair = Pair(given_pair.input, tuple(images(model, given_pair)))
    radius = fmpq(1, data.draw(st.sampled_from([1, 4, 64, 1024])))
    distance = fmpq(data.draw(st.sampled_from([0, 1, 10, 1000])))
    if not is_certified(model, pair, radius, ZERO, distance, DEFAULT_LIMITS):
        return
    rng = random.Random(data.draw(st.integers(0, 99)))
    for _ in range(8):
        found = images(model, draw_near(pair, radius, rng))
        assert squared_hausdorff(found, set(pair.output)) <= distance * distance


@settings(max_examples=60)
@given(st.data())
def test_a_layer_maps_every_point_of_a_box_into_its_box(data):
    record = data.draw(feed_forwards(2))
    layer = decode_transformer(transformer_bytes(2, [{"ff": record}])).blocks[0].feed_forward
    row = row_of([fmpq(data.draw(st.integers(-4, 4))), fmpq(data.draw(st.integers(-4, 4)))])
    radius = fmpq(data.draw(st.integers(0, 6)), 4)
    (box,) = apply_layer(layer, [widen(row, radius)])
    rng = random.Random(data.draw(st.integers(0, 99)))
    for _ in range(10):
        x = [fmpq(c, row[-1]) + radius * fmpq(rng.randint(-8, 8), 8) for c in row[:-1]]
        heights = [
            max(sum((u * c for u, c in zip(us, x, strict=True)), b), fmpq(0))
            for us, b in zip(layer.U.tolist(), layer.b.entries(), strict=True)
        ]
        for c, ws in enumerate(layer.W.tolist()):
            y = layer.eta * x[c] + sum((w * h for w, h in zip(ws, heights, strict=True)), fmpq(0))
            assert abs(y - fmpq(box.center[c], box.center[-1])) <= fmpq(box.radius[c], box.radius[-1])


def test_softmax_outputs_stay_exact_near_the_input_and_not_far_from_it():
    model = build(DATA, "softmax")
    found = find_radius(DATA, model, 1, parse_temperatures("(0,1]"), fmpq(0), DEFAULT_LIMITS, tries=3)
    assert found.exact
    assert 0 < found.lower < found.upper
    assert not is_certified(model, DATA.pairs[1], found.upper, parse_temperatures("(0,1]"), fmpq(0), DEFAULT_LIMITS)


def test_an_identity_has_its_distance_as_radius():
    """T(X') = X': the Euclidean distance of corners is r sqrt(2), so r <= D / sqrt(2)."""
    model = decode_transformer(transformer_bytes(2, [{}]))
    dataset = make_dataset(([(0, 0)], [(0, 0)]))
    found = find_radius(dataset, model, 0, ZERO, fmpq(1), DEFAULT_LIMITS, tries=2)
    assert Fraction(22, 32) == Fraction(int(found.lower.p), int(found.lower.q))
    assert found.lower**2 * 2 <= 1 < found.upper**2 * 2


def test_a_wrong_pair_has_no_radius():
    model = decode_transformer(transformer_bytes(2, [{}]))
    found = find_radius(make_dataset(([(0, 0)], [(1, 0)])), model, 0, ZERO, fmpq(0), DEFAULT_LIMITS, tries=2)
    assert (found.exact, found.lower, found.upper) == (False, 0, None)


def test_a_close_choice_of_attention_is_not_certified():
    """Scores 4 and 3: a radius of 1/2 lets the other token win."""
    sa = {"rho": 0, "A": {"p": [1, 0], "q": [0, 1]}, "V": {"dense": [[0, 0], [0, 1]]}}
    model = decode_transformer(transformer_bytes(2, [{"sa": sa}]))
    pair = make_dataset(([(4, 1), (3, 1)], [(0, 1)])).pairs[0]
    assert is_certified(model, pair, fmpq(0), ZERO, fmpq(0), DEFAULT_LIMITS)
    assert not is_certified(model, pair, fmpq(1, 2), ZERO, fmpq(0), DEFAULT_LIMITS)


def test_the_mean_of_a_doubtful_choice_is_anywhere_between():
    """Scores 4 and 3 up to 1: the second coordinate of the mean is 0 or 8, not 4."""
    sa = {"rho": 0, "A": {"p": [1, 0], "q": [1, 0]}, "V": {"dense": [[0, 0], [0, 1]]}}
    model = decode_transformer(transformer_bytes(2, [{"sa": sa}]))
    pair = make_dataset(([(4, 0), (3, 8)], [(0, 0)])).pairs[0]
    assert not is_certified(model, pair, fmpq(1), ZERO, fmpq(6), DEFAULT_LIMITS)
    assert is_certified(model, pair, fmpq(1), ZERO, fmpq(9), DEFAULT_LIMITS)


def test_every_target_must_be_reached():
    model = decode_transformer(transformer_bytes(2, [{}]))
    pair = make_dataset(([(0, 0)], [(0, 0), (10, 0)])).pairs[0]
    assert not is_certified(model, pair, fmpq(1, 2), ZERO, fmpq(1), DEFAULT_LIMITS)


def test_what_makes_no_question_is_refused():
    model = decode_transformer(transformer_bytes(2, [{}]))
    pair = DATA.pairs[0]
    with pytest.raises(UsageError, match="negative"):
        is_certified(model, pair, fmpq(-1), ZERO, fmpq(0), DEFAULT_LIMITS)
    wide = make_dataset(([(1, 2, 3)], [(1, 2, 3)])).pairs[0]
    with pytest.raises(MalformedInput, match="dimension"):
        is_certified(model, wide, fmpq(0), ZERO, fmpq(0), DEFAULT_LIMITS)
    causal = decode_transformer(transformer_bytes(2, [{"sa": {"rho": 1, "V": {"beta": 1}, "mask": "causal"}}]))
    with pytest.raises(UsageError, match="mask"):
        is_certified(causal, pair, fmpq(0), ZERO, fmpq(0), DEFAULT_LIMITS)


def test_bisection_finds_the_largest_of_five_bits():
    assert find_largest(lambda radius: radius <= fmpq(100)) == 100
    assert find_largest(lambda radius: radius <= fmpq(101)) == 100
    assert find_largest(lambda radius: radius == 0) == 0


def test_a_tie_at_the_edge_of_a_box_may_be_chosen():
    class Table:
        def differences(self, i):
            return 0, [fmpq(0), fmpq(1)], [fmpq(0), fmpq(1)]

        def hull(self, tokens):
            return list(tokens)

    assert hardmax_mean(Table(), 0) == [0, 1]


@pytest.mark.parametrize("center", [fmpq(-99, 100), fmpq(-1, 3), fmpq(0), fmpq(1, 3), fmpq(99, 100)])
def test_a_line_beside_a_unit_covers_both_ends_and_the_kink(center):
    layer = (
        decode_transformer(transformer_bytes(1, [{"ff": {"eta": 0, "W": [[1]], "U": [[1]], "b": [0]}}]))
        .blocks[0]
        .feed_forward
    )
    (box,) = apply_layer(layer, [widen(row_of([center]), fmpq(1))])
    assert all(contains(box, row_of([max(x, fmpq(0))])) for x in (center - 1, fmpq(0), center + 1))


def test_exactness_needs_every_target():
    pair = Pair((row_of([fmpq(1)]),), (row_of([fmpq(1)]), row_of([fmpq(2)])))
    assert not is_certified(decode_transformer(transformer_bytes(1, [])), pair, fmpq(0), ZERO, fmpq(0), DEFAULT_LIMITS)
