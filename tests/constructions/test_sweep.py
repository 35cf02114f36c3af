"""A thousand seeded datasets, each built by one of the policies, verified, and compared token by token.

The first fifth runs by default; INTERP_SLOW=1 adds the rest.
"""

from __future__ import annotations

import random

import pytest

from interp.stages.separation import POLICIES
from tests.constructions.build import check_everything
from tests.strategies import choose_dataset

NUM_DATASETS, NUM_FAST, CHUNK = 1000, 200, 25


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(start, marks=pytest.mark.slow if start >= NUM_FAST else ())
        for start in range(0, NUM_DATASETS, CHUNK)
    ],
)
def test_seeded_datasets(start):
    for seed in range(start, start + CHUNK):
        dataset = choose_dataset(random.Random(seed).randint)
        check_everything(dataset, seed, POLICIES[seed % len(POLICIES)])


def test_the_sweep_meets_every_kind_of_dataset():
    drawn = [choose_dataset(random.Random(seed).randint) for seed in range(NUM_FAST)]
    assert {dataset.dimension for dataset in drawn} == {2, 3, 4, 5, 6}
    assert {dataset.num_pairs for dataset in drawn} >= set(range(1, 13))

    def some(predicate):
        assert sum(map(predicate, drawn)) >= 10

    some(lambda data: data.num_pairs == 1)
    some(lambda data: data.max_length == 1)
    some(lambda data: any(len(pair.input) == len(set(pair.output)) > 1 for pair in data.pairs))
    some(lambda data: len({frozenset(pair.output) for pair in data.pairs}) < data.num_pairs)  # equal targets
    some(lambda data: all(set(pair.input) == set(pair.output) for pair in data.pairs))
    some(lambda data: data.num_tokens > len({t for pair in data.pairs for t in pair.input}))  # shared tokens
    some(lambda data: any(set(a.input) < set(b.input) for a in data.pairs for b in data.pairs))
    some(lambda data: max(abs(x) for pair in data.pairs for row in pair.input for x in row[:-1]) > 10**18)
    some(lambda data: max(row[-1] for pair in data.pairs for row in pair.input) > 10**18)
