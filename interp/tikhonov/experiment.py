"""Untrusted. Runs for several eps and seeds, their certified J, the diagnoses, and the slope of the minimal J."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from flint import fmpq

from interp.execution.distance import Enclosure
from interp.norm.rescaling import rescale
from interp.norm.scales import approx_log
from interp.norm.squares import sum_blocks
from interp.tikhonov.loss import enclose_loss
from interp.tikhonov.model import Architecture, Weights, dense_norm, transformer_of
from interp.tikhonov.training import Run, Schedule, train
from interp.tikhonov.yardstick import Diagnosis, Interpolant, Point, diagnose, find_smaller, make_zero_point
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, rational_text
from proofs.kernel.statement import Dataset


@dataclass(frozen=True)
class Measured:
    """A run with its best weights as exact numbers, and what they give."""

    eps: fmpq
    run: Run
    transformer: Transformer
    point: Point
    objective: Enclosure
    threshold: fmpq  # eps |theta*|^2
    rescaled: fmpq  # |theta|^2 after ``rescale``, which leaves the loss as it is
    smaller: Point | None = None  # the best other point, if its J is certainly smaller

    @property
    def diagnosis(self) -> Diagnosis:
        """What J says about global minimality."""
        return diagnose(self.objective, self.threshold, self.smaller)

    @property
    def excess(self) -> fmpq:
        """The share of |theta|^2 that a rescaling saves.

        Unit, stream and factor scales e^t turn |theta|^2 into a sum of exponentials, convex in t, at the same loss. So
        if it is smaller anywhere, it falls from t = 0 on: excess > 0 proves that the run is not stationary, let alone a
        local minimum.
        """
        return 1 - self.rescaled / self.point.squares if self.point.squares else fmpq(0)

    @property
    def approx_slope(self) -> float:
        """|grad J| |theta| / J at the best epoch: free of units; small near a stationary point where J is smooth."""
        size = math.exp(approx_log(self.point.squares) / 2)
        return self.run.gradient_norm * size / math.exp(approx_log(self.objective.upper))


@dataclass(frozen=True)
class Experiment:
    """Everything that is reported."""

    dataset: Dataset
    architecture: Architecture
    interpolant: Interpolant
    zero: Point
    schedule: Schedule
    runs: tuple[Measured, ...]

    @property
    def points(self) -> list[Point]:
        """theta = 0, the interpolant and what the runs found: a line loss + eps |theta|^2 each."""
        return [self.zero, self.interpolant.point, *(item.point for item in self.runs)]

    def minima(self) -> dict[fmpq, Measured]:
        """For each eps, in increasing order, the run with the smallest J."""
        best: dict[fmpq, Measured] = {}
        for item in sorted(self.runs, key=lambda item: (item.eps, item.objective.upper)):
            best.setdefault(item.eps, item)
        return best

    def approx_slopes(self) -> tuple[float | None, float | None]:
        """Least-squares slopes of log J and of log loss against log eps over the minima; None for fewer than two."""
        minima = self.minima()
        x = [approx_log(eps) for eps in minima]
        return (
            _fit(x, [approx_log(item.objective.upper) for item in minima.values()]),
            _fit(x, [approx_log(item.point.loss.upper) for item in minima.values()]),
        )


def _fit(x: Sequence[float], y: Sequence[float]) -> float | None:
    if len(x) < 2 or not all(map(math.isfinite, y)):
        return None
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread


def run_experiment(
    dataset: Dataset,
    architecture: Architecture,
    interpolant: Interpolant,
    all_eps: Sequence[fmpq],
    seeds: Sequence[int],
    schedule: Schedule,
    announce: Callable[[str], None] = lambda text: None,
    limits: Limits = DEFAULT_LIMITS,
) -> Experiment:
    """Trains from the largest eps to the smallest, reads the weights back as exact dyadics, encloses J, compares.

    Exactness: training is in doubles; loss and |theta|^2 of the weights it leaves are exact or enclosed, on the exact
    data and with the exact eps. Raises: UsageError, MalformedInput, LimitReached.
    """
    zero = make_zero_point(dataset)
    measured: list[Measured] = []
    reached: dict[int, Weights] = {}  # by seed
    for eps in sorted(all_eps, reverse=True):
        for seed in seeds:
            name = f"eps {rational_text(eps)}, seed {seed}"

            def tell(epoch: int, name: str = name) -> None:
                announce(f"{name}, epoch {epoch} of {schedule.epochs}")

            start = reached.get(seed) if schedule.continuation else None
            run = train(dataset, architecture, int(eps.p) / int(eps.q), replace(schedule, seed=seed), tell, start)
            reached[seed] = run.weights
            announce(f"{name}, exact loss")
            measured.append(measure(dataset, architecture, interpolant, eps, run, name, limits))
    found = Experiment(dataset, architecture, interpolant, zero, schedule, tuple(measured))
    judged = [replace(item, smaller=find_smaller(item.objective, item.eps, found.points)) for item in measured]
    return replace(found, runs=tuple(judged))


def measure(
    dataset: Dataset,
    architecture: Architecture,
    interpolant: Interpolant,
    eps: fmpq,
    run: Run,
    name: str,
    limits: Limits = DEFAULT_LIMITS,
) -> Measured:
    """What the best weights of a run give, certified."""
    transformer = transformer_of(run.weights, architecture.dimension)
    loss = enclose_loss(dataset, transformer, architecture.temperature, limits)
    point = Point(name, loss, dense_norm(transformer))
    blocks = rescale(transformer.blocks, architecture.dimension, positive=True, form="dense")
    rescaled = sum_blocks(blocks, architecture.dimension, "dense").total
    return Measured(eps, run, transformer, point, point.objective(eps), eps * interpolant.point.squares, rescaled)
