"""Untrusted. Caps, merging unit and the start of the chain, four units a layer (lemmas ``caps``, ``remainders``)."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpq_mat

from interp.stages.box import PointBox
from interp.stages.caps import Cap, Frame, solve_caps
from interp.stages.chain import Chain, Reading, to_row
from interp.stages.dyadic import find_simple_dyadic
from interp.stages.hat import MAX_UNITS, build_feed_forward, count_layers
from interp.stages.remainders import Remainder
from interp.stages.tokens import require
from proofs.kernel.model import Block, FeedForward
from proofs.kernel.rational import Row
from proofs.lemmas import caps as caps_lemma
from proofs.lemmas import remainders as remainders_lemma


def count_packed_blocks(num_caps: int) -> int:
    """Blocks of the caps and the merging unit."""
    return count_layers(num_caps + 1)


def count_units_left(num_caps: int) -> int:
    """Units of the last of these blocks that the chain may use."""
    return -(num_caps + 1) % MAX_UNITS


def build_packed_blocks(
    frame: Frame, caps: Sequence[Cap], leaders: Sequence[fmpq_mat], remainder: Remainder, chain: Chain, box: PointBox
) -> list[Block]:
    """The blocks of ``caps``, whose targets are ``leaders``; the last also merges the remainders and begins the chain.

    ``box`` holds all targets; the chain runs over the sequences by decreasing g. Raises: InternalFault.
    """
    order = frame.signature.by_mean()
    neighbours = {j: [*order[max(p - 1, 0) : p], *order[p + 1 : p + 2]] for p, j in enumerate(order)}
    full = len(caps) // MAX_UNITS * MAX_UNITS
    blocks = []
    for i in range(0, full, MAX_UNITS):
        part, wanted = caps[i : i + MAX_UNITS], leaders[i : i + MAX_UNITS]
        layer = build_feed_forward(frame.dimension, solve_caps(part, [], frame, wanted))
        _require_caps(layer, frame, part, wanted, neighbours, box)
        blocks.append(Block(layer))
    reading = _read_mean(frame, chain.parameters[0], box)
    others = [remainder.unit(frame), *chain.add_units(chain.plan[0], reading)]
    units = [*solve_caps(caps[full:], others, frame, leaders[full:]), *others]
    layer = build_feed_forward(frame.dimension, units)
    _require_caps(layer, frame, caps[full:], leaders[full:], neighbours, box)
    _require_merged(layer, frame, caps, chain, box)
    return [*blocks, Block(layer)]


def _read_mean(frame: Frame, following: fmpq, box: PointBox) -> Reading:
    """t = -X2, which is below the first parameter on all targets."""
    row = [fmpq(0)] * frame.dimension
    row[1] = fmpq(-1)
    kink = find_simple_dyadic(frame.shift - box.low[1], following, include_low=True)
    return Reading(row, frame.shift, kink)


def _require_caps(
    layer: FeedForward,
    frame: Frame,
    caps: Sequence[Cap],
    targets: Sequence[fmpq_mat],
    neighbours: dict[int, list[int]],
    box: PointBox,
) -> None:
    """Of the tokens that a cap must not see the next of its sequence and the first of its neighbours are nearest."""
    before = [to_row(frame.point(cap.sequence, cap.rank)) for cap in caps]
    unseen: list[list[Row]] = []
    for cap in caps:
        j, after = cap.sequence, cap.rank + 1
        points = [frame.point(j, after), *(frame.point(i, 0) for i in neighbours[j])]
        unseen.append([to_row(point) for point in points])
    after_rows = [to_row(target) for target in targets]
    require(caps_lemma.check_promise(layer, before, after_rows, unseen, (box.low, box.high)), "caps")


def _require_merged(layer: FeedForward, frame: Frame, caps: Sequence[Cap], chain: Chain, box: PointBox) -> None:
    """The first and the last token of every remainder, which stands at the chain's parameter -g or on its target."""
    first_rank = dict.fromkeys(range(len(frame.signature.means)), 0)
    for cap in caps:
        first_rank[cap.sequence] = cap.rank + 1
    placed = chain.plan[0][-1].last + 1 if chain.plan[0] else 0
    before, after = [], []
    for i, j in enumerate(reversed(frame.signature.by_mean())):
        image = to_row(chain.targets[i] if i < placed else chain.ray.at(chain.parameters[i]))
        for rank in (first_rank[j], -1):
            before.append(to_row(frame.point(j, rank)))
            after.append(image)
    require(remainders_lemma.check_promise(layer, before, after, (box.low, box.high)), "remainders")
