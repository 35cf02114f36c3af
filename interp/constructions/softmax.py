"""Untrusted. Theorem 1.8: separation, leader selection, soft collapse, line, flatten and place.

Exact at every temperature in (0, tau]. Separation uses uniform attention (A = 0), which is exact at every temperature,
so tokens stay points until the collapse; see docs/decisions/0002-uniform-separation.md.

Source: arXiv 2502.02270v3, theorem 1.8 (L = 2M + 3N); this construction has L <= 2M + N (2M + 1 for N = 1).
"""

from __future__ import annotations

import random

from flint import fmpq

from interp.constructions.hardmax import find_bound, list_targets
from interp.stages.collapse import build_collapse, build_soft_collapse
from interp.stages.hat import find_gentle_direction, find_injective_direction
from interp.stages.interpolation import relative_gap
from interp.stages.leaders import build_leaders
from interp.stages.placement import Interval, build_line, build_placement
from interp.stages.separation import build_separation
from interp.stages.tokens import TokenState
from interp.transformers.ledger import Ledger
from proofs.kernel.model import Block
from proofs.kernel.statement import Dataset
from proofs.lemmas.soft_collapse import project


def build_softmax(dataset: Dataset, seed: int = 0, temperature: fmpq | None = None, gentle: bool = False) -> Ledger:
    """Blocks that interpolate the dataset at every temperature in (0, temperature] (1 by default), with their phases.

    ``gentle``: steadier in floats. Exactness: integers and rationals throughout. Raises: InternalFault when a phase
    breaks its promise.
    """
    rng = random.Random(seed)
    tau = fmpq(1) if temperature is None else temperature
    targets = list_targets(dataset)
    sizes = [len(group) for group in targets]
    bound = find_bound(targets)
    ledger = Ledger(dataset.dimension)
    blocks, state = build_separation(TokenState.from_dataset(dataset), rng, "mean")
    ledger.add("separation", "separation", blocks)
    blocks, state = build_leaders(state, sizes, bound, rng, gentle)
    _, leaders = build_collapse(state, sizes)
    if gentle:
        direction, _ = find_gentle_direction(leaders.array, rng, lambda _, values: relative_gap(values))
    else:
        direction, _ = find_injective_direction(leaders.array, rng)
    attention, boxes = build_soft_collapse(state, sizes, tau, direction)
    ledger.add("leader selection", "leaders", [*blocks[:-1], Block(blocks[-1].feed_forward, attention)])
    ledger.add_shared("collapse", "soft collapse")
    spans = project(boxes, direction)
    wanted = [target for group in targets for target in group]
    block, intervals = build_line(
        direction, [Interval(*spans[row], target) for row, target in zip(leaders.rows(), wanted, strict=True)], bound
    )
    ledger.add("line", "line", [block])
    ledger.add("interpolation", "flatten and place", build_placement(intervals, bound, dataset.dimension))
    return ledger
