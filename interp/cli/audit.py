"""Untrusted. ``interp audit``: counts against the theorems, and the verdict beside them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from interp.audit.audit import Audit, audit_transformer
from interp.audit.explain import explain_hardmax
from interp.cli.claim import claim_options
from interp.cli.output import bound_options, json_option, leave, limit_options, print_result, quiet_option, render_table
from interp.cli.reading import ReadOptions, reading_options
from interp.cli.verify import check_files
from interp.datasets.read import load_dataset
from proofs.__main__ import Options, read_transformer
from proofs.guard import Answer, Bounds
from proofs.kernel.check import check
from proofs.kernel.errors import Status, UsageError
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
@reading_options
@limit_options
@bound_options
@json_option
@quiet_option
def audit(
    transformer: Path,
    data: Path | None,
    options: Options,
    max_bits: int | None,
    no_verify: bool,
    explain: bool,
    reading: ReadOptions,
    limits: Limits,
    bounds: Bounds,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare blocks, width, rank, parameters and bits with the theorems; with DATA, verify too.

    Without DATA only counts are printed, and only --max-* are compared.
    """
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
        answer = check_files([transformer], data, options, reading, limits, bounds, quiet)[0]
        if claim is not None:
            notes = _add_hardmax(dataset, model, claim, answer, limits)
    lines = notes + (explain_hardmax(dataset, model, limits) if explain and dataset is not None else [])
    print_result(_render(result, dataset, answer, lines), _record(result, dataset, answer, lines), as_json)
    leave(_status(result, answer))


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


def _status(result: Audit, answer: Answer | None) -> Status:
    if answer is not None and answer.status is not Status.VERIFIED:
        return answer.status
    return Status.VERIFIED if result.within else Status.REFUTED


def _render(result: Audit, dataset: Dataset | None, answer: Answer | None, lines: list[str]) -> str:
    parts = []
    if result.phases:
        rows = [
            [
                p.phase.name + (" (shares its block)" if p.phase.shared else ""),
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


def _record(result: Audit, dataset: Dataset | None, answer: Answer | None, lines: list[str]) -> dict[str, Any]:
    return {
        "within": result.within,
        "construction": result.construction,
        "counts": asdict(result.counts),
        "max_rank": result.max_rank,
        "rank_one_v": result.rank_one_v,
        "num_targets": result.num_targets,
        "comparisons": [asdict(c) | {"holds": c.holds} for c in result.comparisons],
        "phases": [
            {"name": p.phase.name, "lemma": p.phase.lemma, "blocks": p.phase.num_blocks, "allotted": p.allotted,
             "bits": p.counts.max_bits}
            for p in result.phases
        ],
        "dataset": None if dataset is None else {"N": dataset.num_pairs, "M": dataset.num_outputs,
                                                 "d": dataset.dimension, "digest": dataset.digest},
        "explanation": lines,
        "verified": None if answer is None else answer.status is Status.VERIFIED,
        "verdict": None if answer is None else answer.record,
    }  # fmt: skip
