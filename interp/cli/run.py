"""Untrusted. ``interp run``: the output tokens for any input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from flint import fmpq

from interp.cli.output import json_option, limit_options, print_result
from interp.cli.progress import progress_bar, progress_options
from interp.cli.reading import ReadOptions, check_pair, reading_options
from interp.datasets.read import load_dataset
from interp.execution.approximate import approx_run, find_arithmetic
from interp.transformers.ledger import decode_phases
from proofs.__main__ import read_bytes, read_transformer
from proofs.kernel.decode import decode_json, decode_tokens
from proofs.kernel.errors import InterpError, MalformedInput, UsageError
from proofs.kernel.hardmax import apply_block
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits, Row, coordinates_of, parse_rational, rational_text


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@click.argument("tokens", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--pair", type=click.IntRange(min=0), help="TOKENS is a dataset: run its pair of this number (from 0).")
@click.option("--trace", is_flag=True, help="The tokens after every block.")
@click.option("--arithmetic", default="rational", show_default=True, help="rational, float64 or mpmath:DIGITS.")
@click.option("--temperature", default="0", show_default=True, help="0 is hardmax; rational arithmetic has only 0.")
@reading_options
@limit_options
@json_option
@progress_options
def run(
    transformer: Path,
    tokens: Path,
    pair: int | None,
    trace: bool,
    arithmetic: str,
    temperature: str,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Print the output tokens of TRANSFORMER on TOKENS.

    TOKENS is a JSON list of tokens, such as [[1, "1/2"], [0, 3]], in a file or on standard input (-), or a dataset
    with --pair. Rational arithmetic is exact; the others are for looking and prove nothing.
    """
    model = read_transformer(transformer, limits)
    rows = _read_tokens(tokens, pair, reading, limits)
    for i, row in enumerate(rows):
        if len(row) - 1 != model.dimension:
            raise MalformedInput(f"{len(row) - 1} coordinates, expected {model.dimension}", f"$[{i}]", file=str(tokens))
    states: list[Any] = []
    tau = parse_rational(temperature, "--temperature")
    with progress_bar("run", phases=decode_phases(model.header)) as progress:
        for k, state in enumerate(_states(model, rows, arithmetic, tau, limits)):
            states[len(states) if trace else 0 :] = [state]
            progress(k, len(model.blocks))
    if as_json:
        record = {"arithmetic": arithmetic, "exact": arithmetic == "rational", "tokens": states[-1]}
        print_result("", record | ({"trace": states} if trace else {}), True)
        return
    lines = []
    for k, state in enumerate(states):
        if trace:
            lines.append(f"after block {k}:" if k else "input:")
        lines += ["  (" + ", ".join(token) + ")" for token in state]
    if arithmetic != "rational":
        lines.append(f"approximate ({arithmetic}): this proves nothing")
    click.echo("\n".join(lines))


def _read_tokens(path: Path, pair: int | None, reading: ReadOptions, limits: Limits) -> list[Row]:
    if pair is not None:
        pairs = load_dataset(path, reading, limits).pairs
        check_pair(pair, len(pairs))
        return list(pairs[pair].input)
    if str(path).startswith("["):
        raise UsageError("tokens come from a file", "TOKENS", f"or from standard input: echo '{path}' | interp run T -")
    data = sys.stdin.buffer.read() if str(path) == "-" else read_bytes(path, limits)
    try:
        record: Any = decode_json(data, "$")
        if isinstance(record, dict):
            raise MalformedInput("expected a list of tokens", "$", "for a dataset say --pair J")
        if not (rows := decode_tokens(record, "$", limits)):
            raise MalformedInput("there is no token", "$")
    except InterpError as error:
        error.file = str(path)
        raise
    return list(rows)


def _states(model: Transformer, rows: list[Row], arithmetic: str, temperature: fmpq, limits: Limits) -> Iterator[Any]:
    if arithmetic == "rational":
        if temperature != 0:
            raise UsageError("rational arithmetic has no exponential", "--temperature", "use --arithmetic mpmath:50")
        sequences = [rows]
        yield [[rational_text(x) for x in coordinates_of(row)] for row in rows]
        for block in model.blocks:
            sequences = apply_block(block, sequences, limits)
            yield [[rational_text(x) for x in coordinates_of(row)] for row in sequences[0]]
        return
    chosen = find_arithmetic(arithmetic)
    for state in approx_run(model, [coordinates_of(row) for row in rows], chosen, temperature):
        yield [[str(x) for x in token] for token in state]
