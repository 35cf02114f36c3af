"""Chains: every point arrives, nothing placed moves, whatever the targets; and the promise check bites."""

from __future__ import annotations

import random

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.stages.box import PointBox
from interp.stages.chain import Chain, Ray, Reading, build_chain_from_zero, count_chain_from_zero, to_row
from interp.stages.hat import build_feed_forward
from proofs.kernel.counts import count_block
from proofs.kernel.errors import InternalFault
from proofs.kernel.hardmax import apply_feed_forward
from proofs.lemmas import chain as lemma


def point(*entries: int | fmpq) -> fmpq_mat:
    return fmpq_mat(len(entries), 1, list(entries))


def run(blocks, points):
    rows = [to_row(p) for p in points]
    for block in blocks:
        rows = apply_feed_forward(block.feed_forward, rows)
    return rows


@st.composite
def targets(draw, dimension):
    """Few values, so that targets repeat, lie on lines, and stand where points stand."""
    small = st.integers(-1, 2)
    return [point(*draw(st.lists(small, min_size=dimension, max_size=dimension)))
            for _ in range(draw(st.integers(1, 14)))]  # fmt: skip


@settings(max_examples=200)
@given(st.integers(2, 3).flatmap(targets), st.integers(1, 3), st.randoms(use_true_random=False))
def test_a_chain_from_zero_places_everything(wanted, scale, random):
    times = sorted(random.sample(range(1, 60), len(wanted)))
    times = [fmpq(t, scale) for t in times]
    d = wanted[0].nrows()
    points = [point(t, *range(1, d)) for t in times]  # stand anywhere: only coordinate 1 is read
    row = [1, *[0] * (d - 1)]
    blocks = build_chain_from_zero(times, wanted, row, fmpq(0), lambda i: points[i])
    assert run(blocks, points) == [to_row(y) for y in wanted]
    assert len(blocks) == count_chain_from_zero([to_row(y) for y in wanted]) <= max(1, -(-len(wanted) // 4))


@settings(max_examples=200)
@given(targets(2), st.lists(st.tuples(st.integers(3, 5), st.integers(-2, 2)), max_size=3), st.data())
def test_a_chain_leaves_what_was_placed_before(wanted, before, data):
    """Points on (t, t) or (2 t, -t), t < 0: coordinate 1 is below 0 there, above 2 on everything placed before."""
    direction = data.draw(st.sampled_from([point(1, 1), point(2, -1)]))
    wanted = [y + point(4, 0) for y in wanted]
    placed = [point(*p) for p in before]
    times = [fmpq(t) for t in range(-len(wanted), 0)]
    ray = Ray(point(0, 0), direction * -1)
    # the reading must grow along the order: walk from the point nearest to the placed ones outwards
    times = [-t for t in reversed(times)]
    chain = Chain(times, wanted, ray, PointBox(placed))
    row = [1 / ray.direction[0, 0], fmpq(0)]
    reading = Reading(row, fmpq(0), fmpq(1, 2)) if not placed else None
    blocks = chain.build_blocks(reading)
    assert run(blocks, [ray.at(t) for t in times]) == [to_row(y) for y in wanted]
    assert run(blocks, placed) == [to_row(p) for p in placed]
    assert len(blocks) == chain.num_new_blocks <= -(-len(wanted) // 4)


def test_targets_where_the_points_stand_already():
    times = [fmpq(t) for t in range(1, 10)]
    ray = Ray(point(0, 0), point(1, 2))
    chain = Chain(times, [ray.at(t) for t in times], ray, PointBox([]))
    blocks = chain.build_blocks(Reading([1, 0], fmpq(0), fmpq(0)))
    assert len(blocks) == 3
    assert run(blocks, [ray.at(t) for t in times]) == [to_row(ray.at(t)) for t in times]


def test_collinear_targets_in_even_steps_that_turn_back():
    # the curve hits each target by itself while the placed ones lie ahead on the ray: kinks must slide
    wanted = [point(x, 0) for x in (9, 8, 7, 6, 5, 9, 8, 7, 6, 5, 4, 3)]
    times = [fmpq(t) for t in range(1, len(wanted) + 1)]
    points = [point(t, 5) for t in times]
    blocks = build_chain_from_zero(times, wanted, [1, 0], fmpq(0), lambda i: points[i])
    assert run(blocks, points) == [to_row(y) for y in wanted]


def test_heights_do_not_grow_along_the_chain():
    rng = random.Random(3)
    times = [fmpq(10 * k + rng.randint(0, 9), 10) for k in range(400)]
    wanted = [point(*(rng.randint(-99, 99) for _ in range(3))) for _ in times]
    points = [point(t, 0, 0) for t in times]
    blocks = build_chain_from_zero(times, wanted, [1, 0, 0], fmpq(0), lambda i: points[i])
    bits = [count_block(block, 3).max_bits for block in blocks]
    assert len(blocks) == 100
    assert max(bits[50:]) <= max(bits[:50]) + 15
    assert max(bits) <= 80


def test_a_ray_that_meets_placed_targets_is_a_fault():
    times = [fmpq(t) for t in range(1, 6)]
    ray = Ray(point(0, 0), point(1, 0))
    chain = Chain(times, [ray.at(t) for t in times], ray, PointBox([point(7, 0)]))
    with pytest.raises(InternalFault):
        chain.build_blocks()


def test_the_promise_check_bites():
    layer = build_feed_forward(2, [([fmpq(2), fmpq(0)], [1, 0], fmpq(-1))])  # x_1 > 1 goes to 3 x_1 - 2
    good = lemma.check_promise(layer, [(2, 0, 1)], [(4, 0, 1)], ([fmpq(-3), fmpq(0)], [fmpq(1), fmpq(9)]))
    assert good is None
    moved = lemma.check_promise(layer, [(2, 0, 1)], [(5, 0, 1)], ([], []))
    assert "goes to (4, 0, 1)" in (moved or "")
    seen = lemma.check_promise(layer, [], [], ([fmpq(-3), fmpq(0)], [fmpq(2), fmpq(9)]))
    assert "unit 1 reaches 1" in (seen or "")
