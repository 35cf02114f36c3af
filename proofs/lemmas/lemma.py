"""The record of a lemma, and the type of an exact promise check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proofs.kernel.rational import Row

Sequences = Sequence[Sequence[Row]]


@dataclass(frozen=True, slots=True)
class Lemma:
    """A statement with its hypotheses and the kind of its proof.

    ``kind`` is ``written`` (read it, no machine has), ``symbolic`` (closed by a computer algebra system) or ``coq``.
    """

    name: str
    title: str
    statement: str
    hypotheses: tuple[str, ...]
    proof: str
    kind: str
    source: str
