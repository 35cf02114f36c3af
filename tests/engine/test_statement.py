"""Datasets as arrays say what the kernel's datasets say; counts and hypotheses likewise."""

from __future__ import annotations

import random
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.datasets.arrays import meets_hypotheses
from interp.datasets.doctor import find_violations
from interp.datasets.npz import encode_dataset_npz, read_npz, read_npz_arrays
from interp.stages.tokens import TokenState
from proofs.engine.packed import count_packed
from proofs.engine.state import Handover
from proofs.engine.statement import ArrayDataset, ArrayPairs, Side, input_state, pack_dataset
from proofs.kernel.counts import count_transformer
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import MalformedInput
from proofs.kernel.rational import DEFAULT_LIMITS
from proofs.kernel.statement import Dataset, Pair
from proofs.lemmas import leaders
from tests.strategies import datasets, loose_sequences, make_dataset, to_row, transformers

FACTS = ("dimension", "num_pairs", "num_outputs", "num_tokens", "num_listed", "max_length", "digest")


def loose_dataset(data: st.DataObject) -> Dataset:
    """Any pairs: repeated tokens, equal pairs, small and large numbers."""
    inputs, outputs = (data.draw(loose_sequences(2)) for _ in range(2))
    sides = [[tuple(to_row(t) for t in tokens) for tokens in side] for side in (inputs, outputs)]
    pairs = [Pair(x, y) for x, y in zip(*sides, strict=False)]
    return Dataset(2, tuple(pairs + pairs[: data.draw(st.integers(0, len(pairs)))]))


@settings(max_examples=40)
@given(st.data())
def test_a_packed_dataset_is_the_same_statement(data):
    dataset = loose_dataset(data)
    packed = pack_dataset(dataset)
    assert isinstance(packed, ArrayDataset) == all(
        abs(x) < 2**63 for pair in dataset.pairs for row in (*pair.input, *pair.output) for x in row
    )
    assert [getattr(packed, name) for name in FACTS] == [getattr(dataset, name) for name in FACTS]
    assert tuple(packed.pairs) == tuple(dataset.pairs)
    assert packed == dataset
    assert dataset == packed
    assert packed.pairs[-1] == dataset.pairs[-1]
    assert tuple(packed.pairs[1:]) == tuple(dataset.pairs[1:])


@given(datasets(largest=5))
def test_archives_are_read_alike_with_and_without_arrays(dataset):
    packed = pack_dataset(dataset)
    if not isinstance(packed, ArrayDataset):
        return
    data = encode_dataset_npz(dataset)
    assert encode_dataset_npz(packed) == data
    assert read_npz_arrays(data, DEFAULT_LIMITS) == read_npz(data, DEFAULT_LIMITS).to_dataset() == dataset


def test_numerators_are_brought_to_lowest_terms():
    values = np.array([[-(2**63), 2**62], [3, 6], [0, 0], [5, 7]])
    side = Side.from_arrays(values, np.array([2**61, 9, 4, 1]), np.array([1, 3]))
    assert side.rows.tolist() == [[-4, 2, 1], [1, 2, 3], [0, 0, 1], [5, 7, 1]]
    assert side.starts.tolist() == [0, 1, 4]
    with pytest.raises(ValueError, match="read-only"):
        side.rows[0, 0] = 1


def test_the_smallest_number_of_64_bits_over_a_denominator():
    dataset = make_dataset(([(Fraction(-(2**63), 3), 1)], [(Fraction(-(2**63), 5), 1)]))
    packed = read_npz_arrays(encode_dataset_npz(dataset), DEFAULT_LIMITS)
    assert packed == dataset
    assert packed.digest == dataset.digest


@pytest.mark.parametrize(
    ("dimension", "lengths", "message"), [(1, [1, 1], "below 2"), (2, [2, 0], "empty"), (3, [1, 1], "fit together")]
)
def test_arrays_that_make_no_dataset_are_refused(dimension, lengths, message):
    side = Side.from_arrays(np.ones((2, max(dimension, 2) - (dimension == 3)), dtype=np.int64), None, np.array(lengths))
    with pytest.raises(MalformedInput, match=message):
        ArrayDataset(dimension, ArrayPairs(side, side))


@settings(max_examples=40)
@given(st.data())
def test_the_hypotheses_hold_for_arrays_where_they_hold(data):
    dataset = loose_dataset(data)
    packed = pack_dataset(dataset)
    if isinstance(packed, ArrayDataset):
        assert meets_hypotheses(packed) == (find_violations(dataset) == [])


@settings(max_examples=60)
@given(st.integers(2, 4).flatmap(transformers))
def test_counts_are_those_of_the_kernel(data):
    transformer = decode_transformer(data)
    assert count_packed(transformer) == count_transformer(transformer)


def test_the_leader_promise_on_arrays_is_the_promise_on_rows():
    broken = set()
    for seed in range(1500):
        rng = random.Random(seed)
        d, sizes = 2, []
        sequences = []
        for _ in range(rng.randint(1, 2)):
            top = [rng.randint(4, 6) for _ in range(d)]
            size = rng.randint(1, 3)
            tokens = {tuple(top)} if rng.random() < 0.9 else set()
            tokens |= {tuple(rng.randint(1, 4) for _ in range(d)) for _ in range(rng.randint(0, 2))}
            tokens |= {
                tuple(-rng.randint(0 if rng.random() < 0.1 else 1, 9) for _ in range(d)) for _ in range(size - 1)
            }
            if tokens:
                sequences.append([to_row(token) for token in sorted(tokens)])
                sizes.append(size)
        if not sequences:
            continue
        dataset = Dataset(d, tuple(Pair(tuple(rows), tuple(rows)) for rows in sequences))
        state = TokenState.from_dataset(dataset)
        on_rows = leaders.check_promise(sequences, sizes)
        on_arrays = leaders.check_arrays(state.array, state.starts, sizes)
        assert (on_rows is None) == (on_arrays is None), (sequences, on_rows, on_arrays)
        broken.add(None if on_rows is None else on_rows.translate(str.maketrans("", "", "0123456789")))
    assert len(broken) == 5


def test_a_state_without_repeats_is_made_of_arrays_and_one_with_repeats_merges_them():
    plain = make_dataset(([(1, 2), ("1/2", 4)], [(0, 0)]), ([(5, 5)], [(0, 0)]))
    twice = make_dataset(([(1, 2), (1, 2)], [(0, 0)]))
    for dataset in (plain, twice):
        state, packed = TokenState.from_dataset(dataset), TokenState.from_dataset(pack_dataset(dataset))
        assert state.sequences() == packed.sequences()
        assert state.multiplicity == packed.multiplicity
        assert (state.denominator, state.sequence) == (packed.denominator, packed.sequence)


@pytest.mark.parametrize("pack", [pack_dataset, lambda dataset: dataset], ids=["arrays", "pairs"])
def test_unrelated_denominators_are_left_alone_before_they_fill_the_memory(pack):
    """K tokens over K primes would be K numbers of K times as many bits."""
    primes = [p for p in range(10**6, 10**6 + 30_000) if all(p % q for q in range(2, 1003))]
    dataset = pack(make_dataset(*(([(Fraction(1, p), 1)], [(1, 1)]) for p in primes)))
    tracemalloc.start()
    with pytest.raises(Handover):
        input_state(dataset, DEFAULT_LIMITS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
