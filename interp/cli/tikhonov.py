"""Untrusted. ``interp tikhonov``: regularised training measured against the line of an exact interpolant."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
from flint import fmpq

from interp.api import save_transformer
from interp.cli.output import json_option, limit_options, output_option, print_result, render_table
from interp.cli.progress import progress_options, step_spinner
from interp.cli.reading import ReadOptions, reading_options
from interp.datasets.read import load_dataset
from interp.files.write import write_file
from interp.optional import load_matplotlib, load_optional
from interp.tikhonov.experiment import run_experiment
from interp.tikhonov.model import Architecture
from interp.tikhonov.report import COLUMNS, describe, draw, list_rows, make_record
from interp.tikhonov.training import Schedule
from interp.tikhonov.yardstick import find_interpolant, place_interpolant
from proofs.__main__ import read_transformer
from proofs.kernel.errors import UsageError
from proofs.kernel.rational import Limits, parse_rational
from proofs.kernel.statement import DEFAULT_MAX_WIDTH

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("data", type=PATH)
@click.option("--eps", "eps_text", help="eps_1,eps_2,... [default: 1/20,1/200,1/2000]")
@click.option("--weight-decay", "decay_text", help="The same as torch's weight_decay: 2 eps.")
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Runs for each eps.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The first seed.")
@click.option("--epochs", type=click.IntRange(min=0), default=Schedule.epochs, show_default=True)
@click.option(
    "--learning-rate", type=click.FloatRange(0, 1000, min_open=True), default=Schedule.learning_rate, show_default=True
)
@click.option("--continuation", is_flag=True, help="Start each run at the weights of the next larger eps.")
@click.option("--blocks", type=click.IntRange(min=1), help="Trained blocks. Default: as many as the interpolant has.")
@click.option("--width", type=click.IntRange(min=1), default=DEFAULT_MAX_WIDTH, show_default=True)
@click.option("--temperature", "tau_text", default="1", show_default=True, help="Of the softmax, positive.")
@click.option("--interpolant", type=PATH, help="A transformer file. Default: the construction of the smallest norm.")
@output_option("The results, a JSON file.", required=False)
@click.option("--plot", type=PATH, help="A drawing, an SVG file.")
@click.option("--save", type=PATH, help="A folder for the weights of each run, as transformer files.")
@reading_options
@limit_options
@json_option
@progress_options
def tikhonov(
    data: Path,
    eps_text: str | None,
    decay_text: str | None,
    seeds: int,
    seed: int,
    epochs: int,
    learning_rate: float,
    continuation: bool,
    blocks: int | None,
    width: int,
    tau_text: str,
    interpolant: Path | None,
    output: Path | None,
    plot: Path | None,
    save: Path | None,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Train on DATA with the penalty eps |theta|^2 in the loss and compare J with an exact interpolant's line.

    A global minimiser has J <= eps |theta*|^2 for every exact interpolant theta* of the trained architecture. The
    interpolant is verified; the J of each run is evaluated exactly from the weights that training left.
    """
    all_eps = read_eps(eps_text, decay_text, limits)
    tau = parse_rational(tau_text, "--temperature", limits)
    if tau <= 0:
        raise UsageError(f"temperature {tau_text}", "--temperature", "it must be positive")
    load_optional("torch")
    if plot is not None:
        load_matplotlib()
    dataset = load_dataset(data, reading, limits)
    with step_spinner("tikhonov") as announce:
        announce("interpolant")
        if interpolant is None:
            found, architecture = find_interpolant(dataset, tau, width, blocks, limits=limits)
        else:
            given = read_transformer(interpolant, limits)
            architecture = Architecture(dataset.dimension, blocks or max(len(given.blocks), 1), width, tau)
            found = place_interpolant(dataset, given, str(interpolant), architecture, limits)
        schedule = Schedule(epochs, learning_rate, continuation=continuation)
        chosen = range(seed, seed + seeds)
        experiment = run_experiment(dataset, architecture, found, all_eps, chosen, schedule, announce, limits)
    record = make_record(experiment)
    if output is not None:
        write_file(output, (json.dumps(record, indent=1) + "\n").encode())
    if plot is not None:
        write_file(plot, draw(record))
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        for k, item in enumerate(experiment.runs):
            header = {"comment": {"trained": item.point.name}}
            save_transformer(replace(item.transformer, header=header), save / f"run-{k + 1}.jsonl")
    head, tail = describe(experiment)
    print_result("\n\n".join([head, render_table("", COLUMNS, list_rows(experiment)), tail]), record, as_json)


def read_eps(eps_text: str | None, decay_text: str | None, limits: Limits) -> list[fmpq]:
    """The list of different eps > 0, from eps or from weight decays. Raises: UsageError, MalformedInput."""
    if eps_text is not None and decay_text is not None:
        raise UsageError("both --eps and --weight-decay", "--eps", "weight_decay = 2 eps: give one of them")
    name = "--eps" if decay_text is None else "--weight-decay"
    text = decay_text or eps_text or "1/20,1/200,1/2000"
    values = [
        parse_rational(part.strip(" "), name, limits) / (1 if decay_text is None else 2) for part in text.split(",")
    ]
    if any(value <= 0 for value in values) or len(set(values)) < len(values):
        raise UsageError(f"{text!r}", name, "a list of different positive numbers")
    return values
