"""Untrusted. ``causal``: a causal mask, read-out at the last m_j tokens, exact at every temperature.

Theorem F of docs/explanation/causal-and-heads.md: possible if and only if the marked prefixes can be labelled; then
2 + ceil(#marked / 4) blocks if the values of tokens need at most 3 kinks, one more if at most 6. All attention is
uniform. Source: ours.
"""

from __future__ import annotations

import random

from flint import fmpq, fmpq_mat

from interp.constructions.compact import add_signature, to_point
from interp.datasets.doctor import find_violations
from interp.datasets.violation import Violation
from interp.stages.chain import build_chain_from_zero
from interp.stages.hat import build_feed_forward
from interp.stages.ordered_key import find_ordered_key
from interp.stages.prefixes import find_labels, mark_prefixes
from interp.stages.signature import axis
from interp.transformers.ledger import Ledger
from proofs.kernel.model import Block, SelfAttention, SquareMatrix
from proofs.kernel.rational import Row
from proofs.kernel.statement import Dataset

SETS = {"contradictory-pairs", "identical-pairs", "equal-input-sets"}  # under a mask sequences have an order


def find_causal_violations(dataset: Dataset) -> list[Violation]:
    """What keeps every transformer with a causal mask from having the last m_j tokens Y_j; [] if there is one."""
    broken = [violation for violation in find_violations(dataset) if violation.rule not in SETS]
    if broken:
        return broken
    return [found for found in find_labels(mark_prefixes(dataset)) if isinstance(found, Violation)]


def build_causal(dataset: Dataset, seed: int = 0) -> Ledger:
    """Blocks that interpolate the dataset with a causal mask, read out at the last tokens, at every temperature.

    Exactness: integers and rationals throughout. Raises: MalformedInput when no such transformer exists, with the pairs
    that conflict; InternalFault when a step breaks its promise.
    """
    marked = mark_prefixes(dataset)
    labels: list[Row] = []
    for found in find_labels(marked):
        if isinstance(found, Violation):
            raise found.error()
        labels.append(found)
    d = dataset.dimension
    key = find_ordered_key(dataset, marked, random.Random(seed))
    ledger = Ledger(d)
    value = SquareMatrix(left=fmpq_mat(d, 1, axis(d, 1)), right=fmpq_mat(d, 1, axis(d, 0)))
    add_signature(ledger, key.signature, [fmpq(0)] * d, SelfAttention(V=value, causal=True))
    again = SelfAttention(V=SquareMatrix(scale=fmpq(key.scale)), causal=True)
    ledger.add("ordered key", "ordered key", [Block(build_feed_forward(d, []), again)])
    order = sorted(range(len(labels)), key=lambda p: key.keys[p])
    parameters = [key.keys[p] for p in order]
    row = [fmpq(1), fmpq(key.second), *[fmpq(0)] * (d - 2)]
    # a point of each key: the chain reads x_1 + mu x_2 and nothing else
    e1 = fmpq_mat(d, 1, axis(d, 0))
    targets = [to_point(labels[p]) for p in order]
    ledger.add("chain", "chain", build_chain_from_zero(parameters, targets, row, fmpq(0), lambda i: e1 * parameters[i]))
    return ledger
