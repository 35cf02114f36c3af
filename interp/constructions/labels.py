"""Untrusted. ``labels``: few distinct targets, one for each sequence; blocks follow the geometry of the classes.

Theorem C of docs/explanation/frontier.md. Block 1 takes the mean of every sequence. Then, whichever takes the fewest
blocks:

* codes: half-spaces give every class a binary code; two blocks make it exact, the rest moves codes to targets.
* push: a block in between moves up to four classes away first, so that fewer half-spaces must exist.
* line: ``compact`` along directions on which classes form few runs.
* ``compact`` itself.

Source: ours; compare arXiv 2502.02270v3, theorem 1.6 (2M + 2N + 1).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from flint import fmpq

from interp.constructions.compact import Plan, SinglePlan, check_sizes, find_plans
from interp.constructions.hardmax import list_targets
from interp.stages.clouds import Cloud, HalfSpace, find_half_space, make_cloud, round_direction
from interp.stages.codes import (
    BitCode,
    build_code_blocks,
    build_code_chain,
    choose_code,
    count_code_blocks,
    count_code_chain_blocks,
    find_half_spaces,
    is_general,
)
from interp.stages.features import train_features
from interp.stages.hat import MAX_UNITS
from interp.stages.push import build_push
from interp.stages.signature import find_signature_along
from interp.stages.tokens import TokenState, require
from interp.transformers.ledger import Ledger
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix, identity_feed_forward
from proofs.kernel.rational import Row
from proofs.kernel.statement import Dataset
from proofs.lemmas import codes as lemma

MAX_CLASSES = 2**MAX_UNITS  # four bits
PUSHES = 16  # sets of pushed classes tried
LINE_BITS = 10  # of directions for lines


def build_labels(dataset: Dataset, seed: int = 0, trained: bool = False) -> Ledger:
    """Blocks that interpolate a dataset of single targets at every temperature, never more than ``compact``.

    ``trained``: block 1 also adds four ReLUs of the tokens, found by gradient descent and rounded (needs torch), unless
    there is a code without them.
    Exactness: what floating point proposes is rounded and then checked in integers and rationals.
    Raises: UsageError without scipy (torch) or when a sequence has two targets, MalformedInput, InternalFault.
    """
    rng = random.Random(seed)
    groups = list_targets(dataset)
    if any(len(group) != 1 for group in groups):
        raise UsageError(
            "a sequence has more than one target", "--construction", "labels needs all m_j = 1: try compact"
        )
    state = TokenState.from_dataset(dataset)
    check_sizes(state, groups)
    targets = [group[0] for group in groups]
    plans: list[Plan] = list(find_plans(state, groups, True, rng))
    cloud = make_cloud(state, targets)
    if len(set(targets)) < len(targets):
        plans += _find_line_plans(state, groups, cloud)
        plans += find_code_plans(cloud)
    needless = any(isinstance(plan, CodePlan) and plan.push is None for plan in plans)
    if trained and not needless and 1 < cloud.num_classes <= MAX_CLASSES:
        layer = train_features(state, cloud, seed)
        plans += find_code_plans(make_cloud(state, targets, layer), layer)
    ledger = Ledger(dataset.dimension)
    min(plans, key=lambda plan: plan.num_blocks).build(ledger)
    return ledger


@dataclass(frozen=True)
class CodePlan(Plan):
    """Mean, perhaps a push, codes. ``cloud`` and ``first``: the points after block 1 and its layer (None: identity)."""

    cloud: Cloud
    first: FeedForward | None
    push: FeedForward | None
    code: BitCode

    @property
    def num_blocks(self) -> int:
        """Mean, push, projection, stops, corrections or chain."""
        before = 1 + (self.push is not None)
        if is_general(self.cloud):
            return before + count_code_blocks(self.cloud.num_classes, self.code.num_bits)
        return before + count_code_chain_blocks(self.cloud, self.code)

    def build(self, ledger: Ledger) -> None:
        """Mean, push, codes, corrections or chain."""
        general, cloud = is_general(self.cloud), self.cloud
        mean = SelfAttention(rho=fmpq(0), V=SquareMatrix(scale=fmpq(1)))
        ledger.add("mean", "codes", [Block(self.first or identity_feed_forward(ledger.dimension), mean)])
        before = cloud.rows()
        layers = []
        if self.push is not None:
            ledger.add("push", "push", [Block(self.push)])
            layers.append(self.push)
            cloud = cloud.moved(self.push)
        codes, rest = (build_code_blocks if general else build_code_chain)(cloud, self.code)
        ledger.add("codes", "codes", codes)
        if rest:
            ledger.add(*(("corrections", "codes") if general else ("chain", "chain")), rest)
        layers += [block.feed_forward for block in (*codes, *rest)]
        after = [cloud.targets[c] for c in cloud.labels]
        require(lemma.check_promise(layers, before, after), "codes")


def find_code_plans(cloud: Cloud, first: FeedForward | None = None) -> Iterator[Plan]:
    """A plan without a push if there is one, else one with a push."""
    if not 1 < cloud.num_classes <= MAX_CLASSES:
        return
    classes = range(cloud.num_classes)
    spaces = find_half_spaces(cloud, classes)
    if (code := choose_code(spaces, classes, [])) is not None and _fits(cloud, code):
        yield CodePlan(cloud, first, None, code)
        return
    for chosen in islice(_choose_caps(_find_caps(cloud, spaces), cloud.num_classes), PUSHES):
        pushed = sorted(c for cap in chosen for c in cap.inside)
        rest = [c for c in classes if c not in pushed]
        code = choose_code(find_half_spaces(cloud, rest), rest, pushed)
        if code is None or not _fits(cloud, code):
            continue
        if (push := build_push(cloud, code, chosen)) is not None:
            yield CodePlan(cloud, first, push, code)
            return


def _choose_caps(caps: Sequence[HalfSpace], num_classes: int) -> Iterator[tuple[HalfSpace, ...]]:
    """Most first: the fewer classes are left, the more half-spaces there are; then by margin."""
    for size in range(min(MAX_UNITS, len(caps), num_classes - 2), 0, -1):
        yield from sorted(combinations(caps, size), key=lambda some: -min(cap.approx_margin for cap in some))


def _fits(cloud: Cloud, code: BitCode) -> bool:
    return code.num_bits <= cloud.points.ncols()


def _find_caps(cloud: Cloud, spaces: Sequence[HalfSpace]) -> list[HalfSpace]:
    """Half-spaces of single classes among those found."""
    single = [space for space in spaces if len(space.inside) == 1]
    known = {c for space in single for c in space.inside}
    for c in set(range(cloud.num_classes)) - known:
        others = set(range(cloud.num_classes)) - {c}
        if (space := find_half_space(cloud, {c}, others)) is not None:
            single.append(space)
    return single


def _find_line_plans(state: TokenState, groups: list[list[Row]], cloud: Cloud) -> Iterator[Plan]:
    """``compact`` along the directions that tell each class from the others best, in the sense of least squares."""
    points = cloud.approx_points
    design = np.hstack([points - points.mean(axis=0), np.ones((len(points), 1))])
    onehot = (cloud.approx_labels[:, None] == np.arange(cloud.num_classes)).astype(np.float64)
    weights = np.linalg.lstsq(design, onehot, rcond=None)[0][:-1]
    for column in weights.T[:MAX_CLASSES]:
        if np.abs(column).max() > 0:
            signature = find_signature_along(state, round_direction(column, LINE_BITS))
            if signature is not None:
                yield SinglePlan(state.dimension, signature, groups)
