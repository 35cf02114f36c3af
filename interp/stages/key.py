"""Untrusted. Key (lemma ``key``): collapse without attention, by a piecewise-linear function of the value.

Every target gets an integer, its **key**. On a line where the sequences occupy disjoint intervals, a piecewise-linear
function phi takes the key of a target of sequence j at every token of sequence j, each target at least once. It is
written to coordinate 2. A **run** is a maximal stretch of consecutive tokens with one key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from flint import fmpq

from interp.stages.chain import Reading
from interp.stages.dyadic import find_simple_dyadic
from interp.stages.hat import MAX_UNITS, Unit, build_feed_forward, count_layers
from interp.stages.tokens import require
from proofs.kernel.model import Block
from proofs.kernel.rational import Row
from proofs.lemmas import key as lemma

Run = tuple[fmpq, fmpq, int]  # first and last parameter, key


@dataclass(frozen=True)
class Key:
    """The targets by increasing key, the key of the first, the runs, and the kinks (place, change of slope) of phi."""

    targets: list[Row]
    first_key: int
    runs: list[Run]
    kinks: list[tuple[fmpq, fmpq]]

    def num_blocks(self, project: bool) -> int:
        """Blocks that write phi, with one unit more if they also project onto the line."""
        return count_layers(len(self.kinks) + project)

    def build_blocks(self, dimension: int, reading: Reading, project: bool) -> list[Block]:
        """The blocks. ``project``: the first has eta = 0 and writes the parameter that it reads to coordinate 1."""
        e1 = [fmpq(c == 0) for c in range(dimension)]
        axis = Reading(e1, fmpq(0), fmpq(0))
        units: list[Unit] = [(e1, reading.row, reading.constant)] if project else []
        blocks: list[Block] = []
        for index, (place, jump) in enumerate(self.kinks):
            source = axis if blocks else reading
            column = [jump if c == 1 else fmpq(0) for c in range(dimension)]
            units.append((column, source.row, source.constant - place))
            if len(units) == MAX_UNITS or index + 1 == len(self.kinks):
                blocks.append(Block(build_feed_forward(dimension, units, eta=0 if project and not blocks else 1)))
                units = []
        return blocks


def plan_key(parameters: Sequence[Sequence[fmpq]], targets: Sequence[Sequence[Row]]) -> Key:
    """phi for sequences in the order of their intervals, parameters in increasing order. Raises: InternalFault.

    The first n_j - m_j + 1 tokens of a sequence share a target, the others have one each. A sequence begins with the
    target that the one before ended with, if it has it, and ends with one of the next sequence, so that runs join.
    """
    wanted: list[Row] = []
    for j, (times, group) in enumerate(zip(parameters, targets, strict=True)):
        following = targets[j + 1] if j + 1 < len(targets) else ()
        ordered = _order(group, wanted[-1] if wanted else None, following)
        wanted += [ordered[0]] * (len(times) - len(group)) + ordered
    # target 0 first: a chain from zero places it without a unit; the first run has key 0: phi needs no unit for it
    order = sorted(dict.fromkeys(wanted), key=lambda row: any(row[:-1]))
    index = {row: i for i, row in enumerate(order)}
    origin = index[wanted[0]]
    runs: list[Run] = []
    flat_times = [t for times in parameters for t in times]
    for row, stretch in groupby(zip(wanted, flat_times, strict=True), key=lambda pair: pair[0]):
        times_of_run = [t for _, t in stretch]
        runs.append((times_of_run[0], times_of_run[-1], index[row] - origin))
    kinks = _find_kinks(runs)
    require(lemma.check_promise(kinks, runs), "key")
    return Key(order, -origin, runs, kinks)


def _order(group: Sequence[Row], before: Row | None, following: Sequence[Row]) -> list[Row]:
    first = [row for row in group if row == before]
    rest = [row for row in group if row != before]
    shared = set(following)
    return first + sorted(rest, key=lambda row: row in shared)


def _find_kinks(runs: Sequence[Run]) -> list[tuple[fmpq, fmpq]]:
    """Two kinks a run, one if it is a single token; none for the first run, whose key is 0."""
    kinks: list[tuple[fmpq, fmpq]] = []
    slope = fmpq(0)
    for (_, end, before), (start, last, key) in pairwise(runs):
        place = end if slope != 0 else find_simple_dyadic(end, start, include_low=True)
        rise = (key - before) / (start - place)
        kinks.append((place, rise - slope))
        slope = rise
        if last != start:
            kinks.append((start, -slope))
            slope = fmpq(0)
    return kinks
