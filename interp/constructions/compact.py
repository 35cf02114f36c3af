"""Untrusted. ``compact``: about M / 4 blocks, exact at every temperature, because every attention that acts is uniform.

Theorem A of docs/explanation/compact.md in its variants, whichever takes the fewest blocks:

* direct: no attention; targets are a function of the token.
* A1: all m_j = 1, or all m_j = n_j: signature, chain.
* A2, A3: signature (one V = r t^T), lift by kinks or by an interpolated parabola, caps, remainders, chain.
* key: no V of rank one: signature, intervals, key, chain.

Source: ours; compare arXiv 2502.02270v3, theorems 1.6 (2M + 2N + 1) and 1.8 (2M + 3N).
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from flint import fmpq, fmpq_mat

from interp.constructions.hardmax import list_targets
from interp.stages.box import PointBox
from interp.stages.caps import Cap, Frame, find_shift, find_spread, plan_caps
from interp.stages.chain import Chain, Reading, build_chain_from_zero, count_chain_from_zero
from interp.stages.flats import count_chain_blocks
from interp.stages.hat import MAX_UNITS, count_layers, find_injective_direction
from interp.stages.intervals import find_scale
from interp.stages.key import Key, plan_key
from interp.stages.lift import KinkLift, ParabolaLift, plan_kink_lift, plan_parabola_lift
from interp.stages.packing import build_packed_blocks, count_packed_blocks, count_units_left
from interp.stages.remainders import plan_remainder
from interp.stages.signature import (
    Signature,
    axis,
    build_oblique_layers,
    build_signature_layers,
    count_signature_blocks,
    find_signatures,
)
from interp.stages.tokens import TokenState
from interp.transformers.ledger import Ledger
from proofs.kernel.errors import MalformedInput
from proofs.kernel.model import Block, SelfAttention, SquareMatrix
from proofs.kernel.rational import Row, coordinates_of
from proofs.kernel.statement import Dataset

GENTLE_SIGNATURES = 600  # signatures compared for the widest gap
MAX_DIRECTIONS = 24  # directions compared when another one may save blocks
DIRECTION_WORK = 1_000_000  # coordinates of all tokens times directions: large datasets take the first that works


def build_compact(dataset: Dataset, seed: int = 0, rank_one_v: bool = True, gentle: bool = False) -> Ledger:
    """Blocks that interpolate the dataset at every temperature, with their phases.

    ``rank_one_v``: whether one block may have V = r t^T. ``gentle``: the signature whose means are the farthest apart,
    for floats, instead of the one of fewest blocks. Exactness: integers and rationals throughout.
    Raises: MalformedInput when two inputs are equal or an output is longer than its input, InternalFault when a step
    breaks its promise.
    """
    rng = random.Random(seed)
    targets = list_targets(dataset)
    state = TokenState.from_dataset(dataset)
    check_sizes(state, targets)
    plan = min(find_plans(state, targets, rank_one_v, rng, gentle), key=lambda plan: plan.num_blocks)
    ledger = Ledger(dataset.dimension)
    plan.build(ledger)
    return ledger


def check_sizes(state: TokenState, targets: Sequence[Sequence[Row]]) -> None:
    """Raises MalformedInput if a sequence has more targets than different tokens."""
    for j, (member, group) in enumerate(zip(state.members(), targets, strict=True)):
        if len(group) > len(member):
            raise MalformedInput(
                f"{len(group)} different output tokens for {len(member)} input tokens", f"$.pairs[{j}].output"
            )


def to_point(row: Row) -> fmpq_mat:
    """The token of a row, d x 1."""
    return fmpq_mat(len(row) - 1, 1, list(coordinates_of(row)))


class Plan(ABC):
    """A way to build whose number of blocks is known beforehand."""

    @property
    @abstractmethod
    def num_blocks(self) -> int:
        """Blocks that ``build`` makes."""

    @abstractmethod
    def build(self, ledger: Ledger) -> None:
        """Adds the phases."""


def find_plans(
    state: TokenState, targets: list[list[Row]], rank_one_v: bool, rng: random.Random, gentle: bool = False
) -> Iterator[Plan]:
    """All plans that apply, in order of preference."""
    sizes = [len(group) for group in targets]
    lengths = [len(member) for member in state.members()]
    if (direct := find_direct_plan(state, targets, rng)) is not None:
        yield direct
    single, full = all(size == 1 for size in sizes), sizes == lengths
    repeated = len({row for group in targets for row in group}) < sum(sizes)
    tries = max(1, min(MAX_DIRECTIONS, DIRECTION_WORK // state.numerators.size))
    found: Iterable[Signature] = find_signatures(state, rng, not single, GENTLE_SIGNATURES if gentle else tries)
    if gentle:
        found = [max(found, key=relative_gap)]
    for index, signature in enumerate(found):
        plans: list[Plan] = []
        if single:
            plans.append(SinglePlan(state.dimension, signature, targets))
        if full:
            plans.append(FullPlan(state.dimension, signature, targets, find_scale(signature)))
        if not single and not full and rank_one_v:
            plans.append(make_caps_plan(state.dimension, signature, targets))
        if not single and not full and not (rank_one_v and index):
            plans.append(make_key_plan(state.dimension, signature, targets))
        yield from plans
        # another direction changes the order of the g_j, which matters to runs of equal targets, and their smallest
        # distance, which matters to the parabola
        if not repeated and not any(isinstance(p, CapsPlan) and isinstance(p.lift, ParabolaLift) for p in plans):
            return


@dataclass(frozen=True)
class DirectPlan(Plan):
    """No attention: the different tokens, by increasing <u, x>, each with its target."""

    direction: tuple[int, ...]
    tokens: list[tuple[fmpq, Row, Row]]  # <u, x>, x, target

    @property
    def num_blocks(self) -> int:
        """A chain from zero."""
        return count_chain_from_zero([target for _, _, target in self.tokens])

    def build(self, ledger: Ledger) -> None:
        """Chain."""
        values, rows, wanted = zip(*self.tokens, strict=True)
        points = [to_point(row) for row in wanted]
        blocks = build_chain_from_zero(values, points, self.direction, fmpq(0), lambda i: to_point(rows[i]))
        ledger.add("chain", "chain", blocks)


def find_direct_plan(state: TokenState, targets: list[list[Row]], rng: random.Random) -> DirectPlan | None:
    """A plan without attention, if targets given out in order of <u, x> are a function of the token."""
    rows = state.rows()
    if not _may_agree(rows, state, targets):
        return None
    distinct = sorted(set(rows))
    points = TokenState.from_rows(distinct, (0,) * len(distinct), (1,) * len(distinct))
    direction, products = find_injective_direction(points.numerators, rng)
    value = {row: fmpq(s, points.denominator) for row, s in zip(distinct, products, strict=True)}
    target_of: dict[Row, Row] = {}
    for member, group in zip(state.members(), targets, strict=True):
        ordered = sorted((rows[i] for i in member), key=lambda row: value[row])
        wanted = [group[0]] * (len(ordered) - len(group)) + group
        for row, target in zip(ordered, wanted, strict=True):
            if target_of.setdefault(row, target) != target:
                return None
    return DirectPlan(tuple(direction), sorted((value[row], row, target) for row, target in target_of.items()))


def _may_agree(rows: list[Row], state: TokenState, targets: list[list[Row]]) -> bool:
    """Whether the sequences that share a token share a target: a quick reason to give up."""
    common: dict[Row, set[Row]] = {}
    for row, j in zip(rows, state.sequence, strict=True):
        common.setdefault(row, set(targets[j])).intersection_update(targets[j])
    return all(common.values())


@dataclass(frozen=True)
class SinglePlan(Plan):
    """A1, all m_j = 1: attention with rho = 0, V = I collapses every sequence to its signature."""

    dimension: int
    signature: Signature
    targets: list[list[Row]]

    @property
    def num_blocks(self) -> int:
        """Signature and chain."""
        wanted = [self.targets[j][0] for j in self.signature.by_mean()]
        return count_signature_blocks(len(self.signature.kinks), False) + count_chain_from_zero(wanted)

    def build(self, ledger: Ledger) -> None:
        """Signature, chain."""
        order = self.signature.by_mean()
        attention = SelfAttention(rho=fmpq(0), V=SquareMatrix(scale=fmpq(1)))
        add_signature(ledger, self.signature, [fmpq(0)] * self.dimension, attention)
        points = [(self.signature.means[j], to_point(self.targets[j][0])) for j in order]
        add_axis_chain(ledger, points)


@dataclass(frozen=True)
class FullPlan(Plan):
    """A1, all m_j = n_j: attention with rho = 1, V = lambda I gives every token a place of its own on one axis."""

    dimension: int
    signature: Signature
    targets: list[list[Row]]
    scale: fmpq

    @property
    def num_blocks(self) -> int:
        """Signature and chain."""
        wanted = [row for j in self.signature.by_mean() for row in self.targets[j]]
        return count_signature_blocks(len(self.signature.kinks), False) + count_chain_from_zero(wanted)

    def build(self, ledger: Ledger) -> None:
        """Signature with intervals, chain."""
        signature = self.signature
        attention = SelfAttention(V=SquareMatrix(scale=self.scale))
        add_signature(ledger, signature, [fmpq(0)] * self.dimension, attention)
        ledger.add_shared("intervals", "intervals")
        points = [
            (signature.value(j, rank) + self.scale * signature.means[j], to_point(row))
            for j in signature.by_mean()
            for rank, row in enumerate(self.targets[j])
        ]
        add_axis_chain(ledger, points)


def relative_gap(signature: Signature) -> fmpq:
    """The smallest distance of two g_j, by the largest modulus of a value."""
    means = sorted(signature.means)
    largest = max(abs(x) for numerators in signature.numerators for x in numerators)
    gap = min((b - a for a, b in pairwise(means)), default=fmpq(1))
    return gap * signature.denominator / max(1, largest)


def add_signature(ledger: Ledger, signature: Signature, constant: Sequence[fmpq], attention: SelfAttention) -> None:
    """Adds the blocks of a signature, the last with the attention."""
    layers = build_signature_layers(signature, constant)
    blocks = [*(Block(layer) for layer in layers[:-1]), Block(layers[-1], attention)]
    ledger.add("signature", "signature", blocks)


def add_axis_chain(ledger: Ledger, points: Sequence[tuple[fmpq, fmpq_mat]]) -> None:
    """A chain for points t e_1."""
    e1 = fmpq_mat(ledger.dimension, 1, axis(ledger.dimension, 0))
    parameters = [t for t, _ in points]
    blocks = build_chain_from_zero(
        parameters, [y for _, y in points], e1.entries(), fmpq(0), lambda i: e1 * parameters[i]
    )
    ledger.add("chain", "chain", blocks)


@dataclass(frozen=True)
class CapsPlan(Plan):
    """A2 and A3. ``ordered[j]`` lists the targets of sequence j: of its leaders in order, then of its remainder."""

    frame: Frame
    lift: KinkLift | ParabolaLift
    caps: list[Cap]
    ordered: list[list[Row]]

    @property
    def num_blocks(self) -> int:
        """Signature, lift, caps with the merging unit, and what the chain takes beyond that."""
        signature = self.frame.signature
        wanted = [self.ordered[j][-1] for j in reversed(signature.by_mean())]
        first = count_signature_blocks(len(signature.kinks), self.frame.shift != 0)
        packed = count_packed_blocks(len(self.caps)) + count_chain_blocks(wanted, count_units_left(len(self.caps)))
        return first + self.lift.num_blocks + packed

    def build(self, ledger: Ledger) -> None:
        """Signature, lift, caps, remainders, chain."""
        d, frame, lift = ledger.dimension, self.frame, self.lift
        # V = (e_2 + speed e_3) e_1^T: coordinate 2 becomes g_j + a, coordinate 3 becomes T (A3)
        constant, column = [frame.shift, *[fmpq(0)] * (d - 1)], axis(d, 1)
        if isinstance(lift, ParabolaLift):
            constant[2], column[2] = -(lift.start + frame.shift) * lift.speed, lift.speed
        value = SquareMatrix(left=fmpq_mat(d, 1, column), right=fmpq_mat(d, 1, axis(d, 0)))
        add_signature(ledger, frame.signature, constant, SelfAttention(V=value))
        ledger.add("lift", "lift", lift.build_blocks(d, frame.shift))

        points = [[to_point(row) for row in rows] for rows in self.ordered]
        box = PointBox(point for group in points for point in group)
        leaders = [points[cap.sequence][cap.rank] for cap in self.caps]
        remainder = plan_remainder(frame, [len(rows) for rows in self.ordered], box)
        order = frame.signature.by_mean()[::-1]
        chain = Chain(
            [-frame.signature.means[j] for j in order],
            [points[j][-1] for j in order],
            remainder.ray(frame),
            PointBox(leaders),
            count_units_left(len(self.caps)),
        )
        ledger.add("caps", "caps", build_packed_blocks(frame, self.caps, leaders, remainder, chain, box))
        ledger.add_shared("remainders", "remainders")
        ledger.add("chain", "chain", chain.build_blocks())


def make_caps_plan(dimension: int, signature: Signature, targets: list[list[Row]]) -> CapsPlan:
    """The lift that takes fewer blocks (the parabola needs a third coordinate), kinks if it makes no difference."""
    sizes = [len(group) for group in targets]
    chosen = [j for j, size in enumerate(sizes) if size > 1]
    spread = find_spread(signature, sizes)
    lift: KinkLift | ParabolaLift = plan_kink_lift(signature.means, chosen, spread)
    if dimension > 2 and lift.num_blocks > 1:
        other = plan_parabola_lift(signature.means, chosen, spread)
        lift = other if other.num_blocks < lift.num_blocks else lift
    caps = plan_caps(signature, sizes, lift)
    box = PointBox(to_point(row) for group in targets for row in group)
    frame = Frame(signature, lift, dimension, find_shift(caps, box, max(signature.means)))
    return CapsPlan(frame, lift, caps, _choose_last(targets, signature.by_mean()[::-1]))


def _choose_last(targets: list[list[Row]], order: Sequence[int]) -> list[list[Row]]:
    """The targets with one moved to the end so that, in this order, the last ones form the fewest runs.

    A run goes on as long as its sequences have a target in common: stopping earlier never helps.
    """
    result = [list(group) for group in targets]
    run: list[int] = []
    common: set[Row] = set()

    def close() -> None:
        shared = next(row for row in targets[run[0]] if row in common)
        for j in run:
            result[j] = [*(row for row in targets[j] if row != shared), shared]

    for j in order:
        if run and common.isdisjoint(targets[j]):
            close()
            run = []
        common = common.intersection(targets[j]) if run else set(targets[j])
        run.append(j)
    close()
    return result


@dataclass(frozen=True)
class KeyPlan(Plan):
    """No V of rank one: signature and intervals, key, chain. A single sequence needs no attention."""

    dimension: int
    signature: Signature
    scale: fmpq
    key: Key

    @property
    def _on_line(self) -> bool:
        """Whether the first block projects; else kinks of the signature go along a direction, four a block."""
        return len(self.signature.means) > 1 and len(self.signature.kinks) < MAX_UNITS

    @property
    def num_blocks(self) -> int:
        """Signature, key, chain."""
        signature = 0
        if len(self.signature.means) > 1:
            signature = max(1, count_layers(len(self.signature.kinks)))
        return signature + self.key.num_blocks(not self._on_line) + count_chain_from_zero(self.key.targets)

    def build(self, ledger: Ledger) -> None:
        """Signature with intervals, key, chain."""
        d, signature, scale = self.dimension, self.signature, self.scale
        attention = SelfAttention(V=SquareMatrix(scale=scale))
        if self._on_line:
            reading = Reading(axis(d, 0), fmpq(0), fmpq(0))
            add_signature(ledger, signature, [fmpq(0)] * d, attention)
        else:
            reading = Reading(signature.direction, signature.offset * (1 + scale), fmpq(0))
            if len(signature.means) > 1:
                layers = build_oblique_layers(signature)
                ledger.add("signature", "signature", [*(Block(x) for x in layers[:-1]), Block(layers[-1], attention)])
        if len(signature.means) > 1:
            ledger.add_shared("intervals", "intervals")
        ledger.add("key", "key", self.key.build_blocks(d, reading, not self._on_line))
        keys = [fmpq(self.key.first_key + i) for i in range(len(self.key.targets))]
        e1, e2 = (fmpq_mat(d, 1, axis(d, c)) for c in (0, 1))
        points = [to_point(row) for row in self.key.targets]
        blocks = build_chain_from_zero(keys, points, e2.entries(), fmpq(0), lambda i: e1 + e2 * keys[i])
        ledger.add("chain", "chain", blocks)


def make_key_plan(dimension: int, signature: Signature, targets: list[list[Row]]) -> KeyPlan:
    """The plan on the intervals of the signature."""
    scale = find_scale(signature)
    order = signature.by_mean()
    times = [
        [signature.value(j, rank) + scale * signature.means[j] for rank in range(len(signature.numerators[j]))]
        for j in order
    ]
    return KeyPlan(dimension, signature, scale, plan_key(times, [targets[j] for j in order]))
