"""Untrusted. Theorem 1.6: separation, leader selection, collapse, interpolation.

Source: arXiv 2502.02270v3, theorem 1.6 (L = 2M + 2N + 1); this construction has L <= 2M + max(N - 1, 0).
"""

from __future__ import annotations

import random

from flint import fmpq

from interp.stages.collapse import build_collapse
from interp.stages.interpolation import build_interpolation
from interp.stages.leaders import build_leaders
from interp.stages.separation import build_separation
from interp.stages.tokens import TokenState, power_of_two_above
from interp.transformers.ledger import Ledger
from proofs.engine.statement import outputs_of
from proofs.kernel.model import Block
from proofs.kernel.rational import Row
from proofs.kernel.statement import Dataset


def build_hardmax(dataset: Dataset, seed: int = 0, separation: str = "auto", gentle: bool = False) -> Ledger:
    """Blocks that interpolate the dataset at temperature 0, with their phases; ``gentle`` ones for floats.

    Exactness: integers and rationals throughout. Raises: InternalFault when a phase breaks its promise.
    """
    rng = random.Random(seed)
    targets = list_targets(dataset)
    sizes = [len(group) for group in targets]
    bound = find_bound(targets)
    ledger = Ledger(dataset.dimension)
    blocks, state = build_separation(TokenState.from_dataset(dataset), rng, separation)
    ledger.add("separation", "separation", blocks)
    blocks, state = build_leaders(state, sizes, bound, rng, gentle)
    attention, state = build_collapse(state, sizes)
    ledger.add("leader selection", "leaders", [*blocks[:-1], Block(blocks[-1].feed_forward, attention)])
    ledger.add_shared("collapse", "collapse")
    ledger.add("interpolation", "interpolation", build_interpolation(state, targets, bound, rng, gentle))
    return ledger


def list_targets(dataset: Dataset) -> list[list[Row]]:
    """The distinct targets of every pair, in order of first appearance."""
    return [list(dict.fromkeys(output)) for output in outputs_of(dataset)]


def find_bound(targets: list[list[Row]]) -> fmpq:
    """A power of two above every |coordinate| of every target."""
    return power_of_two_above(max(fmpq(max(map(abs, row[:-1])), row[-1]) for group in targets for row in group))
