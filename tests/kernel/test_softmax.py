"""The softmax mean in boxes: high-precision evaluations at temperatures of the claim always lie inside."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.balls.attention import mean_at
from proofs.kernel.boxes import Box, contains, point
from proofs.kernel.check import check, compare_boxes
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import Status
from proofs.kernel.rational import coordinates_of
from proofs.kernel.softmax import apply_attention_boxes, mean_up_to
from proofs.kernel.statement import Readout, make_claim, parse_temperatures
from tests.strategies import attentions, make_dataset, to_row, transformer_bytes

F = Fraction
DIGITS = 80
SLACK = mpmath.mpf(10) ** -60


def attention(dimension, record):
    return decode_transformer(transformer_bytes(dimension, [{"sa": record}])).blocks[0].attention


def evaluate(layer, tokens, tau):
    """SA at temperature tau on Fractions, in mpmath: written from the definition."""
    with mpmath.workdps(DIGITS):
        d = len(tokens[0])
        heads = [
            [
                [[mpmath.mpf(int(x.p)) / int(x.q) for x in row] for row in matrix.to_dense(d).tolist()]
                for matrix in (head.A, head.V)
            ]
            for head in [layer, *layer.further]
        ]
        rho = mpmath.mpf(int(layer.rho.p)) / int(layer.rho.q)
        X = [[mpmath.mpf(x.numerator) / x.denominator for x in token] for token in tokens]
        result = []
        for i, x in enumerate(X):
            seen, moved = (X[: i + 1] if layer.causal else X), [rho * a for a in x]
            for A, V in heads:
                query = [sum(a * b for a, b in zip(row, x, strict=True)) for row in A]
                scores = [sum(a * b for a, b in zip(query, z, strict=True)) for z in seen]
                weights = [mpmath.exp((s - max(scores)) * tau.denominator / tau.numerator) for s in scores]
                mean = [sum(w * z[c] for w, z in zip(weights, seen, strict=True)) / sum(weights) for c in range(d)]
                moved = [moved[c] + sum(v * m for v, m in zip(V[c], mean, strict=True)) for c in range(d)]
            result.append(moved)
        return result


def inside(box, token):
    with mpmath.workdps(DIGITS):
        return all(
            abs(mpmath.mpf(int(c.p)) / int(c.q) - x) <= mpmath.mpf(int(r.p)) / int(r.q) + SLACK
            for c, r, x in zip(coordinates_of(box.center), coordinates_of(box.radius), token, strict=True)
        )


@st.composite
def cases(draw):
    """An attention layer, boxes and a point of each box."""
    d = draw(st.integers(1, 3))
    small = st.fractions(-3, 3, max_denominator=3)
    centers = draw(st.lists(st.lists(small, min_size=d, max_size=d), min_size=1, max_size=4))
    radii = st.sampled_from([F(0), F(0), F(1, 1000), F(1, 8)])
    boxes, points = [], []
    for center in centers:
        radius = [draw(radii) for _ in range(d)]
        boxes.append(Box(to_row(center), to_row(radius)))
        places = [draw(st.sampled_from([F(-1), F(0), F(1, 2), F(1)])) for _ in range(d)]
        points.append([c + p * r for c, p, r in zip(center, places, radius, strict=True)])
    return attention(d, draw(attentions(d, plain=draw(st.booleans())))), boxes, points


@settings(max_examples=300)
@given(cases(), st.sampled_from([F(1), F(1, 8), F(5)]), st.sampled_from([F(1), F(1, 3), F(1, 50)]))
def test_every_temperature_of_the_interval_lies_in_the_boxes(case, upper, part):
    layer, boxes, points = case
    image = apply_attention_boxes(layer, boxes, mean_up_to(fmpq(upper.numerator, upper.denominator)))
    for box, token in zip(image, evaluate(layer, points, upper * part), strict=True):
        assert inside(box, token)
    everywhere = apply_attention_boxes(layer, boxes, mean_up_to(None))
    for box, token in zip(everywhere, evaluate(layer, points, upper * part * 1000), strict=True):
        assert inside(box, token)


@settings(max_examples=300)
@given(cases(), st.sampled_from([F(1), F(1, 8), F(5), F(1, 200)]), st.sampled_from([64, 200]))
def test_one_temperature_lies_in_the_balls_and_balls_meet_the_boxes(case, tau, bits):
    layer, boxes, points = case
    exact = fmpq(tau.numerator, tau.denominator)
    balls = apply_attention_boxes(layer, boxes, mean_at(exact, bits))
    for box, token in zip(balls, evaluate(layer, points, tau), strict=True):
        assert inside(box, token)
    for ball, box in zip(balls, apply_attention_boxes(layer, boxes, mean_up_to(exact)), strict=True):
        columns = (coordinates_of(row) for row in (ball.center, ball.radius, box.center, box.radius))
        for c, r, C, R in zip(*columns, strict=True):
            assert abs(c - C) <= r + R  # they overlap


def test_equal_scores_give_the_exact_average_at_every_temperature():
    rows = [to_row([0, 1]), to_row([2, 5]), to_row([1, 0])]
    uniform = attention(2, {"rho": 0, "V": {"beta": 1}})
    for mean in (mean_up_to(None), mean_up_to(fmpq(1)), mean_at(fmpq(3), 64)):
        assert apply_attention_boxes(uniform, [point(r) for r in rows], mean) == [point(to_row([1, 2]))] * 3
    # exact ties of the two best, the third far below: the average of the two, up to the third's tiny weight
    tied = attention(2, {"rho": 0, "A": {"p": [1, 0], "q": [1, 0]}, "V": {"beta": 1}})
    rows = [to_row([8, 1]), to_row([8, 3]), to_row([-8, 0])]
    image = apply_attention_boxes(tied, [point(r) for r in rows], mean_up_to(fmpq(1)))
    assert coordinates_of(image[0].center) == (8, 2)
    assert 0 < coordinates_of(image[0].radius)[0] < fmpq(1, 2**120)


def test_boxes_with_uniform_attention_average_their_radii():
    uniform = attention(2, {"rho": 0, "V": {"beta": 1}})
    boxes = [Box(to_row([0, 0]), to_row([1, 0])), Box(to_row([4, 2]), to_row([F(1, 2), 0]))]
    image = apply_attention_boxes(uniform, boxes, mean_up_to(None))[0]
    assert coordinates_of(image.center) == (2, 1)
    assert coordinates_of(image.radius) == (fmpq(3, 4), 0)


DATASET = make_dataset(([[0, 0], [1, 1]], [[5, 5]]))


def answer(*boxes):
    return compare_boxes(DATASET, [list(boxes)], Readout.ALL).status


def test_a_target_that_merely_lies_in_the_enclosure_proves_nothing():
    tiny = Box(to_row([5, 5]), to_row([F(1, 10**100), 0]))
    assert answer(tiny, point(to_row([5, 5]))) is Status.UNDECIDED
    assert answer(point(to_row([5, 5])), point(to_row([5, 5]))) is Status.VERIFIED
    assert answer(point(to_row([5, 5])), point(to_row([5, F(51, 10)]))) is Status.REFUTED
    assert answer(point(to_row([5, 5])), Box(to_row([7, 5]), to_row([1, 0]))) is Status.REFUTED


def test_a_target_that_no_box_reaches_refutes():
    dataset = make_dataset(([[0, 0], [1, 1]], [[5, 5], [6, 6]]))
    boxes = [Box(to_row([5, 5]), to_row([F(1, 8), 0]))] * 2
    assert compare_boxes(dataset, [boxes], Readout.ALL).status is Status.REFUTED


def test_an_unanswered_pair_refutes():
    assert compare_boxes(DATASET, [], Readout.ALL).status is Status.REFUTED


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0", "0"),
        ("(0,1]", "(0, 1]"),
        ("[0, 1/2]", "[0, 1/2]"),
        ("(0,oo)", "(0, oo)"),
        ("[0,inf)", "[0, oo)"),
        ("1.5", "3/2"),
    ],
)
def test_temperatures_are_read(text, shown):
    assert str(parse_temperatures(text)) == shown


def test_hard_choices_at_a_temperature_where_they_are_not_made():
    # hardmax picks the larger token; softmax at any positive temperature does not reach it
    data = transformer_bytes(2, [{"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}])
    dataset = make_dataset(([[2, 2], [1, 1]], [[2, 2]]))
    verdicts = {
        text: check(dataset, decode_transformer(data), make_claim(dataset, temperatures=text)).status
        for text in ("0", "(0,1]", "1", "[0,1]", "(0,oo)")
    }
    assert verdicts.pop("0") is Status.VERIFIED
    # one temperature: the enclosure excludes the target
    assert verdicts.pop("1") is Status.REFUTED
    # all small ones: it comes as close as you like, and the box cannot tell
    assert set(verdicts.values()) == {Status.UNDECIDED}
    assert contains(Box(to_row([1, 0]), to_row([1, 0])), to_row([2, 0]))
