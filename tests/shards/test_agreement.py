"""A verdict in shards is the verdict on all pairs at once, whatever the shards."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interp
from interp.api import build
from interp.transformers.encode import encode_transformer
from proofs.__main__ import choose_passes
from proofs.kernel.check import check
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import InternalFault, LimitReached, MalformedInput, Status
from proofs.kernel.rational import DEFAULT_LIMITS
from proofs.kernel.statement import Dataset, Pair, make_claim
from proofs.shards.plan import check_cover, find_gaps, plan_shards
from proofs.shards.question import decode_pairs, digest_of, encode_pairs
from proofs.shards.worker import answer_question
from tests.engine.cases import boxed
from tests.shards.shards import check_sharded, outcome, subject_of
from tests.strategies import (
    choose_dataset,
    datasets,
    loose_sequences,
    make_dataset,
    to_row,
    transformer_bytes,
    transformers,
)

SEEN: Counter[object] = Counter()
COUNTS = (1, 2, 10**6)


def assert_same(dataset, content, claim, paranoid, limits=DEFAULT_LIMITS):
    whole = outcome(check, dataset, decode_transformer(content), claim, limits, None, choose_passes(paranoid))
    for count in COUNTS:
        assert outcome(check_sharded, dataset, content, claim, count, paranoid, limits) == whole
    SEEN[whole[0] if isinstance(whole, tuple) else whole.status] += 1


def spoil(dataset: Dataset, rng: random.Random) -> Dataset:
    """The same inputs, some outputs exchanged."""
    pairs = list(dataset.pairs)
    for _ in range(rng.randint(1, 3)):
        j, k = rng.randrange(len(pairs)), rng.randrange(len(pairs))
        pairs[j] = Pair(pairs[j].input, pairs[k].output)
    return Dataset(dataset.dimension, tuple(pairs))


@pytest.mark.parametrize("paranoid", [False, True])
@pytest.mark.parametrize(
    ("construction", "temperatures"), [("hardmax", "0"), ("softmax", "(0,1]"), ("softmax", "[0,1]")]
)
def test_built_transformers(construction, temperatures, paranoid):
    rng = random.Random(1)
    for _ in range(2):
        dataset = choose_dataset(rng.randint, 3)
        content = encode_transformer(build(dataset, construction))
        for asked in (dataset, spoil(dataset, rng)):
            assert_same(asked, content, make_claim(asked, temperatures=temperatures), paranoid)


@pytest.mark.parametrize("paranoid", [False, True])
@settings(max_examples=40)
@given(data=st.data())
def test_arbitrary_transformers(paranoid, data):
    d = data.draw(st.integers(2, 3))
    sequences = [tuple(map(to_row, tokens)) for tokens in data.draw(loose_sequences(d))]
    wanted = data.draw(st.permutations(sequences))
    dataset = Dataset(d, tuple(map(Pair, sequences, wanted)))
    content = data.draw(transformers(d))
    temperatures = data.draw(st.sampled_from(["0", "(0,1]", "[0,2]", "(0,oo)", "1/3"]))
    assert_same(dataset, content, make_claim(dataset, temperatures=temperatures), paranoid)


@pytest.mark.parametrize("paranoid", [False, True])
def test_boxes_that_stop_in_different_blocks(paranoid):
    for seed in range(30):
        d, sequences, blocks = boxed(random.Random(seed).randint)
        rows = [tuple(map(to_row, tokens)) for tokens in sequences * 2]
        dataset = Dataset(d, tuple(Pair(x, x) for x in rows))
        content = transformer_bytes(d, blocks)
        assert_same(dataset, content, make_claim(dataset, temperatures="(0,1]"), paranoid)


@pytest.mark.parametrize("paranoid", [False, True])
def test_limits_are_met_where_the_kernel_meets_them(paranoid):
    for seed in range(30):
        d, sequences, blocks = boxed(random.Random(seed).randint)
        dataset = Dataset(d, tuple(Pair(x, x) for x in (tuple(map(to_row, tokens)) for tokens in sequences)))
        content = transformer_bytes(d, blocks)
        limits = replace(DEFAULT_LIMITS, max_height=seed % 20 + 1)
        for temperatures in ("0", "(0,1]"):
            assert_same(dataset, content, make_claim(dataset, temperatures=temperatures), paranoid, limits)


@pytest.mark.parametrize("paranoid", [False, True])
def test_a_limit_is_met_in_the_block_where_the_kernel_meets_it(paranoid):
    """The engine runs the three shifts as one step."""
    shifts = [{"ff": {"eta": 1, "W": [[x], [0]], "U": [[0, 0]], "b": [1]}} for x in (1, 1, 2**9)]
    dataset, transformer = make_dataset(([(0, 0)], [(2, 0)])), decode_transformer(transformer_bytes(2, shifts))
    limits = replace(DEFAULT_LIMITS, max_height=8)
    question = subject_of(dataset, transformer, paranoid, limits)
    question = replace(question, name="hardmax", temperatures="0", readout="all")
    answer = answer_question(question, dataset, 0, transformer, limits)
    assert (answer.status, answer.block, answer.question) == (Status.LIMIT, 3, question.digest)


def test_every_outcome_was_seen():
    assert min(SEEN[key] for key in (Status.VERIFIED, Status.REFUTED, Status.UNDECIDED, LimitReached)) > 5


@settings(max_examples=40)
@given(datasets())
def test_pairs_travel_as_the_text_of_their_digest(dataset):
    text = encode_pairs(dataset.dimension, dataset.pairs)
    assert digest_of(text) == dataset.digest
    assert decode_pairs(text) == dataset


def test_long_integers_travel():
    dataset = make_dataset(([[10**6000, -1]], [[1, 10**5000 + 1]]))
    assert decode_pairs(encode_pairs(2, dataset.pairs)) == dataset


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"interp-dataset/1 2 1\n",
        b"interp-dataset/1 2 2\n0,1,1;1,1,1\n",
        b"interp-dataset/1 2 1\n0,1,1;1,1,1",
        b"interp-dataset/1 2 1\n0,2,2;1,1,1\n0,0,1;1,1,1\n",
        b"interp-dataset/1 2 1\n+0,1,1;1,1,1\n",
        b"interp-dataset/1 2 1\n00,1,1;1,1,1\n",
        b"interp-dataset/1 2 1\n0,1,1;1,1,1;1,1,1\n",
        b"interp-dataset/1 2 1\n0, 1,1;1,1,1\n",
    ],
)
def test_other_texts_are_no_pairs(text):
    with pytest.raises((InternalFault, MalformedInput)):
        decode_pairs(text)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 40), st.data())
def test_shards_fill_the_gaps(lengths, count, data):
    edges = sorted(data.draw(st.sets(st.integers(0, len(lengths)), max_size=6)))
    done = list(zip(edges[::2], edges[1::2], strict=False))
    shards = plan_shards(find_gaps(done, len(lengths)), lengths, count)
    check_cover(sorted([*done, *shards]), len(lengths))
    assert len(shards) <= count + len(done) + 1


@pytest.mark.parametrize(
    "ranges", [[], [(0, 2)], [(1, 3)], [(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 3), (3, 3)], [(0, 4)]]
)
def test_what_is_no_cover(ranges):
    with pytest.raises(InternalFault):
        check_cover(ranges, 3)


def test_nothing_is_no_cover():
    with pytest.raises(InternalFault):
        check_cover([], 0)


def test_the_api(tmp_path):
    dataset = make_dataset(*(([[k, 1], [k, 2]], [[k, 0]]) for k in range(5)))
    transformer = interp.build(dataset)
    whole = interp.verify(transformer, dataset)
    first = interp.verify(transformer, dataset, resume=tmp_path / "journal")
    assert first == replace(whole, parts=(*whole.parts, "shards"))
    again = interp.verify(transformer, dataset, resume=tmp_path / "journal")
    assert again == replace(first, notes=again.notes)
    assert again.notes[-1].startswith("resumed: 5 of 5 pairs (hardmax) answered by an earlier run")
