"""Trusted. Hardmax attention on all sequences at once; ties average, every copy of a token counting.

A query i attends to the tokens of largest score <A x_i, x_l> in its sequence. It needs only *what* it attends to: one
token, or a sum of several with the number of copies in it. A choice is therefore a number: i < K for token i alone (or
with its equals, whose mean is the same point), K + r for row r of a table of sums.
"""

from __future__ import annotations

from math import lcm

import numpy as np

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
from proofs.engine.state import State
from proofs.kernel.hardmax import integer_matrix
from proofs.kernel.model import SelfAttention, SquareMatrix

CHUNK = 2**22  # entries gathered at once


class Choices:
    """What every token attends to, and the table of sums: rows (R, d), copies in each (R,), their sequences (R,)."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.chosen = np.full(len(state.numerators), -1, dtype=np.int64)
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


def apply_attention(state: State, layer: SelfAttention) -> None:
    """rho x_i + V (mean of the x_l of largest score)."""
    rho, rho_denominator = int(layer.rho.p), int(layer.rho.q)
    if layer.V.is_zero(state.dimension):
        state.replace(multiply(state.numerators, rho), rho_denominator * state.denominator)
        return
    choices = choose(state, layer.A)
    used, place = np.unique(choices.chosen, return_inverse=True)
    sums, copies, sequences = choices.gather(used)
    values, v = transform(sums, layer.V)
    # over the denominator common * ties * D: keep ties x + add (ties / copies) V sum
    common = lcm(rho_denominator, v)
    ties = lcm(*(int(x) for x in np.unique(copies)))
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
        state.replace(values[order], denominator)
        return
    kept = multiply(state.numerators, rho * (common // rho_denominator) * ties)
    state.replace(add(kept, values[place]), denominator)


def transform(rows: Array, matrix: SquareMatrix) -> tuple[Array, int]:
    """M x for every row x, over the positive denominator that is returned."""
    if matrix.dense is None and matrix.left is None:
        return multiply(rows, int(matrix.scale.p)), int(matrix.scale.q)
    numerators, denominator = integer_matrix(matrix.to_dense(rows.shape[1]))
    M = integer_array([[int(x) for x in row] for row in numerators.tolist()])
    return product(rows, M.T), denominator


def choose(state: State, A: SquareMatrix) -> Choices:
    """What every token attends to."""
    choices = Choices(state)
    if A.is_zero(state.dimension):
        sums = segment_sum(multiply(state.numerators, state.weights[:, None]), state.starts)
        copies = segment_sum(state.weights, state.starts)
        rows = choices.add_rows(sums, copies, np.arange(len(sums)))
        choices.chosen = rows[state.owner]
    elif A.dense is None and A.scale == 0 and A.left is not None and A.right is not None:
        _choose_by_line(choices, A)
    else:
        if A.dense is None and A.left is None:
            _choose_by_dominance(choices, -1 if A.scale < 0 else 1)
        _choose_by_scores(choices, A)
    return choices


def _column(matrix: object) -> Array:
    numerators, _ = integer_matrix(matrix)  # type: ignore[arg-type]
    return integer_array([int(x) for x in numerators.entries()])


def _choose_by_line(choices: Choices, A: SquareMatrix) -> None:
    """A = p q^T: the score <q, x_i> <p, x_l> is largest where <p, x_l> is largest if <q, x_i> > 0, smallest if < 0, and
    the same everywhere if = 0. The positive denominators of p, q and x change no sign and no order."""
    state, owner = choices.state, choices.state.owner
    keys, queries = state.project(_column(A.left)), state.project(_column(A.right))
    weighted = multiply(state.numerators, state.weights[:, None])
    for sign, extreme in ((1, np.maximum), (-1, np.minimum), (0, None)):
        asking = np.sign(queries) == sign
        if not asking.any():
            continue
        if extreme is None:
            held = np.arange(len(keys))
        else:
            held = np.flatnonzero(keys == segment_reduce(extreme, keys, state.starts)[owner])
        starts = np.searchsorted(owner[held], np.arange(len(state.starts)))  # every sequence has an extreme token
        sums, copies = segment_sum(weighted[held], starts), segment_sum(state.weights[held], starts)
        rows = choices.add_rows(sums, copies, np.arange(len(sums)))
        choices.chosen[asking] = rows[owner[asking]]


def _choose_by_dominance(choices: Choices, sign: int) -> None:
    """A = alpha I with the sign of alpha: decides the queries whose answer is certain in O(d), leaves the others at -1.

    Let t be a token that is the coordinatewise maximum of its sequence, and a query y = sign x with y > 0 in every
    coordinate. Every other point z of the sequence has t - z >= 0 and not all 0, so <y, t - z> > 0: the query attends
    to t and its equals alone. For y < 0 in every coordinate the same holds with the coordinatewise minimum. One
    coordinate of y that is 0 decides nothing.
    """
    state, X = choices.state, choices.state.numerators
    owner = state.owner
    above = np.ascontiguousarray((X > 0).T).all(axis=0)
    below = np.ascontiguousarray((X < 0).T).all(axis=0)
    for asking, extreme in (
        ((above, np.maximum), (below, np.minimum))
        if sign > 0
        else (
            (below, np.maximum),
            (above, np.minimum),
        )
    ):
        if not asking.any():
            continue
        corner = segment_reduce(extreme, X, state.starts)
        candidates = np.flatnonzero(X[:, 0] == corner[owner, 0])
        candidates = candidates[(X[candidates] == corner[owner[candidates]]).all(axis=1)]
        best = np.full(len(state.starts) - 1, -1, dtype=np.int64)
        best[owner[candidates]] = candidates
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
    for queries in np.split(open_queries, cuts):
        if len(queries):
            _score(choices, queries, transform(state.numerators[queries], A)[0], sizes)


def _score(choices: Choices, queries: Array, asked: Array, sizes: Array) -> None:
    """The choices of these queries, asked[k] = A x_k."""
    state, owner = choices.state, choices.state.owner
    counts = sizes[owner[queries]]
    query, token = expand(state.starts[owner[queries]], counts)
    left, right = room(state.dimension * bound_of(asked) * state.bound, asked, state.numerators)
    first, last = int(owner[queries[0]]), int(owner[queries[-1]]) + 1
    asking = np.bincount(owner[queries], minlength=last)[first:]
    if (asking == asking[0]).all() and (sizes[first:last] == sizes[first]).all():
        keys = right[state.starts[first] : state.starts[last]].reshape(last - first, -1, state.dimension)
        scores = np.matmul(left.reshape(last - first, -1, state.dimension), keys.transpose(0, 2, 1)).ravel()
    else:
        scores = (left[query] * right[token]).sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(counts)])
    best = np.flatnonzero(scores == segment_reduce(np.maximum, scores, starts)[query])
    firsts = np.searchsorted(query[best], np.arange(len(queries) + 1))
    ties = np.diff(firsts)
    chosen = token[best[firsts[:-1]]]
    several = ties > 1
    if several.any():
        held = best[several[query[best]]]
        weights = state.weights[token[held]]
        rows = multiply(narrow(state.numerators[token[held]]), weights[:, None])
        cuts = np.concatenate([[0], np.cumsum(ties[several])])
        chosen[several] = choices.add_rows(segment_sum(rows, cuts), segment_sum(weights, cuts), owner[queries[several]])
    choices.chosen[queries] = chosen
