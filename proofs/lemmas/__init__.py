"""What each step of a construction promises: statement, hypotheses, proof, and an exact check of the promise.

Not trusted: a verdict never rests on a lemma. Builders call the promise checks while they build, and
``interp audit --explain`` uses them to name the step at which a refuted transformer went wrong.
"""

from proofs.lemmas import (
    caps,
    chain,
    codes,
    collapse,
    counts,
    curve,
    dominance,
    equal_norms,
    folded,
    folds,
    gap,
    hat,
    interpolation,
    intervals,
    key,
    leaders,
    lift,
    line,
    ordered_key,
    peeling,
    placement,
    prefixes,
    push,
    remainders,
    separation,
    signature,
    soft_collapse,
    theorems,
    trapezoid,
)
from proofs.lemmas.lemma import KINDS, Lemma

_ALL = (
    *(module.LEMMA for module in (hat, trapezoid, curve, dominance, equal_norms, gap)),
    *(module.LEMMA for module in (separation, leaders, collapse, interpolation, soft_collapse, line, placement)),
    *(counts.LEMMA, theorems.HARDMAX, theorems.SOFTMAX),
    *(module.LEMMA for module in (signature, chain, intervals, lift, caps, remainders, key, peeling)),
    *(module.LEMMA for module in (push, codes, folds, folded)),
    *(module.LEMMA for module in (ordered_key, prefixes)),
    theorems.COMPACT,
)
LEMMAS: dict[str, Lemma] = {lemma.name: lemma for lemma in _ALL}

__all__ = ["KINDS", "LEMMAS", "Lemma"]
