"""Random datasets: small dimensions, shared and repeated tokens, numbers of every size."""

from __future__ import annotations

from flint import fmpq
from hypothesis import strategies as st

from proofs.kernel.rational import row_of
from proofs.kernel.statement import Dataset, Pair

SMALL = st.integers(-3, 3)
LONG = st.one_of(SMALL, st.integers(-(2**80), 2**80))


@st.composite
def rationals(draw, numerators=LONG, max_denominator=2**70):
    return fmpq(draw(numerators), draw(st.one_of(st.just(1), st.integers(1, max_denominator))))


@st.composite
def datasets(draw, numbers=None, max_pairs=4):
    """Any dataset, hypotheses or not."""
    numbers = rationals() if numbers is None else numbers
    dimension = draw(st.integers(2, 3))
    tokens = st.lists(numbers, min_size=dimension, max_size=dimension).map(row_of)
    sequences = st.lists(tokens, min_size=1, max_size=4).map(tuple)
    pairs = st.lists(st.builds(Pair, sequences, sequences), min_size=1, max_size=max_pairs)
    return Dataset(dimension, tuple(draw(pairs)))


def tiny_datasets():
    """Datasets of very few distinct tokens, so that repetitions and equal sequences are common."""
    return datasets(numbers=st.sampled_from([fmpq(0), fmpq(1, 2)]), max_pairs=5)


def short_datasets():
    """Datasets whose rows fit into 64 bits."""
    return datasets(numbers=rationals(st.integers(-(2**30), 2**30), 2**10))
