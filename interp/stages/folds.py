"""Untrusted. Folds (lemma ``folds``): units that divide the number of cells of a coordinate until one is left.

Cells of width Lambda: cell n of a coordinate holds Lambda n + v for n even and Lambda n + Lambda - v for n odd, v in
[0, Lambda). q units -+2 relu(x - Lambda c t), t = 1..q, fold q + 1 stretches of c cells onto the first one.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from interp.stages.hat import MAX_UNITS, Unit, build_constant, build_feed_forward
from interp.stages.signature import axis
from proofs.kernel.model import Block


def locate_in_cell(cell: Sequence[int], value: Sequence[fmpq], width: fmpq) -> list[fmpq]:
    """The point that the folds bring to ``value`` in [0, width)^d."""
    return [width * n + (v if n % 2 == 0 else width - v) for n, v in zip(cell, value, strict=True)]


def plan_folds(counts: Sequence[int]) -> list[list[tuple[int, int]]]:
    """For every block (units, cells left) of each coordinate that has ``counts`` cells at first."""
    left, plan = list(counts), []
    while any(count > 1 for count in left):
        units = [0] * len(left)
        for _ in range(MAX_UNITS):
            k = max(range(len(left)), key=lambda k: left[k] / (units[k] + 1))
            if left[k] <= units[k] + 1:
                break
            units[k] += 1
        left = [-(-count // (q + 1)) for count, q in zip(left, units, strict=True)]
        plan.append(list(zip(units, left, strict=True)))
    return plan


def count_fold_blocks(counts: Sequence[int]) -> int:
    """Blocks of ``build_folds``: the constant needs a unit of the last."""
    plan = plan_folds(counts)
    return len(plan) + (not plan or sum(units for units, _ in plan[-1]) == MAX_UNITS)


def build_folds(counts: Sequence[int], width: fmpq, constant: Sequence[fmpq]) -> list[Block]:
    """Fold blocks, then the constant."""
    d = len(counts)
    layers: list[list[Unit]] = []
    for step in plan_folds(counts):
        units: list[Unit] = []
        for k, (number, cells) in enumerate(step):
            for t in range(1, number + 1):
                sign = -2 if t % 2 else 2
                units.append(([sign * x for x in axis(d, k)], axis(d, k), -width * cells * t))
        layers.append(units)
    if not layers or len(layers[-1]) == MAX_UNITS:
        layers.append([])
    layers[-1].append(build_constant(constant))
    return [Block(build_feed_forward(d, units)) for units in layers]
