"""What each step of a construction promises: statement, hypotheses, proof, and an exact check of the promise.

Not trusted: a verdict never rests on a lemma. Builders call the promise checks while they build, and
``interp audit --explain`` uses them to name the step at which a refuted transformer went wrong.
"""

from proofs.lemmas import (
    caps,
    chain,
    collapse,
    hat,
    interpolation,
    intervals,
    key,
    leaders,
    lift,
    line,
    peeling,
    placement,
    remainders,
    separation,
    signature,
    soft_collapse,
)
from proofs.lemmas.lemma import Lemma

LEMMAS: dict[str, Lemma] = {
    module.LEMMA.name: module.LEMMA
    for module in (
        *(hat, separation, leaders, collapse, interpolation, soft_collapse, line, placement),
        *(signature, chain, intervals, lift, caps, remainders, key, peeling),
    )
}

__all__ = ["LEMMAS", "Lemma"]
