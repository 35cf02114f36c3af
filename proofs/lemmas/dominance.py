"""Dominance: a positive query prefers the key that is larger in every coordinate."""

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="dominance",
    title="Coordinatewise larger keys win for positive queries",
    statement="If x > 0 and p > z in every coordinate, then <x, z> < <x, p>. Any dimension d >= 1.",
    hypotheses=("every coordinate of x is positive", "every coordinate of p - z is positive"),
    proof="<x, p> - <x, z> = <x, p - z> is a sum of positive terms.",
    kind="coq",
    source="docs/explanation/mathematics.md",
    coq=("Lemmas.dominance",),
)
