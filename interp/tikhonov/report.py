"""Untrusted. An experiment as a record, as text and as a drawing (matplotlib)."""

from __future__ import annotations

import io
from typing import Any

from flint import fmpq

from interp.execution.distance import Enclosure
from interp.optional import load_matplotlib, make_figure
from interp.tikhonov.experiment import Experiment, Measured
from interp.tikhonov.loss import exactly
from interp.tikhonov.training import Run
from interp.tikhonov.yardstick import MEANING
from proofs.kernel.rational import parse_rational, rational_text, short_decimal

FORMAT = "interp-tikhonov/1"
POINTS = 250  # epochs of a run that the record and the drawing keep
BITS = 64  # significant bits of the ends of an enclosure in the record, rounded outwards
HARD, PAPER, OURS = "#0072B2", "#D55E00", "#009E73"  # safe for colour-blind readers


def make_record(experiment: Experiment) -> dict[str, Any]:
    """The record of an experiment for a JSON file. Rationals are text; floats are approximate."""
    architecture, interpolant = experiment.architecture, experiment.interpolant
    slope, loss_slope = experiment.approx_slopes()
    return {
        "format": FORMAT,
        "dataset": experiment.dataset.digest,
        "objective": "mean over pairs of the squared Hausdorff distance, plus eps |theta|^2",
        "architecture": {
            "dimension": architecture.dimension,
            "blocks": architecture.blocks,
            "width": architecture.width,
            "parameters": architecture.num_parameters,
            "temperature": rational_text(architecture.temperature),
        },
        "interpolant": {
            "name": interpolant.name,
            "norm_given": rational_text(interpolant.given),
            "norm": rational_text(interpolant.point.squares),
            "norm_decimal": short_decimal(interpolant.point.squares),
        },
        "zero_loss": rational_text(experiment.zero.loss.upper),
        "epochs": experiment.schedule.epochs,
        "learning_rate": experiment.schedule.learning_rate,
        "continuation": experiment.schedule.continuation,
        "approx_slope_of_minimal_objective": slope,
        "approx_slope_of_its_loss": loss_slope,
        "runs": [_run_record(item) for item in experiment.runs],
    }


def _run_record(item: Measured) -> dict[str, Any]:
    run = item.run
    kept = list_epochs(run)
    return {
        "eps": rational_text(item.eps),
        "weight_decay": rational_text(2 * item.eps),
        "seed": run.seed,
        "best_epoch": run.best_epoch,
        "loss": _ends(item.point.loss),
        "norm": _ends(exactly(item.point.squares)),
        "objective": _ends(item.objective),
        "norm_rescaled": _ends(exactly(item.rescaled)),
        "threshold": rational_text(item.threshold),
        "diagnosis": item.diagnosis.value,
        "smaller_objective_at": None if item.smaller is None else item.smaller.name,
        "excess": short_decimal(item.excess),
        "approx_gradient": run.gradient_norm,
        "approx_scaled_gradient": item.approx_slope,
        "history": {
            "epoch": kept,
            "approx_loss": [run.losses[i] for i in kept],
            "approx_objective": [run.objectives[i] for i in kept],
        },
    }


