"""Untrusted. ``interp shrink``: the smallest part of a dataset that still refutes a transformer."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from interp.audit.explain import explain_hardmax
from interp.audit.shrink import find_refuted_pairs, is_refuted, take_pairs
from interp.cli.claim import claim_options
from interp.cli.output import json_option, leave, limit_options, output_option, print_result
from interp.cli.progress import progress_options, step_spinner
from interp.cli.reading import ReadOptions, check_pair, reading_options
from interp.datasets.encode import encode_dataset_json, encode_dataset_lines
from interp.datasets.read import load_dataset
from interp.files.write import write_file
from proofs.__main__ import Options, choose_passes, read_transformer, render_verdict, verdict_record
from proofs.kernel.check import check
from proofs.kernel.decode import decode_dataset
from proofs.kernel.errors import InternalFault, Status, UsageError
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Claim

NOTHING_TO_SHRINK = 3
ENCODERS = {".json": encode_dataset_json, ".jsonl": encode_dataset_lines}


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@output_option("The dataset to write (.json(l)).")
@click.option("--pair", type=click.IntRange(min=0), help="Keep this pair (from 0). Default: the first refuted one.")
@click.option("--all", "everything", is_flag=True, help="Keep every refuted pair instead of one.")
@claim_options
@reading_options
@limit_options
@json_option
@progress_options
def shrink(
    transformer: Path,
    data: Path,
    output: Path,
    pair: int | None,
    everything: bool,
    options: Options,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Write the smallest part of DATA that refutes TRANSFORMER, checked again before it is written.

    The budgets are those of the whole claim. Exit code 10 when a refuted part was written, 3 when the claim is verified
    and there is nothing to shrink, 11 when it is undecided.
    """
    if output.suffix.lower() not in ENCODERS:
        raise UsageError(f"no dataset format for {output.suffix!r}", "--output", "name it .json or .jsonl")
    if pair is not None and everything:
        raise UsageError("one pair or all of them", "--pair", "leave out --all")
    dataset, model = load_dataset(data, reading, limits), read_transformer(transformer, limits)
    claim = options.claim(dataset)
    ask = partial(check, transformer=model, claim=claim, limits=limits, passes=choose_passes(False))
    if pair is not None:
        check_pair(pair, len(dataset.pairs))
    with step_spinner("shrink") as announce:
        announce("checking all pairs" if pair is None else f"checking pair {pair}")
        whole = ask(dataset if pair is None else take_pairs(dataset, [pair]))
    if whole.status is Status.VERIFIED:
        where = "" if pair is None else f"pair {pair}: "
        print_result(f"{where}nothing to shrink: verified, {claim}", {"written": None, "verdict": "verified"}, as_json)
        raise click.exceptions.Exit(NOTHING_TO_SHRINK)
    if whole.status is Status.UNDECIDED:
        print_result(render_verdict(whole, str(transformer)), verdict_record(whole) | {"written": None}, as_json)
        leave(whole.status)
    if not is_refuted(whole):
        failed = "; ".join(f"{item.name}: {item.detail}" for item in whole.failed)
        raise UsageError(f"no pair is refuted: {failed}", hint="a smaller dataset says no more about this")
    with step_spinner("shrink") as announce:
        announce("looking for refuted pairs")
        refuted = find_refuted_pairs(dataset, ask)
        pairs = [pair] if pair is not None else list(refuted) if everything else [next(refuted)]
    encoded = ENCODERS[output.suffix.lower()](take_pairs(dataset, pairs))
    part = decode_dataset(encoded, limits)
    verdict = ask(part)
    if not is_refuted(verdict):
        raise InternalFault("the part is not refuted any more", hint="a defect of the program: please report it")
    write_file(output, encoded)
    command = shlex.join(["interp", "verify", str(transformer), str(output), *_typed(claim)])
    lines = [
        f"{output}: {len(pairs)} of {len(dataset.pairs)} pairs ({_listed(pairs)}), refuted again"
        + ("; one pair is the smallest there is" if len(pairs) == 1 else ""),
        render_verdict(replace(verdict, notes=()), str(transformer)),
    ]
    if claim.temperatures.zero:
        lines += ["where it went wrong:", *(f"  {line}" for line in explain_hardmax(part, model, limits))]
    record = verdict_record(verdict) | {"written": str(output), "pairs": pairs, "command": command}
    print_result("\n".join([*lines, f"again: {command}"]), record, as_json)
    leave(Status.REFUTED)


def _typed(claim: Claim) -> list[str]:
    """The claim as options; the budgets are written out because the defaults of a smaller dataset are smaller."""
    budgets = {"width": claim.max_width, "blocks": claim.max_blocks, "parameters": claim.max_parameters}
    words = [word for name, value in budgets.items() for word in (f"--max-{name}", str(value))]
    return ["--temperatures", str(claim.temperatures), *words]


def _listed(pairs: list[int]) -> str:
    shown = ", ".join(map(str, pairs[:10]))
    return f"pair {shown}" if len(pairs) == 1 else f"pairs {shown}" + (", ..." if len(pairs) > 10 else "")
