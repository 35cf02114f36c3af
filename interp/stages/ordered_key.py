"""Untrusted. Ordered key (lemma ``ordered key``): a number for every marked prefix, from two uniform causal layers.

s is a value of every token, piecewise linear along one direction; g_i is the mean of s over the first i tokens, h_i the
mean of g_1, .., g_i. The key of a prefix is s_i + (lambda + mu) g_i + lambda mu h_i at its last token.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from flint import fmpq

from interp.stages.prefixes import MarkedPrefixes
from interp.stages.signature import Signature, list_directions
from interp.stages.tokens import require
from proofs.kernel.errors import InternalFault
from proofs.kernel.rational import Row, coordinates_of
from proofs.kernel.statement import Dataset
from proofs.lemmas import ordered_key as lemma

DIRECTIONS = 16  # tried before kinks are
Moments = tuple[fmpq, ...]


@dataclass(frozen=True)
class OrderedKey:
    """u, c_0 and kinks as in a signature, lambda, mu, and the key of every marked prefix."""

    signature: Signature
    scale: int  # lambda
    second: int  # mu
    keys: list[fmpq]


def find_ordered_key(dataset: Dataset, marked: MarkedPrefixes, rng: random.Random) -> OrderedKey:
    """Directions from simple to less simple; kinks only if none of them tells the marked prefixes apart."""
    tokens = list(dict.fromkeys(row for pair in dataset.pairs for row in pair.input))
    injective: Sequence[int] | None = None
    for tried, direction in enumerate(list_directions(dataset.dimension, rng)):
        values = {row: _project(direction, row) for row in tokens}
        moments = _moments(dataset, marked, values)
        if len(set(moments)) == len(moments):
            return _choose_weights(dataset, marked, direction, values, [])
        if injective is None and len(set(values.values())) == len(tokens):
            injective = direction
        if tried >= DIRECTIONS and injective is not None:
            break
    if injective is None:
        raise InternalFault("no direction tells the tokens apart")
    values = {row: _project(injective, row) for row in tokens}
    return _choose_weights(dataset, marked, injective, values, _find_kinks(dataset, marked, values))


def _project(direction: Sequence[int], row: Row) -> fmpq:
    return sum((u * x for u, x in zip(direction, coordinates_of(row), strict=True)), fmpq(0))


def _moments(dataset: Dataset, marked: MarkedPrefixes, value: dict[Row, fmpq]) -> list[Moments]:
    """(s_i, g_i, h_i) of every marked prefix."""
    wanted: dict[int, dict[int, int]] = {}
    for p, (j, length) in enumerate(marked.places):
        wanted.setdefault(j, {})[length] = p
    found: list[Moments] = [()] * len(marked.places)
    for j, own in wanted.items():
        total, means = fmpq(0), fmpq(0)
        for i, row in enumerate(dataset.pairs[j].input, 1):
            s = value[row]
            total += s
            means += total / i
            if i in own:
                found[own[i]] = (s, total / i, means / i)
    return found


def _find_kinks(dataset: Dataset, marked: MarkedPrefixes, values: dict[Row, fmpq]) -> list[tuple[fmpq, fmpq]]:
    """(b, c): each kink is the token value that tells most prefixes apart, with a slope that loses none of that."""
    kinks: list[tuple[fmpq, fmpq]] = []
    current = _moments(dataset, marked, values)
    while (distinct := len(set(current))) < len(current):
        candidates = {
            b: _moments(dataset, marked, {row: max(x - b, fmpq(0)) for row, x in values.items()})
            for b in set(values.values())
        }
        split = {b: len(set(zip(current, moments, strict=True))) for b, moments in candidates.items()}
        b = max(sorted(split), key=lambda place: split[place])
        if split[b] == distinct:
            raise InternalFault("no kink tells two prefixes apart")
        for c in count(1):  # finitely many c make two differences cancel
            pairs = zip(current, candidates[b], strict=True)
            bent = [tuple(x + c * y for x, y in zip(old, new, strict=True)) for old, new in pairs]
            if len(set(bent)) == split[b]:
                break
        kinks.append((b, fmpq(c)))
        current = bent
    return kinks


def _choose_weights(
    dataset: Dataset,
    marked: MarkedPrefixes,
    direction: Sequence[int],
    raw: dict[Row, fmpq],
    kinks: list[tuple[fmpq, fmpq]],
) -> OrderedKey:
    """The smallest lambda and mu that keep different moments different; the smallest value becomes 1."""
    offset = 1 - min(raw.values())
    values = {row: x + offset + sum((c * max(x - b, fmpq(0)) for b, c in kinks), fmpq(0)) for row, x in raw.items()}
    moments = _moments(dataset, marked, values)
    for size in count(2):
        for scale in range(1, size):
            second = size - scale
            keys = [s + size * g + scale * second * h for s, g, h in moments]
            if len(set(keys)) == len(keys):
                rows = [[values[row] for row in pair.input] for pair in dataset.pairs]
                require(lemma.check_promise(rows, marked.places, keys, (scale, second)), "ordered key")
                bent = tuple((b + offset, c) for b, c in kinks)
                return OrderedKey(Signature(tuple(direction), offset, bent, (), 1, ()), scale, second, keys)
    raise InternalFault("no weights")