def list_epochs(run: Run) -> list[int]:
    """About ``POINTS`` epochs of a run, the first and the last among them."""
    last = len(run.losses) - 1
    return sorted({*range(0, last, max(1, last // POINTS)), last})


def _ends(enclosure: Enclosure) -> list[str]:
    """Rational lower and upper bounds of few bits."""
    return [rational_text(round_down(enclosure.lower)), rational_text(-round_down(-enclosure.upper))]


def round_down(value: fmpq) -> fmpq:
    """A dyadic of about ``BITS`` bits that is not larger; numbers that are short already stay as they are."""
    if max(int(value.p).bit_length(), int(value.q).bit_length()) <= BITS:
        return value
    shift = BITS - int(value.p).bit_length() + int(value.q).bit_length()
    unit = fmpq(2) ** shift
    return fmpq((value * unit).floor()) / unit


def list_rows(experiment: Experiment) -> list[list[str]]:
    """One row a run for the table of the command line, after ``COLUMNS``."""
    return [
        [
            rational_text(item.eps),
            rational_text(2 * item.eps),
            str(item.run.seed),
            short_decimal(item.point.loss.upper),
            short_decimal(item.point.squares),
            short_decimal(item.objective.upper),
            short_decimal(item.threshold),
            short_decimal(item.excess),
            f"{item.approx_slope:.2g}",
            item.diagnosis.value,
            "-" if item.smaller is None else item.smaller.name,
        ]
        for item in experiment.runs
    ]


COLUMNS = [
    "eps", "decay", "seed", "loss", "|theta|^2", "J", "threshold", "excess", "~gradient", "diagnosis", "smaller J at",
]  # fmt: skip


def describe(experiment: Experiment) -> tuple[str, str]:
    """What stands above and below the table."""
    architecture, interpolant = experiment.architecture, experiment.interpolant
    blocks = f"{architecture.blocks} block{'s' * (architecture.blocks > 1)}"
    head = (
        f"architecture: {blocks}, width {architecture.width}, d = {architecture.dimension}, "
        f"{architecture.num_parameters} parameters, softmax at temperature {rational_text(architecture.temperature)}\n"
        f"J = mean squared Hausdorff distance + eps |theta|^2 (torch: weight_decay = 2 eps)\n"
        f"interpolant: {interpolant.name}, verified; |theta*|^2 = {short_decimal(interpolant.point.squares)} "
        f"({short_decimal(interpolant.given)} as given), A and V counted as d x d\n"
        f"theta = 0: loss {short_decimal(experiment.zero.loss.upper)}"
    )
    slope, loss_slope = experiment.approx_slopes()
    shown = ["-" if x is None else f"{x:.2f}" for x in (slope, loss_slope)]
    tail = f"minimal J against eps: slope {shown[0]} (its loss: {shown[1]}) on log-log axes\n{MEANING}"
    return head, tail


def draw(record: dict[str, Any]) -> bytes:
    """SVG of a record: for each eps J against epochs with the threshold, and minimal J against eps with slope 1.

    Raises: UsageError without matplotlib.
    """
    groups: dict[float, list[dict[str, Any]]] = {}
    for run in record["runs"]:
        groups.setdefault(_float(run["eps"]), []).append(run)
    with load_matplotlib().rc_context({"svg.hashsalt": "interp", "font.size": 9}):
        columns = len(groups) + 1
        figure = make_figure(2.9 * columns, 2.9)
        panels = [figure.add_subplot(1, columns, k + 1) for k in range(columns)]
        for axes, eps in zip(panels, sorted(groups, reverse=True), strict=False):
            _draw_histories(axes, eps, groups[eps])
        _draw_minima(panels[-1], record, groups)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _draw_histories(axes: Any, eps: float, runs: list[dict[str, Any]]) -> None:
    for run in runs:
        history, first = run["history"], run is runs[0]
        for key, colour, label in (("approx_loss", OURS, "loss"), ("approx_objective", HARD, "J")):
            axes.plot(history["epoch"], history[key], color=colour, lw=0.8, label=label if first else None)
    axes.axhline(_float(runs[0]["threshold"]), color=PAPER, ls="--", label=r"$\varepsilon\,|\theta_*|^2$")
    axes.set(yscale="log", xlabel="epoch", title=rf"$\varepsilon$ = {eps:g} (weight decay {2 * eps:g})")
    axes.legend(frameon=False, fontsize=7)


def _draw_minima(axes: Any, record: dict[str, Any], groups: dict[float, list[dict[str, Any]]]) -> None:
    eps = sorted(groups)
    best = [min(groups[x], key=lambda run: _float(run["objective"][1])) for x in eps]
    slope = record["approx_slope_of_minimal_objective"]
    label = "minimal J" if slope is None else f"minimal J, slope {slope:.2f}"
    axes.plot(eps, [_float(run["objective"][1]) for run in best], "o-", color=HARD, ms=4, label=label)
    axes.plot(eps, [_float(run["loss"][1]) for run in best], "s:", color=OURS, ms=3, label="its loss")
    thresholds = [_float(run["threshold"]) for run in best]
    axes.plot(eps, thresholds, "--", color=PAPER, label=r"$\varepsilon\,|\theta_*|^2$ (slope 1)")
    for run in record["runs"]:
        axes.plot(_float(run["eps"]), _float(run["objective"][1]), ".", color=HARD, ms=3, alpha=0.5)
    lines = [(_float(run["loss"][1]), _float(run["norm"][1])) for run in record["runs"]]
    lines += [(_float(record["zero_loss"]), 0.0), (0.0, _float(record["interpolant"]["norm"]))]
    grid = [eps[0] * (eps[-1] / eps[0]) ** (i / 100) for i in range(101)]
    lowest = [min(loss + x * squares for loss, squares in lines) for x in grid]
    axes.plot(grid, lowest, color="black", lw=0.8, label="lowest J known")
    axes.set(xscale="log", yscale="log", xlabel=r"$\varepsilon$", title="over all runs")
    axes.set_ylim(top=100 * axes.get_ylim()[1])  # room for the legend
    axes.legend(frameon=False, fontsize=7, loc="upper left")


def _float(text: str) -> float:
    value = parse_rational(text)
    return int(value.p) / int(value.q)
