"""Untrusted. ``interp build``."""

from __future__ import annotations

import time
from pathlib import Path

import click

from interp.api import build as build_transformer
from interp.api import save_transformer
from interp.audit.compare import MEASURES
from interp.cli.output import json_option, limit_options, print_result
from interp.cli.reading import ReadOptions, reading_options, write_reading_options
from interp.constructions.catalogue import CONSTRUCTIONS, find_construction
from interp.datasets.read import load_dataset
from interp.transformers.ledger import decode_phases
from proofs.engine.packed import count_packed
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.rational import Limits, parse_rational
from proofs.kernel.statement import parse_temperatures


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The transformer file to write.")
@click.option("--attention", type=click.Choice(["hardmax", "softmax"]), help="Default: hardmax.")
@click.option("--construction", type=click.Choice([*CONSTRUCTIONS, "auto"]), help="Default: the theorem's.")
@click.option("--minimise", type=click.Choice([*MEASURES]), help="What `--construction auto` makes small.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same input, seed and version: same bytes.")
@click.option("--pad", is_flag=True, help="Append identity blocks up to the theorem's number exactly.")
@click.option("--separation", type=click.Choice(["auto", "leader", "mean"]), help="Kind of separation block.")
@click.option("--temperature", help="Softmax: exact at every temperature in (0, T]. Default: 1.")
@click.option("--no-rank-one-v", is_flag=True, help="Compact: every V = beta I (10 d + 8 scalars a block).")
@click.option("--allow-repeats", is_flag=True, help="Accept repeated tokens: copies travel together.")
@reading_options
@limit_options
@json_option
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
    allow_repeats: bool,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Generate a transformer with T(X_j) = Y_j for every pair of DATA."""
    name = construction or ("auto" if minimise else attention) or "hardmax"
    if minimise is not None and name != "auto":
        raise UsageError(f"construction {name} is fixed", "--minimise", "it goes with --construction auto")
    if name != "auto" and attention is not None and find_construction(name).attention not in (attention, "any"):
        raise UsageError(f"construction {name} is not for {attention}", "--construction")
    tau = parse_rational(temperature, "--temperature", limits) if temperature is not None else None
    if tau is not None and tau <= 0:
        raise UsageError(f"temperature {temperature}", "--temperature", "it must be positive")
    start = time.perf_counter()
    dataset = load_dataset(data, reading, limits)
    try:
        transformer = build_transformer(
            dataset,
            name,
            seed,
            pad,
            allow_repeats,
            attention,
            minimise or "blocks",
            separation=separation,
            temperature=tau,
            rank_one_v=False if no_rank_one_v else None,
        )
    except MalformedInput as error:
        error.file = str(data)
        raise
    digest = save_transformer(transformer, output)
    seconds = time.perf_counter() - start
    counts = count_packed(transformer)
    reached = parse_temperatures(str(transformer.header["temperatures"]))
    name = str(transformer.header["construction"])
    bound = find_construction(name).count_blocks(dataset)
    claim = f' --temperatures "{reached}"' if reached.positive else ""
    phases = [phase for phase in decode_phases(transformer.header) if phase.num_blocks]
    text = (
        f"{output}: {name}, {counts.blocks} blocks (bound {bound}), width {counts.width}, "
        f"{counts.parameters} parameters, {counts.max_bits} bits, {seconds:.2f} s\n"
        f"  {', '.join(f'{phase.name} {phase.num_blocks}' for phase in phases)}\n"
        f"  {digest}\n"
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
    }
    print_result(text, record, as_json)
