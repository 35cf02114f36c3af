"""Untrusted. Loss in context against layers and context length, as in the paper's figures, but without training.

Covariates lie near the unit sphere of R^5, labels (the query's too) are one draw of a centred Gaussian with covariance
K at these points. Draws are rounded to dyadic rationals: from there on a task is exact data, and every loss in a table
is the exact rational, or the enclosure in balls, of the transformer's forward pass. Only the choice of the steps, made
on other tasks, uses floats. The relu kernel is not positive semidefinite; its negative eigenvalues are set to 0.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx, fmpq

from interp.functional_gd.build import build_descent
from proofs.functional_gd.bayes import DEFINITE, classify, solve
from proofs.functional_gd.decode import parse_kernel
from proofs.functional_gd.descent import combine, kernel_table
from proofs.functional_gd.forward import run_forward
from proofs.functional_gd.model import Claim, Context, Kernel

DIMENSION = 5
LARGEST_CONTEXT = 14
POINT_BITS, LABEL_BITS, BALL_BITS = 8, 12, 192
COMBINATION = "linear[1,2]+exp[3,4,5]"
DATA_KERNELS = ("linear", "relu", "exp", COMBINATION)
ACTIVATIONS = ("linear", "relu", "exp", "softmax", COMBINATION)
STEPS = tuple(sorted({fmpq(max(1, round(64 * 2 ** (k / 4))), 64) for k in range(-24, 9)}))
Loss: TypeAlias = Any  # fmpq or arb
Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Task:
    """A context and the query's label, which no transformer sees."""

    context: Context
    target: fmpq


@dataclass(frozen=True, slots=True)
class Point:
    """The mean squared loss at one depth and context length, with the steps that were chosen."""

    length: int
    layers: int
    loss: Loss
    steps: tuple[fmpq, ...]


def approx_gram(kernel: Kernel, points: Array) -> Array:
    """K(x_i, x_j) in floats, row i, column j."""
    total = np.zeros((len(points), len(points)))
    for term in kernel.terms:
        images = points @ np.array([[_approx(x) for x in row] for row in term.B.tolist()]).T
        scores, name = images @ images.T, term.activation.name
        if name == "relu":
            scores = np.maximum(scores, 0)
        elif name == "polynomial":
            scores = (1 + scores) ** term.activation.degree
        elif name in ("exp", "softmax"):
            scores = np.exp(scores)
        total += _approx(term.weight) * scores
    return total


def draw_task(kernel: Kernel, num_points: int, rng: random.Random) -> Task:
    """One context with its target, rounded to dyadic rationals."""

    def sphere() -> list[float]:
        raw = [rng.gauss(0, 1) for _ in range(DIMENSION)]
        norm = math.sqrt(sum(x * x for x in raw))
        return [round(x / norm * 2**POINT_BITS) / 2**POINT_BITS for x in raw]

    points = [sphere() for _ in range(num_points + 1)]
    values, vectors = np.linalg.eigh(approx_gram(kernel, np.array(points)))
    root = vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T
    labels = root @ np.array([rng.gauss(0, 1) for _ in points])
    exact = [tuple(fmpq(round(x * 2**POINT_BITS), 2**POINT_BITS) for x in point) for point in points]
    rounded = [fmpq(round(y * 2**LABEL_BITS), 2**LABEL_BITS) for y in labels.tolist()]
    return Task(Context(tuple(exact[:-1]), tuple(rounded[:-1]), exact[-1]), rounded[-1])


@lru_cache(maxsize=32)
def draw_tasks(data: str, num_points: int, count: int, seed: str) -> tuple[Task, ...]:
    """Tasks of one kernel: the same kernel, length, count and seed give the same tasks."""
    rng = random.Random(f"{seed}/{data}/{num_points}")
    kernel = parse_kernel(data, DIMENSION)
    return tuple(draw_task(kernel, num_points, rng) for _ in range(count))


