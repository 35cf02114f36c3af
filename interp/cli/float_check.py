"""Untrusted. ``interp float-check``: what floats make of a transformer, and which formats are proved to agree."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from interp.cli.output import json_option, leave, limit_options, print_result, render_table
from interp.cli.progress import progress_bar, progress_options
from interp.cli.reading import ReadOptions, reading_options
from interp.datasets.read import load_dataset
from interp.execution.distance import root_decimal
from interp.precision.arithmetic import BACKENDS
from interp.precision.bounds import Doubt
from interp.precision.check import Difference, FloatReport, FormatReport, check_floats
from interp.precision.formats import LADDER, RUNNABLE, make_format
from proofs.__main__ import read_transformer
from proofs.kernel.errors import Status, UsageError
from proofs.kernel.rational import Limits, parse_rational, rational_text

MAX_SHOWN = 10  # blocks of a run in the text; --json has all
STATUS = {"agrees": Status.VERIFIED, "differs": Status.REFUTED, "undecided": Status.UNDECIDED}


@click.command("float-check")
@click.argument("transformer", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--dtype", type=click.Choice([*RUNNABLE]), default="float64", show_default=True, help="Told in detail.")
@click.option("--backend", type=click.Choice(BACKENDS), default="numpy", show_default=True, help="What runs it.")
@click.option("--temperature", default="0", show_default=True, help="0 is hardmax.")
@click.option("--distance", default="1/1000", show_default=True, help="From where a final token counts as off.")
@click.option("--bits", type=int, help="Also a format of that precision (exponents of binary128).")
@reading_options
@limit_options
@json_option
@progress_options
def float_check(
    transformer: Path,
    data: Path,
    dtype: str,
    backend: str,
    temperature: str,
    distance: str,
    bits: int | None,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Run TRANSFORMER in floats on DATA and compare every decision with the exact run.

    For each format: agrees (proved for every order of summation), differs (this run shows where) or undecided. The exit
    code is that of --dtype: 0, 10 or 11. What is proved: docs/how-to/float-check.md.
    """
    dataset, model = load_dataset(data, reading, limits), read_transformer(transformer, limits)
    tau, allowed = (
        parse_rational(text, name, limits) for text, name in ((temperature, "--temperature"), (distance, "--distance"))
    )
    if allowed < 0:
        raise UsageError("a negative distance", "--distance")
    formats = [*LADDER, *([make_format(bits)] if bits is not None else [])]
    with progress_bar("float-check") as progress:
        report = check_floats(
            dataset, model, formats, backend=backend, temperature=tau, distance=allowed, progress=progress
        )
    chosen = next(item for item in report.formats if item.target.name == dtype)
    record = {
        "dtype": dtype,
        "backend": backend,
        "temperature": rational_text(tau),
        "answer": chosen.answer,
        "smallest": None if report.smallest is None else report.smallest.target.name,
        "estimated_bits": report.estimated_bits,
        "exact_run": report.exact_fault or "complete",
        "formats": [_record(item) for item in report.formats],
    }
    print_result(_render(transformer, report, chosen, backend, distance), record, as_json)
    if chosen.answer != "agrees":
        leave(STATUS[chosen.answer])


def _render(transformer: Path, report: FloatReport, chosen: FormatReport, backend: str, distance: str) -> str:
    lines = [f"{transformer}: {chosen.target.name} {chosen.answer}"]
    if report.exact_fault:
        lines.append(f"  the exact run cannot be followed: {report.exact_fault}")
    best = report.smallest
    name = "no format of the table" if best is None else best.target.name
    estimate = "" if report.estimated_bits is None else f" (estimated need: {report.estimated_bits} bits)"
    lines.append(f"  smallest format proved to make every decision as the exact run does: {name}{estimate}")
    proved = ["format", "bits", "answer", "tightest value/error", "final error <="]
    columns = [*proved, "wrong decisions", "off", "Hausdorff"]
    lines.append(render_table("", columns, [_row(item) for item in report.formats]))
    lines.append(f"  off: final tokens of the run in {backend} farther than {distance} from every target")
    lines += [f"  {line}" for line in _detail(chosen)]
    return "\n".join(lines)


def _row(item: FormatReport) -> list[str]:
    run = item.run
    ratio = "-" if item.tightest is None else f"{item.tightest.ratio:.3g}"
    reach = f"{item.final_error:.3g}" if item.agreed else "-"
    known = ["-", "-", "-"]
    if run is not None and run.fault:
        known = ["overflow", "-", "-"]
    elif run is not None and run.num_tokens:
        square = run.worst_square
        share = f"{100 * run.wrong_tokens / run.num_tokens:.2f} %"
        known = [str(run.num_wrong), share, "no number" if square is None else root_decimal(square)]
    return [item.target.name, str(item.target.precision), item.answer, ratio, reach, *known]


def _detail(item: FormatReport) -> list[str]:
    lines = []
    if item.range_fault:
        lines.append(f"{item.target.name}: {item.range_fault}: nothing is proved from there on")
    run = item.run
    if run is not None and run.fault:
        lines.append(run.fault)
    if run is not None and run.differences:
        share = f"{run.num_wrong} of {run.num_decisions} decisions differ"
        lines.append(f"{share}, in {len(run.differences)} blocks; the first:")
        lines += [f"  {_sentence(difference)}" for difference in run.differences[:MAX_SHOWN]]
    if item.answer == "undecided" and item.doubts:
        lines.append(f"{len(item.doubts)} blocks have a decision that the bounds do not certify; the first:")
        lines += [f"  {_doubt(doubt, item)}" for doubt in item.doubts[:1]]
    return lines


def _sentence(item: Difference) -> str:
    what = "choice of attention" if item.unit is None else f"unit {item.unit}"
    return f"block {item.block}, pair {item.pair}, token {item.token}, {what}: exact {item.exact}, float {item.approx}"


def _doubt(doubt: Doubt, item: FormatReport) -> str:
    pair, token = item.locate(doubt.token)
    what = "lead of the choice" if doubt.unit is None else f"unit {doubt.unit}: modulus"
    return f"block {doubt.block}, pair {pair}, token {token}, {what} {doubt.value:.4g}, error up to {doubt.error:.4g}"


def _record(item: FormatReport) -> dict[str, Any]:
    record: dict[str, Any] = {
        "format": item.target.name,
        "bits": item.target.precision,
        "answer": item.answer,
        "final_error": item.final_error if item.agreed else None,
        "tightest": None if item.tightest is None else _doubt_record(item.tightest, item),
        "doubtful_blocks": [_doubt_record(doubt, item) for doubt in item.doubts],
        "range_fault": item.range_fault or None,
    }
    run = item.run
    if run is not None:
        square = run.worst_square
        record["run"] = {
            "fault": run.fault or None,
            "decisions": run.num_decisions,
            "wrong_decisions": run.num_wrong,
            "tokens": run.num_tokens,
            "tokens_off": run.wrong_tokens,
            "worst_pair": run.worst_pair,
            "worst_squared_hausdorff": None if square is None else rational_text(square),
            "differences": [asdict(difference) for difference in run.differences],
        }
    return record


def _doubt_record(doubt: Doubt, item: FormatReport) -> dict[str, Any]:
    pair, token = item.locate(doubt.token)
    return {
        "block": doubt.block,
        "pair": pair,
        "token": token,
        "unit": doubt.unit,
        "value_at_least": _finite(doubt.value),
        "error_at_most": _finite(doubt.error),
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None
