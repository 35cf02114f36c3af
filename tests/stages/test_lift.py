"""Lifts: a supporting line with its margin for every sequence that needs one, in blocks that write just that function."""

from __future__ import annotations

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.constructions.bounds import count_digits
from interp.stages.lift import plan_kink_lift, plan_parabola_lift
from proofs.kernel.hardmax import apply_feed_forward
from proofs.kernel.rational import coordinates_of, row_of
from proofs.lemmas import lift as lemma

rationals = st.builds(fmpq, st.integers(-400, 400), st.sampled_from([1, 2, 3, 7, 10, 10**12]))


@st.composite
def cases(draw):
    """Different means, a non-empty choice of them, a spread."""
    means = list(dict.fromkeys(draw(st.lists(rationals, min_size=1, max_size=9))))
    chosen = draw(st.sets(st.integers(0, len(means) - 1), min_size=1))
    return means, sorted(chosen), draw(rationals.map(abs))


def check_lines(means, chosen, spread, found):
    """The statement of the lemma, for all pairs and not only for neighbours."""
    assert set(found.slopes) == set(chosen)
    for j in chosen:
        assert found.slopes[j] <= 0
        for i, g in enumerate(means):
            if i != j:
                line = found.heights[j] + found.slopes[j] * (g - means[j])
                assert found.heights[i] - line > spread


def run(blocks, rows):
    for block in blocks:
        rows = apply_feed_forward(block.feed_forward, rows)
    return [list(coordinates_of(row)) for row in rows]


@settings(max_examples=150)
@given(cases(), st.integers(-50, 0))
def test_kinks_lift(case, shift):
    means, chosen, spread = case
    found = plan_kink_lift(means, chosen, spread)
    check_lines(means, chosen, spread, found)
    assert len(found.kinks) == len(set(chosen) - {min(range(len(means)), key=lambda j: means[j])})
    blocks = found.build_blocks(2, fmpq(shift))
    assert len(blocks) == found.num_blocks == -(-len(found.kinks) // 4)
    images = run(blocks, [row_of([fmpq(3), g + shift]) for g in means])
    assert images == [[3 + f, g + shift] for f, g in zip(found.heights, means, strict=True)]


@settings(max_examples=150)
@given(cases())
def test_a_parabola_lifts(case):
    means, chosen, spread = case
    found = plan_parabola_lift(means, chosen, spread)
    check_lines(means, chosen, spread, found)
    assert found.num_blocks <= -(-count_digits(means) // 2)
    times = [(g - found.start) * found.speed for g in means]
    assert all(0 <= t <= 1 for t in times)
    blocks = found.build_blocks(3, fmpq(0))
    assert len(blocks) == found.num_blocks
    images = run(blocks, [row_of([fmpq(3), g, t]) for g, t in zip(means, times, strict=True)])
    assert images == [[3 + f, g, 0] for f, g in zip(found.heights, means, strict=True)]


def test_the_parabola_is_shorter_for_many_sequences():
    means = [fmpq(k * k, 7) for k in range(60)]
    assert (
        plan_parabola_lift(means, range(60), fmpq(1)).num_blocks < plan_kink_lift(means, range(60), fmpq(1)).num_blocks
    )


@pytest.mark.parametrize(
    ("points", "lines", "message"),
    [
        ([(0, 0), (1, 2), (2, 3)], {}, "convex"),
        ([(0, 4), (1, 1), (2, 0)], {1: 1}, "rises"),
        ([(0, 4), (1, 1), (2, 0)], {1: -1}, "place 2"),
        ([(0, 4), (1, 1), (2, 0)], {1: fmpq(-3, 2)}, None),
        ([(0, 4), (1, 1), (2, 0)], {0: -4}, None),
        ([(0, 4), (1, 1), (2, 0)], {0: -3}, "place 1"),
    ],
)
def test_the_promise_check_bites(points, lines, message):
    numbers = [(fmpq(x), fmpq(y)) for x, y in points]
    found = lemma.check_promise(numbers, {p: fmpq(s) for p, s in lines.items()}, fmpq(1, 4))
    assert (found is None) if message is None else (message in (found or ""))
