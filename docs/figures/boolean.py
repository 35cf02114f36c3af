"""Draws docs/images/boolean.svg and prints the table of docs/explanation/boolean.md (needs matplotlib; ten minutes)."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

from interp.boolean.experiments import Sample, sample_encoders, sample_functions
from interp.boolean.initialise import SCHEMES

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COUNT, SEED = 60, "0"
BASE = (8, 2, 16)  # N, L, D
GRID = [
    (4, 2, 16),
    (6, 2, 16),
    BASE,
    (10, 2, 16),
    (8, 1, 16),
    (8, 4, 16),
    (8, 2, 8),
    (8, 2, 32),
    (8, 1, 32),
]
COLOURS = {"uniform": "#0072B2", "gaussian": "#D55E00", "xavier-uniform": "#009E73", "xavier-gaussian": "#CC79A7"}


def print_row(sample: Sample) -> None:
    means = sample.mean_profile
    cells = [sample.name, str(sample.bits)]
    cells += ["-", "-"] if sample.name not in SCHEMES else [str(sample.depth), str(sample.dimension)]
    cells += [f"{len(sample.profiles)}", f"{sample.open}"]
    cells += [
        f"{float(x.p) / float(x.q):.3g}" for x in (sample.constant, sample.no_zero, means[0], sample.mean_sensitivity)
    ]
    theorem = ", ".join(f"{count} {name}" for name, count in sorted(sample.theorem.items()))
    print("| " + " | ".join([*cells, theorem if sample.name in SCHEMES else "-"]) + " |", flush=True)


def main(path: Path) -> None:
    print("| weights | N | L | D | certified | open | constant | K_0 = 0 | K_0 / 2^N | sensitivity | theorem 4.5 |")
    print("|---" * 11 + "|")
    samples = {}
    for bits, depth, dimension in GRID:
        for scheme in SCHEMES:
            sample = sample_encoders(scheme, bits, depth, dimension, COUNT, SEED)
            samples[scheme, bits, depth, dimension] = sample
            print_row(sample)
    functions = {bits: sample_functions(bits, 2000, SEED) for bits in (4, 6, 8, 10)}
    for sample in functions.values():
        print_row(sample)
    plt.rcParams.update({"svg.hashsalt": "interp", "font.size": 8})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for scheme in SCHEMES:
        sample, colour = samples[(scheme, *BASE)], COLOURS[scheme]
        means = [float(x.p) / float(x.q) for x in sample.mean_profile]
        left.plot(range(BASE[0] + 1), means, "o-", ms=3, lw=1.2, color=colour, label=scheme)
        found = sorted(sum(n * k for n, k in enumerate(profile)) / 2 ** BASE[0] for profile in sample.profiles)
        steps = [(k + 1) / len(found) for k in range(len(found))]
        right.step(found, steps, where="post", lw=1.2, color=colour, label=scheme)
    uniform = functions[BASE[0]]
    left.plot(
        range(BASE[0] + 1), [float(x.p) / float(x.q) for x in uniform.mean_profile], "k--", lw=1, label=uniform.name
    )
    found = sorted(sum(n * k for n, k in enumerate(profile)) / 2 ** BASE[0] for profile in uniform.profiles)
    right.step(found, [(k + 1) / len(found) for k in range(len(found))], "k--", where="post", lw=1)
    left.set(xlabel="sensitivity n", ylabel="mean of K_n / 2^N", title="N = 8, L = 2, D = 16")
    left.set_yscale("symlog", linthresh=0.01)
    right.set(xlabel="average sensitivity of one function", ylabel="part of the encoders with at most this")
    left.legend(frameon=False, fontsize=7, loc="upper right", bbox_to_anchor=(1, 0.98), ncols=2)
    left.set_ylim(top=6)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/boolean.svg"))
