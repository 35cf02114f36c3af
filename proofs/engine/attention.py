"""Trusted. Hardmax attention on all sequences at once; ties average, every copy of a token counting.

A query i attends to the tokens of largest score <A x_i, x_l> in its sequence. It needs only *what* it attends to: one
token, or a sum of several with the number of copies in it. A choice is therefore a number: i < K for token i alone (or
with its equals, whose mean is the same point), K + r for row r of a table of sums.

At all temperatures in (0, tau] at once, as in ``proofs.kernel.softmax``: let all other scores of query i be at least g
below, e = min(floor(g / tau), 512). Then each of the other weights is at most 2^-e, and the weighted mean is that
of temperature 0 up to (number of other tokens) 2^-e (extent of the sequence) in each coordinate. Queries of one
sequence with the same choice get one box, for the smallest e among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

import numpy as np
from flint import fmpq

from proofs.engine.integers import (
    Array,
    add,
    bound_of,
    expand,
    integer_array,
    multiply,
    narrow,
    product,
    room,
    segment_reduce,
    segment_sum,
)
from proofs.engine.radii import combine, raised, upper
from proofs.engine.state import State, find_common
from proofs.kernel.hardmax import integer_matrix
from proofs.kernel.model import SelfAttention, SquareMatrix
from proofs.kernel.softmax import MAX_EXPONENT

CHUNK = 2**22  # entries gathered at once
WHOLE_FLOATS = 2**53  # up to here every integer is a float64


@dataclass(frozen=True)
class Decay:
    """All temperatures in (0, tau], or all positive ones if tau is None."""

    tau: fmpq | None

    def exponents(self, gaps: Array, unit: fmpq) -> Array:
        """e of every gap, a whole number >= 0 times the unit."""
        if self.tau is None:
            return np.zeros(len(gaps), dtype=np.int64)
        rate = unit / self.tau
        gaps, *_ = room(int(rate.q), multiply(gaps, int(rate.p)))
        return np.asarray(np.minimum(gaps // int(rate.q), MAX_EXPONENT), dtype=np.int64)


class Choices:
    """What every token attends to, and the table of sums: rows (R, d), copies in each (R,), their sequences (R,).

    ``exponents``: e of every token, if temperatures are given; without other tokens it does not matter.
    """

    def __init__(self, state: State, decay: Decay | None) -> None:
        self.state, self.decay = state, decay
        self.chosen = np.full(len(state.numerators), -1, dtype=np.int64)
        self.exponents = np.full(len(state.numerators), MAX_EXPONENT)
        self.sums: list[Array] = []
        self.copies: list[Array] = []
        self.sequences: list[Array] = []
        self.size = len(state.numerators)  # the next free number

    def add_rows(self, sums: Array, copies: Array, sequences: Array) -> Array:
        """Appends rows to the table. Returns their numbers."""
        numbers = np.arange(self.size, self.size + len(sums))
        self.sums.append(sums)
        self.copies.append(copies)
        self.sequences.append(sequences)
        self.size += len(sums)
        return numbers

    def gather(self, used: Array) -> tuple[Array, Array, Array]:
        """Sums, copies and sequences of these choices."""
        owner = self.state.owner
        tokens = used[used < len(owner)]
        parts = [self.state.numerators[tokens], *self.sums]
        sums = np.concatenate(parts) if len(parts) > 1 else parts[0]
        copies = np.concatenate([np.ones(len(tokens), dtype=np.int64), *self.copies])
        sequences = np.concatenate([owner[tokens], *self.sequences])
        rest = used[used >= len(owner)] - len(owner) + len(tokens)
        index = np.concatenate([np.arange(len(tokens)), rest])
        return sums[index], copies[index], sequences[index]


def apply_attention(state: State, layer: SelfAttention, decay: Decay | None = None) -> None:
    """rho x_i + V (mean of the x_l of largest score), V != 0, or boxes for that at all temperatures of ``decay``."""
    rho, rho_denominator = int(layer.rho.p), int(layer.rho.q)
    choices = choose(state, layer.A, decay)
    used, place = np.unique(choices.chosen, return_inverse=True)
    sums, copies, sequences = choices.gather(used)
    if decay is not None:
        least = np.full(len(used), MAX_EXPONENT)
        np.minimum.at(least, place, choices.exponents)
        radii = spread(state, layer.V, least, copies, sequences)
        state.radii = (radii if rho == 0 else radii[place]) if radii.any() else None
    values, v = transform(sums, layer.V)
    # over the denominator common * ties * D: keep ties x + add (ties / copies) V sum
    common = lcm(rho_denominator, v)
    ties = find_common(np.unique(copies).tolist(), state.limits)
    factors = multiply(integer_array([ties // int(x) for x in copies.tolist()]), common // v)
    values = multiply(values, factors[:, None])
    denominator = common * ties * state.denominator
    if rho == 0:
        # equal choices give equal points: kept once, with the number of tokens that they stand for
        weights = np.zeros(len(used), dtype=np.int64)
        np.add.at(weights, place, state.weights)
        order = np.argsort(sequences, kind="stable")
        state.starts = np.searchsorted(sequences[order], np.arange(len(state.starts)))
        state.weights = weights[order]
        state.radii = None if state.radii is None else state.radii[order]
        state.replace(values[order], denominator)
        return
    kept = multiply(state.numerators, rho * (common // rho_denominator) * ties)
    state.replace(add(kept, values[place]), denominator)


def spread(state: State, V: SquareMatrix, exponents: Array, copies: Array, sequences: Array) -> Array:
    """The radii of V (mean) for choices with these exponents; nothing is known of sequences that are no points."""
    X, starts = state.numerators, state.starts
    (X,) = room(2 * state.bound, X)
    extent = segment_reduce(np.maximum, X, starts) - segment_reduce(np.minimum, X, starts)
    matrix, v = transform(np.eye(state.dimension, dtype=np.int64), V)  # its rows are the columns of V
    others = segment_sum(state.weights, starts)[sequences] - copies
    sides = combine(upper(matrix.T, v), upper(extent, state.denominator))[sequences]
    sides = np.where((others > 0)[:, None], sides, 0)  # which may be inf
    weights = upper(others, 1) * np.array([1 / (1 << e) for e in exponents.tolist()])
    with np.errstate(over="ignore"):
        radii = raised(weights[:, None] * sides, 2, sides > 0)
    if state.radii is not None:
        radii[segment_reduce(np.maximum, state.radii.max(axis=1), starts)[sequences] != 0] = np.inf
    return radii


def transform(rows: Array, matrix: SquareMatrix) -> tuple[Array, int]:
    """M x for every row x, over the positive denominator that is returned."""
    if matrix.dense is None and matrix.left is None:
        return multiply(rows, int(matrix.scale.p)), int(matrix.scale.q)
    numerators, denominator = integer_matrix(matrix.to_dense(rows.shape[1]))
    M = integer_array([[int(x) for x in row] for row in numerators.tolist()])
    return product(rows, M.T), denominator


def choose(state: State, A: SquareMatrix, decay: Decay | None = None) -> Choices:
    """What every token attends to."""
    choices = Choices(state, decay)
    if A.is_zero(state.dimension):
        sums = segment_sum(multiply(state.numerators, state.weights[:, None]), state.starts)
        copies = segment_sum(state.weights, state.starts)
        rows = choices.add_rows(sums, copies, np.arange(len(sums)))
        choices.chosen = rows[state.owner]
    elif A.dense is None and A.scale == 0 and A.left is not None and A.right is not None:
        _choose_by_line(choices, A)
    else:
        if A.dense is None and A.left is None:
            _choose_by_dominance(choices, A.scale)
        _choose_by_scores(choices, A)
    return choices


def _column(matrix: object) -> tuple[Array, int]:
    numerators, denominator = integer_matrix(matrix)  # type: ignore[arg-type]
    return integer_array([int(x) for x in numerators.entries()]), denominator


def _choose_by_line(choices: Choices, A: SquareMatrix) -> None:
    """A = p q^T: the score <q, x_i> <p, x_l> is largest where <p, x_l> is largest if <q, x_i> > 0, smallest if < 0, and
    the same everywhere if = 0. The positive denominators of p, q and x change no sign and no order."""
    state, owner = choices.state, choices.state.owner
    (p, scale), (q, q_scale) = _column(A.left), _column(A.right)
    keys, queries = state.project(p), state.project(q)
    weighted = multiply(state.numerators, state.weights[:, None])
    for sign, extreme in ((1, np.maximum), (-1, np.minimum), (0, None)):
        asking = np.sign(queries) == sign
        if not asking.any():
            continue
        if extreme is None:
            held = np.arange(len(keys))
        else:
            best = segment_reduce(extreme, keys, state.starts)[owner]
            held = np.flatnonzero(keys == best)
            if choices.decay is not None:
                (keys,) = room(4 * bound_of(keys) + 2, keys)
                # the lead over the nearest other key; a sequence without others gets some number, which is not used
                behind = np.where(keys == best, -sign * (2 * bound_of(keys) + 1), keys)
                lead = sign * (best - segment_reduce(extreme, behind, state.starts)[owner])
                gaps = multiply(np.abs(queries[asking]), lead[asking])
                unit = fmpq(1, scale * q_scale * state.denominator**2)
                choices.exponents[asking] = choices.decay.exponents(gaps, unit)
        starts = np.searchsorted(owner[held], np.arange(len(state.starts)))  # every sequence has an extreme token
        sums, copies = segment_sum(weighted[held], starts), segment_sum(state.weights[held], starts)
        rows = choices.add_rows(sums, copies, np.arange(len(sums)))
        choices.chosen[asking] = rows[owner[asking]]


def _choose_by_dominance(choices: Choices, alpha: fmpq) -> None:
    """A = alpha I: decides the queries whose answer is certain in O(d), leaves the others at -1.

    Let t be a token that is the coordinatewise maximum of its sequence, and a query y = sign(alpha) x with y > 0 in
    every coordinate. Every other point z of the sequence has t - z >= 0 and not all 0, so <y, t - z> > 0: the query
    attends to t and its equals alone. For y < 0 in every coordinate the same holds with the coordinatewise minimum. One
    coordinate of y that is 0 decides nothing. With s the coordinatewise maximum of the other points, the gap is at
    least |alpha| <y, t - s>; at other temperatures than 0 a query is decided if that gives the largest exponent.
    """
    state, X = choices.state, choices.state.numerators
    owner = state.owner
    above = np.ascontiguousarray((X > 0).T).all(axis=0)
    below = np.ascontiguousarray((X < 0).T).all(axis=0)
    highest, lowest = (above, below) if alpha > 0 else (below, above)
    for asking, extreme, sign in ((highest, np.maximum, 1), (lowest, np.minimum, -1)):
        if not asking.any():
            continue
        corner = segment_reduce(extreme, X, state.starts)
        candidates = np.flatnonzero(X[:, 0] == corner[owner, 0])
        candidates = candidates[(X[candidates] == corner[owner[candidates]]).all(axis=1)]
        best = np.full(len(state.starts) - 1, -1, dtype=np.int64)
        best[owner[candidates]] = candidates
        if choices.decay is not None:
            (others,) = room(2 * state.bound + 1, X.copy())
            others[candidates] = -sign * (state.bound + 1)  # below all: a sequence without others has a lead > 0
            lead = np.abs(corner - segment_reduce(extreme, others, state.starts))
            left, right = room(state.dimension * state.bound * bound_of(lead), X, lead)
            gaps = np.abs((left * right[owner]).sum(axis=1))
            unit = abs(alpha) / state.denominator**2
            asking = asking & (choices.decay.exponents(gaps, unit) == MAX_EXPONENT)
        choices.chosen[asking] = best[owner[asking]]


def _choose_by_scores(choices: Choices, A: SquareMatrix) -> None:
    """Every query still at -1, by its scores for all tokens of its sequence; A over a positive denominator."""
    state, owner = choices.state, choices.state.owner
    open_queries = np.flatnonzero(choices.chosen < 0)
    if not len(open_queries):
        return
    sizes = np.diff(state.starts)
    work = np.cumsum(sizes[owner[open_queries]]) * state.dimension
    cuts = np.unique(np.searchsorted(work, np.arange(CHUNK, work[-1], CHUNK)))
    asking = owner[open_queries]
    aligned = np.searchsorted(asking, asking[cuts])  # whole sequences together, unless one is too long
    cuts = np.where(np.diff(aligned, prepend=0) > 0, aligned, cuts)
    for queries in np.split(open_queries, cuts):
        if len(queries):
            _score(choices, queries, *transform(state.numerators[queries], A), sizes)


def _score(choices: Choices, queries: Array, asked: Array, scale: int, sizes: Array) -> None:
    """The choices of these queries, asked[k] = scale A x_k.

    Float64 carries the scores if all of them, and so all partial sums in any order, are integers of at most 53 bits.
    """
    state, owner = choices.state, choices.state.owner
    counts = sizes[owner[queries]]
    query, token = expand(state.starts[owner[queries]], counts)
    bound = 2 * state.dimension * bound_of(asked) * state.bound + 2
    left, right = room(bound, asked, state.numerators)
    if bound <= WHOLE_FLOATS:
        left, right = left.astype(np.float64), right.astype(np.float64)
    first, last = int(owner[queries[0]]), int(owner[queries[-1]]) + 1
    asking = np.bincount(owner[queries], minlength=last)[first:]
    if (asking == asking[0]).all() and (sizes[first:last] == sizes[first]).all():
        keys = right[state.starts[first] : state.starts[last]].reshape(last - first, -1, state.dimension)
        scores = np.matmul(left.reshape(last - first, -1, state.dimension), keys.transpose(0, 2, 1)).ravel()
    else:
        scores = (left[query] * right[token]).sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(counts)])
    best = segment_reduce(np.maximum, scores, starts)
    ahead = scores == best[query]
    if choices.decay is not None:
        behind = segment_reduce(np.maximum, np.where(ahead, -(bound // 2), scores), starts)  # not used without others
        gaps = best - behind if scores.dtype == object else (best - behind).astype(np.int64)
        choices.exponents[queries] = choices.decay.exponents(gaps, fmpq(1, scale * state.denominator**2))
    held = np.flatnonzero(ahead)
    firsts = np.searchsorted(query[held], np.arange(len(queries) + 1))
    ties = np.diff(firsts)
    chosen = token[held[firsts[:-1]]]
    several = ties > 1
    if several.any():
        held = held[several[query[held]]]
        weights = state.weights[token[held]]
        rows = multiply(narrow(state.numerators[token[held]]), weights[:, None])
        cuts = np.concatenate([[0], np.cumsum(ties[several])])
        chosen[several] = choices.add_rows(segment_sum(rows, cuts), segment_sum(weights, cuts), owner[queries[several]])
    choices.chosen[queries] = chosen
