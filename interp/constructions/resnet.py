"""Untrusted. ``resnet``: the baseline without attention, one hat for each token (lemma ``hat``).

A residual network sees each token alone, so this only exists for datasets whose sequences share no token. K blocks for
K tokens: compare 2M + 2N + 1 and about M / 4 with attention. Source: ours.
"""

from __future__ import annotations

import random

from flint import fmpq

from interp.constructions.compact import check_sizes
from interp.constructions.hardmax import find_bound, list_targets
from interp.stages.hat import Unit, build_constant, build_feed_forward, build_hat, find_injective_direction
from interp.stages.tokens import TokenState, power_of_two_above, power_of_two_at_most
from interp.transformers.ledger import Ledger
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Block
from proofs.kernel.rational import Row, coordinates_of
from proofs.kernel.statement import Dataset


def build_resnet(dataset: Dataset, seed: int = 0) -> Ledger:
    """One block a token, V = 0 in all: right at every temperature.

    The first block also shifts all tokens by c (1, .., 1), so that their projections on u > 0 exceed those of all
    targets: a token that has arrived is outside the support of every later hat.
    Exactness: integers and rationals throughout.
    Raises: UsageError when two sequences share a token, MalformedInput when an output is longer than its input.
    """
    rng = random.Random(seed)
    targets = list_targets(dataset)
    state = TokenState.from_dataset(dataset)
    check_sizes(state, targets)
    _refuse_sharing(state.rows(), state.sequence)
    d = dataset.dimension
    direction, products = find_injective_direction(state.numerators, rng)
    values = [fmpq(s, state.denominator) for s in products]
    zone = find_bound(targets) * sum(direction)  # above <u, y> for every target
    shift = power_of_two_above(max(fmpq(0), (zone - min(values)) / sum(direction)))
    moved = sorted((value + shift * sum(direction), i) for i, value in enumerate(values))
    wanted = [row for group, size in zip(targets, _sizes(state), strict=True) for row in _repeat(group, size)]
    rows = state.rows()
    blocks: list[Block] = []
    for place, (value, i) in enumerate(moved):
        below = moved[place - 1][0] if place else zone
        gaps = [value - below, *(after - value for after, _ in moved[place + 1 : place + 2])]
        half_width = power_of_two_at_most(min(gaps))
        coordinates = zip(coordinates_of(wanted[i]), coordinates_of(rows[i]), strict=True)
        move = [y - x - shift for y, x in coordinates]
        if blocks:
            units: list[Unit] = build_hat(direction, value, half_width, move)
        else:  # reads tokens before the shift
            start = value - shift * sum(direction)
            units = [*build_hat(direction, start, half_width, move), build_constant([shift] * d)]
        blocks.append(Block(build_feed_forward(d, units)))
    ledger = Ledger(d)
    ledger.add("hats", "hat", blocks)
    return ledger


def _sizes(state: TokenState) -> list[int]:
    return [len(member) for member in state.members()]


def _repeat(group: list[Row], size: int) -> list[Row]:
    """Targets of the ``size`` tokens of a sequence: the first one as often as needed."""
    return [group[0]] * (size - len(group)) + group


def _refuse_sharing(rows: list[Row], sequence: tuple[int, ...]) -> None:
    owner: dict[Row, int] = {}
    for row, j in zip(rows, sequence, strict=True):
        if owner.setdefault(row, j) != j:
            raise UsageError(
                f"pairs {owner[row]} and {j} share a token, and without attention it has one image",
                "--construction",
                "use hardmax, softmax or compact",
            )
