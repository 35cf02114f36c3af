"""Untrusted. ``interp build``."""

from __future__ import annotations

import time
from pathlib import Path

import click

from interp.api import build as build_transformer
from interp.api import save_transformer
from interp.cli.output import json_option, limit_options, print_result
from interp.cli.reading import ReadOptions, reading_options, write_reading_options
from interp.constructions.catalogue import CONSTRUCTIONS, find_construction
from interp.datasets.read import load_dataset
from interp.transformers.ledger import decode_phases
from proofs.kernel.counts import count_transformer
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.rational import Limits, parse_rational
from proofs.kernel.statement import parse_temperatures


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The transformer file to write.")
@click.option("--attention", type=click.Choice(["hardmax", "softmax"]), help="Default: hardmax.")
@click.option("--construction", type=click.Choice(sorted(CONSTRUCTIONS)), help="Default: the theorem's.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same input, seed and version: same bytes.")
@click.option("--pad", is_flag=True, help="Append identity blocks up to the theorem's number exactly.")
@click.option("--separation", type=click.Choice(["auto", "leader", "mean"]), help="Kind of separation block.")
@click.option("--temperature", help="Softmax: exact at every temperature in (0, T]. Default: 1.")
@click.option("--allow-repeats", is_flag=True, help="Accept repeated tokens: copies travel together.")
@reading_options
@limit_options
@json_option
def build(
    data: Path,
    output: Path,
    attention: str | None,
    construction: str | None,
    seed: int,
    pad: bool,
    separation: str | None,
    temperature: str | None,
    allow_repeats: bool,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Generate a transformer with T(X_j) = Y_j for every pair of DATA."""
    name = construction or attention or "hardmax"
    if attention is not None and find_construction(name).attention not in (attention, "any"):
        raise UsageError(f"construction {name} is not for {attention}", "--construction")
    tau = parse_rational(temperature, "--temperature", limits) if temperature is not None else None
    if tau is not None and tau <= 0:
        raise UsageError(f"temperature {temperature}", "--temperature", "it must be positive")
    start = time.perf_counter()
    dataset = load_dataset(data, reading, limits)
    try:
        transformer = build_transformer(dataset, name, seed, pad, allow_repeats, separation=separation, temperature=tau)
    except MalformedInput as error:
        error.file = str(data)
        raise
    digest = save_transformer(transformer, output)
    seconds = time.perf_counter() - start
    counts = count_transformer(transformer)
    reached = parse_temperatures(str(transformer.header["temperatures"]))
    bound = find_construction(name).count_blocks(dataset)
    claim = f' --temperatures "{reached}"' if reached.positive else ""
    phases = [phase for phase in decode_phases(transformer.header) if phase.num_blocks]
    text = (
        f"{output}: {counts.blocks} blocks (bound {bound}), width {counts.width}, {counts.parameters} parameters, "
        f"{counts.max_bits} bits, {seconds:.2f} s\n"
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
