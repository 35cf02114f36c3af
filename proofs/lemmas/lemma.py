"""The record of a lemma, and the type of an exact promise check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proofs.kernel.rational import Row

if TYPE_CHECKING:
    from sympy import Expr

Sequences = Sequence[Sequence[Row]]

KINDS = {"coq": "Coq", "symbolic": "symbolic", "written": "written, not machine-checked"}


@dataclass(frozen=True, slots=True)
class Lemma:
    """A statement with its hypotheses and the kind of its proof.

    ``kind`` is ``written`` (read it, no machine has), ``symbolic`` (``identities`` returns expressions that a computer
    algebra system reduces to 0 for symbolic parameters) or ``coq`` (``coq`` names theorems of proofs/coq, as
    File.name). A written proof may name Coq theorems that are close to it. ``depends`` names the lemmas it uses.
    """

    name: str
    title: str
    statement: str
    hypotheses: tuple[str, ...]
    proof: str
    kind: str
    source: str
    depends: tuple[str, ...] = ()
    coq: tuple[str, ...] = ()
    identities: Callable[[], list[Expr]] | None = None
