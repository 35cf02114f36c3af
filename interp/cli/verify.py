"""Untrusted. ``interp verify``: hands bytes and the user's claim to ``proofs`` and prints what comes back."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from interp.cli.claim import claim_options
from interp.cli.output import bound_options, json_option, leave, limit_options, print_result, progress_bar, quiet_option
from interp.cli.reading import ReadOptions, reading_options
from interp.datasets.read import is_kernel_format, load_dataset
from proofs.__main__ import DOUBLE, PARANOID, Options, answer_check, answer_error, choose_passes
from proofs.double import double_check
from proofs.guard import Answer, Bounds, run_guarded
from proofs.kernel.decode import TRANSFORMER_FORMAT
from proofs.kernel.errors import InterpError, MalformedInput, UsageError
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Dataset

OUTSIDE_KERNEL = "the dataset was read by interp/datasets, outside the kernel; convert it to JSON to check the reading"


@click.command()
@click.argument("transformers", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@claim_options
@reading_options
@limit_options
@bound_options
@click.option("--paranoid", is_flag=True, help=f"Run {PARANOID}.")
@click.option("--double", is_flag=True, help=DOUBLE[0].upper() + DOUBLE[1:] + ".")
@json_option
@quiet_option
def verify(
    transformers: tuple[Path, ...],
    data: Path,
    options: Options,
    reading: ReadOptions,
    limits: Limits,
    bounds: Bounds,
    paranoid: bool,
    double: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Prove T(X_j) = Y_j for every pair of DATA, exactly, for each transformer file (or all in a folder)."""
    if double and not is_kernel_format(data, reading):
        raise UsageError("the second checker reads JSON only", "--double", "interp dataset convert DATA data.json")
    found = find_transformers(transformers)
    answers = check_files(found, data, options, reading, limits, bounds, quiet, paranoid, double)
    records = [answer.record for answer in answers]
    print_result("\n".join(answer.text for answer in answers), records[0] if len(records) == 1 else records, as_json)
    leave(max((answer.status for answer in answers), key=lambda status: status.exit_code))


def check_files(
    files: list[Path],
    data: Path,
    options: Options,
    reading: ReadOptions,
    limits: Limits,
    bounds: Bounds,
    quiet: bool,
    paranoid: bool = False,
    double: bool = False,
) -> list[Answer]:
    """One answer a file; JSON datasets go to the kernel as bytes, others are read first and the verdict says so."""
    statement: Dataset | Path = data
    notes: tuple[str, ...] = ()
    if not is_kernel_format(data, reading):
        try:
            statement, notes = load_dataset(data, reading, limits), (OUTSIDE_KERNEL,)
        except InterpError as error:
            return [answer_error(error)]

    def check_one(file: Path) -> Answer:
        with progress_bar(f"verify {file.name}", quiet) as progress:
            answer = answer_check(statement, file, options, limits, progress, notes, choose_passes(paranoid))
        return double_check(answer, data, file, asdict(options)) if double else answer

    return [run_guarded(partial(check_one, file), bounds) for file in files]


def find_transformers(paths: tuple[Path, ...]) -> list[Path]:
    """The files given, and the transformer files in the folders given. Raises: MalformedInput for a folder without."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = [file for file in sorted(path.glob("*.jsonl")) if _looks_like_transformer(file)]
        if not inside:
            raise MalformedInput("the folder holds no transformer file (*.jsonl)", file=str(path))
        found += inside
    return found


def _looks_like_transformer(file: Path) -> bool:
    with file.open("rb") as stream:
        return TRANSFORMER_FORMAT.encode() in stream.readline(1_000_000)
