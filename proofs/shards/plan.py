"""Trusted. Which pairs make a shard, and whether shards make up the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from proofs.kernel.errors import InternalFault

Range = tuple[int, int]  # pairs first .. last - 1


def find_gaps(done: Sequence[Range], num_pairs: int) -> list[Range]:
    """The ranges that are still to be answered, ``done`` being ranges in order, disjoint. Raises: InternalFault."""
    edges = [(0, 0), *done, (num_pairs, num_pairs)]
    if any(right[0] < left[1] for left, right in pairwise(edges)) or any(last <= first for first, last in done):
        raise InternalFault("a pair was answered twice, or a shard is empty")
    return [(left[1], right[0]) for left, right in pairwise(edges) if left[1] < right[0]]


def check_cover(ranges: Sequence[Range], num_pairs: int) -> None:
    """Raises InternalFault unless every pair lies in exactly one range and there are pairs."""
    if num_pairs < 1 or find_gaps(ranges, num_pairs):
        raise InternalFault("not every pair was answered")


def plan_shards(gaps: Sequence[Range], lengths: Sequence[int], count: int) -> list[Range]:
    """About ``count`` ranges that fill the gaps, with about equal numbers of tokens; lengths[j] those of pair j."""
    total = sum(lengths[j] for first, last in gaps for j in range(first, last))
    shards = []
    for first, last in gaps:
        held = 0
        for j in range(first, last):
            held += lengths[j]
            if held * count >= total or j + 1 == last:
                shards.append((first, j + 1))
                first, held = j + 1, 0
    return shards
