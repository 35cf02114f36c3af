"""Untrusted. Signature (lemma ``signature``): numbers for tokens and for sequences, and the layers that write them.

Shapes: K tokens, N sequences, d dimension. s(x) = <u, x> + c_0 + sum_k c_k relu(<u, x> + c_0 - b_k) is the value of a
token; g_j, the mean of s over sequence j (copies counted), is the signature of the sequence.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import lcm

import numpy as np
from flint import fmpq

from interp.stages.dyadic import find_simple_dyadic
from interp.stages.hat import MAX_UNITS, Unit, build_constant, build_feed_forward, count_layers
from interp.stages.kinks import Weighted, find_kinks
from interp.stages.tokens import Integers, TokenState, require
from proofs.kernel.errors import InternalFault
from proofs.kernel.model import FeedForward
from proofs.lemmas import signature as lemma

DIRECTIONS_WITH_KINKS = 6  # directions tried when the means of some sequences coincide as points
KINK_WORK = 20_000  # kinks times tokens beyond which the first direction is kept
FEW_KINKS = 2  # so many fit into the first block whatever follows: no further direction is tried


@dataclass(frozen=True)
class Signature:
    """u, c_0, the kinks (b_k, c_k), the different values of each sequence in increasing order, and the means g_j."""

    direction: tuple[int, ...]
    offset: fmpq
    kinks: tuple[tuple[fmpq, fmpq], ...]
    numerators: tuple[tuple[int, ...], ...]
    denominator: int
    means: tuple[fmpq, ...]

    def value(self, sequence: int, rank: int) -> fmpq:
        """The value of the token of that rank (from 0) of a sequence."""
        return fmpq(self.numerators[sequence][rank], self.denominator)

    def by_mean(self) -> list[int]:
        """The sequences by increasing g_j."""
        return sorted(range(len(self.means)), key=lambda j: self.means[j])


def find_signatures(
    state: TokenState, rng: random.Random, separate_tokens: bool = True, count: int = 1
) -> Iterator[Signature]:
    """Up to ``count`` signatures, at least one: different means, different values inside each sequence.

    Directions are tried from simple to less simple, kinks only when no direction can do: when two sequences have the
    same mean as points; then there is one signature. Without ``separate_tokens`` values inside a sequence may coincide.
    Raises: MalformedInput when two sequences are equal, InternalFault.
    """
    found = 0
    for signature in _find_without_kinks(state, rng, separate_tokens, 2 * count):
        _require(signature, separate_tokens)
        yield signature
        found += 1
        if found == count:
            return
    if not found:
        signature = _find_with_kinks(state, rng)
        _require(signature, True)
        yield signature


def _require(found: Signature, separate_tokens: bool) -> None:
    values = [[fmpq(x, found.denominator) for x in numerators] for numerators in found.numerators]
    require(lemma.check_promise(values, found.means, separate_tokens), "signature")


def _find_without_kinks(
    state: TokenState, rng: random.Random, separate_tokens: bool, tries: int
) -> Iterator[Signature]:
    """Axes, then random directions: at least ``tries`` of them, and more while none was found that must exist."""
    found = False
    for direction in _coordinate_directions(state.dimension):
        if (signature := _try_direction(state, direction, separate_tokens)) is not None:
            found = True
            yield signature
    # all but finitely many hyperplanes of directions do if the means differ as points
    if not found and _count_mean_points(state) < state.num_sequences:
        return
    for direction in _random_directions(state.dimension, rng):
        if found and tries <= 0:
            return
        tries -= 1
        if (signature := _try_direction(state, direction, separate_tokens)) is not None:
            found = True
            yield signature


def find_signature_along(state: TokenState, direction: Sequence[int]) -> Signature | None:
    """The signature of a given direction without kinks, or None if two sequences have one mean on it.

    Values inside a sequence may coincide.
    """
    signature = _try_direction(state, direction, False)
    if signature is not None:
        _require(signature, False)
    return signature


def _try_direction(state: TokenState, direction: Sequence[int], separate_tokens: bool) -> Signature | None:
    values = project(state, direction)
    if separate_tokens and len(set(zip(state.sequence, values.numerators.tolist(), strict=True))) < len(state.sequence):
        return None
    means = values.means()
    if len(set(means)) < values.num_sequences:
        return None
    return _make(direction, values, [], values)


def _find_with_kinks(state: TokenState, rng: random.Random) -> Signature:
    """The fewest kinks among a few directions on which all different tokens have different values."""
    num_distinct = len(set(state.rows()))
    best: Signature | None = None
    tried = 0
    for direction in list_directions(state.dimension, rng):
        values = project(state, direction)
        if len(set(values.numerators.tolist())) < num_distinct:
            continue
        kinks, after = find_kinks(values)
        tried += 1
        if best is None or len(kinks) < len(best.kinks):
            best = _make(direction, values, kinks, after)
        costly = len(best.kinks) * len(state.sequence) > KINK_WORK
        if len(best.kinks) <= FEW_KINKS or costly or tried == DIRECTIONS_WITH_KINKS:
            return best
    raise InternalFault("no direction tells the tokens apart")


def _make(direction: Sequence[int], raw: Weighted, kinks: list[tuple[fmpq, fmpq]], after: Weighted) -> Signature:
    """The signature with the simplest offset that makes all values positive, and none much larger than their spread."""
    smallest, largest = (fmpq(int(f(raw.numerators)), raw.denominator) for f in (min, max))
    width = largest - smallest if largest > smallest else fmpq(1)
    offset = find_simple_dyadic(-smallest, width - smallest, include_high=True)
    denominator = lcm(after.denominator, int(offset.q))
    scale, shift = denominator // after.denominator, int((offset * denominator).p)
    rising = (after.numerators * scale + shift).tolist()
    groups = [tuple(sorted(rising[first:last])) for first, last in pairwise(after.starts.tolist())]
    return Signature(
        tuple(direction),
        offset,
        tuple((b + offset, c) for b, c in kinks),
        tuple(groups),
        denominator,
        tuple(mean + offset for mean in after.means()),
    )


def list_directions(dimension: int, rng: random.Random) -> Iterator[list[int]]:
    """Directions from simple to less simple: axes, then random ones with entries from a range that doubles."""
    return chain(_coordinate_directions(dimension), _random_directions(dimension, rng))


def _coordinate_directions(dimension: int) -> Iterator[list[int]]:
    return ([int(c == k) for c in range(dimension)] for k in range(dimension))


def _random_directions(dimension: int, rng: random.Random) -> Iterator[list[int]]:
    """Entries from a range that doubles: small ones first."""
    largest = 1
    while True:
        for _ in range(4):
            direction = [rng.randint(-largest, largest) for _ in range(dimension)]
            if any(direction):
                yield direction
        largest *= 2


def project(state: TokenState, direction: Sequence[int]) -> Weighted:
    """<u, x> of every token."""
    sequence = np.array(state.sequence)
    starts = np.concatenate(([0], np.flatnonzero(np.diff(sequence)) + 1, [len(sequence)]))
    products: Integers = np.zeros(len(sequence), dtype=object)
    for column, u in zip(state.numerators.T, direction, strict=True):
        if u:
            products = products + u * column
    return Weighted(products, state.denominator, starts, np.array(state.multiplicity, dtype=object))


def _count_mean_points(state: TokenState) -> int:
    """The number of different means of the sequences, as points of Q^d: no direction alone tells more apart."""
    columns = [project(state, direction).means() for direction in _coordinate_directions(state.dimension)]
    return len(set(zip(*columns, strict=True)))


def build_signature_layers(signature: Signature, constant: Sequence[fmpq]) -> list[FeedForward]:
    """Layers that make s(x) e_1 + constant of every token; the first has eta = 0.

    One unit for the projection, one a kink, one for the constant unless it is 0. If they do not fit into one layer, the
    first writes <u, x> + c_0 (positive, so later kinks read it from coordinate 1) and the kinks go to coordinate 2,
    where all is >= 0; one more unit in the last layer carries coordinate 2 over to coordinate 1.
    """
    d = len(constant)
    e1, e2 = axis(d, 0), axis(d, 1)
    u, offset, kinks = signature.direction, signature.offset, signature.kinks
    added = [build_constant(constant)] if any(x != 0 for x in constant) else []
    project: Unit = (e1, u, offset)
    if 1 + len(kinks) + len(added) <= MAX_UNITS:
        units: list[Unit] = [project, *(([c * x for x in e1], u, offset - b) for b, c in kinks), *added]
        return [build_feed_forward(d, units, eta=0)]
    first, rest = kinks[: MAX_UNITS - 1], list(kinks[MAX_UNITS - 1 :])
    layers = [build_feed_forward(d, [project, *(([c * x for x in e2], u, offset - b) for b, c in first)], eta=0)]
    while len(rest) + len(added) + 1 > MAX_UNITS:
        taken, rest = rest[:MAX_UNITS], rest[MAX_UNITS:]
        layers.append(build_feed_forward(d, [([c * x for x in e2], e1, -b) for b, c in taken]))
    carry: Unit = ([x - y for x, y in zip(e1, e2, strict=True)], e2, 0)
    last: list[Unit] = [*(([c * x for x in e1], e1, -b) for b, c in rest), *added, carry]
    return [*layers, build_feed_forward(d, last)]


def build_oblique_layers(signature: Signature) -> list[FeedForward]:
    """Layers x -> x + sum_k c_k relu(<u, x> + c_0 - b_k) e with <u, e> = 1: <u, x> becomes s(x) - c_0, nothing is lost.

    One layer without units if there are no kinks. Kinks are taken by increasing b. After the layers before,
    <u, x> + c_0 is z + (sum of c_i relu(z - b_i) over their kinks), z the number read at first; beyond these kinks it
    is linear of slope 1 + sum c_i, so the kink b stands where that function is at z = b, with c divided by the slope.
    """
    d, u = len(signature.direction), signature.direction
    pivot = next(c for c, x in enumerate(u) if x)
    kinks = sorted(signature.kinks)
    slope, start = fmpq(1), fmpq(0)  # z -> slope z + start beyond the kinks of earlier layers
    layers = []
    for first in range(0, max(1, len(kinks)), MAX_UNITS):
        units: list[Unit] = []
        part = kinks[first : first + MAX_UNITS]
        for b, c in part:
            column = [c / slope / u[pivot] if i == pivot else fmpq(0) for i in range(d)]
            units.append((column, u, signature.offset - (slope * b + start)))
        layers.append(build_feed_forward(d, units))
        slope, start = slope + sum(c for _, c in part), start - sum(b * c for b, c in part)
    return layers


def count_signature_blocks(num_kinks: int, with_constant: bool) -> int:
    """The number of these layers."""
    units = 1 + num_kinks + with_constant
    return 1 if units <= MAX_UNITS else count_layers(units + 1)


def axis(dimension: int, index: int) -> list[fmpq]:
    """The unit vector e_(index + 1)."""
    return [fmpq(c == index) for c in range(dimension)]
