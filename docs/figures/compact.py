"""Draws docs/images/compact.svg: blocks against the theorems' numbers, and the worked example (needs matplotlib)."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from flint import fmpq

from interp.constructions.compact import build_compact
from interp.constructions.hardmax import build_hardmax
from proofs.kernel.hardmax import apply_block
from proofs.kernel.rational import row_of
from proofs.kernel.statement import Dataset, Pair, count_hardmax_bound, count_softmax_bound

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PAPER, SOFT, HARD, OURS = "#D55E00", "#CC79A7", "#0072B2", "#009E73"  # safe for colour-blind readers
COLOURS = (HARD, PAPER, OURS)


def random_dataset(num_pairs: int, outputs: int) -> Dataset:
    """Continuous tokens, d = 4, n = 6."""
    rng = random.Random(num_pairs)

    def token(size: int) -> tuple[int, ...]:
        return row_of([fmpq(rng.randint(-size, size), 1000) for _ in range(4)])

    pairs = [
        Pair(tuple(token(10**6) for _ in range(6)), tuple(token(10**4) for _ in range(outputs)))
        for _ in range(num_pairs)
    ]
    return Dataset(4, tuple(pairs))


def draw_counts(axes: plt.Axes) -> None:
    """Blocks as N grows, m = 2."""
    sizes = [2, 4, 8, 16, 32, 64, 128, 256]
    data = [random_dataset(size, 2) for size in sizes]
    x = [d.num_outputs for d in data]
    axes.plot(
        x, [count_hardmax_bound(d.num_pairs, d.num_outputs) for d in data], "--", color=PAPER, label="theorem 1.6"
    )
    axes.plot(x, [count_softmax_bound(d.num_pairs, d.num_outputs) for d in data], ":", color=SOFT, label="theorem 1.8")
    axes.plot(x, [len(build_hardmax(d).blocks) for d in data], "o-", color=HARD, ms=3, label="hardmax, built")
    axes.plot(x, [len(build_compact(d).blocks) for d in data], "s-", color=OURS, ms=3, label="compact, built")
    axes.set(xscale="log", yscale="log", xlabel="M (N = M / 2, d = 4, n = 6)", ylabel="blocks", title="Blocks")
    axes.legend(frameon=False, fontsize=8)


def draw_example(panels: Sequence[plt.Axes]) -> None:
    """Where the tokens of the worked example of docs/explanation/compact.md stand after each block."""
    inputs = [[(0, 0), (1, 0), (3, 1)], [(0, 0), (3, 1)], [(1, 0), (3, 1)]]
    outputs = [[(5, 5), (6, 0)], [(-2, 7)], [(4, 4), (0, 1)]]

    def rows(tokens: list[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
        return tuple((*token, 1) for token in tokens)

    dataset = Dataset(2, tuple(Pair(rows(x), rows(y)) for x, y in zip(inputs, outputs, strict=True)))
    states = [[list(pair.input) for pair in dataset.pairs]]
    for block in build_compact(dataset).blocks:
        states.append(apply_block(block, states[-1]))
    for k, (axes, state) in enumerate(zip(panels, states, strict=True)):
        for tokens, targets, colour, mark, size in zip(state, outputs, COLOURS, "os^", (11, 8, 5), strict=True):
            axes.plot(*zip(*targets, strict=True), "*", color=colour, ms=13, alpha=0.35)
            places = [[float(x) / row[-1] for x in row[:-1]] for row in tokens]
            axes.plot(*zip(*places, strict=True), mark, color=colour, ms=size, mfc="none", mew=1.5)
        axes.set_title(f"after block {k}" if k else "input")


def main(path: Path) -> None:
    """Writes compact.svg and compact-example.svg beside it."""
    plt.rcParams.update({"svg.hashsalt": "interp", "font.size": 9})
    figure, axes = plt.subplots(figsize=(4.8, 3.4), layout="constrained")
    draw_counts(axes)
    figure.savefig(path, metadata={"Date": None})
    figure, panels = plt.subplots(1, 5, figsize=(11, 2.6), layout="constrained")
    draw_example(panels)
    figure.savefig(path.with_stem(path.stem + "-example"), metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/compact.svg"))
