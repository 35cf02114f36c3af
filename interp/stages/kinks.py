"""Untrusted. Kinks that tell sequences with equal means apart (lemma ``signature``).

Shapes: K tokens, N sequences, V distinct values. A kink at b adds c relu(s - b) to the value s of every token.

The mean of relu(s - b) over a sequence is a piecewise-linear function of b with its corners at values of tokens, so two
sequences that differ have different means at some token value: all of them are candidates, and the one that splits most
is taken. Candidates are scored modulo a prime: numbers that differ there differ, so a score never promises too much,
and the split is then made with exact numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count as count_from
from typing import Any

import numpy as np
from flint import fmpq

from interp.stages.tokens import Integers
from proofs.kernel.errors import MalformedInput

PRIME = 2**31 - 1  # products of two residues, and sums of 2^31 residues, fit in 64 bits
CHUNK = 2**20  # table entries scored at once

Words = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Weighted:
    """Values numerators / denominator of all tokens with weights; sequence j is starts[j]..starts[j + 1] - 1."""

    numerators: Integers  # (K,)
    denominator: int
    starts: Words  # (N + 1,)
    weights: Integers  # (K,)

    @property
    def num_sequences(self) -> int:
        """N."""
        return len(self.starts) - 1

    def totals(self) -> list[int]:
        """The sum of the weights of every sequence."""
        return [int(x) for x in np.add.reduceat(self.weights, self.starts[:-1])]

    def means(self, numerators: Integers | None = None) -> list[fmpq]:
        """The weighted mean of the values (or of other numerators) over every sequence."""
        sums = np.add.reduceat(self.weights * (self.numerators if numerators is None else numerators), self.starts[:-1])
        return [fmpq(int(x), n * self.denominator) for x, n in zip(sums, self.totals(), strict=True)]


def find_kinks(values: Weighted) -> tuple[list[tuple[fmpq, fmpq]], Weighted]:
    """(b, c) of each kink, and the values after all of them, whose means differ from sequence to sequence.

    The values of different tokens must differ. At most N - 1 kinks: each raises the number of different means.
    Raises: MalformedInput when two sequences are equal.
    """
    base = values
    kinks: list[tuple[fmpq, fmpq]] = []
    while True:
        means = values.means()
        distinct = len(set(means))
        if distinct == values.num_sequences:
            return kinks, values
        place = _find_place(base, means)
        reach = base.means(np.maximum(base.numerators - place, 0))
        wanted = len(set(zip(means, reach, strict=True)))
        # c fails only if it makes two of finitely many differences cancel
        slope = next(c for c in count_from(1) if len({g + c * r for g, r in zip(means, reach, strict=True)}) == wanted)
        kinks.append((fmpq(place, values.denominator), fmpq(slope)))
        # kinks read the value before all kinks: they may all stand in one layer
        raised = values.numerators + slope * np.maximum(base.numerators - place, 0)
        values = replace(values, numerators=raised)


def _find_place(base: Weighted, means: Sequence[fmpq]) -> int:
    """The numerator of the value b at which the means of relu(s - b) split most groups of equal means."""
    groups: dict[fmpq, list[int]] = {}
    for j, mean in enumerate(means):
        groups.setdefault(mean, []).append(j)
    crowded = [group for group in groups.values() if len(group) > 1]
    members = [j for group in crowded for j in group]
    group_of = np.repeat(np.arange(len(crowded)), [len(group) for group in crowded])
    best, place = len(crowded), None
    for score, candidate in _scores(base, members, group_of):
        if score > best:
            best, place = score, candidate
        if best == len(members):
            break
    return _find_exact_place(base, crowded[0]) if place is None else place


def _scores(base: Weighted, members: list[int], group_of: Words) -> Iterator[tuple[int, int]]:
    """(at least so many groups after a kink at b, numerator of b) for the best value b of each part of all values.

    Parts are as large as ``CHUNK`` allows and those in the middle come first: often one value there splits everything.
    With n the weight of a sequence, n mean(relu(s - b)) = sum of w s - b sum of w over its tokens above b: two
    differences of running sums.
    """
    parts = [range(base.starts[j], base.starts[j + 1]) for j in members]
    index = np.fromiter((i for part in parts for i in part), dtype=np.int64)
    owner = np.repeat(np.arange(len(members)), [len(part) for part in parts])
    numerators = base.numerators[index]
    places = sorted(set(numerators.tolist()))
    rank_of = {value: rank for rank, value in enumerate(places)}
    rank = np.fromiter((rank_of[value] for value in numerators.tolist()), dtype=np.int64)
    order = np.lexsort((rank, owner))
    keys = (owner * len(places) + rank)[order]
    weight = (base.weights[index] % PRIME).astype(np.int64)[order]
    value = (numerators % PRIME).astype(np.int64)[order]
    weight_sums = np.concatenate(([0], np.cumsum(weight)))
    value_sums = np.concatenate(([0], np.cumsum(weight * value % PRIME)))
    ends = np.cumsum([len(part) for part in parts])[:, None]
    totals = base.totals()
    inverse = np.array([pow(totals[j], -1, PRIME) for j in members], dtype=np.int64)[:, None]
    residues = np.array([value % PRIME for value in places], dtype=np.int64)
    middle_first = np.array(sorted(range(len(places)), key=lambda rank: abs(2 * rank - len(places))), dtype=np.int64)
    width = max(1, CHUNK // len(members))
    for start in range(0, len(places), width):
        ranks = middle_first[start : start + width]
        first = np.searchsorted(keys, np.arange(len(members))[:, None] * len(places) + ranks[None, :], side="right")
        above = (value_sums[ends] - value_sums[first]) % PRIME
        mass = (weight_sums[ends] - weight_sums[first]) % PRIME
        reach = (above - mass * residues[ranks][None, :]) % PRIME * inverse % PRIME
        table = np.sort(group_of[:, None] * PRIME + reach, axis=0)
        found = 1 + (np.diff(table, axis=0) != 0).sum(axis=0)
        best = int(found.argmax())
        yield int(found[best]), places[int(ranks[best])]


def _find_exact_place(base: Weighted, group: list[int]) -> int:
    """A value at which two sequences of a group differ. Raises: MalformedInput when all are equal."""
    first, second = (range(base.starts[j], base.starts[j + 1]) for j in group[:2])
    totals = base.totals()
    signed = [(base.numerators[i], base.weights[i] * totals[group[1]]) for i in first]
    signed += [(base.numerators[i], -base.weights[i] * totals[group[0]]) for i in second]
    for place, _ in signed:
        if sum(weight * max(value - place, 0) for value, weight in signed) != 0:
            return int(place)
    raise MalformedInput("two input sequences are equal", f"$.pairs[{group[1]}].input", f"the same as pair {group[0]}")
