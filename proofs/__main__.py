"""Trusted. ``python -m proofs check DATA WITNESS``: bytes in, verdict out.

The only place that prints a verdict and turns it into an exit code.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from proofs.double import ONE_HEAD, double_check, is_plain
from proofs.guard import Answer, Bounds, run_guarded
from proofs.kernel.check import DENSE, Mismatch, Passes, Progress, Verdict, check
from proofs.kernel.decode import decode_dataset, decode_transformer
from proofs.kernel.errors import InternalFault, InterpError, LimitReached, MalformedInput, Status, UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits, coordinates_of, rational_text
from proofs.kernel.statement import Claim, Dataset, Mask, Readout, make_claim
from proofs.shards.check import DASK, JOBS, RESUME, Sharding, check_in_shards

T = TypeVar("T")
DECODED_AT_ONCE = 8_000_000  # bytes of JSON lines; a longer transformer is read window by window
# how a file of either kind begins, as JSON or as a zip archive that names its format first
KIND = re.compile(rb'\s*\{\s*"format"\s*:\s*"interp-(dataset|transformer)|PK[\0-\xff]{,512}interp-(transformer)-npz')
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
    mask: str = Mask.NONE.value
    readout: str = Readout.ALL.value

    def claim(self, dataset: Dataset) -> Claim:
        """The claim for this dataset."""
        return make_claim(dataset, *(getattr(self, field.name) for field in fields(self)))


def read_bytes(path: Path, limits: Limits) -> bytes:
    """The content of a regular file. Raises: MalformedInput, LimitReached."""
    return _read(path, limits, lambda size: path.read_bytes())


def _read(path: Path, limits: Limits, read: Callable[[int], T]) -> T:
    """What ``read`` makes of a regular file of that size. Raises: MalformedInput, LimitReached."""
    try:
        if not path.is_file():
            raise MalformedInput("no such file" if not path.exists() else "not a regular file", file=str(path))
        size = path.stat().st_size
        if size > limits.max_bytes:
            raise LimitReached(f"more than {limits.max_bytes} bytes", hint="raise --max-bytes", file=str(path))
        return read(size)
    except OSError as error:
        raise MalformedInput(f"cannot be read: {error.strerror}", file=str(path)) from error
    except InterpError as error:
        error.file = str(path)
        raise


def read_dataset(path: Path, limits: Limits) -> Dataset:
    """The dataset in a JSON or JSON lines file, faults carrying the file's name."""

    def read(size: int) -> Dataset:
        data = path.read_bytes()
        check_kind(data, "dataset")
        return decode_dataset(data, limits)

    return _read(path, limits, read)


def read_transformer(path: Path, limits: Limits) -> Transformer:
    """The transformer in a file of either form, faults carrying the file's name.

    The binary form and long JSON lines stay in their file: a block is decoded, and its faults are found, when a pass
    comes to it.
    """

    def read(size: int) -> Transformer:
        check_kind(read_head(path), "transformer")
        if is_binary(path):
            from proofs.witness.arrays import read_arrays

            return read_arrays(path, limits)
        if size > DECODED_AT_ONCE:
            from proofs.witness.lines import read_lines

            return read_lines(path, limits)
        return decode_transformer(path.read_bytes(), limits)

    return _read(path, limits, read)


def read_head(path: Path) -> bytes:
    """How a file begins."""
    with path.open("rb") as stream:
        return stream.read(1024)


def check_kind(head: bytes, wanted: str) -> None:
    """Raises MalformedInput for a file that is empty, or a dataset or a transformer where the other one is wanted."""
    if not head:
        raise MalformedInput("the file is empty", hint="cut short?")
    said = KIND.match(head)
    if said and (kind := (said[1] or said[2]).decode()) != wanted:
        raise MalformedInput(f"a {kind} where a {wanted} is expected", hint="the two files the other way round?")


def is_binary(path: Path) -> bool:
    """Whether a file begins as a zip archive does."""
    return read_head(path).startswith(b"PK\x03\x04")


def refuse_double(witnesses: Iterable[Path], options: Options) -> None:
    """Raises UsageError for a file or a claim that the second checker does not know."""
    if not is_plain(asdict(options)):
        raise UsageError(ONE_HEAD, "--double")
    for path in witnesses:
        if path.is_file() and is_binary(path):
            hint = f"interp convert {path} T.jsonl"
            raise UsageError("the second checker reads JSON lines only", "--double", hint, str(path))


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
            "mask": claim.mask.value,
            "readout": claim.readout.value,
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
    sharding: Sharding | None = None,
) -> Answer:
    """Checks one witness file against one dataset; every fault becomes an answer of its own kind.

    ``notes`` are told with the verdict, for instance that the dataset was read outside the kernel. ``passes`` are the
    kernel's dense ones, or the engine's (``choose_passes``); with ``sharding`` they run on ranges of pairs.
    """

    def ask() -> Answer:
        statement = read_dataset(dataset, limits) if isinstance(dataset, Path) else dataset
        claim = options.claim(statement)
        transformer = read_transformer(witness, limits)
        if sharding is not None and sharding.wanted:
            # a cluster has its own files
            content = read_bytes(witness, limits) if sharding.dask is not None else str(witness.resolve())
            verdict = check_in_shards(statement, transformer, content, claim, sharding, limits, progress, passes)
        else:
            verdict = check(statement, transformer, claim, limits, progress, passes)
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
        "check", help="check WITNESS against DATA", allow_abbrev=False
    )
    command.add_argument("data", type=Path, help="the statement: dataset as JSON or JSON lines")
    command.add_argument("witness", type=Path, help="the transformer")
    command.add_argument("--attention", choices=["hardmax", "softmax"])
    command.add_argument("--temperatures", help="0, (0,T], [0,T], (0,oo), [0,oo) or one T")
    for name in ("width", "blocks", "parameters"):
        command.add_argument(f"--max-{name}", type=int)
    for name, words in (("mask", Mask), ("readout", Readout)):
        command.add_argument(f"--{name}", choices=[word.value for word in words], default=next(iter(words)).value)
    command.add_argument("--json", action="store_true")
    command.add_argument("--paranoid", action="store_true", help=PARANOID)
    command.add_argument("--double", action="store_true", help=DOUBLE)
    command.add_argument("--jobs", type=int, default=1, help=JOBS)
    command.add_argument("--dask", metavar="SCHEDULER", help=DASK)
    command.add_argument("--resume", type=Path, metavar="JOURNAL", help=RESUME)
    add_limit_options(command)
    given = parser.parse_args(arguments)
    options = Options(*(getattr(given, field.name) for field in fields(Options)))
    limits = Limits(*(getattr(given, field.name) for field in fields(Limits)))
    bounds = Bounds(*(getattr(given, field.name) for field in fields(Bounds)))
    passes = choose_passes(given.paranoid)

    def work() -> Answer:
        if given.double:
            refuse_double([given.witness], options)
        sharding = Sharding(given.jobs, given.dask, given.resume)
        answer = answer_check(given.data, given.witness, options, limits, passes=passes, sharding=sharding)
        return double_check(answer, given.data, given.witness, asdict(options)) if given.double else answer

    answer = run_guarded(lambda: answer_faults(work), bounds)
    return print_answer(json.dumps(answer.record, indent=2) if given.json else answer.text, answer.status).exit_code


if __name__ == "__main__":
    gc.disable()  # nothing that is read refers to itself, and looking for cycles takes half the time of large files
    sys.exit(main())
