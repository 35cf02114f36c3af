"""Trusted. The obligation of the whole dataset, put together from its shards as the kernel answers it.

The kernel takes all pairs through a block before the next one. So what it meets first is, in this order: the first
block where a sign stays open (at its first pair) or, after that, a limit is reached; then, among the final tokens, the
first pair that is wrong; then the first that stayed undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from proofs.kernel.check import Obligation, answer_hardmax
from proofs.kernel.errors import InternalFault, LimitReached, Status
from proofs.kernel.statement import Dataset
from proofs.shards.answer import ShardAnswer
from proofs.shards.worker import find_place

Alone = Callable[[int], Obligation]  # the same question about one pair, which then has number 0


def merge(dataset: Dataset, name: str, answers: Sequence[ShardAnswer], alone: Alone) -> Obligation:
    """The obligation ``name`` from shards in order that cover the dataset. Raises: LimitReached, InternalFault."""
    stopped = [answer for answer in answers if answer.block is not None]
    if stopped:
        first = min(stopped, key=lambda answer: (answer.block, answer.status is Status.LIMIT, answer.first))
        if first.error is not None:
            raise LimitReached(*first.error)
        return _find_again(first, alone)
    for status in (Status.REFUTED, Status.UNDECIDED):
        for answer in answers:
            if answer.status is status:
                obligation = _find_again(answer, alone)
                return obligation if name == "softmax" else _answer_hardmax(dataset, answers, obligation)
    if not answers or any(answer.status is not Status.VERIFIED for answer in answers):
        raise InternalFault("a shard has no verdict")
    total = dataset.num_listed
    return Obligation(name, Status.VERIFIED, f"{total} of {total} pairs exact")


def _find_again(answer: ShardAnswer, alone: Alone) -> Obligation:
    """What the coordinator finds on the pair that decides, which must be what the shard said."""
    pair = answer.pair
    if pair is None:
        raise InternalFault("a fault without its pair")
    found = alone(pair)
    if found.status is not answer.status or find_place(found)[1:] != (answer.block, 0):
        raise InternalFault(f"a shard says {answer.status.label} of pair {pair}, which is not found again")
    mismatch = None if found.mismatch is None else replace(found.mismatch, pair=pair)
    return replace(found, detail=found.detail.replace("pair 0", f"pair {pair}", 1), mismatch=mismatch)


def _answer_hardmax(dataset: Dataset, answers: Sequence[ShardAnswer], found: Obligation) -> Obligation:
    """The kernel's text: it needs the first wrong pair, its tokens, and how many pairs are wrong."""
    if found.mismatch is None:
        raise InternalFault("a wrong pair without its tokens")
    wrong = [answer.pair for answer in answers if answer.pair is not None for _ in range(answer.wrong)]
    wanted = set(dataset.pairs[found.mismatch.pair].output)
    return answer_hardmax(dataset, wrong, wanted.difference(found.mismatch.missing) | {*found.mismatch.surplus})
