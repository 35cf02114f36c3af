"""Untrusted. How far every pair ends from its targets: exact at temperature 0, enclosed at others.

Source of every number: the dense passes and boxes of ``proofs.kernel``, and ``proofs.balls`` for one temperature.
Distances are squares of Hausdorff distances in the Euclidean norm, which are rational.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

from flint import fmpq

from proofs.balls.attention import PRECISIONS, mean_at
from proofs.kernel.boxes import Box, Undecided, point
from proofs.kernel.check import Progress, squared_hausdorff
from proofs.kernel.errors import MalformedInput
from proofs.kernel.hardmax import apply_block
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits, Row, coordinates_of, short_decimal
from proofs.kernel.softmax import Mean, apply_block_boxes, mean_up_to
from proofs.kernel.statement import Dataset, Readout, Temperatures

NARROW = fmpq(1, 1 << 40)  # relative width from which an enclosure is narrow enough


@dataclass(frozen=True, slots=True)
class Enclosure:
    """lower <= value <= upper, for every temperature asked about; equal when it is known exactly."""

    lower: fmpq
    upper: fmpq

    @property
    def is_exact(self) -> bool:
        """Whether the value is one known rational."""
        return bool(self.lower == self.upper)

    def __add__(self, other: Enclosure) -> Enclosure:
        return Enclosure(self.lower + other.lower, self.upper + other.upper)

    def __mul__(self, factor: fmpq) -> Enclosure:
        """By a factor >= 0."""
        return Enclosure(self.lower * factor, self.upper * factor)


def measure_distances(
    dataset: Dataset,
    transformer: Transformer,
    temperatures: Temperatures,
    limits: Limits,
    progress: Progress | None = None,
    readout: Readout = Readout.ALL,
) -> list[Enclosure] | None:
    """The squared Hausdorff distance of every pair, of the tokens read out; None when a unit's sign stays undecided.

    Raises: MalformedInput when the dimensions differ, LimitReached.
    """
    if transformer.dimension != dataset.dimension:
        raise MalformedInput(f"the transformer has dimension {transformer.dimension}, the dataset {dataset.dimension}")
    exact = _measure_hardmax(dataset, transformer, readout, limits, progress) if temperatures.zero else None
    if not temperatures.positive:
        return exact
    enclosed = _measure_softmax(dataset, transformer, temperatures, readout, limits, progress)
    if exact is None or enclosed is None:
        return enclosed
    return [Enclosure(min(a.lower, b.lower), max(a.upper, b.upper)) for a, b in zip(exact, enclosed, strict=True)]


def _measure_hardmax(
    dataset: Dataset, transformer: Transformer, readout: Readout, limits: Limits, progress: Progress | None
) -> list[Enclosure]:
    sequences: list[list[Row]] = [list(pair.input) for pair in dataset.pairs]
    for k, block in enumerate(transformer.blocks, 1):
        sequences = apply_block(block, sequences, limits)
        if progress is not None:
            progress(k, len(transformer.blocks))
    result = []
    for rows, pair in zip(sequences, dataset.pairs, strict=True):
        distance = squared_hausdorff(set(readout.take(pair, rows)), set(pair.output))
        result.append(Enclosure(distance, distance))
    return result


def _measure_softmax(
    dataset: Dataset,
    transformer: Transformer,
    temperatures: Temperatures,
    readout: Readout,
    limits: Limits,
    progress: Progress | None,
) -> list[Enclosure] | None:
    """Balls at rising precision until the enclosures are narrow; the boxes of an interval are what they are."""
    single, result = temperatures.single, None
    if single is None:
        return _measure_boxes(dataset, transformer, mean_up_to(temperatures.upper), readout, limits, progress)
    for bits in PRECISIONS:
        found = _measure_boxes(dataset, transformer, mean_at(single, bits), readout, limits, progress)
        result = found or result
        if result and all(x.upper - x.lower <= NARROW * x.upper for x in result):
            break
    return result


def _measure_boxes(
    dataset: Dataset,
    transformer: Transformer,
    mean: Mean,
    readout: Readout,
    limits: Limits,
    progress: Progress | None,
) -> list[Enclosure] | None:
    sequences = [[point(row) for row in pair.input] for pair in dataset.pairs]
    for k, block in enumerate(transformer.blocks, 1):
        try:
            sequences = apply_block_boxes(block, sequences, mean, limits)
        except Undecided:
            return None
        if progress is not None:
            progress(k, len(transformer.blocks))
    pairs = zip(sequences, dataset.pairs, strict=True)
    return [enclose_distance(readout.take(pair, boxes), pair.output) for boxes, pair in pairs]


def enclose_distance(boxes: Sequence[Box], targets: Sequence[Row]) -> Enclosure:
    """The squared Hausdorff distance of points known to lie in boxes from targets.

    It is a maximum of minima of squared distances, which grows with each of them: so the lower ends of all give the
    lower end, and the upper ends the upper.
    """
    table = [[_enclose_square(box, target) for target in set(targets)] for box in set(boxes)]
    ends = []
    for end in (0, 1):
        values = [[entry[end] for entry in row] for row in table]
        ends.append(max([min(row) for row in values] + [min(column) for column in zip(*values, strict=True)]))
    return Enclosure(*ends)


def _enclose_square(box: Box, target: Row) -> tuple[fmpq, fmpq]:
    lower = upper = fmpq(0)
    columns = zip(coordinates_of(box.center), coordinates_of(box.radius), coordinates_of(target), strict=True)
    for c, r, t in columns:
        gap = abs(c - t)
        lower += (gap - r) ** 2 if gap > r else fmpq(0)
        upper += (gap + r) ** 2
    return lower, upper


def root_decimal(square: fmpq) -> str:
    """Four significant digits of the square root, rounded down: for messages only."""
    numerator, denominator = int(square.p), int(square.q)
    return short_decimal(fmpq(isqrt(numerator * denominator << 128), denominator << 64))
