"""The baseline without attention: one hat a token, and no dataset whose sequences share a token."""

from __future__ import annotations

import pytest

from interp.constructions.bounds import count_resnet_bound
from interp.constructions.resnet import build_resnet
from interp.transformers.encode import encode_transformer
from proofs.kernel.errors import MalformedInput, Status, UsageError
from proofs.kernel.model import Transformer
from tests.constructions.build import judge
from tests.constructions.compact_cases import continuous, random_dataset
from tests.strategies import make_dataset


def build_and_verify(dataset, seed=0):
    ledger = build_resnet(dataset, seed)
    assert all(block.attention.V.is_zero(dataset.dimension) for block in ledger.blocks)
    data = encode_transformer(Transformer(dataset.dimension, tuple(ledger.blocks)))
    verdict = judge(dataset, data, temperatures="[0,oo)", max_parameters=10**9, max_blocks=10**6)
    assert verdict.status is Status.VERIFIED, verdict.failed
    return len(ledger.blocks)


@pytest.mark.parametrize("seed", range(60))
def test_random_datasets_are_interpolated_or_share_a_token(seed):
    dataset = random_dataset(seed, largest=6)
    tokens = [row for pair in dataset.pairs for row in set(pair.input)]
    if len(set(tokens)) < len(tokens):
        with pytest.raises(UsageError, match="share a token"):
            build_resnet(dataset)
    else:
        assert build_and_verify(dataset, seed) == count_resnet_bound(len(tokens))


def test_one_block_a_token():
    assert build_and_verify(continuous(6, 4, 3, 2)) == 24


def test_targets_far_beyond_the_tokens_do_not_meet_later_hats():
    dataset = make_dataset(([[0, 0], [1, 0]], [[1000, 1000], [-1000, 7]]), ([[0, 1]], [[0, 0]]))
    assert build_and_verify(dataset) == 3


def test_too_many_targets_are_refused():
    with pytest.raises(MalformedInput, match="2 different output tokens for 1"):
        build_resnet(make_dataset(([[1, 1]], [[0, 1], [0, 2]])))