def choose_steps(tasks: Sequence[Task], kernel: Kernel, layers: int, sweeps: int = 4) -> tuple[fmpq, ...]:
    """Steps on a grid with a small mean squared loss on these tasks: one for all layers, then each in turn.

    The tasks have the same length. Floats: what is chosen here is only a transformer to be measured.
    """
    grams = np.array([_approx_columns(task.context, kernel) for task in tasks])  # tasks x n x (n+1)
    rows = np.array([[*map(_approx, task.context.labels), 0.0] for task in tasks])
    targets = np.array([_approx(task.target) for task in tasks])

    def mean_loss(steps: Sequence[fmpq]) -> float:
        states = rows
        for step in steps:
            states = states - _approx(step) * np.einsum("ti,tij->tj", states[:, :-1], grams)
        loss = float(np.mean((states[:, -1] + targets) ** 2))
        return loss if math.isfinite(loss) else math.inf

    chosen = [min(STEPS, key=lambda step: mean_loss([step] * layers))] * layers
    for _ in range(sweeps if layers > 1 else 0):
        before = list(chosen)
        for l in range(layers):
            chosen[l] = min(STEPS, key=lambda step: mean_loss([*chosen[:l], step, *chosen[l + 1 :]]))
        if chosen == before:
            break
    return tuple(chosen)


def _approx(value: fmpq) -> float:
    return int(value.p) / int(value.q)


def _approx_columns(context: Context, kernel: Kernel) -> Array:
    points = np.array([[_approx(x) for x in point] for point in (*context.points, context.query)])
    gram = approx_gram(kernel, points)[:-1]
    softmax = any(term.activation.name == "softmax" for term in kernel.terms)
    return gram / gram.sum(axis=0) if softmax else gram


def certify_loss(tasks: Sequence[Task], kernel: Kernel, steps: tuple[fmpq, ...]) -> Loss:
    """The mean squared loss of the built transformer's forward pass: an exact rational, or a ball that contains it."""
    claim = Claim(kernel, steps)
    total: Loss = fmpq(0)
    with ctx.workprec(BALL_BITS):
        for task in tasks:
            *_, Z = run_forward(build_descent(task.context, claim), task.context, fmpq if kernel.rational else arb)
            total = total + (Z[-1][-1] + task.target) ** 2
        return total / fmpq(len(tasks))


def measure(data: str, activation: str, length: int, layers: int, count: int, seed: str, sweeps: int = 4) -> Point:
    """The loss at one depth and context length; the steps are chosen on 8 times as many other tasks.

    ``sweeps`` = 0 gives all layers the same step.
    """
    kernel = parse_kernel(activation, DIMENSION)
    steps = choose_steps(draw_tasks(data, length, 8 * count, f"{seed}/train"), kernel, layers, sweeps)
    return Point(length, layers, certify_loss(draw_tasks(data, length, count, f"{seed}/test"), kernel, steps), steps)


def measure_bayes(data: str, length: int, count: int, seed: str) -> Loss | None:
    """The mean squared loss of the limit nu^T G^-1 Y on the same tasks; None unless every G is positive definite."""
    kernel = parse_kernel(data, DIMENSION)
    tasks = draw_tasks(data, length, count, f"{seed}/test")
    total: Loss = fmpq(0)
    with ctx.workprec(BALL_BITS):
        for task in tasks:
            table = kernel_table(kernel, task.context, balls=not kernel.rational)
            if table.own is None or classify(table.columns)[0] != DEFINITE:
                return None
            limit = combine(solve(table.columns, table.nu), list(task.context.labels))
            total = total + (task.target - limit) ** 2
        return total / fmpq(len(tasks))


def find_winner(losses: dict[str, Loss]) -> str | None:
    """The name whose loss is certainly the smallest, or None."""
    with ctx.workprec(BALL_BITS):
        for name, loss in losses.items():
            if all(arb(1) * loss < other for rival, other in losses.items() if rival != name):
                return name
    return None


def show_loss(value: Loss) -> str:
    """Three significant digits."""
    with ctx.workprec(BALL_BITS):
        return f"{float((arb(1) * value).mid()):.3g}"
