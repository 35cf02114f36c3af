"""Builds, verifies and audits real datasets as whole commands, and prints a Markdown table: a part of ``make bench``.

Each command runs in a process of its own: seconds are wall-clock with start-up and reading, memory is its peak.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from flint import fmpq
from sklearn.datasets import load_digits

from interp.datasets.encode import encode_dataset_json
from proofs.kernel.rational import row_of
from proofs.kernel.statement import Dataset, Pair


def digits(count: int) -> Dataset:
    """The first scikit-learn digits as 8 rows with the row number appended; the label k is the target (k + 1, 0, ..)."""
    images = load_digits()
    pairs = []
    for image, label in zip(images.images[:count], images.target[:count], strict=True):
        rows = [row_of([*(fmpq(int(x)) for x in row), fmpq(i)]) for i, row in enumerate(image)]
        pairs.append(Pair(tuple(rows), (row_of([fmpq(int(label) + 1)] + [fmpq(0)] * 8),)))
    return Dataset(9, tuple(pairs))


def leave_one_out(count: int) -> Dataset:
    """All sequences are one set of ``count`` tokens of the plane minus one token."""
    rng = np.random.default_rng(0)
    tokens = [row_of([fmpq(int(x)) for x in token]) for token in rng.integers(-1000, 1000, (count, 2))]
    pairs = [Pair(tuple(t for t in tokens if t != tokens[j]), (row_of([fmpq(j), fmpq(1)]),)) for j in range(count)]
    return Dataset(2, tuple(pairs))


def run(*command: str) -> tuple[float, str]:
    """Seconds and output of a command of its own."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "interp.cli.main", *command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return time.perf_counter() - start, done.stdout


def measure(name: str, data: str, attention: str, *reading: str, build: tuple[str, ...] = ()) -> None:
    """One row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "T.jsonl")
        built, text = run("build", data, "-o", out, "--attention", attention, "--json", *reading, *build)
        verified, _ = run("verify", out, data, "--attention", attention, *reading)
        audited, _ = run("audit", out, data, "--attention", attention, "--no-verify", *reading)
        found = json.loads(text)
        size = Path(out).stat().st_size // 1000
    print(
        f"| {name} | {attention} | {found['blocks']} ({found['bound']}) | {found['phases'].get('separation', 0)} "
        f"| {found['max_bits']} | {size} kB | {built:.1f} s | {verified:.1f} s | {audited:.1f} s |",
        flush=True,
    )


def main(vowels: str) -> None:
    """The table for the vowels file (.ts) given, digits and leave-one-out families."""
    print("| dataset | attention | blocks (bound) | separation | bits | file | build | verify | audit |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, dataset in (("digits", digits(200)), ("leave", leave_one_out(30))):
            (Path(folder) / f"{name}.json").write_bytes(encode_dataset_json(dataset))
        for attention in ("hardmax", "softmax"):
            measure("leave-one-out, N = 30", f"{folder}/leave.json", attention)
        measure("the same, leader blocks", f"{folder}/leave.json", "hardmax", build=("--separation", "leader"))
        for attention in ("hardmax", "softmax"):
            measure("200 digits", f"{folder}/digits.json", attention)
        measure("the same, leader blocks", f"{folder}/digits.json", "hardmax", build=("--separation", "leader"))
        forecast = ("--task", "forecasting", "--horizon", "3", "--limit", "60")
        for attention in ("hardmax", "softmax"):
            measure("60 vowels, forecasting, m = 3", vowels, attention, *forecast)
            measure("270 vowels, classification", vowels, attention)
