"""Boxes: points of a box go into its image, radii cancel exactly, unknown signs are undecided."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.kernel.boxes import Box, Undecided, apply_feed_forward_boxes, contains, point, round_up
from proofs.kernel.decode import decode_transformer
from proofs.kernel.hardmax import apply_feed_forward
from proofs.kernel.rational import coordinates_of
from tests.strategies import feed_forwards, to_row, transformer_bytes

F = Fraction


def layer(dimension, record):
    return decode_transformer(transformer_bytes(dimension, [{"ff": record}])).blocks[0].feed_forward


def box(center, radius):
    return Box(to_row(center), to_row(radius))


@st.composite
def boxed_points(draw, dimension):
    """A box and points of it, corners among them."""
    small = st.fractions(-4, 4, max_denominator=4)
    center = draw(st.lists(small, min_size=dimension, max_size=dimension))
    radius = draw(
        st.lists(st.sampled_from([F(0), F(0), F(1, 64), F(1, 4), F(1)]), min_size=dimension, max_size=dimension)
    )
    places = st.sampled_from([F(-1), F(-1, 3), F(0), F(1, 2), F(1)])
    points = [
        [c + draw(places) * r for c, r in zip(center, radius, strict=True)] for _ in range(draw(st.integers(1, 5)))
    ]
    return box(center, radius), [to_row(p) for p in points]


@st.composite
def cases(draw):
    dimension = draw(st.integers(1, 3))
    return layer(dimension, draw(feed_forwards(dimension))), draw(boxed_points(dimension))


@settings(max_examples=400)
@given(cases())
def test_points_of_a_box_stay_in_its_image(case):
    ff, (start, points) = case
    try:
        image = apply_feed_forward_boxes(ff, [start])[0]
    except Undecided:
        return
    for moved in apply_feed_forward(ff, points):
        assert contains(image, moved)


def test_points_are_mapped_exactly():
    ff = layer(2, {"eta": 2, "W": [[1], [3]], "U": [[1, 1]], "b": [-1]})
    rows = [to_row([F(1, 3), F(2)]), to_row([F(-5), F(1)])]
    assert apply_feed_forward_boxes(ff, [point(row) for row in rows]) == [
        point(r) for r in apply_feed_forward(ff, rows)
    ]


def test_an_interval_becomes_a_point_where_the_weights_cancel():
    # x_1 in [2, 4] goes to (7, 5): x + (5, 5) - relu(x_1 - 2) e_1 at x_1 >= 2
    ff = layer(2, {"eta": 1, "W": [[5, -1], [5, 0]], "U": [[0, 0], [1, 0]], "b": [1, -2]})
    image = apply_feed_forward_boxes(ff, [box([3, 0], [1, 0])])[0]
    assert image.is_point
    assert coordinates_of(image.center) == (7, 5)


@pytest.mark.parametrize("shift", [F(-3), F(-11, 4)])
def test_a_sign_that_changes_on_the_box_is_undecided(shift):
    ff = layer(2, {"eta": 1, "W": [[1], [0]], "U": [[1, 0]], "b": [str(shift)]})
    with pytest.raises(Undecided) as fault:
        apply_feed_forward_boxes(ff, [box([0, 0], [1, 1]), box([3, 0], [F(1, 2), 0])])
    assert fault.value.token == 1
    assert "unit 0" in fault.value.detail


@pytest.mark.parametrize(("shift", "center", "radius"), [(-2, 3, 1), (-4, 3, 1)])
def test_a_kink_on_the_edge_of_the_box_is_decided(shift, center, radius):
    ff = layer(2, {"eta": 1, "W": [[1], [0]], "U": [[1, 0]], "b": [shift]})
    image = apply_feed_forward_boxes(ff, [box([center, 0], [radius, 0])])[0]
    assert coordinates_of(image.radius)[0] == (2 if shift == -2 else 1)


@given(st.lists(st.fractions(0, 10**6, max_denominator=10**40), min_size=1, max_size=4))
def test_radii_are_rounded_up_to_short_dyadics(values):
    rounded = coordinates_of(round_up([fmpq(v.numerator, v.denominator) for v in values]))
    for value, new in zip(values, rounded, strict=True):
        assert (
            fmpq(value.numerator, value.denominator)
            <= new
            <= fmpq(value.numerator, value.denominator) * (1 + fmpq(1, 2**30))
        )
        assert (new == 0) == (value == 0)
        assert int(new.q) & (int(new.q) - 1) == 0


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (F(0), F(0)),
        (F(1), F(1)),
        (F(2**32 + 1), F(2**32 + 1)),
        (F(2**40 + 1), F(2**40 + 2**8)),
        (F(1, 3), F((2**33 + 1) // 3, 2**33)),
        (F(1, 3 * 2**40), F((2**33 + 1) // 3, 2**73)),
    ],
)
def test_radii_are_rounded_up_to_32_bits(value, rounded):
    (result,) = coordinates_of(round_up([fmpq(value.numerator, value.denominator)]))
    assert F(int(result.p), int(result.q)) == rounded
