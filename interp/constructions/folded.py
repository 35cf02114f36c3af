"""Untrusted. ``folded``: about M / 8 blocks for points in general position, exact at every temperature.

Theorem D of docs/explanation/frontier.md, for all m_j = 1 or all m_j = n_j and d = 2, 3, 4. Block 1 makes one point of
every sequence (its mean) or of every token (x + lambda mean); then d units place 2d points up to a lattice, and folds
bring all lattice cells together. Where that does not apply or is longer, this is ``compact``.

Source: ours; compare arXiv 2502.02270v3, theorem 1.6 (2M + 2N + 1).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from interp.constructions.compact import Plan, check_sizes, find_plans
from interp.constructions.hardmax import list_targets
from interp.stages.clouds import find_means, list_tokens
from interp.stages.folded import Folded, Point, build_folded
from interp.stages.hat import MAX_UNITS, Unit, build_constant, build_feed_forward
from interp.stages.signature import axis
from interp.stages.tokens import TokenState, power_of_two, power_of_two_above, require
from interp.transformers.ledger import Ledger
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix
from proofs.kernel.rational import Row, coordinates_of, row_of
from proofs.kernel.statement import Dataset
from proofs.lemmas import folded as lemma

SCALES = 8  # values of lambda tried


def build_folded_transformer(dataset: Dataset, seed: int = 0) -> Ledger:
    """Blocks that interpolate a dataset at every temperature, never more than ``compact``.

    Exactness: hyperplanes are proposed in floating point, every sign and every point is checked in rationals.
    Raises: UsageError without scipy, when some 1 < m_j < n_j, or when d > 4, MalformedInput, InternalFault.
    """
    rng = random.Random(seed)
    groups = list_targets(dataset)
    state = TokenState.from_dataset(dataset)
    check_sizes(state, groups)
    single = all(len(group) == 1 for group in groups)
    if dataset.dimension > MAX_UNITS or not (single or _is_full(state, groups)):
        raise UsageError(
            "not for this dataset", "--construction", "folded needs all m_j = 1 or n_j, d <= 4: try compact"
        )
    plans: list[Plan] = list(find_plans(state, groups, True, rng))
    fewest = min(plan.num_blocks for plan in plans)
    # at least M / 8 blocks besides the first, a fold and the constant
    if fewest > 3 + dataset.num_outputs // (2 * MAX_UNITS):
        plan = find_folded_plan(state, groups, rng)
        plans += [plan] if plan is not None else []
    ledger = Ledger(dataset.dimension)
    min(plans, key=lambda plan: plan.num_blocks).build(ledger)
    return ledger


@dataclass(frozen=True)
class FoldedPlan(Plan):
    """Points z and their targets after the attention of block 1, and the blocks that follow."""

    points: list[Point]
    targets: list[Point]
    lowest: fmpq  # coordinate d of tokens
    attention: SelfAttention
    folded: Folded

    @property
    def num_blocks(self) -> int:
        """The first, those that place, those that fold."""
        return 1 + self.folded.num_blocks

    def build(self, ledger: Ledger) -> None:
        """Points, groups, folds."""
        folded, d = self.folded, ledger.dimension
        first = Block(_build_scaling(d, folded.scale, self.lowest), self.attention)
        ledger.add("points", "folded groups", [first])
        ledger.add("groups", "folded groups", folded.placing)
        ledger.add("folds", "folds", folded.folding)
        before = [row_of([*(folded.scale * x for x in z[:-1]), z[-1]]) for z in self.points]
        layers = [block.feed_forward for block in (*folded.placing, *folded.folding)]
        require(lemma.check_promise(layers, before, [row_of(y) for y in self.targets]), "folded groups")


def _build_scaling(dimension: int, scale: fmpq, lowest: fmpq) -> FeedForward:
    """x -> scale x in all coordinates but the last, which stays: one unit that is active on all tokens."""
    if scale == 1:
        return build_feed_forward(dimension, [])
    offset = power_of_two_above(max(-lowest, fmpq(0)))
    last = axis(dimension, dimension - 1)
    units: list[Unit] = [
        ([(1 - scale) * x for x in last], last, offset),
        build_constant([(scale - 1) * offset * x for x in last]),
    ]
    layer = build_feed_forward(dimension, units)
    return FeedForward(scale, layer.W, layer.U, layer.b)


def find_folded_plan(state: TokenState, groups: Sequence[Sequence[Row]], rng: random.Random) -> FoldedPlan | None:
    """The plan if all m_j = 1 or all m_j = n_j and the points are in general position."""
    tokens = list_tokens(state)
    means = find_means(state, tokens)
    wanted = [list(coordinates_of(row)) for group in groups for row in group]
    lowest = min(row[-1] for row in tokens.tolist())
    if all(len(group) == 1 for group in groups):
        attention = SelfAttention(rho=fmpq(0), V=SquareMatrix(scale=fmpq(1)))
        return _make_plan(means.tolist(), wanted, lowest, attention, rng)
    if _is_full(state, groups):
        for scale in (power_of_two(k) for k in range(SCALES)):
            points = (tokens + fmpq_mat([means.tolist()[j] for j in state.sequence]) * scale).tolist()
            if len(set(map(tuple, points))) == len(points):
                return _make_plan(points, wanted, lowest, SelfAttention(V=SquareMatrix(scale=scale)), rng)
    return None


def _is_full(state: TokenState, groups: Sequence[Sequence[Row]]) -> bool:
    return all(len(group) == len(member) for group, member in zip(groups, state.members(), strict=True))


def _make_plan(
    points: list[Point], targets: list[Point], lowest: fmpq, attention: SelfAttention, rng: random.Random
) -> FoldedPlan | None:
    folded = build_folded(points, targets, rng)
    return FoldedPlan(points, targets, lowest, attention, folded) if folded is not None else None
