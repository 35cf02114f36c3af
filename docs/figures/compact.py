"""Draws docs/images/compact.svg: blocks against the theorems' numbers, and the worked example (needs matplotlib)."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import matplotlib
from flint import fmpq

from interp.constructions.compact import build_compact
from interp.constructions.hardmax import build_hardmax
from proofs.kernel.rational import row_of
from proofs.kernel.statement import Dataset, Pair, count_hardmax_bound, count_softmax_bound

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PAPER, SOFT, HARD, OURS = "#D55E00", "#CC79A7", "#0072B2", "#009E73"  # safe for colour-blind readers


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


def draw_example(axes: plt.Axes) -> None:
    """The worked example of docs/explanation/compact.md."""
    tokens = {"a": (0, 0), "b": (2, 1), "c": (1, 2)}
    for name, (x, y) in tokens.items():
        axes.plot(x, y, "o", color="black", ms=5)
        axes.annotate(name, (x, y), xytext=(5, 5), textcoords="offset points")
    colours = (PAPER, HARD, OURS)
    for g, target, colour, label in zip(
        (3.5, 2, 3), ((3, 1), (-1, 2), (0, -1)), colours, ("X₁", "X₂", "X₃"), strict=True
    ):
        axes.plot(g, 0, "D", color=colour, ms=6)
        axes.plot(*target, "*", color=colour, ms=11)
        arrow = {"arrowstyle": "->", "color": colour, "lw": 1.2}
        axes.annotate("", target, (g, 0), arrowprops=arrow)
        axes.annotate(label, (g, 0), xytext=(2, -14), textcoords="offset points", color=colour)
    axes.axhline(0, color="0.8", lw=0.8, zorder=0)
    axes.set(title="Tokens (dots), signatures on the axis, targets (stars)", aspect="equal")
    axes.title.set_fontsize(9)


def main(path: Path) -> None:
    """Writes the figure."""
    plt.rcParams.update({"svg.hashsalt": "interp", "font.size": 9})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    draw_counts(left)
    draw_example(right)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/compact.svg"))
