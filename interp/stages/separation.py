"""Untrusted. Separation (lemma ``separation``): blocks after which no two sequences share a token.

Two kinds of block, both from the lemma: ``leader`` (A = v v^T, every sequence adds eps times its token of largest
projection) keeps denominators small; ``mean`` (A = 0, every sequence adds eps times its mean) separates all sequences
with different means at once, and at every temperature. ``auto`` takes whichever leaves more components.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from flint import fmpq, fmpq_mat

from interp.stages.hat import Unit, build_constant, build_feed_forward, build_hat, find_injective_direction
from interp.stages.tokens import TokenState, power_of_two_above, power_of_two_at_most, require
from proofs.engine.integers import product
from proofs.kernel.errors import InternalFault, UsageError
from proofs.kernel.model import Block, SelfAttention, SquareMatrix
from proofs.kernel.rational import Row, primitive_row, row_of
from proofs.lemmas import separation as lemma

POLICIES = ("auto", "leader", "mean")
CANDIDATE_TOKENS = 6
MEAN_SCALES = 8

Sharing = dict[Row, list[int]]  # a shared token -> the sequences that hold it
Key = tuple[int, ...]


@dataclass(frozen=True)
class Candidate:
    """A block under consideration: what each sequence will add (up to eps), and how many components that leaves."""

    kind: str  # "leader" or "mean"
    direction: tuple[int, ...]
    token: Row | None  # the token that the hat moves by scale * direction
    scale: fmpq
    keys: tuple[Key, ...]  # per sequence: equal keys = equal shifts
    num_components: int


def build_separation(state: TokenState, rng: random.Random, policy: str = "auto") -> tuple[list[Block], TokenState]:
    """At most N - 1 blocks and the state after them: disjoint sequences of positive tokens.

    policy: ``leader``, ``mean`` or ``auto``. Raises: UsageError; InternalFault if a promise breaks.
    """
    if policy not in POLICIES:
        raise UsageError(f"separation {policy!r}", "--separation", f"one of {', '.join(POLICIES)}")
    start, blocks = state, []
    while sharing := find_sharing(state):
        block, state = _build_separating_block(state, sharing, rng, policy)
        blocks.append(block)
    if len(blocks) > max(0, state.num_sequences - 1):
        raise InternalFault(f"separation took {len(blocks)} blocks for {state.num_sequences} sequences")
    if blocks:
        require(lemma.check_promise(start.sequences(), state.sequences()), "separation")
    return blocks, state


def find_sharing(state: TokenState) -> Sharing:
    """The tokens held by two or more sequences.

    Only tokens whose products with some vector agree can be equal.
    """
    rng = np.random.default_rng(0)
    products = product(state.array, rng.integers(1, 2**20, state.dimension))
    order = np.argsort(products)
    equal = np.diff(products[order]) == 0
    doubtful = np.sort(order[np.append(equal, False) | np.append(False, equal)])
    holders: Sharing = {}
    for j, row in zip(state.owner[doubtful].tolist(), state.array[doubtful].tolist(), strict=True):
        holders.setdefault(primitive_row(row, state.denominator), []).append(j)
    return {row: js for row, js in holders.items() if len(js) > 1}


def find_positive_shift(state: TokenState) -> fmpq | None:
    """A power of two c with x + c (1, .., 1) > 0 for every token, or None when all are positive already."""
    smallest = fmpq(int(state.array.min()), state.denominator)
    return None if smallest > 0 else power_of_two_above(-smallest)


def _build_separating_block(
    state: TokenState, sharing: Sharing, rng: random.Random, policy: str
) -> tuple[Block, TokenState]:
    shift = find_positive_shift(state)
    components = _components(sharing, state.num_sequences, lambda j: ())
    candidates = list(_candidates(state, sharing, components, rng, policy))
    best = max(candidates, key=lambda candidate: candidate.num_components, default=None)
    if best is None or best.num_components <= len(components):
        raise InternalFault("no separating block makes progress")
    return _realise(state, best, shift)


def _components(sharing: Sharing, num_sequences: int, key: Callable[[int], Key]) -> list[set[int]]:
    """Components of "shares a token and has the same key" on all sequences."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(num_sequences))
    for holders in sharing.values():
        first: dict[Key, int] = {}
        for j in holders:
            graph.add_edge(first.setdefault(key(j), j), j)
    return list(nx.connected_components(graph))


def _splitting_tokens(sharing: Sharing, components: Sequence[set[int]]) -> list[Row]:
    """Tokens held by some but not all members of a component, the best balanced first."""
    size = {j: len(component) for component in components for j in component}
    balance = {row: min(len(js), size[js[0]] - len(js)) for row, js in sharing.items()}
    ranked = sorted((row for row, rest in balance.items() if rest > 0), key=lambda row: (-balance[row], row))
    return ranked[:CANDIDATE_TOKENS]


