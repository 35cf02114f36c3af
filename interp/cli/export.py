"""Untrusted. ``interp export``: a transformer, or the claim about it, for other programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from interp.cli.claim import readout_option
from interp.cli.output import json_option, leave, limit_options, output_option, print_result
from interp.cli.progress import progress_options, step_spinner
from interp.cli.reading import ReadOptions, reading_options
from interp.datasets.read import load_dataset
from interp.execution.distance import root_decimal
from interp.export.files import ENDINGS, export_floats
from interp.export.rounding import FORMATS
from interp.export.runtimes import measure_export
from interp.export.smt import MAX_TERMS, encode_smt
from interp.export.solvers import SOLVERS, ask_solver
from interp.files.write import refuse_to_replace, write_file
from interp.transformers.encode import encode_transformer
from proofs.__main__ import is_binary, read_bytes, read_transformer
from proofs.kernel.check import DENSE
from proofs.kernel.errors import InternalFault, Status, UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits, parse_rational, rational_text
from proofs.kernel.statement import Dataset, Readout


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path), required=False)
@output_option("The file to write.")
@click.option("--to", "kind", type=click.Choice([*ENDINGS, "smt"]), required=True, help="For Coq: interp certify.")
@click.option("--dtype", type=click.Choice([*FORMATS]), help="Of the weights. Default: float64.")
@click.option("--temperature", default="0", show_default=True, help="0 is hardmax; smt has 0 only.")
@click.option("--check", is_flag=True, help="Run what was written on DATA, in the program it is for.")
@readout_option
@click.option("--max-terms", type=click.IntRange(min=1), help=f"smt: the largest question. Default: {MAX_TERMS}.")
@reading_options
@limit_options
@json_option
@progress_options
def export(
    transformer: Path,
    data: Path | None,
    output: Path,
    kind: str,
    dtype: str | None,
    temperature: str,
    check: bool,
    readout: str,
    max_terms: int | None,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Write TRANSFORMER for PyTorch, ONNX, safetensors or NumPy, or its claim about DATA for SMT solvers.

    \b
      torch        model.py (readable, needs torch and safetensors) and its weights, model.safetensors
      numpy        model.py (readable, needs numpy) and its weights, model.npz
      onnx         one file; batched, any length, hardmax with ties averaged
      safetensors  float weights and the exact numbers, for `interp import safetensors`
      smt          SMT-LIB 2: unsat says that T(X_j) = Y_j for every pair of DATA

    Floats are not exact, and a float model proves nothing: what was rounded is told.
    """
    model = read_transformer(transformer, limits)
    needs_data = kind == "smt" or check
    if needs_data != (data is not None):
        hint = "smt and --check are about DATA" if needs_data else "DATA goes with --check or smt"
        raise UsageError("DATA is missing" if needs_data else "DATA has no use here", hint=hint)
    dataset = load_dataset(data, reading, limits) if data is not None else None
    tau = parse_rational(temperature, "--temperature", limits)
    if tau < 0:
        raise UsageError(f"temperature {temperature}", "--temperature", "0 or more")
    read = Readout(readout)
    if read is not Readout.ALL and (kind == "smt" or not check):
        raise UsageError("the option goes with --check of a float model", "--readout", "leave it out")
    if kind == "smt" and dataset is not None:
        if dtype is not None or tau != 0:
            raise UsageError("smt is exact, at temperature 0", "--dtype" if dtype else "--temperature", "leave it out")
        with step_spinner("export") as announce:
            lines, record, status = _export_smt(dataset, model, output, check, max_terms or MAX_TERMS, limits, announce)
    else:
        if max_terms is not None:
            raise UsageError("the option is for smt", "--max-terms", "leave it out")
        chosen = dtype or "float64"
        source = encode_transformer(model) if is_binary(transformer) else read_bytes(transformer, limits)
        with step_spinner("export") as announce:
            announce(kind)
            result = export_floats(model, source, kind, output, chosen, tau)
        for path in result.contents:
            refuse_to_replace(path, transformer, data)  # the weights beside the file, too
        for path, content in result.contents.items():
            write_file(path, content)
        report = result.report
        lines = [f"{path}: {len(content)} bytes" for path, content in result.contents.items()]
        lines.append(f"  {chosen}: {report}")
        status = Status.VERIFIED
        record = {
            "outputs": [str(path) for path in result.contents],
            "dtype": chosen,
            "weights": report.weights,
            "rounded": report.rounded,
            "largest_relative_error": rational_text(report.relative_error),
            "place": report.place,
        }
        if dataset is not None:
            with step_spinner("export") as announce:
                announce("running what was written")
                text, found = _check_floats(kind, output, dataset, chosen, read)
            lines.append(text)
            record |= found
    print_result("\n".join(lines), record, as_json)
    leave(status)


def _export_smt(
    dataset: Dataset,
    model: Transformer,
    output: Path,
    check: bool,
    max_terms: int,
    limits: Limits,
    announce: Callable[[str], None],
) -> tuple[list[str], dict[str, Any], Status]:
    """Writes the question; with ``check``, the solvers' answers beside the kernel's. A contradiction is a fault."""
    announce("writing the question")
    script = encode_smt(dataset, model, max_terms)
    write_file(output, script.encode())
    record: dict[str, Any] = {"outputs": [str(output)]}
    lines = [f"{output}: {len(script)} bytes; unsat says that T(X_j) = Y_j for {len(dataset.pairs)} pairs"]
    if not check:
        return lines, record, Status.VERIFIED
    kernel = DENSE.hardmax(dataset, model, Readout.ALL, limits, None)[0].status
    expected = "unsat" if kernel is Status.VERIFIED else "sat"
    answers = {}
    for solver in SOLVERS:
        announce(solver)
        answers[solver] = ask_solver(solver, script)
    lines += [f"  {solver}: {answer}" for solver, answer in answers.items()]
    lines.append(f"  kernel: {kernel.label}, so {expected} is expected")
    record |= {"answers": answers, "expected": expected}
    if any(answer not in (expected, "unknown") for answer in answers.values()):
        raise InternalFault("\n".join(["a solver contradicts the kernel", *lines]), hint="please report it")
    decided = expected in answers.values() and "unknown" not in answers.values()
    return lines, record, kernel if decided else Status.UNDECIDED


def _check_floats(
    kind: str, output: Path, dataset: Dataset, dtype: str, readout: Readout
) -> tuple[str, dict[str, Any]]:
    """How far the exported model ends from the targets; every float is taken as the rational that it is."""
    distances = measure_export(kind, output, dataset, dtype, readout)
    known = [distance for distance in distances if distance is not None]
    exact, lost = sum(distance == 0 for distance in known), len(distances) - len(known)
    farthest = max(range(len(distances)), key=lambda j: (distances[j] is None, distances[j] or 0))
    image = "" if readout is Readout.ALL else ", read out at the last tokens"
    text = f"  run on DATA{image}: {exact} of {len(distances)} pairs end exactly on their targets"
    if lost:
        text += f"; {lost} end in NaN or infinity, such as pair {farthest}"
    elif exact < len(distances):
        text += f"; the farthest is pair {farthest}, Hausdorff distance {root_decimal(max(known))}"
    texts = [None if distance is None else rational_text(distance) for distance in distances]
    return text, {"exact_pairs": exact, "squared_hausdorff": texts}
