"""Untrusted. Intervals (lemma ``intervals``): uniform attention moves the values of different sequences apart."""

from __future__ import annotations

from itertools import pairwise

from flint import fmpq

from interp.stages.signature import Signature
from interp.stages.tokens import power_of_two_above, require
from proofs.lemmas import intervals as lemma


def find_scale(signature: Signature) -> fmpq:
    """lambda, 0 or the smallest power of two with s + lambda g in disjoint intervals, in the order of the g_j.

    Neighbours ask for lambda (g' - g) > max S - min S'; the strictest demand decides. Raises: InternalFault.
    """
    demand = fmpq(-1)
    for i, j in pairwise(signature.by_mean()):
        excess = signature.value(i, -1) - signature.value(j, 0)
        demand = max(demand, excess / (signature.means[j] - signature.means[i]))
    scale = power_of_two_above(demand) if demand >= 0 else fmpq(0)
    order = signature.by_mean()
    ends = [(signature.value(j, 0), signature.value(j, -1)) for j in order]
    require(lemma.check_promise(ends, [signature.means[j] for j in order], scale), "intervals")
    return scale
