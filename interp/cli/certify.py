"""Untrusted. ``interp certify``: a certificate that Coq accepts only if the claim is true."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

import click

from interp.cli.claim import claim_options
from interp.cli.output import json_option, leave, limit_options, output_option, print_result
from interp.cli.progress import progress_options, step_spinner
from interp.cli.reading import ReadOptions, reading_options
from interp.datasets.read import is_kernel_format, load_dataset
from interp.export.coq import ARITHMETICS, emit_certificate
from interp.files.write import write_file
from proofs.__main__ import Options, read_transformer
from proofs.kernel.errors import Status, UsageError
from proofs.kernel.rational import Limits


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@output_option("The certificate to write (.v).")
@click.option("--arithmetic", type=click.Choice(list(ARITHMETICS)), default="standard", show_default=True)
@click.option("--check", is_flag=True, help="Run coqc on it and compare its numbers with the files.")
@claim_options
@reading_options
@limit_options
@json_option
@progress_options
def certify(
    transformer: Path,
    data: Path,
    output: Path,
    arithmetic: str,
    check: bool,
    options: Options,
    reading: ReadOptions,
    limits: Limits,
    as_json: bool,
) -> None:
    """Write a Coq certificate of the claim for TRANSFORMER and DATA; Coq, not this program, has the last word.

    ``bignums`` is faster on long numbers and rests on Coq's axioms about machine integers too.
    """
    if check and not is_kernel_format(data, reading):
        raise UsageError("the comparison reads JSON only", "--check", "interp dataset convert DATA data.json")
    dataset, model = load_dataset(data, reading, limits), read_transformer(transformer, limits)
    claim = options.claim(dataset)
    text = emit_certificate(dataset, model, claim, arithmetic)
    write_file(output, text.encode())
    record = {"output": str(output), "bytes": len(text), "claim": str(claim), "checked": None}
    lines = [f"{output}: {len(text)} bytes, claims {claim}"]
    status = Status.VERIFIED
    if check:
        with step_spinner("certify") as announce:
            announce("coqc")
            problem = _check(output, data, transformer)
        status = Status.VERIFIED if problem is None else Status.REFUTED
        record["checked"] = problem is None
        lines.append(problem or "coqc accepts it, and its numbers are those of the files")
    else:
        lines.append("not checked yet: add --check, or see docs/explanation/coq.md")
    print_result("\n".join(lines), record, as_json)
    leave(status)


def _check(certificate: Path, data: Path, transformer: Path) -> str | None:
    """None, or what Coq or the comparison objects to. Raises: UsageError without coqc."""
    if shutil.which("coqc") is None:
        raise UsageError("coqc is missing", "--check", "apt-get install coq libcoq-bignums")
    with as_file(files("proofs.coq")) as theory, tempfile.TemporaryDirectory() as folder:
        built = subprocess.run(["sh", str(theory / "build.sh"), folder], capture_output=True, text=True)
        if built.returncode != 0:
            return f"the theory does not compile: {built.stderr.strip()[-400:]}"
        copy = Path(folder) / "certificate.v"
        copy.write_bytes(certificate.read_bytes())
        accepted = subprocess.run(["coqc", "-Q", folder, "Interp", str(copy)], capture_output=True, text=True)
        if accepted.returncode != 0:
            return f"coqc refuses it: {accepted.stderr.strip()[-400:]}"
        script = [sys.executable, str(theory / "compare_certificate.py"), str(certificate), str(data), str(transformer)]
        compared = subprocess.run(script, capture_output=True, text=True)
        return None if compared.returncode == 0 else f"its numbers differ: {compared.stdout}{compared.stderr}".strip()
