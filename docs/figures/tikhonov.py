"""Draws docs/images/tikhonov.svg: section 3.4's experiment with fewer epochs (needs torch; about five minutes).

    python docs/figures/tikhonov.py [docs/images/tikhonov.svg [FOLDER]]

With FOLDER the dataset, the known interpolant and the results are written there, ready for ``interp tikhonov``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from flint import fmpq

from interp.api import save_transformer
from interp.cli.output import render_table
from interp.datasets.encode import encode_dataset_json
from interp.files.write import write_file
from interp.tikhonov.experiment import Experiment, run_experiment
from interp.tikhonov.model import Architecture
from interp.tikhonov.report import COLUMNS, describe, draw, list_rows, make_record
from interp.tikhonov.teacher import make_taught_dataset
from interp.tikhonov.training import Schedule
from interp.tikhonov.yardstick import place_interpolant

WEIGHT_DECAYS = (fmpq(1, 10), fmpq(1, 100), fmpq(1, 1000))


def main(path: Path, folder: Path | None) -> None:
    """One block of width 4 for ten sequences of a hundred tokens, three seeds for each weight decay."""
    dataset, teacher = make_taught_dataset()
    architecture = Architecture(dataset.dimension, 1, 4, fmpq(1))
    interpolant = place_interpolant(dataset, teacher, "the known block", architecture)
    eps = [decay / 2 for decay in WEIGHT_DECAYS]
    experiment = run_experiment(dataset, architecture, interpolant, eps, range(3), Schedule(3000, 0.03))
    _show(experiment)
    write_file(path, draw(make_record(experiment)))
    continued = run_experiment(
        dataset, architecture, interpolant, eps, range(3), Schedule(3000, 0.03, continuation=True)
    )
    _show(continued)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / "taught.json", encode_dataset_json(dataset))
        save_transformer(replace(teacher, header={}), folder / "known-block.jsonl")
        write_file(folder / "results.json", json.dumps(make_record(experiment), indent=1).encode())


def _show(experiment: Experiment) -> None:
    head, tail = describe(experiment)
    print("\n\n".join([head, render_table("", COLUMNS, list_rows(experiment)), tail]), flush=True)


if __name__ == "__main__":
    arguments = [Path(argument) for argument in sys.argv[1:]]
    main(*(arguments + [Path("docs/images/tikhonov.svg"), None][len(arguments) :]))
