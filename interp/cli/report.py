"""Untrusted. ``interp report``: the verdict of the checker and pictures, as one page that opens without a network."""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path

import click

from interp.audit.audit import audit_transformer
from interp.audit.explain import Finding, examine_phases
from interp.cli.audit import check_digests
from interp.cli.claim import claim_options
from interp.cli.output import bound_options, json_option, leave, limit_options, output_option, print_result
from interp.cli.progress import progress_bar, progress_options
from interp.cli.reading import ReadOptions, reading_options, write_reading_options
from interp.cli.verify import check_files
from interp.datasets.read import load_dataset
from interp.files.write import write_file
from interp.pictures.axes import make_axes
from interp.pictures.motion import Motion, follow
from interp.pictures.page import Subject, bound_tokens, find_wrong_pair, load_plotly, render_page
from proofs.__main__ import Options, print_answer, read_transformer
from proofs.guard import Answer, Bounds
from proofs.kernel.check import Progress
from proofs.kernel.errors import LimitReached, Status
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Claim, Dataset


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@output_option("The HTML file to write.")
@claim_options
@reading_options
@limit_options
@bound_options
@json_option
@progress_options
def report(
    transformer: Path,
    data: Path,
    output: Path,
    options: Options,
    reading: ReadOptions,
    limits: Limits,
    bounds: Bounds,
    as_json: bool,
) -> None:
    """Verify, and write a page to look at: tokens moving through the blocks, phases, attention, bits, parameters.

    The page needs no network. The exit code is that of the verdict, which the checker gives in this run.
    """
    plotly = load_plotly()
    answer = check_files([transformer], data, options, reading, limits, bounds)[0]
    if answer.status not in (Status.VERIFIED, Status.REFUTED, Status.UNDECIDED):
        print_answer(answer.text, answer.status)
        leave(answer.status)
    model, dataset = read_transformer(transformer, limits), load_dataset(data, reading, limits)
    check_digests(answer, model, dataset)
    claim = options.claim(dataset)
    result = audit_transformer(model, dataset, claim.temperatures)
    with progress_bar("promises of the phases") as progress:
        findings, explained = _explain(answer, model, dataset, claim, limits, progress)
    subject = Subject(
        transformer.name,
        data.name,
        _command(transformer, data, options, reading),
        model,
        dataset,
        claim,
        answer,
        result,
        findings,
        explained,
    )
    with progress_bar("positions") as progress:
        motion = _follow(subject, limits, progress)
        axes = make_axes(motion, model)
    page = render_page(subject, motion, axes, plotly)
    write_file(output, page)
    text = f"{answer.text}\n{output}: {len(page) / 1e6:.1f} MB"
    record = answer.record | {"output": str(output), "bytes": len(page), "notes_of_pictures": motion.notes}
    print_result("\n".join([text, *(f"  {note}" for note in motion.notes)]), record, as_json)
    leave(answer.status)


def _explain(
    answer: Answer, model: Transformer, dataset: Dataset, claim: Claim, limits: Limits, progress: Progress
) -> tuple[list[Finding], str]:
    """What became of the phases' promises, where that can tell something, and a sentence about it."""
    if answer.status is Status.VERIFIED:
        return [], ""
    if not claim.temperatures.zero:
        return [], "The promises of the phases are checked at temperature 0 only, which was not claimed."
    if model.dimension != dataset.dimension:
        return [], "The transformer is for another dimension."
    try:
        findings = examine_phases(dataset, model, limits, progress)
    except LimitReached as reason:
        return [], f"The promises of the phases were not checked: {reason.message}."
    if not findings:
        return [], "The header has no ledger of phases: only the pair is known, not the block."
    return findings, "The ledger is the header's word; what became of each promise was found by running the blocks."


def _follow(subject: Subject, limits: Limits, progress: Progress) -> Motion:
    model, dataset = subject.transformer, subject.dataset
    if model.dimension != dataset.dimension:
        note = f"Nothing is drawn: dimension {model.dimension}, the dataset has {dataset.dimension}."
        return Motion([], [], [], "0", notes=[note])
    phases = [item.phase for item in subject.audit.phases]
    temperatures, wrong = subject.claim.temperatures, find_wrong_pair(subject.answer)
    return follow(dataset, model, temperatures, phases, wrong, bound_tokens(model), limits, progress)


def _command(transformer: Path, data: Path, options: Options, reading: ReadOptions) -> str:
    """The command that checks the same claim."""
    words = ["interp", "verify", str(transformer), str(data)]
    for field in fields(Options):
        if (value := getattr(options, field.name)) != field.default:
            words += [f"--{field.name.replace('_', '-')}", str(value)]
    return shlex.join(words) + write_reading_options(reading)
