"""Untrusted. ``interp audit``: counts against the theorems, and the verdict beside them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from interp.audit.audit import Audit, audit_transformer
from interp.audit.baseline import check_baseline, decode_record, list_improvements, make_record
from interp.audit.explain import explain_hardmax
from interp.cli.claim import claim_options
from interp.cli.output import bound_options, limit_options, render_table
from interp.cli.progress import progress_options
from interp.cli.reading import ReadOptions, reading_options
from interp.cli.reporting import Reporting, faults_reported, finish, reporting_options
from interp.cli.verify import check_files
from interp.datasets.read import load_dataset
from interp.files.write import refuse_to_replace, write_file
from interp.reports.report import Check, Report, checks_of, make_report
from proofs.__main__ import Options, read_bytes, read_transformer
from proofs.guard import Answer, Bounds
from proofs.kernel.check import check
from proofs.kernel.errors import InterpError, MalformedInput, Status, UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits, rational_text
from proofs.kernel.statement import Claim, Dataset, Temperatures


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path), required=False)
@claim_options
@click.option("--max-bits", type=click.IntRange(min=1), help="Largest number of bits allowed in a weight.")
@click.option("--no-verify", is_flag=True, help="Counts only; the verdict is left out, and the output says so.")
@click.option("--explain", is_flag=True, help="For each phase of the header's ledger: is its promise kept?")
@click.option("--baseline", type=click.Path(path_type=Path), help="An earlier audit (JSON): no count may have grown.")
@click.option("--update-baseline", is_flag=True, help="Write this audit to --baseline, if it succeeds.")
@reading_options
@limit_options
@bound_options
@reporting_options
@progress_options
def audit(
    transformer: Path,
    data: Path | None,
    options: Options,
    max_bits: int | None,
    no_verify: bool,
    explain: bool,
    baseline: Path | None,
    update_baseline: bool,
    reading: ReadOptions,
    limits: Limits,
    bounds: Bounds,
    reporting: Reporting,
) -> None:
    """Compare blocks, width, rank, parameters and bits with the theorems; with DATA, verify too.

    Without DATA only counts are printed, and only --max-* and --baseline are compared.
    """
    with faults_reported("audit", transformer, reporting):
        if update_baseline and baseline is None:
            raise UsageError("there is no file to write", "--update-baseline", "give --baseline FILE")
        if update_baseline and baseline is not None:
            refuse_to_replace(baseline, transformer, data)
        model = read_transformer(transformer, limits)
        dataset = load_dataset(data, reading, limits) if data is not None else None
        if explain and dataset is None:
            raise UsageError("there is no dataset to explain by", "--explain", "give DATA")
        claim = options.claim(dataset) if dataset is not None else None
        result = audit_transformer(
            model,
            dataset,
            claim.temperatures if claim else None,
            options.max_blocks,
            options.max_parameters,
            max_bits,
            options.max_width,
        )
        answer, notes = None, []
        if data is not None and not no_verify:
            answer = check_files([transformer], data, options, reading, limits, bounds)[0]
            check_digests(answer, model, dataset)
            if claim is not None:
                notes = _add_hardmax(dataset, model, claim, answer, limits)
        lines = notes + (explain_hardmax(dataset, model, limits) if explain and dataset is not None else [])
        record = make_record(result, dataset, claim, answer, lines)
        checks = _check_counts(result, str(transformer))
        checks += checks_of(answer, str(transformer)) if answer is not None else []
        if baseline is not None and not update_baseline:
            found, shown = _compare_baseline(baseline, record, str(transformer), limits)
            checks, lines = checks + found, lines + shown
        status = _status(result, answer, checks)
        text = _render(result, dataset, answer, lines)
        report = Report("audit", (), status, text, record)  # counts alone, which people and programs may read
        if checks or status is not Status.VERIFIED or reporting.name not in ("text", "json"):
            report = make_report("audit", checks, status, text, record, str(transformer))
        if update_baseline and baseline is not None and status is Status.VERIFIED:
            write_file(baseline, (json.dumps(record, indent=2) + "\n").encode())
    finish(report, reporting)


def check_digests(answer: Answer, model: Transformer, dataset: Dataset | None) -> None:
    """Counts and verdict must be about the same content. Raises: MalformedInput when a file was changed in between."""
    for name, counted in (("transformer", model.digest), ("dataset", dataset.digest if dataset is not None else None)):
        if answer.record.get(name, counted) != counted:
            raise MalformedInput(f"the {name} changed while it was audited", hint="run the audit again")


def _check_counts(result: Audit, file: str) -> list[Check]:
    """The comparisons, each under a name of its own: a count may be compared with several theorems."""
    checks: list[Check] = []
    for c in result.comparisons:
        rule = c.source.lstrip("-") if c.source.startswith("--") else f"audit-{c.name}"
        rule += "-own" if any(check.rule == rule for check in checks) else ""
        checks.append(Check(rule, file, _holds(c.holds), f"{c.found}, allowed {c.allowed}: {c.source}"))
    return checks


def _holds(holds: bool) -> Status:
    return Status.VERIFIED if holds else Status.REFUTED


def _compare_baseline(file: Path, record: dict[str, Any], name: str, limits: Limits) -> tuple[list[Check], list[str]]:
    """The checks against a baseline, and what people read about it. Raises: MalformedInput, UsageError."""
    try:
        old = decode_record(read_bytes(file, limits))
        worse = check_baseline(old, record)
    except InterpError as error:
        error.file = str(file)
        raise
    checks = [Check(f"baseline-{c.name.replace('_', '-')}", name, Status.REFUTED, f"regression: {c}") for c in worse]
    lines = [f"regression against {file}: {change}" for change in worse]
    if not worse:
        checks = [Check("baseline", name, Status.VERIFIED, f"nothing is worse than in {file}")]
        lines = [f"baseline {file}: nothing is worse"]
    return checks, lines + [f"better than {file}: {change}" for change in list_improvements(old, record)]


def _add_hardmax(
    dataset: Dataset | None, model: Transformer, claim: Claim, answer: Answer, limits: Limits
) -> list[str]:
    """For a softmax claim that holds: does temperature 0 hold as well?"""
    upper = claim.temperatures.upper
    if dataset is None or upper is None or claim.temperatures.zero or answer.status is not Status.VERIFIED:
        return []
    verdict = check(dataset, model, replace(claim, temperatures=Temperatures(zero=True)), limits)
    if verdict.status is Status.VERIFIED:
        return [f"temperature 0 (hardmax) holds too: exact for every 0 <= tau <= {rational_text(upper)}"]
    return ["temperature 0 (hardmax) does not hold"]


def _status(result: Audit, answer: Answer | None, checks: list[Check]) -> Status:
    if answer is not None and answer.status is not Status.VERIFIED:
        return answer.status
    return _holds(result.within and all(check.passed for check in checks))


def _render(result: Audit, dataset: Dataset | None, answer: Answer | None, lines: list[str]) -> str:
    parts = []
    if result.phases:
        rows = [
            [
                ascii(p.phase.name)[1:-1] + (" (shares its block)" if p.phase.shared else ""),
                str(p.phase.num_blocks),
                "-" if p.allotted is None else str(p.allotted),
                "-" if p.slack is None else str(p.slack),
                str(p.counts.width),
                str(p.counts.parameters),
                str(p.counts.max_bits),
            ]
            for p in result.phases
        ]
        columns = ["phase (from the header)", "blocks", "allotted", "slack", "width", "parameters", "bits"]
        parts.append(render_table("", columns, rows))
        parts.append("The theorem gives one number of blocks; its allotment to phases is ours.")
    counts = result.counts
    if result.comparisons:
        rows = [
            [c.name, str(c.found), str(c.allowed), "yes" if c.holds else "NO", c.source] for c in result.comparisons
        ]
        parts.append(render_table("", ["count", "found", "allowed", "within", "source"], rows))
    else:
        parts.append("No dataset and no --max-*: nothing was compared.")
    parts.append(
        f"parameters: {counts.parameters} low-rank form, {counts.dense_parameters} with dense A and V, "
        f"{counts.nonzero_parameters} non-zero; rank of A - alpha I at most {result.max_rank}; "
        f"largest weight {counts.max_bits} bits"
        + ("\nsome V = beta I + r t^T: such a block has up to 12 d + 8 scalars" if result.rank_one_v else "")
    )
    if dataset is not None and result.num_targets is not None:
        ratio = 4 * counts.blocks / result.num_targets
        parts.append(
            f"dataset: N = {dataset.num_pairs}, M = {dataset.num_outputs}, M' = {result.num_targets} distinct targets, "
            f"d = {dataset.dimension}; blocks / (M'/4) = {ratio:.2f}"
        )
    parts += lines
    parts.append(answer.text if answer else "Not verified: this audit counts, it does not prove.")
    return "\n\n".join(parts)
