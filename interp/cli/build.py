"""Untrusted. ``interp build``."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from interp.api import build as build_transformer
from interp.api import save_transformer
from interp.audit.compare import MEASURES
from interp.cli.claim import mask_option, readout_option
from interp.cli.float_safe import FloatSafe, find_float_safe, float_safe_options
from interp.cli.output import json_option, leave, limit_options, output_option, print_result
from interp.cli.progress import progress_bar, progress_options
from interp.cli.reading import ReadOptions, reading_options, write_reading_options
from interp.constructions.catalogue import CAUSAL, EVERY, find_construction
from interp.datasets.read import load_dataset
from interp.norm.squares import sum_squares
from interp.transformers.ledger import Phase, decode_phases, told_of_phases
from proofs.engine.packed import count_packed
from proofs.kernel.errors import MalformedInput, Status, UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits, parse_rational, rational_text, short_decimal
from proofs.kernel.statement import Dataset, make_claim, parse_temperatures


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@output_option("The transformer file to write.")
@click.option("--attention", type=click.Choice(["hardmax", "softmax"]), help="Default: hardmax.")
@click.option("--construction", type=click.Choice([*EVERY, "auto"]), help="Default: the theorem's.")
@click.option("--minimise", type=click.Choice([*MEASURES]), help="What `auto` makes small; norm also rescales.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same input, seed and version: same bytes.")
@click.option("--pad", is_flag=True, help="Append identity blocks up to the theorem's number exactly.")
@click.option("--separation", type=click.Choice(["auto", "leader", "mean"]), help="Kind of separation block.")
@click.option("--temperature", help="Softmax: exact at every temperature in (0, T]. Default: 1.")
@click.option("--no-rank-one-v", is_flag=True, help="Compact: every V = beta I (10 d + 8 scalars a block).")
@click.option("--heads", type=click.IntRange(1, 2), help="Peeling: tokens that one block takes off. Default: 1.")
@click.option("--trained", is_flag=True, help="Labels: block 1 gets four ReLUs found by training (needs torch).")
@click.option("--allow-repeats", is_flag=True, help="Accept repeated tokens: copies travel together.")
@float_safe_options
@mask_option
@readout_option
@reading_options
@limit_options
@json_option
@progress_options
def build(
    data: Path,
    output: Path,
    attention: str | None,
    construction: str | None,
    minimise: str | None,
    seed: int,
    pad: bool,
    separation: str | None,
    temperature: str | None,
    no_rank_one_v: bool,
    heads: int | None,
    trained: bool,
    allow_repeats: bool,
    float_safe: FloatSafe,
    mask: str,
    readout: str,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Generate a transformer with T(X_j) = Y_j for every pair of DATA.

    With --float-safe the best variant found is written; the exit code is 11 if it is not proved to be safe.
    """
    name = construction or ("auto" if minimise else attention) or "hardmax"
    if (mask, readout) == (CAUSAL.mask, CAUSAL.readout):
        name = construction or CAUSAL.name
    elif mask == CAUSAL.mask or readout == CAUSAL.readout:
        raise UsageError("--mask causal and --readout last go together", "--mask", "no construction has one of them")
    if name != CAUSAL.name and mask == CAUSAL.mask:
        raise UsageError(f"construction {name} has no mask", "--construction", f"leave it out, or {CAUSAL.name}")
    if minimise not in (None, "norm") and name != "auto":
        raise UsageError(f"construction {name} is fixed", "--minimise", "it goes with --construction auto")
    if name != "auto" and attention is not None and find_construction(name).attention not in (attention, "any"):
        raise UsageError(f"construction {name} is not for {attention}", "--construction")
    tau = parse_rational(temperature, "--temperature", limits) if temperature is not None else None
    if tau is not None and tau <= 0:
        raise UsageError(f"temperature {temperature}", "--temperature", "it must be positive")
    start = time.perf_counter()
    dataset = load_dataset(data, reading, limits)
    try:
        build_as = partial(
            build_transformer,
            dataset,
            seed=seed,
            pad=pad,
            allow_repeats=allow_repeats,
            attention=attention,
            separation=separation,
            temperature=tau,
            rank_one_v=False if no_rank_one_v else None,
            heads=heads,
            trained=True if trained else None,
        )
        if float_safe.dtype is None:
            kept, transformer = None, _build(build_as, name, minimise or "blocks", dataset)
        else:
            kept, transformer = find_float_safe(dataset, build_as, name, minimise, float_safe, tau, seed)
    except MalformedInput as error:
        error.file = str(data)
        raise
    digest = save_transformer(transformer, output)
    seconds = time.perf_counter() - start
    counts = count_packed(transformer)
    reached = parse_temperatures(str(transformer.header["temperatures"]))
    name = str(transformer.header["construction"])
    made = find_construction(name)
    bound = made.count_blocks(dataset)
    claim = f' --temperatures "{reached}"' if reached.positive else ""
    if made is CAUSAL:
        claim += f" --mask {made.mask} --readout {made.readout}"
        if counts.blocks > make_claim(dataset, temperatures=str(reached)).max_blocks:  # it counts sets, not sequences
            claim += f" --max-blocks {counts.blocks}"
    phases = [phase for phase in decode_phases(transformer.header) if phase.num_blocks]
    norms: dict[str, str] = {}
    rescaled = ""
    if minimise == "norm":
        before, after = sum_squares(build_as(name)), sum_squares(transformer)
        norms = {"norm_before": rational_text(before), "norm": rational_text(after)}
        rescaled = f"  |theta|^2: {short_decimal(before)} as constructed, {short_decimal(after)} rescaled\n"
    text = (
        f"{output}: {name}, {counts.blocks} blocks (bound {bound}), width {counts.width}, "
        f"{counts.parameters} parameters, {counts.max_bits} bits, {seconds:.2f} s\n"
        f"  {', '.join(f'{phase.name} {phase.num_blocks}' for phase in phases)}\n"
        f"{rescaled}{kept.text if kept is not None else ''}  {digest}\n"
        f"  not verified yet: interp verify {output} {data}{claim}{write_reading_options(reading)}"
    )
    record = {
        "output": str(output),
        "digest": digest,
        "construction": name,
        "blocks": counts.blocks,
        "bound": bound,
        "width": counts.width,
        "parameters": counts.parameters,
        "max_bits": counts.max_bits,
        "phases": {phase.name: phase.num_blocks for phase in phases},
        "seconds": round(seconds, 3),
        **norms,
        **({"float_safe": kept.record} if kept is not None else {}),
    }
    print_result(text, record, as_json)
    if kept is not None and not kept.safe:
        leave(Status.UNDECIDED)


def _build(build_as: Callable[..., Transformer], name: str, minimise: str, dataset: Dataset) -> Transformer:
    """Builds; the bar counts the blocks of the phases that are done against the bound, often more than are needed."""
    bound = find_construction(name).count_blocks(dataset) if name != "auto" else 0
    built: list[Phase] = []
    with progress_bar("build", phases=built) as progress:

        def watch(phase: Phase) -> None:
            built[:] = [phase]  # `auto` builds several transformers
            if phase.num_blocks:
                progress(phase.last, max(bound, phase.last))

        with told_of_phases(watch):
            return build_as(name, minimise=minimise)
