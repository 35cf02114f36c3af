"""Trusted. Files in, answer out: the verdict for people and for programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from proofs.__main__ import answer_faults, read_bytes
from proofs.functional_gd.check import Verdict, check_descent
from proofs.functional_gd.decode import Options, decode_context, decode_transformer
from proofs.functional_gd.model import Context, Transformer
from proofs.guard import Answer
from proofs.kernel.errors import InterpError, Status
from proofs.kernel.rational import DEFAULT_LIMITS, Limits

T = TypeVar("T")
PARTS = "proofs.functional_gd, proofs.kernel.decode, proofs.kernel.rational, python-flint"
CHECKED_BY = f"{PARTS} (docs/explanation/functional-gd.md)"


def read_as(path: Path, decode: Callable[[bytes, Limits], T], limits: Limits) -> T:
    """What a reader makes of a file, faults carrying the file's name."""
    try:
        return decode(read_bytes(path, limits), limits)
    except InterpError as error:
        error.file = str(path)
        raise


def read_context(path: Path, limits: Limits = DEFAULT_LIMITS) -> Context:
    """The context in a file, faults carrying the file's name."""
    return read_as(path, decode_context, limits)


def read_transformer(path: Path, limits: Limits = DEFAULT_LIMITS) -> Transformer:
    """The transformer in a file, faults carrying the file's name."""
    return read_as(path, decode_transformer, limits)


def render_verdict(verdict: Verdict, name: str = "", checked_by: str = CHECKED_BY) -> str:
    """The verdict for people. The first line is the answer and the whole claim it answers."""
    marks = {Status.VERIFIED: "holds", Status.REFUTED: "FAILS", Status.UNDECIDED: "undecided"}
    lines = [f"{verdict.status.label.upper()}{f' {name}' if name else ''}: {verdict.claim}"]
    lines += [f"  {item.name:<11} {marks[item.status]:<9} {item.detail}" for item in verdict.obligations]
    lines += [f"  {key:<11} {text}" for key, text in verdict.facts.items() if text]
    return "\n".join([*lines, f"  checked by  {checked_by}"])


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """The verdict for programs."""
    obligations = [{"name": o.name, "status": o.status.label, "detail": o.detail} for o in verdict.obligations]
    head = {"verdict": verdict.status.label, "exit_code": verdict.status.exit_code, "claim": verdict.claim}
    return head | {"obligations": obligations, "facts": verdict.facts}


def make_answer(name: str, ask: Callable[[], Verdict], checked_by: str = CHECKED_BY) -> Answer:
    """What a check says; every fault becomes an answer of its own kind."""

    def answer() -> Answer:
        verdict = ask()
        return Answer(render_verdict(verdict, name, checked_by), verdict_record(verdict), verdict.status)

    return answer_faults(answer)


def answer_verify(context: Path, witness: Path, options: Options, limits: Limits = DEFAULT_LIMITS) -> Answer:
    """Checks one witness file against one context."""

    def ask() -> Verdict:
        statement = read_context(context, limits)
        claim = options.claim(statement, limits)
        return check_descent(statement, claim, read_transformer(witness, limits), limits)

    return make_answer(str(witness), ask)
