"""Answers of shards put together: what the kernel meets first, and what is not found again."""

from __future__ import annotations

import pytest

from proofs.kernel.check import Obligation
from proofs.kernel.errors import InternalFault, LimitReached, Status
from proofs.shards.answer import ShardAnswer
from proofs.shards.merge import merge
from tests.strategies import make_dataset

DATASET = make_dataset(*(([(k, 1)], [(k, 0)]) for k in range(4)))


def limit(block: int) -> ShardAnswer:
    return ShardAnswer("", 0, 2, "", "", Status.LIMIT, block=block, parts=("kernel",), error=("too large", "", ""))


def undecided(block: int) -> ShardAnswer:
    return ShardAnswer("", 2, 4, "", "", Status.UNDECIDED, pair=3, block=block, parts=("kernel",))


def alone(pair: int) -> Obligation:
    return Obligation("softmax", Status.UNDECIDED, "block 3, pair 0, token 0: an open sign")


@pytest.mark.parametrize("block", [3, 4])
def test_signs_come_before_the_limit_of_their_block(block):
    found = merge(DATASET, "softmax", [limit(block), undecided(3)], alone)
    assert (found.status, found.detail) == (Status.UNDECIDED, "block 3, pair 3, token 0: an open sign")


def test_the_limit_of_an_earlier_block_comes_first():
    with pytest.raises(LimitReached, match="too large"):
        merge(DATASET, "softmax", [limit(2), undecided(3)], alone)


def test_a_sign_that_is_open_in_another_block_is_not_found_again():
    honest = ShardAnswer("", 0, 2, "", "", Status.VERIFIED, parts=("kernel",))
    with pytest.raises(InternalFault, match="not found again"):
        merge(DATASET, "softmax", [honest, undecided(2)], alone)


def test_a_pair_that_stayed_open_is_not_found_wrong():
    wrong = ShardAnswer("", 0, 4, "", "", Status.REFUTED, pair=3, parts=("kernel",))
    found = Obligation("softmax", Status.UNDECIDED, "pair 0: a final token is known only up to a radius")
    with pytest.raises(InternalFault, match="not found again"):
        merge(DATASET, "softmax", [wrong], lambda pair: found)
