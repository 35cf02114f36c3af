"""Trusted. ``python -m proofs check DATA WITNESS``: bytes in, verdict out.

The only place that prints a verdict and turns it into an exit code.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from proofs.double import double_check
from proofs.guard import Answer, Bounds, run_guarded
from proofs.kernel.check import DENSE, Mismatch, Passes, Progress, Verdict, check
from proofs.kernel.decode import decode_dataset, decode_transformer
from proofs.kernel.errors import InternalFault, InterpError, LimitReached, MalformedInput, Status
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits, coordinates_of, rational_text
from proofs.kernel.statement import Claim, Dataset, make_claim

DOUBLE = "ask a second, independent checker too; a disagreement is an internal fault"
PARANOID = "the kernel's dense pass alone, without the fast engine"


@dataclass(frozen=True, slots=True)
class Options:
    """What the user says about the claim; None takes the default that the dataset gives."""

    attention: str | None = None
    temperatures: str | None = None
    max_width: int | None = None
    max_blocks: int | None = None
    max_parameters: int | None = None

    def claim(self, dataset: Dataset) -> Claim:
        """The claim for this dataset."""
        return make_claim(dataset, *(getattr(self, field.name) for field in fields(self)))


def read_bytes(path: Path, limits: Limits) -> bytes:
    """The content of a regular file. Raises: MalformedInput, LimitReached."""
    try:
        if not path.is_file():
            raise MalformedInput("no such file" if not path.exists() else "not a regular file", file=str(path))
        if path.stat().st_size > limits.max_bytes:
            raise LimitReached(f"more than {limits.max_bytes} bytes", hint="raise --max-bytes", file=str(path))
        return path.read_bytes()
    except OSError as error:
        raise MalformedInput(f"cannot be read: {error.strerror}", file=str(path)) from error


def read_dataset(path: Path, limits: Limits) -> Dataset:
    """The dataset in a JSON or JSON lines file, faults carrying the file's name."""
    try:
        return decode_dataset(read_bytes(path, limits), limits)
    except InterpError as error:
        error.file = str(path)
        raise


def read_transformer(path: Path, limits: Limits) -> Transformer:
    """The transformer in a file, faults carrying the file's name."""
    try:
        return decode_transformer(read_bytes(path, limits), limits)
    except InterpError as error:
        error.file = str(path)
        raise


def render_verdict(verdict: Verdict, name: str = "") -> str:
    """The verdict for people. The first line is the answer and the whole claim it answers."""
    lines = [f"{verdict.status.label.upper()}{f' {name}' if name else ''}: {verdict.claim}"]
    for item in verdict.obligations:
        mark = {Status.VERIFIED: "holds", Status.REFUTED: "FAILS"}.get(item.status, "undecided")
        lines.append(f"  {item.name:<11} {mark:<9} {item.detail}")
        if item.mismatch is not None:
            lines.extend(_render_mismatch(item.mismatch))
    lines.extend(f"  note: {note}" for note in verdict.notes)
    lines.append(f"  dataset     {verdict.dataset_digest}")
    lines.append(f"  transformer {verdict.transformer_digest}")
    lines.append(f"  checked by  {', '.join(verdict.parts)} (docs/explanation/trusted-base.md)")
    return "\n".join(lines)


def _render_mismatch(mismatch: Mismatch) -> list[str]:
    lines = [f"    pair {mismatch.pair}: squared Hausdorff distance {_short(rational_text(mismatch.squared_distance))}"]
    for label, rows in (("missing", mismatch.missing), ("surplus", mismatch.surplus)):
        shown = ["(" + ", ".join(_short(rational_text(x)) for x in coordinates_of(row)) + ")" for row in rows[:3]]
        more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
        if shown:
            lines.append(f"    {label}: {' '.join(shown)}{more}")
    return lines


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """The verdict for programs; numbers that may be large are exact text."""
    claim = verdict.claim
    return {
        "verdict": verdict.status.label,
        "exit_code": verdict.status.exit_code,
        "claim": {
            "temperatures": str(claim.temperatures),
            "max_width": claim.max_width,
            "max_blocks": claim.max_blocks,
            "max_parameters": claim.max_parameters,
        },
        "obligations": [
            {"name": item.name, "status": item.status.label, "detail": item.detail}
            | ({"mismatch": _mismatch_record(item.mismatch)} if item.mismatch else {})
            for item in verdict.obligations
        ],
        "counts": {field.name: getattr(verdict.counts, field.name) for field in fields(verdict.counts)},
        "dataset": verdict.dataset_digest,
        "transformer": verdict.transformer_digest,
        "parts": list(verdict.parts),
        "notes": list(verdict.notes),
    }


