"""Untrusted. Collapse: one attention layer, rho = 0, V = I, with A = I for hardmax (lemma ``collapse``) and A = alpha I
for softmax (lemma ``soft collapse``)."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest

import numpy as np
from flint import fmpq, fmpz_mat

from interp.stages.tokens import TokenState, power_of_two_above, require
from proofs.kernel.boxes import Box, point
from proofs.kernel.model import SelfAttention, SquareMatrix
from proofs.kernel.softmax import apply_attention_boxes, mean_up_to
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
    state: TokenState, sizes: Sequence[int], tau: fmpq, direction: Sequence[int], line_gap: fmpq
) -> tuple[SelfAttention, list[list[Box]]]:
    """The softmax layer A = alpha I, rho = 0, V = I, and the boxes it makes at all temperatures <= tau.

    alpha is the smallest power of two for which the bound of lemma ``soft collapse`` leaves the intervals
    <direction, .> of the leaders, line_gap apart, disjoint with room to spare. Raises: InternalFault.
    """
    sequences = state.sequences()
    margin = _find_margin(state)
    extent = fmpq(int(state.array.max()) - int(state.array.min()), state.denominator)
    longest = max(len(rows) for rows in sequences)
    exponent = 0
    # n 2^-exponent extent, projected, on either side of two neighbours, and a quarter of the gap left for the kinks
    while longest * sum(direction) * extent * 16 > line_gap * fmpq(1 << exponent):
        exponent += 1
    alpha = fmpq(1)
    if margin is not None:
        alpha = power_of_two_above((exponent + 1) * tau / margin)
    identity = SquareMatrix(scale=fmpq(1))
    layer = SelfAttention(fmpq(0), SquareMatrix(scale=alpha), identity)
    boxes = [apply_attention_boxes(layer, [point(row) for row in rows], mean_up_to(tau)) for rows in sequences]
    require(soft_lemma.check_promise(boxes, sizes, direction), "soft collapse")
    return layer, boxes


def _find_margin(state: TokenState) -> fmpq | None:
    """The smallest lead of the best score <x_i, x_l> over the second best, over all tokens, if any sequence has two."""
    leads = []
    for member in state.members():
        if len(member) > 1:
            tokens = fmpz_mat(state.numerators[member].tolist())
            for scores in (tokens * tokens.transpose()).tolist():
                first, second = nlargest(2, scores)
                leads.append(first - second)
    return fmpq(min(leads), state.denominator**2) if leads else None
