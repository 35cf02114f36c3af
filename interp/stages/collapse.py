"""Untrusted. Collapse: one attention layer, rho = 0, V = I, with A = I for hardmax (lemma ``collapse``) and A = alpha I
for softmax (lemma ``soft collapse``)."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from itertools import pairwise

import numpy as np
from flint import fmpq

from interp.stages.tokens import TokenState, power_of_two_above, require
from proofs.engine.attention import Decay, apply_attention
from proofs.engine.integers import bound_of, room, segment_reduce
from proofs.engine.state import State
from proofs.kernel.boxes import Box, point
from proofs.kernel.model import SelfAttention, SquareMatrix
from proofs.kernel.rational import DEFAULT_LIMITS, row_of
from proofs.kernel.softmax import MAX_EXPONENT
from proofs.lemmas import collapse as lemma
from proofs.lemmas import soft_collapse as soft_lemma


def build_collapse(state: TokenState, sizes: Sequence[int]) -> tuple[SelfAttention, TokenState]:
    """The layer, and the state in which sequence j is its m_j leaders. Raises: InternalFault if the promise breaks."""
    identity = SquareMatrix(scale=fmpq(1))
    negative = (state.array < 0).all(axis=1)
    # sequence by sequence: the positive token of largest first coordinate, then the negative ones in their order
    order = np.lexsort((-state.array[:, 0], negative, state.owner))
    rank = np.arange(len(order)) - np.repeat(state.starts[:-1], np.diff(state.starts))
    down = np.flatnonzero(negative)
    chosen = np.concatenate([order[rank == 0], down])
    after = state.only(chosen[np.lexsort((chosen, np.arange(len(chosen)) >= state.num_sequences, state.owner[chosen]))])
    require(lemma.check_promise(after.sequences(), sizes), "collapse")
    return SelfAttention(fmpq(0), identity, identity), after


def build_soft_collapse(
    state: TokenState, sizes: Sequence[int], tau: fmpq, direction: Sequence[int]
) -> tuple[SelfAttention, list[list[Box]]]:
    """The softmax layer A = alpha I, rho = 0, V = I, and the boxes it makes at all temperatures <= tau.

    alpha is the smallest power of two for which the lead of every token's best score, bounded from below in O(n d),
    lets all other weights be as small as a check can tell (2^-512). Raises: InternalFault.
    """
    alpha = power_of_two_above((MAX_EXPONENT + 1) * tau / _find_margin(state))
    identity = SquareMatrix(scale=fmpq(1))
    layer = SelfAttention(fmpq(0), SquareMatrix(scale=alpha), identity)
    boxes = enclose(state, layer, tau)
    require(soft_lemma.check_promise(boxes, sizes, direction), "soft collapse")
    return layer, boxes


def enclose(state: TokenState, layer: SelfAttention, tau: fmpq) -> list[list[Box]]:
    """The boxes of every sequence after an attention layer at all temperatures in (0, tau]. Raises: InternalFault."""
    after = State(state.array, state.denominator, state.starts, state.copies, DEFAULT_LIMITS)
    apply_attention(after, layer, Decay(tau))
    centers = [row for j in range(state.num_sequences) for row in after.rows(j)]
    if after.radii is None:
        boxes = [point(row) for row in centers]
    else:
        require(None if np.isfinite(after.radii).all() else "a lead is too small", "soft collapse")
        radii = (row_of([fmpq(*x.as_integer_ratio()) for x in radius]) for radius in after.radii.tolist())
        boxes = [Box(row, radius) for row, radius in zip(centers, radii, strict=True)]
    return [boxes[first:last] for first, last in pairwise(after.starts.tolist())]


def _find_margin(state: TokenState) -> fmpq:
    """At most the lead of the best score <x_i, x_l> over all others, for every token x_i; 1 if there are no others.

    For a positive token the best is the largest token t, and the lead at least <x_i, t - s>, s the coordinatewise
    maximum of the others. The few others are scored one by one.
    """
    X, owner = state.array, state.owner
    top = segment_reduce(np.maximum, X, state.starts)
    others = np.where((top[owner] == X).all(axis=1)[:, None], X.min(), X)
    gap = top - segment_reduce(np.maximum, others, state.starts)
    (X, gap) = room(state.dimension * bound_of(X) * max(bound_of(X), bound_of(gap)), X, gap)
    several = (np.diff(state.starts) > 1)[owner]
    positive = (X > 0).all(axis=1)
    leads = (X * gap[owner]).sum(axis=1)[positive & several].tolist()
    for i in np.flatnonzero(~positive & several).tolist():
        first, second = nlargest(2, (X[state.starts[owner[i]] : state.starts[owner[i] + 1]] @ X[i]).tolist())
        leads.append(first - second)
    return fmpq(min(leads, default=state.denominator**2), state.denominator**2)
