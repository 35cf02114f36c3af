"""What is drawn is what a plain evaluator computes; samples are evenly chosen and noted."""

from __future__ import annotations

from fractions import Fraction

from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import interp
from interp.datasets.examples import make_plane
from interp.pictures.axes import LARGEST, list_directions, make_axes
from interp.pictures.motion import MAX_LAYERS, MAX_LENGTH, choose_blocks, choose_pairs, follow, spread
from interp.transformers.ledger import decode_phases
from proofs.kernel.decode import decode_transformer
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Temperatures
from tests.reference.evaluator import run
from tests.strategies import fractions_of, loose_sequences, make_dataset, to_fractions, transformer_bytes, transformers

ZERO = Temperatures(zero=True)


@given(st.lists(st.integers(), max_size=50), st.integers(1, 60))
def test_spread_keeps_order_and_both_ends(items, count):
    chosen = spread(items, count)
    assert len(chosen) == min(len(items), count)
    if items and count > 1:
        assert (chosen[0], chosen[-1]) == (items[0], items[-1])
    assert spread(list(range(len(items))), count) == sorted(set(spread(list(range(len(items))), count)))


@given(st.integers(0, 5000), st.lists(st.integers(-10, 6000), max_size=300), st.integers(8, 200))
def test_blocks_hold_both_ends_within_the_bound(num_blocks, marks, most):
    chosen = choose_blocks(num_blocks, marks, most)
    assert chosen == sorted(set(chosen))
    assert {0, num_blocks} <= {*chosen} <= {*range(num_blocks + 1)}
    assert len(chosen) <= most
    if len(marks) <= most // 2 - 2:
        assert {*chosen} >= {k for k in marks if 0 <= k <= num_blocks}


@given(st.lists(st.integers(1, 1500), min_size=1, max_size=80), st.data(), st.integers(1, 700))
def test_pairs_fit_and_the_wrong_one_is_among_them(sizes, data, most):
    first = data.draw(st.none() | st.integers(0, len(sizes) - 1))
    chosen = choose_pairs(sizes, first, most)
    assert all(sizes[j] <= MAX_LENGTH for j in chosen)
    assert sum(sizes[j] for j in chosen) <= most or len(chosen) == 1
    assert (first in chosen) or first is None or sizes[first] > MAX_LENGTH
    assert chosen or min(sizes) > MAX_LENGTH


@given(st.data(), st.integers(2, 4))
def test_positions_are_those_of_a_plain_evaluator(data, dimension):
    source = data.draw(transformers(dimension, plain=False))
    sequences = data.draw(loose_sequences(dimension))
    dataset = make_dataset(*((tokens, tokens[:1]) for tokens in sequences))
    motion = follow(dataset, decode_transformer(source), ZERO)
    after = {frame.block: frame for frame in motion.frames if frame.layer == "block"}
    states = list(run(source, sequences))
    assert len(after) == len(states)
    for k, state in enumerate(states):
        assert [to_fractions(row) for row in after[k].tokens] == [tuple(t) for tokens in state for t in tokens]
        assert after[k].num_places == sum(len(set(map(tuple, tokens))) for tokens in state)
        reached = sum(tuple(tokens[0]) in set(map(tuple, now)) for tokens, now in zip(sequences, state, strict=True))
        assert after[k].num_reached == reached


def test_every_target_is_reached_at_the_end_and_a_state_before_each_attention_is_kept():
    dataset = make_plane()
    transformer = interp.build(dataset)
    motion = follow(dataset, transformer, ZERO, decode_phases(transformer.header))
    assert motion.notes == []
    assert motion.frames[-1].num_reached == len(motion.targets) == 5
    halves = [frame.block for frame in motion.frames if frame.layer == "feed-forward"]
    assert set(halves) <= {head.block for head in motion.attention}
    assert halves


def test_centers_of_boxes_end_on_the_targets():
    dataset = make_plane()
    transformer = interp.build(dataset, "softmax")
    motion = follow(dataset, transformer, Temperatures(zero=False, upper=fmpq(1)))
    assert motion.temperature == "(0, 1]"
    assert motion.frames[-1].num_reached == 5


