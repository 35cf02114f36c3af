"""Untrusted. ``interp verify``: hands bytes and the user's claim to ``proofs`` and prints what comes back."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from interp.cli.claim import claim_options
from interp.cli.output import bound_options, limit_options, pack_options, sentence
from interp.cli.progress import progress_bar, progress_options
from interp.cli.reading import ReadOptions, reading_options
from interp.cli.reporting import Reporting, faults_reported, finish, reporting_options
from interp.datasets.read import is_kernel_format, load_dataset
from interp.reports.report import checks_of, make_report
from interp.transformers.files import peek_phases
from proofs.__main__ import (
    DOUBLE,
    PARANOID,
    Options,
    answer_check,
    answer_error,
    choose_passes,
    is_binary,
    refuse_double,
)
from proofs.double import double_check
from proofs.guard import Answer, Bounds, run_guarded
from proofs.kernel.decode import TRANSFORMER_FORMAT
from proofs.kernel.errors import InterpError, MalformedInput, UsageError
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Dataset
from proofs.shards.check import DASK, JOBS, RESUME, Sharding
from proofs.witness.arrays import ARRAYS_FORMAT

OUTSIDE_KERNEL = "the dataset was read by interp/datasets, outside the kernel; convert it to JSON to check the reading"


@click.command()
@click.argument("transformers", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@claim_options
@reading_options
@limit_options
@bound_options
@click.option("--paranoid", is_flag=True, help=f"Run {PARANOID}.")
@click.option("--double", is_flag=True, help=sentence(DOUBLE))
@pack_options(
    Sharding,
    "sharding",
    click.option("--jobs", type=int, default=1, show_default=True, metavar="K", help=sentence(JOBS)),
    click.option("--dask", metavar="SCHEDULER", help=sentence(DASK)),
    click.option("--resume", type=click.Path(path_type=Path), metavar="JOURNAL", help=sentence(RESUME)),
)
@reporting_options
@progress_options
def verify(
    transformers: tuple[Path, ...],
    data: Path,
    options: Options,
    reading: ReadOptions,
    limits: Limits,
    bounds: Bounds,
    paranoid: bool,
    double: bool,
    sharding: Sharding,
    reporting: Reporting,
) -> None:
    """Prove T(X_j) = Y_j for every pair of DATA, exactly, for each transformer file (or all in a folder)."""
    with faults_reported("verify", transformers[0], reporting):
        if double and not is_kernel_format(data, reading):
            raise UsageError("the second checker reads JSON only", "--double", "interp dataset convert DATA data.json")
        found = find_transformers(transformers)
        if sharding.resume is not None and len(found) > 1:
            raise UsageError("a journal is about one transformer", "--resume", "verify them one by one")
        if double:
            refuse_double(found, options)
        answers = check_files(found, data, options, reading, limits, bounds, paranoid, double, sharding)
        checks = [check for file, answer in zip(found, answers, strict=False) for check in checks_of(answer, str(file))]
        status = max((answer.status for answer in answers), key=lambda status: status.exit_code)
        records = [answer.record for answer in answers]
        text = "\n".join(answer.text for answer in answers)
        record = records[0] if len(records) == 1 else records
        report = make_report("verify", checks, status, text, record, str(found[0]))
    finish(report, reporting)


def check_files(
    files: list[Path],
    data: Path,
    options: Options,
    reading: ReadOptions,
    limits: Limits,
    bounds: Bounds,
    paranoid: bool = False,
    double: bool = False,
    sharding: Sharding | None = None,
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
        unit = "pair" if sharding is not None and sharding.wanted else "block"
        with progress_bar(f"verify {file.name}", unit, peek_phases(file)) as progress:
            answer = answer_check(statement, file, options, limits, progress, notes, choose_passes(paranoid), sharding)
        return double_check(answer, data, file, asdict(options)) if double else answer

    return [run_guarded(partial(check_one, file), bounds) for file in files]


def find_transformers(paths: tuple[Path, ...]) -> list[Path]:
    """The files given, and the transformer files in the folders given. Raises: MalformedInput for a folder without."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        candidates = sorted((*path.glob("*.jsonl"), *path.glob("*.npz")))
        inside = [file for file in candidates if _looks_like_transformer(file)]
        if not inside:
            raise MalformedInput("the folder holds no transformer file (*.jsonl, *.npz)", file=str(path))
        found += inside
    return found


def _looks_like_transformer(file: Path) -> bool:
    with file.open("rb") as stream:
        if is_binary(file):
            return ARRAYS_FORMAT.encode() in stream.read(1000)  # of its first member
        return TRANSFORMER_FORMAT.encode() in stream.readline(1_000_000)
