"""The exact check against floating point, Fraction and reading alone: ``make bench-engine``; prints Markdown tables.

``python -m tests.bench.engine JapaneseVowels_TRAIN.ts [largest N]``. One thread each. In-memory figures are the best of
three to thirty runs in this process, whole processes run alone once; torch (if installed) is timed in the same run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from interp.api import check_hypotheses, make_transformer, save_transformer
from interp.constructions.catalogue import find_construction, run_construction
from interp.datasets.npz import encode_dataset_npz
from interp.datasets.read import load_dataset
from proofs.__main__ import read_transformer
from proofs.engine.packed import PackedTransformer, pack_transformer
from proofs.engine.passes import ENGINE
from proofs.engine.statement import ArrayDataset, ArrayPairs, Side, pack_dataset
from proofs.kernel.check import check
from proofs.kernel.errors import Status
from proofs.kernel.rational import DEFAULT_LIMITS
from proofs.kernel.statement import Dataset, make_claim
from tests.reference import evaluator
from tests.strategies import fractions_of

SERIES = (10, 30, 100, 300, 1000, 3000, 10_000)
BLOCKS_OF_FRACTIONS = 2  # the Fraction evaluator runs so many blocks; the rest is extrapolated


def synthetic(N: int, n: int, d: int, m: int) -> ArrayDataset:
    """N sequences of n random integer tokens below 1000 in absolute value, m targets each."""
    rng = np.random.default_rng(N)
    sides = (Side.from_arrays(rng.integers(-1000, 1000, (N * k, d)), None, np.full(N, k)) for k in (n, m))
    return ArrayDataset(d, ArrayPairs(*sides))


def best(action: Callable[[], Any], runs: int = 3) -> float:
    """Seconds of the fastest run; short ones run up to 30 times, for half a second."""
    times: list[float] = []
    while len(times) < runs or (runs > 1 and len(times) < 30 and sum(times) < 0.5):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


# A child inherits the peak of the process that starts it: so a small one starts it.
STARTER = (
    "import resource, subprocess, sys, time\n"
    "start = time.perf_counter()\n"
    "code = subprocess.run([sys.executable, '-m', *sys.argv[1:]], stdout=subprocess.DEVNULL).returncode\n"
    "print(code, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)\n"
)


def run_alone(*command: str) -> tuple[float, int]:
    """Seconds and peak megabytes of a process of its own."""
    done = subprocess.run([sys.executable, "-c", STARTER, *command], capture_output=True, text=True)
    code, seconds, peak = done.stdout.split()
    if code != "0":
        raise SystemExit(f"{' '.join(command)}: exit code {code}\n{done.stderr}")
    return float(seconds), int(peak)


@dataclass
class Prepared:
    """A dataset with its transformer, in memory and as files."""

    dataset: Dataset
    transformer: PackedTransformer
    data: Path
    witness: Path
    build: float
    prepare: float


def prepare(dataset: Dataset, folder: str, attention: str = "hardmax") -> Prepared:
    """Builds, writes both files and reads them back."""
    data, witness = Path(folder) / "D.npz", Path(folder) / "T.jsonl"
    data.write_bytes(encode_dataset_npz(dataset))
    construction = find_construction(attention)

    def build() -> None:
        check_hypotheses(dataset)
        ledger = run_construction(construction, dataset, 0, {})
        save_transformer(make_transformer(ledger, construction, dataset, 0), witness)

    seconds = best(build, 1)
    packed = pack_transformer(read_transformer(witness, DEFAULT_LIMITS))
    ready = best(lambda: (packed.program, packed.counts), 1)
    return Prepared(pack_dataset(load_dataset(data)), packed, data, witness, seconds, ready)


def check_in_memory(case: Prepared, temperatures: str = "0") -> None:
    """Claim, budgets, forward pass, comparison, verdict."""
    claim = make_claim(case.dataset, temperatures=temperatures, max_blocks=len(case.transformer.blocks))
    verdict = check(case.dataset, case.transformer, claim, passes=ENGINE)
    if verdict.status is not Status.VERIFIED:
        raise SystemExit(str(verdict.failed))


def time_torch(case: Prepared) -> float | None:
    """Seconds of the forward pass alone, tensors made before."""
    try:
        import torch

        from tests.bench import torch_forward
    except ImportError:
        return None
    torch.set_num_threads(1)
    with np.load(case.data) as arrays:
        tokens, mask = torch_forward.pad(arrays["inputs"], arrays["input_lengths"])
    blocks = torch_forward.read_transformer(case.witness.read_bytes())
    return best(lambda: torch_forward.forward(blocks, tokens, mask), 1 if len(blocks) > 3000 else 3)


def time_fractions(case: Prepared) -> float:
    """Seconds of the plain evaluator: a few sequences through a few blocks, extrapolated to all."""
    lines = case.witness.read_bytes().splitlines(keepends=True)
    some = b"".join(lines[: 1 + BLOCKS_OF_FRACTIONS]) + lines[-1]
    pairs = case.dataset.pairs[:10]
    tokens = fractions_of([pair.input for pair in pairs])
    seconds = best(lambda: list(evaluator.run(some, tokens)), 1)
    share = sum(map(len, tokens)) / case.dataset.num_tokens
    return seconds / share * len(case.transformer.blocks) / BLOCKS_OF_FRACTIONS


def shown(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def ratio(left: float | None, right: float) -> str:
    return "-" if left is None else f"{left / right:.3g}"


def compare(name: str, dataset: Dataset) -> None:
    """One row: the check in memory and as a process against torch, Fraction and reading alone."""
    with tempfile.TemporaryDirectory() as folder:
        case = prepare(dataset, folder)
        case.dataset.digest  # noqa: B018 - what identifies the data belongs to reading them
        checked = best(lambda: check_in_memory(case))
        torch_seconds = time_torch(case)
        plain = time_fractions(case)
        npz = best(lambda: load_dataset(case.data))
        lines = best(lambda: [json.loads(line) for line in case.witness.read_bytes().splitlines()])
        process, _ = run_alone("interp.cli.main", "verify", str(case.witness), str(case.data), "--quiet")
        torch_process = None
        if torch_seconds is not None:
            torch_process, _ = run_alone("tests.bench.torch_forward", str(case.data), str(case.witness))
    print(
        f"| {name} | {len(case.transformer.blocks)} | {shown(case.build)} | {shown(case.prepare)} | {shown(checked)} "
        f"| {shown(torch_seconds)} | **{ratio(torch_seconds, checked)}** | {shown(plain)} | {ratio(plain, checked)} "
        f"| {shown(npz)} | {shown(lines)} | {shown(process)} | {shown(torch_process)} |",
        flush=True,
    )


def grow(largest: int) -> None:
    """The growth series as whole commands, with exponents fitted from N = 100 on."""
    print("\n| N | build | verify | check in memory | peak build | peak verify | T.jsonl | D.npz |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for N in (n for n in SERIES if n <= largest):
        with tempfile.TemporaryDirectory() as folder:
            case = prepare(synthetic(N, 50, 16, 2), folder)
            case.dataset.digest  # noqa: B018
            checked = best(lambda: check_in_memory(case))  # noqa: B023
            built, build_peak = run_alone("interp.cli.main", "build", str(case.data), "-o", str(case.witness))
            verified, peak = run_alone("interp.cli.main", "verify", str(case.witness), str(case.data), "--quiet")
            sizes = [path.stat().st_size / 1e6 for path in (case.witness, case.data)]
        rows.append((N, built, verified, checked, build_peak, peak, *sizes))
        print(
            f"| {N} | {shown(built)} | {shown(verified)} | {shown(checked)} | {build_peak} MB | {peak} MB "
            f"| {sizes[0]:.2f} MB | {sizes[1]:.2f} MB |",
            flush=True,
        )
    table = np.log(np.array([row for row in rows if row[0] >= 100]))
    if len(table) > 1:
        fits = [np.polyfit(table[:, 0], table[:, c], 1)[0] for c in range(1, table.shape[1])]
        print(f"| exponent | {' | '.join(f'{x:.2f}' for x in fits)} |")


def soften(name: str, dataset: Dataset) -> None:
    """One row: all temperatures up to 1 against temperature 0, in memory."""
    with tempfile.TemporaryDirectory() as folder:
        hard = best(lambda: check_in_memory(case)) if (case := prepare(dataset, folder)) else 0.0
    with tempfile.TemporaryDirectory() as folder:
        case = prepare(dataset, folder, "softmax")
        soft = best(lambda: check_in_memory(case, "(0,1]"), 1)
    print(f"| {name} | {shown(hard)} | {shown(soft)} | {soft / hard:.3g} |", flush=True)


def main(vowels: str, largest: str = "10000") -> None:
    """All tables."""
    cases = (
        ("JapaneseVowels 270, m = 1", load_dataset(vowels)),
        ("N = 100, n = 100, d = 64, m = 4", synthetic(100, 100, 64, 4)),
        ("N = 3000, n = 50, d = 16, m = 2", synthetic(min(3000, int(largest)), 50, 16, 2)),
    )
    print(
        "| instance | blocks | build | steps and counts | check in memory | torch forward | torch / check | Fraction "
        "(extrapolated) | Fraction / check | read D.npz | parse T.jsonl | verify, process | torch, process |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name, dataset in cases:
        compare(name, dataset)
    grow(int(largest))
    print("\n| instance | hardmax check | softmax check, all temperatures up to 1 | ratio |\n|---|---|---|---|")
    soften("JapaneseVowels 270, m = 1", load_dataset(vowels))
    for N in (100, 300):
        soften(f"N = {N}, n = 50, d = 16, m = 2", synthetic(N, 50, 16, 2))


if __name__ == "__main__":
    main(*sys.argv[1:])
