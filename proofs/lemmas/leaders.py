"""Leader selection: m_j tokens of each sequence stand so that hardmax with A = I collapses everything onto them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import fmpq

from proofs.engine.integers import Array, bound_of, expand, room, segment_reduce
from proofs.kernel.rational import Row
from proofs.lemmas.lemma import Lemma, Sequences

LEMMA = Lemma(
    name="leaders",
    title="M blocks place the leaders",
    statement=(
        "If the sequences are disjoint and positive, M blocks move exactly m_j tokens of each sequence j: one"
        " to a point p_j that exceeds every other token of the sequence in every coordinate, the others to "
        "the open negative orthant with <q, q> > <q, q'> for any two of them."
    ),
    hypotheses=("sequences pairwise disjoint", "all tokens in (0, R]^d", "1 <= m_j <= n_j"),
    proof=(
        "Take u > 0 injective on all tokens, so that one hat moves one token. p_j = x + C (1, .., 1) with C "
        ">= 2 R exceeds R everywhere. The other leaders are q_k = x_k - S (a_k, b_k, 1, .., 1) with different"
        " lattice points (a_k, b_k) of one circle, a_k, b_k >= 1, and S > R, so q_k < 0. With c_k = (a_k, "
        "b_k, 1, .., 1) all |c_k| are equal, so <c_k, c_k - c_l> = |c_k - c_l|^2 / 2 >= 1, and <q_k, q_k - "
        "q_l> = S^2 <c_k, c_k - c_l> + O(S) is positive for S large; the check below decides. A moved leader "
        "has <u, p_j> > max <u, .> over the box, or <u, q_k> < 0: outside the support of every later hat."
    ),
    kind="written",
    source="docs/explanation/mathematics.md; fixed shifts keep heights low: docs/decisions/0003-fixed-leader-shifts.md",
    depends=("hat", "equal norms"),
    coq=("Existence.leaders_phase",),
)


def check_promise(after: Sequences, sizes: Sequence[int]) -> str | None:
    """None, or what is broken; ``after`` is the state before the collapse, sizes[j] = m_j. O(n m d)."""
    for j, (rows, size) in enumerate(zip(after, sizes, strict=True)):
        tokens = set(rows)
        negative = [row for row in tokens if max(row[:-1]) < 0]
        positive = [row for row in tokens if min(row) > 0]
        if len(negative) + len(positive) != len(tokens):
            return f"a token of sequence {j} is neither positive nor negative"
        if len(negative) != size - 1 or not positive:
            return f"sequence {j} has {len(negative)} negative tokens, expected {size - 1}"
        top = max(positive, key=lambda row: fmpq(row[0], row[-1]))
        if any(not _exceeds(top, row) for row in positive if row != top):
            return f"no token of sequence {j} exceeds all its others in every coordinate"
        for q in negative:
            if any(_product(q, q) * z[-1] <= _product(q, z) * q[-1] for z in negative if z != q):
                return f"a negative leader of sequence {j} does not select itself"
    return None


def check_arrays(numerators: Array, starts: Array, sizes: Sequence[int]) -> str | None:
    """The same promise of distinct tokens over one denominator, sequence j from starts[j] to starts[j + 1] - 1.

    A token that is the maximum of its sequence in every coordinate exceeds another if no coordinate is equal.
    """
    owner = np.repeat(np.arange(len(sizes)), np.diff(starts))
    negative, positive = (signs.T.copy().all(axis=0) for signs in (numerators < 0, numerators > 0))
    if (bad := np.flatnonzero(~(negative | positive))).size:
        return f"a token of sequence {owner[bad[0]]} is neither positive nor negative"
    down = np.flatnonzero(negative)
    found = np.bincount(owner[down], minlength=len(sizes))
    wrong = np.flatnonzero((found != np.array(sizes) - 1) | (found == np.diff(starts)))
    if wrong.size:
        return f"sequence {wrong[0]} has {found[wrong[0]]} negative tokens, expected {sizes[wrong[0]] - 1}"
    corner = segment_reduce(np.maximum, numerators, starts)
    equal = numerators == corner[owner]
    tops = np.flatnonzero(equal[:, 0])
    tops = tops[equal[tops].all(axis=1)]
    touching = np.bincount(owner[equal.T.copy().any(axis=0)], minlength=len(sizes))
    if len(tops) != len(sizes) or (touching != 1).any():
        return f"no token of sequence {int(np.argmax(touching != 1))} exceeds all its others in every coordinate"
    query, token = expand(starts[owner[down]], np.diff(starts)[owner[down]])
    bound = numerators.shape[1] * bound_of(numerators) ** 2
    left, right = room(bound, numerators[down], numerators)
    scores = (left[query] * right[token]).sum(axis=1)
    own = (left * left).sum(axis=1)[query]
    lost = np.flatnonzero((scores >= own) & (token != down[query]))
    return f"a negative leader of sequence {owner[token[lost[0]]]} does not select itself" if lost.size else None


def _exceeds(left: Row, right: Row) -> bool:
    return all(a * right[-1] > b * left[-1] for a, b in zip(left[:-1], right[:-1], strict=True))


def _product(left: Row, right: Row) -> int:
    return sum(a * b for a, b in zip(left[:-1], right[:-1], strict=True))
