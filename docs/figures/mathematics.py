"""Draws the figures of docs/explanation/mathematics.md from transformers that are built here (needs matplotlib)."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

import interp
from interp.transformers.ledger import decode_phases
from proofs.kernel.hardmax import apply_block
from proofs.kernel.statement import Dataset, Pair

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RED, BLUE, GREEN, GREY = "#D55E00", "#0072B2", "#009E73", "#888888"  # safe for colour-blind readers
COLOURS, MARKS, SIZES = (BLUE, RED, GREEN), "os^", (11, 8, 5)

# Three sequences that share tokens; the dataset of the tutorial with targets that are easy to draw.
INPUTS = [[(0, 0), (2, 1), (1, 3)], [(0, 0), (2, 1), (3, 0)], [(2, 1), (1, 3)]]
OUTPUTS = [[(5, 5), (6, 4)], [(-2, 3)], [(5, 5), (1, -1)]]

State = list[list[tuple[float, float]]]


def example() -> Dataset:
    """The dataset of the pictures."""

    def rows(tokens: list[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
        return tuple((*token, 1) for token in tokens)

    return Dataset(2, tuple(Pair(rows(x), rows(y)) for x, y in zip(INPUTS, OUTPUTS, strict=True)))


def draw_state(axes: plt.Axes, state: State) -> None:
    """The tokens of every sequence: one colour, mark and size each, so that shared tokens show all of theirs."""
    for tokens, colour, mark, size in zip(state, COLOURS, MARKS, SIZES, strict=True):
        axes.plot(*zip(*tokens, strict=True), mark, color=colour, ms=size, mfc="none", mew=1.6)
    axes.margins(0.18)
    axes.tick_params(labelsize=7)


def draw_stages() -> plt.Figure:
    """The tokens after each phase of the hardmax construction."""
    dataset = example()
    transformer = interp.build(dataset)
    phases = decode_phases(transformer.header)
    sequences = [list(pair.input) for pair in dataset.pairs]
    states = [sequences]
    for block in transformer.blocks:
        states.append(apply_block(block, states[-1]))
    places: list[State] = [[[(x / w, y / w) for x, y, w in tokens] for tokens in state] for state in states]
    separated, placed, collapsed = phases[0].last, phases[1].last - 1, phases[2].last
    figure, panels = plt.subplots(2, 3, figsize=(8.4, 5), layout="constrained")
    shown = [
        ("input: tokens are shared", 0),
        (f"separation (block {separated})", separated),
        (f"leaders, all but the last (blocks {separated + 1}-{placed})", placed),
        (f"last leader, collapse (block {collapsed})", collapsed),
        (f"interpolation, half-way (block {collapsed + 3})", collapsed + 3),
        (f"targets (block {len(states) - 1})", len(states) - 1),
    ]
    for axes, (title, k) in zip(panels.flat, shown, strict=True):
        draw_state(axes, places[k])
        axes.set_title(title, fontsize=8.5)
    for targets, colour in zip(OUTPUTS, COLOURS, strict=True):
        panels.flat[-1].plot(*zip(*targets, strict=True), "*", color=colour, ms=16, alpha=0.3)
    return figure


def draw_hat() -> plt.Figure:
    """Three ReLUs make a hat; the hat moves one token."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    s = np.linspace(0, 4, 401)
    units = [np.maximum(s - 1, 0), -2 * np.maximum(s - 2, 0), np.maximum(s - 3, 0)]
    for unit, label, place in zip(
        units, ("relu(s - 1)", "-2 relu(s - 2)", "relu(s - 3)"), ((2.65, 1.4), (2.75, -1.3), (4.05, 0.9)), strict=True
    ):
        left.plot(s, unit, "--", color=GREY, lw=1)
        left.annotate(label, place, fontsize=7)
    left.plot(s, sum(units), color=RED, lw=2)
    left.plot([0.4, 2, 3.5], [0, 1, 0], "o", color=BLUE)
    left.set(xlabel="s = ⟨u, x⟩", ylim=(-1.6, 1.6), xlim=(0, 4.9), title="three ReLUs make a hat")
    tokens = np.array([(0.2, 0.1), (0.9, 1.2), (2.6, 1.0)])
    u, shift = np.array([1, 0.25]), np.array([0.5, 1.4])
    for kink, style in ((0.6, ":"), (1.2, "-"), (1.8, ":")):
        right.plot([kink, kink - 0.25 * 3], [0, 3], style, color=RED, lw=1)
    right.plot(tokens[:, 0], tokens[:, 1], "o", color=BLUE)
    right.annotate("", tokens[1] + shift, tokens[1], arrowprops={"arrowstyle": "->", "color": RED, "lw": 1.6})
    right.plot(*(tokens[1] + shift), "o", color=BLUE, mfc="none")
    right.annotate("", 0.6 * u + (2, 0.3), (2, 0.3), arrowprops={"arrowstyle": "->", "color": GREY})
    right.annotate("u", (2.65, 0.5), fontsize=9, color=GREY)
    right.set(xlim=(-0.3, 3), ylim=(-0.1, 3), title="it moves the one token between the kinks")
    return figure


def draw_flatten() -> plt.Figure:
    """How a layer sends a whole interval to one point, exactly."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    knots, target = [1.0, 1.6, 2.4, 3.0], 3.4
    s = np.linspace(0, 4, 401)
    g = np.interp(s, knots, [0, target - knots[1], target - knots[2], 0])
    for axes, values, title in (
        (left, g, "what the ReLUs add: g(s)"),
        (right, s + g, "what comes out: s + g(s)"),
    ):
        axes.axvspan(knots[1], knots[2], color=BLUE, alpha=0.15, lw=0)
        axes.plot(s, values, color=RED, lw=2)
        axes.set(xlabel="s", title=title)
    left.annotate("the interval", (2, 0.05), ha="center", fontsize=8, color=BLUE)
    right.plot(s, s, ":", color=GREY, lw=1)
    right.annotate("the target, for all of the interval", (2, target), xytext=(0, 6), textcoords="offset points",
                   ha="center", fontsize=8)  # fmt: skip
    right.set_ylim(0, 4.4)
    return figure


def draw_temperatures() -> plt.Figure:
    """The largest weight, and the bound that the checker uses for the others."""
    figure, axes = plt.subplots(figsize=(5.6, 3), layout="constrained")
    tau = np.linspace(0.01, 1, 400)
    for gap, colour in ((1, RED), (4, BLUE), (12, GREEN)):
        axes.plot(tau, np.exp(-gap / tau) / (1 + np.exp(-gap / tau)), color=colour, label=f"gap {gap}: weight")
        axes.axhline(2.0**-gap, color=colour, ls="--", lw=1.2, label=f"bound $2^{{-{gap}}}$")
    axes.set(yscale="log", ylim=(1e-7, 1.3), xlim=(0, 1), xlabel="temperature τ", ylabel="weight")
    axes.set_title("a token whose score is smaller by a gap, for τ ≤ τ* = 1")
    figure.legend(*axes.get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside right center")
    return figure


FIGURES = {
    "stages": draw_stages,
    "hat": draw_hat,
    "flatten": draw_flatten,
    "temperatures": draw_temperatures,
}


def main(folder: Path) -> None:
    """Writes mathematics-NAME.svg for every figure."""
    plt.rcParams.update({"svg.hashsalt": "interp", "font.size": 9, "axes.titlesize": 9})
    for name, draw in FIGURES.items():
        figure = draw()
        figure.savefig(folder / f"mathematics-{name}.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
