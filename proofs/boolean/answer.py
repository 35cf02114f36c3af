"""Trusted. A file and a claim in, answer out: the verdict for people and for programs."""

from __future__ import annotations

from pathlib import Path

from proofs.boolean.check import Claim, check_encoder
from proofs.boolean.decode import decode_encoder
from proofs.boolean.model import Encoder
from proofs.boolean.signs import Watch
from proofs.functional_gd.answer import make_answer, read_as
from proofs.functional_gd.check import Verdict
from proofs.guard import Answer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits

CHECKED_BY = "proofs.boolean, proofs.kernel.decode, proofs.kernel.rational, python-flint, numpy"
PAGE = "docs/explanation/boolean.md"


def read_encoder(path: Path, limits: Limits = DEFAULT_LIMITS) -> Encoder:
    """The encoder in a file, faults carrying the file's name."""
    return read_as(path, decode_encoder, limits)


def answer_certify(
    witness: Path, claim: Claim, limits: Limits = DEFAULT_LIMITS, jobs: int = 1, watch: Watch | None = None
) -> Answer:
    """Checks one encoder file against the claim."""

    def ask() -> Verdict:
        return check_encoder(read_encoder(witness, limits), claim, jobs, watch)

    return make_answer(str(witness), ask, f"{CHECKED_BY} ({PAGE})")
