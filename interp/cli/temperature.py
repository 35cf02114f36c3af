"""Untrusted. ``interp temperature``: the largest certified tau*."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from flint import fmpq

from interp.audit.temperature import TemperatureRange, find_largest_temperature
from interp.cli.claim import readout_option
from interp.cli.output import json_option, leave, limit_options, print_result
from interp.cli.progress import progress_options, step_spinner
from interp.cli.reading import ReadOptions, reading_options
from interp.datasets.read import load_dataset
from proofs.__main__ import read_transformer
from proofs.kernel.errors import Status, UsageError
from proofs.kernel.rational import Limits, rational_text, short_decimal
from proofs.kernel.statement import Readout


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@readout_option
@reading_options
@limit_options
@json_option
@progress_options
def temperature(
    transformer: Path,
    data: Path,
    readout: str,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Find the largest tau* with T(X_j) = Y_j certified at every temperature in (0, tau*]."""
    model, dataset = read_transformer(transformer, limits), load_dataset(data, reading, limits)
    if model.dimension != dataset.dimension:
        raise UsageError(f"the transformer has dimension {model.dimension}, the dataset {dataset.dimension}")
    with step_spinner("temperature") as step:
        found = find_largest_temperature(dataset, model, limits, step, Readout(readout))
    print_result(_render(found), _record(found), as_json)
    leave(Status.VERIFIED if found.all_positive or found.certified is not None else Status.UNDECIDED)


def _render(found: TemperatureRange) -> str:
    if found.all_positive:
        return "certified at every temperature > 0"
    if found.certified is None:
        return f"no temperature is certified; the last one tried fails at {found.reason}"
    lines = [f"certified at every temperature in (0, {_show(found.certified)}]"]
    if found.failing is not None:
        lines += [f"(0, {_show(found.failing)}] is not certified: {found.reason}"]
        lines += ["(one temperature above tau* may still hold: interp verify --temperatures T)"]
    return "\n".join(lines)


def _show(value: fmpq) -> str:
    text = rational_text(value)
    return text if len(text) <= 20 else f"{text} = {short_decimal(value)}"


def _record(found: TemperatureRange) -> dict[str, Any]:
    return {
        "every_temperature": found.all_positive,
        "certified": None if found.certified is None else rational_text(found.certified),
        "failing": None if found.failing is None else rational_text(found.failing),
        "reason": found.reason,
    }