def _candidates(
    state: TokenState, sharing: Sharing, components: list[set[int]], rng: random.Random, policy: str
) -> Iterator[Candidate]:
    """Blocks that make progress; one always exists (lemma)."""
    rows = state.rows()
    distinct = sorted(set(rows))
    points = TokenState.from_rows(distinct, (0,) * len(distinct), (1,) * len(distinct))
    direction, products = find_injective_direction(points.numerators, rng)
    projection = {row: fmpq(s, points.denominator) for row, s in zip(distinct, products, strict=True)}
    members, num = state.members(), state.num_sequences
    tokens = _splitting_tokens(sharing, components) or _private_tokens(rows, members, components)
    norm = sum(x * x for x in direction)

    def make(kind: str, token: Row | None, scale: fmpq, keys: list[Key]) -> Candidate:
        left = len(_components(sharing, num, lambda j: keys[j]))
        return Candidate(kind, tuple(direction), token, scale, tuple(keys), left)

    if policy != "mean":
        top = max(projection.values())
        for token in tokens:
            scale = fmpq(0) if projection[token] == top else power_of_two_above((top - projection[token]) / norm)
            keys: list[Key] = []
            for member in members:
                held = {rows[i] for i in member}
                keys.append(token if token in held else max(held, key=lambda row: projection[row]))
            yield make("leader", token, scale, keys)
    if policy != "leader":
        yield make("mean", None, fmpq(0), _means(state, members, {}, direction, fmpq(0)))
        spread = max(projection.values()) - min(projection.values())
        unit = power_of_two_above(spread / norm)
        for token in tokens:
            held_by = {state.sequence[i]: state.multiplicity[i] for i, row in enumerate(rows) if row == token}
            for _, scale in zip(range(MEAN_SCALES), _small_rationals(), strict=False):
                keys = _means(state, members, held_by, direction, scale * unit)
                if {keys[j] for j in held_by}.isdisjoint(keys[j] for j in range(num) if j not in held_by):
                    yield make("mean", token, scale * unit, keys)
                    break


def _private_tokens(rows: list[Row], members: list[list[int]], components: list[set[int]]) -> list[Row]:
    """Tokens of one sequence of a component that shares: they split it when every shared token is common to all."""
    counts: dict[Row, int] = {}
    for row in rows:
        counts[row] = counts.get(row, 0) + 1
    crowded = [component for component in components if len(component) > 1]
    found = (rows[i] for component in crowded for j in sorted(component) for i in members[j] if counts[rows[i]] == 1)
    return list(itertools.islice(found, CANDIDATE_TOKENS))


def _means(
    state: TokenState, members: list[list[int]], held_by: dict[int, int], direction: Sequence[int], scale: fmpq
) -> list[Key]:
    """The mean of every sequence as a row, the sequences in held_by having moved one token by scale * direction."""
    result: list[Key] = []
    p, q = int(scale.p), int(scale.q)
    for j, member in enumerate(members):
        weights = np.array([state.multiplicity[i] for i in member], dtype=object)
        total = (weights @ state.numerators[member]).tolist()
        if j in held_by:
            factor = held_by[j] * p * state.denominator
            total = [q * x + factor * v for x, v in zip(total, direction, strict=True)]
            result.append(primitive_row(total, q * state.denominator * sum(weights)))
        else:
            result.append(primitive_row(total, state.denominator * sum(weights)))
    return result


def _small_rationals() -> Iterator[fmpq]:
    """1, 2, 1/2, 3, 1/3, 3/2, 2/3, 4, ..: every positive rational, simple ones first."""
    seen = set()
    for height in itertools.count(1):
        for other in range(1, height + 1):
            for value in (fmpq(height, other), fmpq(other, height)):
                if value not in seen:
                    seen.add(value)
                    yield value


def _realise(state: TokenState, choice: Candidate, shift: fmpq | None) -> tuple[Block, TokenState]:
    """The block of a candidate with the simplest eps that keeps what is disjoint and separates what it should."""
    d, direction = state.dimension, choice.direction
    offset = fmpq(0) if shift is None else shift
    rows = state.rows()
    units: list[Unit] = []
    if choice.token is not None and choice.scale != 0:
        projections = sorted(
            {fmpq(sum(a * b for a, b in zip(direction, row, strict=False)), row[-1]) for row in set(rows)}
        )
        center = fmpq(sum(a * b for a, b in zip(direction, choice.token, strict=False)), choice.token[-1])
        place = projections.index(center)
        gaps = [abs(projections[k] - center) for k in (place - 1, place + 1) if 0 <= k < len(projections)]
        half_width = power_of_two_at_most(min(gaps)) if gaps else fmpq(1)
        units += build_hat(direction, center, half_width, [choice.scale * v for v in direction])
    if shift is not None:
        units.append(build_constant([shift] * d))
    scale = choice.scale if choice.token is not None else fmpq(0)
    after_ff = [
        [
            fmpq(x, row[-1]) + offset + (scale * v if row == choice.token else 0)
            for x, v in zip(row[:-1], direction, strict=True)
        ]
        for row in rows
    ]
    added = [_added(choice, key, offset, scale, d) for key in choice.keys]
    for eps in _small_rationals():
        moved = [
            tuple(x + eps * a for x, a in zip(token, added[j], strict=True))
            for token, j in zip(after_ff, state.sequence, strict=True)
        ]
        origin: dict[tuple[fmpq, ...], tuple[Row, Key]] = {}
        if all(
            origin.setdefault(new, (row, choice.keys[j])) == (row, choice.keys[j])
            for new, row, j in zip(moved, rows, state.sequence, strict=True)
        ):
            break
    if choice.kind == "leader":
        column = fmpq_mat(d, 1, list(direction))
        attention = SelfAttention(A=SquareMatrix(left=column, right=column), V=SquareMatrix(scale=eps))
    else:
        attention = SelfAttention(V=SquareMatrix(scale=eps))
    return Block(build_feed_forward(d, units), attention), TokenState.from_rows(
        [row_of(token) for token in moved], state.sequence, state.multiplicity
    )


def _added(choice: Candidate, key: Key, offset: fmpq, scale: fmpq, dimension: int) -> list[fmpq]:
    """What a sequence with this key adds, divided by eps, after the feed-forward layer."""
    moved = scale if choice.kind == "leader" and key == choice.token else fmpq(0)
    return [fmpq(key[c], key[-1]) + offset + moved * choice.direction[c] for c in range(dimension)]
