"""Untrusted. Collapse (lemma ``collapse``): one hardmax attention, A = I, rho = 0, V = I."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from interp.stages.tokens import TokenState, require
from proofs.kernel.model import SelfAttention, SquareMatrix
from proofs.lemmas import collapse as lemma


def build_collapse(state: TokenState, sizes: Sequence[int]) -> tuple[SelfAttention, TokenState]:
    """The layer, and the state in which sequence j is its m_j leaders. Raises: InternalFault if the promise breaks."""
    identity = SquareMatrix(scale=fmpq(1))
    rows = state.rows()
    members = state.members()
    kept = []
    for member in members:
        negative = [i for i in member if max(rows[i][:-1]) < 0]
        first = max((i for i in member if i not in set(negative)), key=lambda i: fmpq(rows[i][0], rows[i][-1]))
        kept += [first, *negative]
    after = TokenState.from_rows([rows[i] for i in kept], tuple(state.sequence[i] for i in kept), (1,) * len(kept))
    require(lemma.check_promise(after.sequences(), sizes), "collapse")
    return SelfAttention(fmpq(0), identity, identity), after