def _mismatch_record(mismatch: Mismatch) -> dict[str, Any]:
    def texts(rows: tuple[tuple[int, ...], ...]) -> list[list[str]]:
        return [[rational_text(x) for x in coordinates_of(row)] for row in rows]

    return {
        "pair": mismatch.pair,
        "missing": texts(mismatch.missing),
        "surplus": texts(mismatch.surplus),
        "squared_hausdorff": rational_text(mismatch.squared_distance),
    }


def error_record(error: InterpError) -> dict[str, Any]:
    """A fault for programs."""
    return {
        "verdict": error.status.label,
        "exit_code": error.status.exit_code,
        "error": error.message,
        "file": error.file,
        "path": error.path,
        "hint": error.hint,
    }


def choose_passes(paranoid: bool) -> Passes:
    """The engine's passes, or the kernel's alone: then neither the engine nor numpy is loaded."""
    if paranoid:
        return DENSE
    from proofs.engine.passes import ENGINE

    return ENGINE


def answer_check(
    dataset: Dataset | Path,
    witness: Path,
    options: Options,
    limits: Limits,
    progress: Progress | None = None,
    notes: tuple[str, ...] = (),
    passes: Passes = DENSE,
) -> Answer:
    """Checks one witness file against one dataset; every fault becomes an answer of its own kind.

    ``notes`` are told with the verdict, for instance that the dataset was read outside the kernel. ``passes`` are the
    kernel's dense ones, or the engine's (``choose_passes``).
    """

    def ask() -> Answer:
        statement = read_dataset(dataset, limits) if isinstance(dataset, Path) else dataset
        claim = options.claim(statement)
        verdict = check(statement, read_transformer(witness, limits), claim, limits, progress, passes)
        verdict = replace(verdict, notes=verdict.notes + notes)
        return Answer(render_verdict(verdict, str(witness)), verdict_record(verdict), verdict.status)

    return answer_faults(ask)


def answer_faults(ask: Callable[[], Answer]) -> Answer:
    """The answer, or what a fault makes of it; running out of memory is the guard's to answer."""
    try:
        return ask()
    except InterpError as error:
        return answer_error(error)
    except MemoryError:
        raise
    except Exception as error:
        hint = "a defect of the program: please report it with the input"
        return answer_error(InternalFault(f"{type(error).__name__}: {error}", hint=hint))


def answer_error(error: InterpError) -> Answer:
    """The answer that a fault makes."""
    return Answer(f"{error.status.label.upper()}: {error}", error_record(error), error.status)


def print_answer(text: str, status: Status) -> Status:
    """Prints what was found, whatever the terminal can show. A text that cannot be written is an internal fault."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more is flushed at exit
        return status if isinstance(error, BrokenPipeError) else Status.FAULT
    return status


def add_limit_options(parser: argparse.ArgumentParser) -> None:
    """--max-digits and its like, one for each limit."""
    for field in (*fields(Limits), *fields(Bounds)):
        parser.add_argument("--" + field.name.replace("_", "-"), type=int, default=field.default)


def main(arguments: list[str] | None = None) -> int:
    """The command line. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m proofs", description="Exact check of a transformer against a dataset."
    )
    command = parser.add_subparsers(dest="command", required=True).add_parser(
        "check", help="check WITNESS against DATA"
    )
    command.add_argument("data", type=Path, help="the statement: dataset as JSON or JSON lines")
    command.add_argument("witness", type=Path, help="the transformer")
    command.add_argument("--attention", choices=["hardmax", "softmax"])
    command.add_argument("--temperatures", help="0, (0,T], [0,T], (0,oo), [0,oo) or one T")
    for name in ("width", "blocks", "parameters"):
        command.add_argument(f"--max-{name}", type=int)
    command.add_argument("--json", action="store_true")
    command.add_argument("--paranoid", action="store_true", help=PARANOID)
    command.add_argument("--double", action="store_true", help=DOUBLE)
    add_limit_options(command)
    given = parser.parse_args(arguments)
    options = Options(*(getattr(given, field.name) for field in fields(Options)))
    limits = Limits(*(getattr(given, field.name) for field in fields(Limits)))
    bounds = Bounds(*(getattr(given, field.name) for field in fields(Bounds)))
    passes = choose_passes(given.paranoid)

    def work() -> Answer:
        answer = answer_check(given.data, given.witness, options, limits, passes=passes)
        return double_check(answer, given.data, given.witness, asdict(options)) if given.double else answer

    answer = run_guarded(work, bounds)
    return print_answer(json.dumps(answer.record, indent=2) if given.json else answer.text, answer.status).exit_code


if __name__ == "__main__":
    gc.disable()  # nothing that is read refers to itself, and looking for cycles takes half the time of large files
    sys.exit(main())
