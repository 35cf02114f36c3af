"""Draws docs/images/lengths.svg and prints its table: parameters as sequences get longer (needs matplotlib)."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import matplotlib

from interp.constructions.compact import build_compact
from interp.constructions.hardmax import build_hardmax
from interp.constructions.resnet import build_resnet
from proofs.kernel.counts import count_transformer
from proofs.kernel.model import Transformer
from proofs.kernel.rational import primitive_row
from proofs.kernel.statement import Dataset, Pair

matplotlib.use("Agg")
import matplotlib.pyplot as plt

LENGTHS = (10, 100, 1000, 10_000)
STYLES = {"resnet": ("^-", "#D55E00"), "hardmax": ("o-", "#0072B2"), "compact": ("s-", "#009E73")}
BUILDERS = {"resnet": build_resnet, "hardmax": build_hardmax, "compact": build_compact}


def make_dataset(length: int) -> Dataset:
    """N = 10 sequences of that length in dimension 4, m = 2."""
    rng = random.Random(length)

    def token(size: int) -> tuple[int, ...]:
        return primitive_row([rng.randint(-size, size) for _ in range(4)], 10**6)

    pairs = [Pair(tuple(token(10**9) for _ in range(length)), (token(10**7), token(10**7))) for _ in range(10)]
    return Dataset(4, tuple(pairs))


def main(path: Path) -> None:
    """Writes the figure and prints the table."""
    found: dict[str, list[int]] = {name: [] for name in BUILDERS}
    print("| n | " + " | ".join(f"{name}: blocks, parameters" for name in BUILDERS) + " |")
    print("|---" * (len(BUILDERS) + 1) + "|")
    for length in LENGTHS:
        dataset = make_dataset(length)
        cells = []
        for name, build in BUILDERS.items():
            counts = count_transformer(Transformer(4, tuple(build(dataset).blocks)))
            found[name].append(counts.parameters)
            cells.append(f"{counts.blocks}, {counts.parameters}")
        print(f"| {length} | " + " | ".join(cells) + " |", flush=True)
    plt.rcParams.update({"svg.hashsalt": "interp", "font.size": 9})
    figure, axes = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
    for name, (style, colour) in STYLES.items():
        axes.plot(LENGTHS, found[name], style, color=colour, label=name)
    axes.set(
        xscale="log", yscale="log", xlabel="tokens of a sequence, n", ylabel="parameters", title="N = 10, m = 2, d = 4"
    )
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/lengths.svg"))
