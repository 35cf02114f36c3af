"""Untrusted. Who attends to whom: the weights of an attention layer, for drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from flint import fmpq

from proofs.kernel.boxes import point
from proofs.kernel.hardmax import choose_largest
from proofs.kernel.model import SelfAttention, SquareMatrix
from proofs.kernel.rational import Row
from proofs.kernel.softmax import ScoreTable
from proofs.kernel.statement import Temperatures

MAX_KEYS = 8  # drawn for one query
SMALLEST = 0.02  # weight that is drawn


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one sequence: uniform, or for each query the keys of the largest weights."""

    length: int
    uniform: bool
    keys: tuple[tuple[tuple[int, float], ...], ...]  # (key, weight) for each query; () when uniform

    def list_leaders(self) -> set[int]:
        """The keys that some query attends to; none when the attention is uniform, which singles out no token."""
        return {key for keys in self.keys for key, _ in keys}


@dataclass(frozen=True, slots=True)
class AttentionHead:
    """One head of the attention layer of a block, on every sequence that is followed."""

    block: int
    head: int  # from 1, among those that act; 0: the only one
    causal: bool
    sequences: tuple[Weights, ...]

    @property
    def uniform(self) -> bool:
        """Whether every token attends equally to all tokens that it sees."""
        return all(weights.uniform for weights in self.sequences)


def list_weights(
    block: int, layer: SelfAttention, state: Sequence[Sequence[Row]], temperatures: Temperatures
) -> list[AttentionHead]:
    """The weights of every head that acts: at temperature 0 exactly, else at the highest one claimed, in floats."""
    heads = layer.find_acting(len(state[0][0]) - 1)
    tau = fmpq(0) if temperatures.zero else temperatures.single or temperatures.upper or fmpq(0)
    return [
        AttentionHead(
            block,
            number if len(heads) > 1 else 0,
            layer.causal,
            tuple(_weigh(head.A, rows, layer.causal, tau) for rows in state),
        )
        for number, head in enumerate(heads, 1)
    ]


def _weigh(A: SquareMatrix, rows: Sequence[Row], causal: bool, tau: fmpq) -> Weights:
    n = len(rows)
    seen = [i + 1 if causal else n for i in range(n)]
    if A.is_zero(len(rows[0]) - 1):
        return Weights(n, True, ())
    if tau == 0:
        common = lcm(*(row[-1] for row in rows))
        X = [[x * (common // row[-1]) for x in row[:-1]] for row in rows]
        found = [dict.fromkeys(choice, 1 / len(choice)) for choice in choose_largest(A, X, causal)]
    else:
        table = ScoreTable(A, [point(row) for row in rows])
        found = [_approx_weights(table.first(seen[i]).differences(i)[1], tau) for i in range(n)]
    if n > 1 and all(len(f) == size and len({*f.values()}) == 1 for f, size in zip(found, seen, strict=True)):
        return Weights(n, True, ())
    return Weights(n, False, tuple(tuple(_largest(weights)) for weights in found))


def _approx_weights(differences: Sequence[fmpq], tau: fmpq) -> dict[int, float]:
    """Weights from ``SMALLEST`` on, relative to all, by key; given is how far each score is below the best."""
    ratios = {l: difference / tau for l, difference in enumerate(differences) if difference < 700 * tau}
    parts = {l: math.exp(-int(ratio.p) / int(ratio.q)) for l, ratio in ratios.items()}
    total = sum(parts.values())
    return {l: part / total for l, part in parts.items() if part >= SMALLEST * total}


def _largest(weights: dict[int, float]) -> list[tuple[int, float]]:
    return sorted(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MAX_KEYS])
