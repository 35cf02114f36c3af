"""Untrusted. ``interp doctor``: versions, a self-test of the arithmetic, and where the trust lies."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version

import click

from interp.cli.output import json_option, leave, print_result
from interp.version import VERSION
from proofs.kernel.errors import Status
from proofs.selftest import run_selftests

PACKAGES = ("python-flint", "numpy", "sympy", "mpmath", "networkx", "click", "rich")
OPTIONAL = (
    "torch",
    "safetensors",
    "onnx",
    "onnxruntime",
    "z3-solver",
    "cvc5",
    "matplotlib",
    "plotly",
    "joblib",
    "dask",
    "aeon",
    "scikit-learn",
)
TRUST = (
    "every verdict: proofs/kernel, CPython and its standard library, python-flint (FLINT) for integers and rationals",
    "default verification: also proofs/engine where the verdict names it; --paranoid uses the kernel alone",
    "one given temperature: also proofs/balls and Arb (part of FLINT)",
    ".npz and .ts datasets: also interp/datasets, which reads them; convert to JSON to check the reading",
    "never trusted: constructions, stages, audits, reports, the transformer file and its header",
)


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Check this installation: versions, arithmetic, and what a verdict rests on."""
    versions = {"exact-interp": VERSION, "Python": platform.python_version()} | {p: _version(p) for p in PACKAGES}
    optional = {package: _version(package) for package in OPTIONAL}
    findings = run_selftests()
    passed = all(finding.passed for finding in findings)
    lines = [f"{name} {number}" for name, number in versions.items()]
    lines.append("optional: " + ", ".join(f"{name} {number}" for name, number in optional.items()))
    digits = sys.get_int_max_str_digits() or "unlimited"
    lines.append(f"integer digits that Python converts: {digits}; long ones use FLINT")
    lines += [f"{'ok  ' if finding.passed else 'FAIL'} {finding.name}: {finding.detail}" for finding in findings]
    lines += ["Trust:", *(f"  {line}" for line in TRUST), "Details: docs/explanation/trusted-base.md"]
    record = {
        "versions": versions,
        "optional": optional,
        "selftests": [asdict(finding) for finding in findings],
        "trust": list(TRUST),
    }
    print_result("\n".join(lines), record, as_json)
    leave(Status.VERIFIED if passed else Status.FAULT)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
