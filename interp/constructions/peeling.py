"""Untrusted. ``peeling``: hardmax only; signature, peeling, chain.

Theorem B of docs/explanation/compact.md: with m = max m_j >= 2, m + 1 + ceil(sum_j min(m, n_j) / 4) blocks when the
signature needs at most 3 kinks; with m_j = min(m, n_j) for all j that is m + 1 + ceil(M / 4). Source: ours.
"""

from __future__ import annotations

import random

from flint import fmpq, fmpq_mat

from interp.constructions.compact import add_axis_chain, add_signature, build_compact, check_sizes, to_point
from interp.constructions.hardmax import list_targets
from interp.stages.peeling import plan_peeling
from interp.stages.signature import axis, find_signatures
from interp.stages.tokens import TokenState
from interp.transformers.ledger import Ledger
from proofs.kernel.errors import UsageError
from proofs.kernel.model import SelfAttention, SquareMatrix
from proofs.kernel.statement import Dataset


def build_peeling(dataset: Dataset, seed: int = 0, heads: int = 1) -> Ledger:
    """Blocks that interpolate the dataset at temperature 0, with their phases; ``compact`` if all m_j = 1.

    A sequence with m_j < min(m, n_j) is peeled into more points than it has targets: its lowest points share one.
    With two ``heads`` a block peels the largest and the smallest token: ceil((m - 1) / 2) blocks instead of m - 1.
    Exactness: integers and rationals throughout. Raises: MalformedInput, UsageError for d = 2, InternalFault.
    """
    if heads == 2 and dataset.dimension < 3:
        raise UsageError("two heads need d >= 3", "--heads", "append a constant coordinate")
    targets = list_targets(dataset)
    most = max(len(group) for group in targets)
    if most == 1:
        return build_compact(dataset, seed)
    rng = random.Random(seed)
    d, state = dataset.dimension, TokenState.from_dataset(dataset)
    check_sizes(state, targets)
    signature = next(find_signatures(state, rng))
    peeling = plan_peeling(signature, most - 1, heads)
    ledger = Ledger(d)
    value = SquareMatrix(left=fmpq_mat(d, 1, axis(d, 1)), right=fmpq_mat(d, 1, axis(d, 0)))
    add_signature(ledger, signature, [fmpq(0)] * d, SelfAttention(V=value))
    ledger.add("peeling", "peeling", peeling.build_blocks(d))
    points = []
    for j in signature.by_mean():
        places = peeling.points(j)
        wanted = [targets[j][0]] * (len(places) - len(targets[j])) + targets[j]
        points += list(zip(places, map(to_point, wanted), strict=True))
    add_axis_chain(ledger, points)
    return ledger
