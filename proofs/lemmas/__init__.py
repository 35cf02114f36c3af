"""What each step of a construction promises: statement, hypotheses, proof, and an exact check of the promise.

Not trusted: a verdict never rests on a lemma. Builders call the promise checks while they build, and
``interp audit --explain`` uses them to name the step at which a refuted transformer went wrong.
"""

from proofs.lemmas import collapse, hat, interpolation, leaders, separation
from proofs.lemmas.lemma import Lemma

LEMMAS: dict[str, Lemma] = {module.LEMMA.name: module.LEMMA for module in (hat, separation, leaders, collapse, interpolation)}

__all__ = ["LEMMAS", "Lemma"]
