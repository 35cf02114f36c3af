"""Draws docs/images/functional-gd.svg and prints its tables (needs matplotlib; about fifteen minutes)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from flint import arb

from interp.functional_gd.experiments import (
    ACTIVATIONS,
    COMBINATION,
    DATA_KERNELS,
    LARGEST_CONTEXT,
    Point,
    find_winner,
    measure,
    measure_bayes,
    show_loss,
)

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TASKS, SEED = 96, "0"
LAYERS, LENGTHS, DEPTH = range(1, 8), range(2, LARGEST_CONTEXT + 1, 2), 3
DEEP = (20, 60)  # with the same step in all layers
STYLES = {
    "linear": ("o-", "#0072B2"),
    "relu": ("^-", "#D55E00"),
    "exp": ("s-", "#009E73"),
    "softmax": ("v--", "#CC79A7"),
    COMBINATION: ("D-", "#555555"),
}


def print_table(data: str, label: str, sizes: Sequence[int], found: dict[str, list[Point]]) -> None:
    print(f"\n| {data}: {label} | " + " | ".join(map(str, sizes)) + " |")
    print("|---" * (len(sizes) + 1) + "|")
    winners = [find_winner({name: points[k].loss for name, points in found.items()}) for k in range(len(sizes))]
    for name, points in found.items():
        cells = [show_loss(point.loss) for point in points]
        cells = [f"**{cell}**" if best == name else cell for cell, best in zip(cells, winners, strict=True)]
        print(f"| {name} | " + " | ".join(cells) + " |")
    floors = [measure_bayes(data, points.length, TASKS, SEED) for points in found[ACTIVATIONS[0]]]
    if None not in floors:
        print("| limit of the matching descent | " + " | ".join(map(show_loss, floors)) + " |", flush=True)


def draw(axes: plt.Axes, title: str, label: str, sizes: range, found: dict[str, list[Point]]) -> None:
    for name, points in found.items():
        style, colour = STYLES[name]
        values = [float((arb(1) * point.loss).mid()) for point in points]
        axes.plot(sizes, values, style, color=colour, ms=3, lw=1.2, label=name)
    axes.set(yscale="log", xlabel=label, title=title)
    axes.title.set_fontsize(9)


def main(path: Path) -> None:
    plt.rcParams.update({"svg.hashsalt": "interp", "font.size": 8})
    figure, grid = plt.subplots(2, len(DATA_KERNELS), figsize=(11, 5), layout="constrained")
    for column, data in enumerate(DATA_KERNELS):
        for row, (label, sizes) in enumerate((("layers", LAYERS), ("points of the context", LENGTHS))):
            found = {
                name: [
                    measure(data, name, *((LARGEST_CONTEXT, size) if row == 0 else (size, DEPTH)), TASKS, SEED)
                    for size in sizes
                ]
                for name in ACTIVATIONS
            }
            print_table(data, label, sizes, found)
            draw(grid[row][column], f"labels: {data}", label, sizes, found)
    for data in ("exp", COMBINATION):
        found = {
            name: [measure(data, name, LARGEST_CONTEXT, depth, TASKS, SEED, sweeps=0) for depth in DEEP]
            for name in ACTIVATIONS
        }
        print_table(data, "layers, one step", DEEP, found)
    for row in grid:
        row[0].set_ylabel("mean squared loss")
    grid[0][0].legend(frameon=False, fontsize=7)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/functional-gd.svg"))
