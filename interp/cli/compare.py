"""Untrusted. ``interp compare``: every construction on one dataset, side by side."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from interp.api import check_hypotheses, make_transformer, verify
from interp.audit.compare import Built, build_all
from interp.cli.output import json_option, limit_options, print_result, render_table
from interp.cli.progress import progress_options, step_spinner
from interp.cli.reading import ReadOptions, reading_options
from interp.datasets.read import load_dataset
from proofs.kernel.rational import Limits, rational_text, short_decimal
from proofs.kernel.statement import Dataset

COLUMNS = {  # title -> key of the record
    "construction": "name",
    "blocks": "blocks",
    "bound": "bound",
    "blocks/(M'/4)": "ratio",
    "parameters": "parameters",
    "dense": "dense_parameters",
    "non-zero": "nonzero_parameters",
    "bits": "max_bits",
    "|theta|^2": "norm",
    "temperatures": "temperatures",
    "build s": "build_seconds",
    "verify s": "verify_seconds",
    "verdict": "verdict",
}


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--no-verify", is_flag=True, help="Only build and count.")
@click.option("--allow-repeats", is_flag=True, help="Accept repeated tokens: copies travel together.")
@reading_options
@limit_options
@json_option
@progress_options
def compare(
    data: Path,
    seed: int,
    no_verify: bool,
    allow_repeats: bool,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Build every construction for DATA and compare blocks, parameters, bits, norm, temperatures and times.

    Each is verified at the temperatures that it reaches, with its own bound as budget.
    """
    dataset = load_dataset(data, reading, limits)
    check_hypotheses(dataset, allow_repeats)
    targets = len({row for pair in dataset.pairs for row in pair.output})
    records = []
    with step_spinner("compare") as step:
        for built in build_all(dataset, seed):
            step(built.construction.name)
            records.append(_record(built, dataset, targets, None if no_verify else limits))
    title = f"N = {dataset.num_pairs}, M = {dataset.num_outputs}, M' = {targets}, d = {dataset.dimension}"
    rows = [["-" if record[key] is None else str(record[key]) for key in COLUMNS.values()] for record in records]
    refusals = [f"{record['name']}: {record['refusal']}" for record in records if record["refusal"]]
    text = "\n".join([render_table(title, list(COLUMNS), rows), *refusals])
    print_result(text, {"constructions": records}, as_json)


def _record(built: Built, dataset: Dataset, targets: int, limits: Limits | None) -> dict[str, Any]:
    """One row; what a construction that does not apply leaves out is None."""
    counts, construction = built.counts, built.construction
    record: dict[str, Any] = dict.fromkeys(COLUMNS.values()) | {"name": construction.name, "refusal": built.refusal}
    if counts is None or built.ledger is None:
        return record
    transformer = make_transformer(built.ledger, construction, dataset, 0)
    record |= {
        "blocks": counts.blocks,
        "bound": construction.count_blocks(dataset),
        "ratio": f"{4 * counts.blocks / targets:.2f}",
        "parameters": counts.parameters,
        "dense_parameters": counts.dense_parameters,
        "nonzero_parameters": counts.nonzero_parameters,
        "max_bits": counts.max_bits,
        "norm": short_decimal(built.norm),
        "temperatures": transformer.header["temperatures"],
        "build_seconds": f"{built.seconds:.2f}",
    }
    if limits is not None:
        start = time.perf_counter()
        verdict = verify(
            transformer,
            dataset,
            temperatures=str(transformer.header["temperatures"]),
            max_blocks=construction.count_blocks(dataset),
            max_parameters=construction.count_parameters(dataset),
            limits=limits,
        )
        record |= {"verify_seconds": f"{time.perf_counter() - start:.2f}", "verdict": verdict.status.label}
    return record | {"exact_norm": rational_text(built.norm)}
