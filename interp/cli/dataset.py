"""Untrusted. ``interp dataset``: check a dataset against the theorems' hypotheses, show its sizes, convert it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from interp.cli.claim import mask_option, readout_option
from interp.cli.output import json_option, leave, limit_options, print_result
from interp.cli.progress import progress_options, step_spinner
from interp.cli.reading import ReadOptions, reading_options
from interp.cli.sections import SentenceGroup
from interp.constructions.catalogue import CAUSAL
from interp.constructions.causal import find_causal_violations
from interp.datasets.convert import convert_dataset
from interp.datasets.doctor import Examination, examine
from interp.datasets.read import load_dataset
from interp.datasets.summary import Summary, summarise
from interp.datasets.violation import Violation
from proofs.kernel.errors import Status, UsageError
from proofs.kernel.rational import Limits

MAX_SHOWN = 100  # violations of one kind in the table; --json has all


@click.group(cls=SentenceGroup)
def dataset() -> None:
    """Check, show and convert datasets (.json, .jsonl, .npz, .ts or bundled:NAME)."""


@dataset.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--allow-repeats", is_flag=True, help="Accept repeated input tokens, as build --allow-repeats does.")
@mask_option
@readout_option
@reading_options
@limit_options
@json_option
@progress_options
def check(
    file: Path, allow_repeats: bool, mask: str, readout: str, reading: ReadOptions, limits: Limits, as_json: bool
) -> None:
    """List all violations in FILE, with fixes.

    A violation is whatever makes FILE no dataset, or breaks a hypothesis of the theorems; for --mask causal --readout
    last, whatever no such transformer can do. Nothing is written. Exit code 0 if there is none, 12 otherwise.
    """
    if (mask, readout) not in (("none", "all"), (CAUSAL.mask, CAUSAL.readout)):
        raise UsageError("--mask causal and --readout last go together", "--mask", "no theorem is about one of them")
    if allow_repeats and mask == CAUSAL.mask:
        raise UsageError("a token may not repeat under a mask", "--allow-repeats")
    with step_spinner("check") as announce:
        announce("reading")
        examination = examine(file, reading, limits, allow_repeats)
        summary = summarise(examination.dataset) if examination.dataset is not None else None
        if mask == CAUSAL.mask and examination.dataset is not None:
            examination = Examination(examination.dataset, find_causal_violations(examination.dataset))
    status = Status.MALFORMED if examination.violations else Status.VERIFIED
    record = {
        "file": str(file),
        "hypotheses": "not a dataset" if summary is None else "violated" if examination.violations else "hold",
        "exit_code": status.exit_code,
        "summary": None if summary is None else asdict(summary),
        "violations": [asdict(violation) for violation in examination.violations],
    }
    print_result(_render_examination(file, examination, summary), record, as_json)
    leave(status)


@dataset.command()
@click.argument("file", type=click.Path(path_type=Path))
@reading_options
@limit_options
@json_option
def show(file: Path, reading: ReadOptions, limits: Limits, as_json: bool) -> None:
    """Print the sizes of FILE."""
    summary = summarise(load_dataset(file, reading, limits))
    print_result(_render_summary(file, summary), {"file": str(file)} | asdict(summary), as_json)


@dataset.command()
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@reading_options
@limit_options
@json_option
@progress_options
def convert(source: Path, target: Path, reading: ReadOptions, limits: Limits, as_json: bool) -> None:
    """Write IN as OUT, without loss.

    OUT ends in .json, .jsonl or .npz. It is read back, and must hold the same dataset, before it is put in place.
    """
    with step_spinner("convert") as announce:
        announce("reading, writing, reading back")
        summary = summarise(convert_dataset(source, target, reading, limits))
    print_result(_render_summary(target, summary), {"file": str(target)} | asdict(summary), as_json)


def _render_summary(file: Path, summary: Summary) -> str:
    same = summary.listed_pairs - summary.pairs
    return (
        f"{file}: N = {summary.pairs} pairs{f' ({same} more are equal to others)' if same else ''}, "
        f"M = {summary.outputs} outputs ({summary.distinct_outputs} distinct), d = {summary.dimension}\n"
        f"  {summary.tokens} tokens, at most n = {summary.max_length} in a sequence, "
        f"{summary.shared_tokens} shared between sequences, numbers of at most {summary.max_digits} digits\n"
        f"  {summary.digest}"
    )


def _render_examination(file: Path, examination: Examination, summary: Summary | None) -> str:
    found = examination.violations
    groups: dict[tuple[str, str], list[Violation]] = {}
    for violation in found:
        groups.setdefault((violation.rule, violation.fix), []).append(violation)
    parts = [_render_group(rule, fix, group) for (rule, fix), group in groups.items()]
    parts.append(_render_summary(file, summary) if summary else f"{file}: not a dataset of the theorems")
    parts.append(f"{len(found)} violation{'s' if len(found) > 1 else ''}" if found else "all hypotheses hold")
    return "\n\n".join(parts)


def _render_group(rule: str, fix: str, group: list[Violation]) -> str:
    """The rule, a table of places, and the fix once."""
    shown: list[Any] = group[:MAX_SHOWN]
    width = max(len(violation.path) for violation in shown)
    lines = [f"{rule}: {len(group)}"]
    lines += [f"  {violation.path:<{width}}  {violation.message}".rstrip() for violation in shown]
    if len(group) > len(shown):
        lines.append(f"  and {len(group) - len(shown)} more (--json lists all)")
    if fix:
        lines.append(f"  fix: {fix}")
    return "\n".join(lines)