def test_a_large_case_is_sampled_and_says_so():
    pairs = [([[j, k] for k in range(12)], [[j, -1]]) for j in range(60)]
    dataset = make_dataset(*pairs)
    attention = {"sa": {"rho": 1, "A": {"alpha": 1}, "V": {"beta": "1/8"}}}
    transformer = decode_transformer(transformer_bytes(2, [attention] * 150))
    motion = follow(dataset, transformer, ZERO, max_tokens=100, wrong=31)
    assert 31 in motion.pairs
    assert len(motion.tokens) <= 100
    assert len(motion.frames) <= 100
    assert len(motion.attention) == MAX_LAYERS
    text = " ".join(motion.notes)
    assert "8 of 60 sequences are drawn" in text
    assert "of 150 blocks" in text
    assert f"{MAX_LAYERS} of the 150 layers" in text


def test_numbers_that_grow_end_the_picture_with_a_note():
    growing = {"ff": {"eta": 2}, "sa": {"rho": f"{3**400}/{2**600}"}}
    dataset = make_dataset(([[1, 0], [0, 1]], [[1, 1]]))
    motion = follow(dataset, decode_transformer(transformer_bytes(2, [growing] * 200)), ZERO)
    assert any("The picture ends after block" in note for note in motion.notes)
    assert 0 < motion.frames[-1].block < 200


def test_sequences_that_are_too_long_are_left_out():
    dataset = make_dataset(([[k, 0] for k in range(MAX_LENGTH + 1)], [[0, 0]]))
    motion = follow(dataset, Transformer(2, ()), ZERO)
    assert (motion.pairs, motion.frames) == ([], [])
    assert "none is drawn" in motion.notes[0]


@settings(max_examples=30)
@given(loose_sequences(3))
def test_axes_are_linear_functions_rounded_once(sequences):
    dataset = make_dataset(*((tokens, tokens[:1]) for tokens in sequences))
    unit = {"ff": {"eta": 1, "W": [[1], [0], [0]], "U": [[1, -2, 3]], "b": [0]}}
    transformer = decode_transformer(transformer_bytes(3, [unit, unit]))
    motion = follow(dataset, transformer, ZERO)
    axes = {axis.name: axis for axis in make_axes(motion, transformer)}
    assert list(axes) == ["x1", "x2", "x3", "PCA 1", "PCA 2", "u·x of blocks 1-2"]
    tokens = [token for rows in fractions_of(motion_inputs(dataset)) for token in rows]
    assert axes["x2"].frames[0] == [float(token[1]) for token in tokens]
    wanted = [float((t[0] - 2 * t[1] + 3 * t[2]) / Fraction(3)) for t in tokens]
    assert axes["u·x of blocks 1-2"].frames[0] == wanted


def motion_inputs(dataset):
    return [pair.input for pair in dataset.pairs]


def test_numbers_beyond_floats_are_cut_off():
    dataset = make_dataset(([[10**400, 0], [-(10**400), 1]], [[0, 0]]))
    motion = follow(dataset, Transformer(2, ()), ZERO)
    assert make_axes(motion, Transformer(2, ()))[0].frames[0] == [LARGEST, -LARGEST]


def test_main_directions_see_the_plane_that_tokens_lie_in():
    dataset = make_dataset(([[x, x, y, 0] for x in range(-3, 4) for y in (-1, 1)], [[0, 0, 0, 0]]))
    axes = make_axes(follow(dataset, Transformer(4, ()), ZERO), Transformer(4, ()))
    first, second = axes[4], axes[5]
    assert max(map(abs, first.frames[0])) > 5.9  # (1, 1, 0, 0), largest entry 1
    assert {round(abs(v), 3) for v in second.frames[0]} == {1.0}


def test_directions_are_named_after_their_blocks():
    one, two = ([[1, 1]], [[1, 2]])
    layers = [{"ff": {"eta": 1, "W": [[1], [0]], "U": u, "b": [0]}} for u in (one, two, one, [[0, 3]])]
    found = list_directions(decode_transformer(transformer_bytes(2, layers)))
    assert [name for name, _ in found] == ["u·x of block 1 and 1 more", "u·x of block 2"]
