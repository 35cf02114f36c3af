"""The softmax construction: certified on (0, 1] for every dataset, within 2M + N blocks, and no further than it is."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.audit.temperature import find_largest_temperature
from interp.constructions.softmax import build_softmax
from interp.execution.approximate import approx_run, find_arithmetic
from proofs.balls.attention import mean_at
from proofs.kernel.boxes import point
from proofs.kernel.check import check
from proofs.kernel.errors import Status
from proofs.kernel.model import SquareMatrix, Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, coordinates_of
from proofs.kernel.softmax import apply_block_boxes, mean_up_to
from proofs.kernel.statement import make_claim
from tests.strategies import choose_dataset, datasets, make_dataset


def build(dataset, seed=0, temperature=None):
    return Transformer(dataset.dimension, tuple(build_softmax(dataset, seed, temperature).blocks))


def status(dataset, transformer, temperatures):
    budget = 2 * dataset.num_outputs + max(dataset.num_pairs, 1)
    return check(dataset, transformer, make_claim(dataset, temperatures=temperatures, max_blocks=budget)).status


@settings(max_examples=60)
@given(datasets(largest=8))
def test_every_dataset_is_certified_at_zero_and_up_to_one(dataset):
    assert status(dataset, build(dataset), "[0,1]") is Status.VERIFIED


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_datasets(part):
    for seed in range(100 * part, 100 * part + 100):
        dataset = choose_dataset(random.Random(seed).randint)
        assert status(dataset, build(dataset, seed), "[0,1]") is Status.VERIFIED, seed


EXAMPLE = make_dataset(([[0, 0], [1, 2], [3, 1]], [[5, 5], [1, 0]]), ([[0, 0], [1, 2]], [[7, 5]]))


@pytest.mark.parametrize("temperature", ["1/1000", "1", "1000000"])
def test_the_wanted_temperature_is_certified(temperature):
    transformer = build(EXAMPLE, temperature=fmpq(*map(int, (temperature + "/1").split("/")[:2])))
    assert status(EXAMPLE, transformer, f"(0,{temperature}]") is Status.VERIFIED
    assert status(EXAMPLE, transformer, temperature) is Status.VERIFIED  # and by balls


def test_one_step_above_the_certified_temperature_is_undecided_with_its_place():
    transformer = build(EXAMPLE)
    found = find_largest_temperature(EXAMPLE, transformer)
    assert found.certified >= 1
    assert found.certified < found.failing <= found.certified * (1 + fmpq(1, 1024))
    claim = make_claim(EXAMPLE, temperatures=f"(0,{found.failing}]")
    verdict = check(EXAMPLE, transformer, claim)
    assert verdict.status is Status.UNDECIDED
    assert found.reason in verdict.obligations[-1].detail
    assert "block" in found.reason
    assert status(EXAMPLE, transformer, f"(0,{found.certified}]") is Status.VERIFIED


def scale_attention(transformer, factor):
    blocks = []
    for block in transformer.blocks:
        A = replace(block.attention.A, scale=block.attention.A.scale * factor)
        blocks.append(replace(block, attention=replace(block.attention, A=A)))
    return Transformer(transformer.dimension, tuple(blocks))


@pytest.mark.parametrize("factor", [fmpq(1, 1000), fmpq(3)])
def test_scaling_attention_scales_the_certified_temperature(factor):
    transformer = build(EXAMPLE)
    scaled = scale_attention(transformer, factor)
    found, other = (find_largest_temperature(EXAMPLE, t).certified for t in (transformer, scaled))
    step = 1 + fmpq(1, 256)
    assert found * factor / step <= other <= found * factor * step
    expected = Status.VERIFIED if factor > 1 else Status.UNDECIDED
    assert status(EXAMPLE, scaled, "(0,1]") is expected


def test_a_changed_weight_is_refuted():
    transformer = build(EXAMPLE)
    last = transformer.blocks[-1]
    W = last.feed_forward.W
    changed = W + type(W)(W.nrows(), W.ncols(), [fmpq(1, 1000)] + [0] * (W.nrows() * W.ncols() - 1))
    blocks = (*transformer.blocks[:-1], replace(last, feed_forward=replace(last.feed_forward, W=changed)))
    assert status(EXAMPLE, Transformer(2, blocks), "(0,1]") in (Status.REFUTED, Status.UNDECIDED)
    assert status(EXAMPLE, Transformer(2, blocks), "1") is Status.REFUTED


def test_uniform_attention_answers_every_temperature():
    dataset = make_dataset(([[0, 0], [2, 4]], [[1, 2]]))
    transformer = build(dataset)
    uniform = transformer.blocks[0].attention
    assert SquareMatrix() != uniform.A
    mean = replace(transformer.blocks[-1], attention=replace(uniform, A=SquareMatrix()))
    mean = replace(mean, feed_forward=type(mean.feed_forward)(fmpq(1), *_empty()))
    found = find_largest_temperature(dataset, Transformer(2, (mean,)))
    assert found.all_positive


def _empty():
    from proofs.kernel.model import identity_feed_forward

    layer = identity_feed_forward(2)
    return layer.W, layer.U, layer.b


def test_tokens_far_apart_and_close_together():
    dataset = make_dataset(
        ([["1e20", 0], ["1e-20", 0], [0, 0]], [[1, 1], [2, 2]]),
        ([["1e-20", "2e-20"], ["1e20", "1e20"]], [[1, 1]]),
    )
    assert status(dataset, build(dataset), "[0,1]") is Status.VERIFIED


@pytest.mark.parametrize("name", ["mpmath:200", "float64"])
def test_running_at_a_temperature_agrees(name):
    transformer, arithmetic = build(EXAMPLE), find_arithmetic(name)
    for pair in EXAMPLE.pairs:
        tokens = [coordinates_of(row) for row in pair.input]
        *_, final = approx_run(transformer, tokens, arithmetic, fmpq(1, 2))
        targets = [[int(x.p) / int(x.q) for x in coordinates_of(row)] for row in pair.output]
        for token in final:
            assert min(max(abs(float(a) - b) for a, b in zip(token, t, strict=True)) for t in targets) < 1e-6


def overlap(ball, box):
    """Whether ball and box have a point in common."""
    columns = (coordinates_of(row) for row in (ball.center, ball.radius, box.center, box.radius))
    return all(abs(c - C) <= r + R for c, r, C, R in zip(*columns, strict=True))


def inside(ball, box):
    """Whether the ball lies in the box enlarged by the box's own radius; a point may only meet the same point."""
    columns = (coordinates_of(row) for row in (ball.center, ball.radius, box.center, box.radius))
    return all(abs(c - C) + r <= 2 * R for c, r, C, R in zip(*columns, strict=True))


@settings(max_examples=25)
@given(datasets(largest=5), st.sampled_from([fmpq(1), fmpq(1, 7), fmpq(1, 1000)]))
def test_balls_lie_in_the_boxes_block_by_block(dataset, tau):
    boxes = balls = [[point(row) for row in pair.input] for pair in dataset.pairs]
    for block in build(dataset).blocks:
        boxes = apply_block_boxes(block, boxes, mean_up_to(fmpq(1)), DEFAULT_LIMITS)
        balls = apply_block_boxes(block, balls, mean_at(tau, 128), DEFAULT_LIMITS)
        for many, one in zip(boxes, balls, strict=True):
            assert all(overlap(ball, box) for ball, box in zip(one, many, strict=True))
            assert all(inside(ball, box) for ball, box in zip(one, many, strict=True))
