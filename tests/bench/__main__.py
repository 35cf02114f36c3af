"""All benchmarks: ``make bench``; prints the tables of docs/benchmarks.md and draws its pictures.

``python -m tests.bench JapaneseVowels_TRAIN.ts [--largest N] [--images FOLDER] [--only PART]``. Figures that are compared
come from one run of one process, the best of three or more; whole commands run alone once, with start-up and reading.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from interp.datasets.options import ReadOptions
from interp.datasets.read import load_dataset
from proofs.__main__ import read_transformer
from proofs.kernel.rational import DEFAULT_LIMITS
from proofs.kernel.statement import Dataset
from tests.bench import foundation
from tests.bench.cases import prepare, synthetic, vocabulary
from tests.bench.measure import best, fit, machine, run_alone, shown, table, times
from tests.bench.rivals import time_domain_matrices, time_fractions, time_torch

SERIES = (10, 30, 100, 300, 1000, 3000, 10_000)
LENGTHS = (10, 100, 1000, 10_000, 100_000)
CLI = "interp.cli.main"


def compare(cases: list[tuple[str, Dataset]]) -> None:
    """The check in memory against three rivals, and against reading alone; then whole processes."""
    rows, reading, processes = [], [], []
    start, _ = run_alone(CLI, "--version")
    torch_start = None
    for name, dataset in cases:
        with tempfile.TemporaryDirectory() as folder:
            case = prepare(dataset, folder)
            checked, forward = best(case.check), time_torch(case)
            slow, matrices = time_fractions(case), time_domain_matrices(case)
            rows.append(
                [
                    name,
                    len(case.transformer.blocks),
                    shown(case.build),
                    shown(case.prepare),
                    shown(checked),
                    shown(forward),
                    f"**{times(forward, checked)}**",
                    shown(slow),
                    times(slow, checked),
                    shown(matrices),
                    times(matrices, checked),
                ]
            )
            npz = best(lambda: load_dataset(case.data).digest)  # noqa: B023
            lines = best(lambda: [json.loads(x) for x in case.witness.read_bytes().splitlines()])  # noqa: B023
            binary = best(lambda: sum(1 for _ in read_transformer(case.binary, DEFAULT_LIMITS).blocks))  # noqa: B023
            reading.append(
                [name, shown(npz), shown(lines), shown(binary), shown(checked), times(checked, npz + binary)]
            )
            found = [
                run_alone(CLI, "verify", str(x), str(case.data), "--quiet")[0] for x in (case.witness, case.binary)
            ]
            whole = None
            if forward is not None:
                if torch_start is None:
                    torch_start, _ = run_alone("tests.bench.torch_forward")
                whole, _ = run_alone("tests.bench.torch_forward", str(case.data), str(case.witness))
            processes.append(
                [
                    name,
                    *map(shown, found),
                    shown(found[1] - start),
                    shown(whole),
                    times(whole, found[1]),
                    times(None if whole is None or torch_start is None else whole - torch_start, found[1] - start),
                ]
            )
    table(
        [
            "instance",
            "blocks",
            "build",
            "steps and counts",
            "check in memory",
            "torch forward",
            "torch / check",
            "Fraction",
            "Fraction / check",
            "DomainMatrix",
            "DomainMatrix / check",
        ],
        rows,
    )
    head = [
        "instance",
        "read D.npz with digest",
        "parse T.jsonl",
        "read T.npz",
        "check in memory",
        "check / reading npz",
    ]
    table(head, reading)
    print(f"Start-up alone: verify {shown(start)}, torch {shown(torch_start)}.\n")
    table(
        [
            "instance",
            "verify T.jsonl",
            "verify T.npz",
            "the same without start-up",
            "torch process",
            "torch / verify",
            "the same, both without start-up",
        ],
        processes,
    )


def soften(cases: list[tuple[str, Dataset]]) -> None:
    """All temperatures up to 1 against temperature 0, three times: the spread."""
    rows = []
    for name, dataset in cases:
        with tempfile.TemporaryDirectory() as left, tempfile.TemporaryDirectory() as right:
            hard, soft = prepare(dataset, left), prepare(dataset, right, "softmax")
            pairs = [(best(hard.check), best(lambda: soft.check("(0,1]"))) for _ in range(3)]  # noqa: B023
        ratios = sorted(b / a for a, b in pairs)
        figures = [shown(min(pair[k] for pair in pairs)) for k in (0, 1)]
        rows.append([name, shown(hard.build), shown(soft.build), *figures, f"{ratios[0]:.2g} to {ratios[-1]:.2g}"])
    table(["instance", "build hardmax", "build softmax", "hardmax check", "softmax check on (0, 1]", "ratio"], rows)


def compact(cases: list[tuple[str, Dataset]]) -> None:
    """``compact`` against the torch forward of its own transformer."""
    rows = []
    for name, dataset in cases:
        with tempfile.TemporaryDirectory() as folder:
            case = prepare(dataset, folder, "compact")
            checked, forward = best(case.check, 1), time_torch(case)
            softly = best(lambda: case.check("[0,oo)"), 1)  # noqa: B023
        rows.append([name, len(case.transformer.blocks), shown(case.build), shown(checked), shown(softly)])
        rows[-1] += [shown(forward), times(forward, checked)]
    head = ["instance", "blocks", "build", "check at 0", "check on [0, ∞)", "torch forward at 0", "torch / check"]
    table(head, rows)


def grow(kind: str, make: Any, largest: int) -> list[list[float]]:
    """A growth series as whole commands, with exponents fitted from N = 100 on."""
    rows: list[list[float]] = []
    for N in (N for N in SERIES if largest >= N):
        with tempfile.TemporaryDirectory() as folder:
            case = prepare(make(N, 50, 16, 2), folder)
            checked = best(case.check)
            built, build_peak = run_alone(CLI, "build", str(case.data), "-o", str(case.binary))
            verified, peak = run_alone(CLI, "verify", str(case.binary), str(case.data), "--quiet")
            sizes = [path.stat().st_size / 1e6 for path in (case.witness, case.binary, case.data)]
            rows.append([N, len(case.transformer.blocks), built, verified, checked, build_peak, peak, *sizes])
    print(f"Tokens: {kind}.\n")
    shown_rows: list[list[object]] = [
        [N, blocks, *map(shown, rest[:3]), *(f"{x:.0f} MB" for x in rest[3:5]), *(f"{x:.2f} MB" for x in rest[5:])]
        for N, blocks, *rest in rows
    ]
    exponents = [f"{fit(rows, column):.2f}" for column in range(1, len(rows[0]))]
    head = [
        "N",
        "blocks",
        "build",
        "verify",
        "check in memory",
        "peak build",
        "peak verify",
        "T.jsonl",
        "T.npz",
        "D.npz",
    ]
    table(head, [*shown_rows, ["exponent from 100 on", *exponents]])
    return rows


def lengthen() -> list[list[float]]:
    """Longer and longer sequences, N = 10: blocks and parameters must not change."""
    rows: list[list[float]] = []
    for n in LENGTHS:
        with tempfile.TemporaryDirectory() as folder:
            case = prepare(synthetic(10, n, 16, 2), folder)
            counts = case.transformer.counts
            rows.append([n, counts.blocks, counts.parameters, case.build, best(case.check)])
    table(
        ["n", "blocks", "parameters", "build", "check in memory"],
        [[n, blocks, parameters, shown(b), shown(c)] for n, blocks, parameters, b, c in rows],
    )
    return rows


def draw(series: dict[str, list[list[float]]], lengths: list[list[float]], folder: Path) -> None:
    """Growth in N and in n, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "bench", "font.size": 9})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    names = ((2, "build, whole command"), (3, "verify, whole command"), (4, "check in memory"))
    for (kind, rows), style in zip(series.items(), ("-o", "--s"), strict=False):
        for (column, name), colour in zip(names, ("C0", "C1", "C2"), strict=True):
            left.loglog([r[0] for r in rows], [r[column] for r in rows], style + colour, ms=4, label=f"{name}, {kind}")
    left.set(xlabel="sequences N (n = 50, d = 16, m = 2)", ylabel="seconds")
    left.set_ylim(top=1e6)
    left.legend(fontsize=7, loc="upper left")
    for column, name in ((3, "build"), (4, "check in memory")):
        right.loglog([r[0] for r in lengths], [r[column] for r in lengths], "-o", ms=4, label=name)
    right.set(xlabel="tokens n of a sequence (N = 10, d = 16, m = 2)", ylabel="seconds")
    right.legend(fontsize=7)
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(folder / "bench-growth.svg", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    """All tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("vowels", help="JapaneseVowels_TRAIN.ts of the UEA archive")
    parser.add_argument("--largest", type=int, default=10_000, help="N at which the growth series end")
    parser.add_argument("--images", type=Path, default=Path("docs/images"))
    parts = ("compare", "softmax", "compact", "growth", "commands")
    parser.add_argument("--only", choices=parts, action="append")
    options = parser.parse_args()
    chosen = options.only or parts
    vowels = load_dataset(options.vowels)
    largest = min(3000, options.largest)
    cases: list[tuple[str, Dataset]] = [
        ("JapaneseVowels 270, m = 1", vowels),
        (
            "JapaneseVowels 270, forecasting, m = 3",
            load_dataset(options.vowels, ReadOptions(task="forecasting", horizon=3)),
        ),
        ("N = 100, n = 100, d = 64, m = 4", synthetic(100, 100, 64, 4)),
        (f"N = {largest}, n = 50, d = 16, m = 2", synthetic(largest, 50, 16, 2)),
    ]
    print(f"{machine()}\n")
    if "compare" in chosen:
        compare(cases)
    if "softmax" in chosen:
        soften([*cases[:2], *((f"N = {N}, n = 50, d = 16, m = 2", synthetic(N, 50, 16, 2)) for N in (100, 300, 1000))])
    if "compact" in chosen:
        sizes = (300, 1000, largest)
        compact([*cases[:2], *((f"N = {N}, n = 50, d = 16, m = 2", synthetic(N, 50, 16, 2)) for N in sizes)])
    if "growth" in chosen:
        makers = {"continuous": synthetic, "vocabulary of n sqrt(N)": vocabulary}
        series = {
            kind: grow(kind, make, options.largest if make is synthetic else largest) for kind, make in makers.items()
        }
        draw(series, lengthen(), options.images)
    if "commands" in chosen:
        foundation.main(options.vowels)


if __name__ == "__main__":
    sys.exit(main())
