"""Draws docs/images/frontier.svg: blocks on Japanese Vowels, and on points of the plane (needs matplotlib, scipy)."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import matplotlib
from flint import fmpq

from interp.constructions.compact import build_compact
from interp.constructions.folded import build_folded_transformer
from interp.constructions.hardmax import build_hardmax
from interp.constructions.labels import build_labels
from interp.datasets.read import load_dataset
from proofs.kernel.rational import row_of
from proofs.kernel.statement import Dataset, Pair, count_hardmax_bound

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PAPER, HARD, OURS, NEW = "#D55E00", "#0072B2", "#009E73", "#CC79A7"  # safe for colour-blind readers


def random_dataset(num_pairs: int) -> Dataset:
    """Three tokens of the plane a sequence, one target."""
    rng = random.Random(num_pairs)

    def token(size: int, denominator: int) -> tuple[int, ...]:
        return row_of([fmpq(rng.randint(-size, size), denominator) for _ in range(2)])

    return Dataset(2, tuple(Pair(tuple(token(9999, 100) for _ in range(3)), (token(50, 1),)) for _ in range(num_pairs)))


def draw_vowels(axes: plt.Axes) -> None:
    """The 270 utterances with their 9 speakers."""
    dataset = load_dataset("bundled:japanese_vowels")
    found = {
        "theorem 1.6": count_hardmax_bound(dataset.num_pairs, dataset.num_outputs),
        "hardmax": len(build_hardmax(dataset).blocks),
        "compact": len(build_compact(dataset).blocks),
        "labels": len(build_labels(dataset).blocks),
        "labels, trained": len(build_labels(dataset, trained=True).blocks),
    }
    bars = axes.barh(list(found), list(found.values()), color=(PAPER, HARD, OURS, NEW, NEW))
    axes.bar_label(bars, padding=3)
    axes.invert_yaxis()
    axes.set(xscale="log", xlim=(1, 4000), xlabel="blocks", title="Japanese Vowels: 270 utterances, 9 labels")


def draw_plane(axes: plt.Axes) -> None:
    """Blocks as N = M grows."""
    data = [random_dataset(size) for size in (24, 48, 100, 200, 400)]
    x = [d.num_pairs for d in data]
    axes.plot(
        x, [count_hardmax_bound(d.num_pairs, d.num_outputs) for d in data], "--", color=PAPER, label="theorem 1.6"
    )
    axes.plot(x, [len(build_compact(d).blocks) for d in data], "s-", color=OURS, ms=3, label="compact")
    axes.plot(x, [len(build_folded_transformer(d).blocks) for d in data], "o-", color=NEW, ms=3, label="folded")
    axes.plot(x, [2 * n / 17 for n in x], ":", color="black", label="lower bound d N / (8 d + 1)")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="N = M (d = 2, m = 1)",
        ylim=(2, 9000),
        ylabel="blocks",
        title="Different targets",
    )
    axes.set_xticks(x, [str(n) for n in x])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=8, loc="upper left")


def main(path: Path) -> None:
    """Writes the picture."""
    plt.rcParams.update({"svg.hashsalt": "interp", "font.size": 9})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.2), layout="constrained")
    draw_vowels(left)
    draw_plane(right)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/frontier.svg"))
