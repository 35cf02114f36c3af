"""Untrusted. Lift (lemma ``lift``): a convex f(g) is added to coordinate 1, so that a half-plane sees one sequence.

After the first attention a token of sequence j is (s, g_j) in the coordinates (X1, X2). For every sequence j that needs
caps there is a **line** l_j of slope sigma_j <= 0 with l_j(g_j) = f(g_j) and f(g_i) - l_j(g_i) > spread for i != j.
Two ways to write f: a kink for each such sequence, or an interpolated parabola, four units for two binary digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from flint import fmpq

from interp.stages.dyadic import find_simple_dyadic
from interp.stages.hat import MAX_UNITS, Unit, build_feed_forward, count_layers
from interp.stages.tokens import power_of_two, power_of_two_above, power_of_two_at_most, require
from proofs.kernel.model import Block
from proofs.lemmas import lift as lemma

LEVELS = 2  # binary digits of the parabola that a block writes
STARTS = 4  # positions tried for the grid of each size


@dataclass(frozen=True)
class Lift:
    """f(g_j) for every sequence, and the slope of the line of every sequence that needs one."""

    heights: list[fmpq]
    slopes: dict[int, fmpq]


@dataclass(frozen=True)
class KinkLift(Lift):
    """f(g) = sum of c relu(b - g) over the kinks (b, c)."""

    kinks: list[tuple[fmpq, fmpq]]

    @property
    def num_blocks(self) -> int:
        """Four kinks a block."""
        return count_layers(len(self.kinks))

    def build_blocks(self, dimension: int, shift: fmpq) -> list[Block]:
        """The blocks; X2 = x_2 - shift."""
        column, row = [fmpq(0)] * dimension, [fmpq(0)] * dimension
        row[1] = fmpq(-1)
        units: list[Unit] = []
        for b, c in self.kinks:
            column[0] = c
            units.append((list(column), row, b + shift))
        parts = [units[i : i + MAX_UNITS] for i in range(0, len(units), MAX_UNITS)]
        return [Block(build_feed_forward(dimension, part)) for part in parts]


@dataclass(frozen=True)
class ParabolaLift(Lift):
    """f = mu times the interpolant of T^2 - 2 T on the grid of step 4^-num_blocks, T = (g - start) speed in [0, 1]."""

    start: fmpq
    speed: fmpq
    scale: fmpq
    num_blocks: int

    def build_blocks(self, dimension: int, shift: fmpq) -> list[Block]:
        """The blocks; coordinate 3 holds T (whatever the shift), and 0 after the last.

        T - T^2 = sum over i of 4^-i tent_i(T), tent_i the i-fold tent map; two levels are piecewise linear with corners
        at multiples of 1/4: tent_1 = 2 r_0 - 4 r_2 and tent_2 = 4 r_0 - 8 r_1 + 8 r_2 - 8 r_3 for r_i = relu(T - i/4).
        So f / mu = -T - sum over i <= 2 num_blocks of 4^-i tent_i(T), and T becomes tent_2(T) for the next block.
        """
        row = [fmpq(c == 2) for c in range(dimension)]
        first, second = (2, 0, -4, 0), (4, -8, 8, -8)
        blocks = []
        for index in range(self.num_blocks):
            weight = self.scale * power_of_two(-4 * index)
            units: list[Unit] = []
            for i in range(MAX_UNITS):
                column = [fmpq(0)] * dimension
                column[0] = -weight * (fmpq(first[i], 4) + fmpq(second[i], 16))
                column[2] = fmpq(second[i] if index + 1 < self.num_blocks else 0)
                if i == 0:
                    column[0] -= self.scale if index == 0 else 0
                    column[2] -= 1
                units.append((column, row, fmpq(-i, 4)))
            blocks.append(Block(build_feed_forward(dimension, units)))
        return blocks


def plan_kink_lift(means: Sequence[fmpq], chosen: Iterable[int], spread: fmpq) -> KinkLift:
    """A kink at each chosen sequence but the first in order. Raises: InternalFault.

    The kink of sequence j is the simplest dyadic b with |b - g_j| at most a quarter of the distance to the neighbour on
    that side, and c > 4 spread / (smaller distance): sigma_j, the slope before the kink plus c / 2, leaves at least
    c / 4 times the distance on either side (lemma). Chosen numbers that are dyadic keep f dyadic but for g itself.
    """
    order = sorted(range(len(means)), key=lambda j: means[j])
    wanted = set(chosen)
    kinks: list[tuple[fmpq, fmpq]] = []
    slopes: dict[int, fmpq] = {}
    right = fmpq(0)  # slope of f to the right of the sequence in hand
    for place in range(len(order) - 1, -1, -1):
        j = order[place]
        if j not in wanted:
            continue
        below = means[j] - means[order[place - 1]] if place else None
        above = means[order[place + 1]] - means[j] if place + 1 < len(order) else None
        if below is None:
            slopes[j] = right - power_of_two_above(spread / above) if above is not None else right
            continue
        left_room, right_room = below / 4, (above if above is not None else below) / 4
        b = find_simple_dyadic(means[j] - left_room, means[j] + right_room, True, True)
        c = power_of_two_above(spread / min(left_room, right_room))
        slopes[j] = right - c / 2
        kinks.append((b, c))
        right -= c
    found = KinkLift(_evaluate(kinks, means, order), slopes, kinks)
    _require(means, order, found, spread)
    return found


def _evaluate(kinks: Sequence[tuple[fmpq, fmpq]], means: Sequence[fmpq], order: Sequence[int]) -> list[fmpq]:
    """f at every g, by one sweep from the right: f(g) = (sum of c b) - (sum of c) g over the kinks to the right."""
    heights = [fmpq(0)] * len(means)
    total, moment, used = fmpq(0), fmpq(0), 0
    for j in reversed(order):
        while used < len(kinks) and kinks[used][0] > means[j]:
            b, c = kinks[used]
            total, moment, used = total + c, moment + c * b, used + 1
        heights[j] = moment - total * means[j]
    return heights


def plan_parabola_lift(means: Sequence[fmpq], chosen: Iterable[int], spread: fmpq) -> ParabolaLift:
    """The coarsest of a few grids on which no neighbour of a chosen sequence touches that sequence's cell.

    Grids differ in where T = 0 and T = 1 stand; a step at most half the smallest distance always does (lemma).
    Raises: InternalFault.
    """
    order = sorted(range(len(means)), key=lambda j: means[j])
    wanted = set(chosen)
    near = {j: [*order[max(p - 1, 0) : p], *order[p + 1 : p + 2]] for p, j in enumerate(order) if j in wanted}
    pairs = sorted(
        ((means[j], means[i]) for j, neighbours in near.items() for i in neighbours),
        key=lambda pair: abs(pair[0] - pair[1]),
    )
    grids = list(_find_grids(means[order[0]], means[order[-1]]))
    num_blocks, choice = 0, None
    while choice is None:
        num_blocks += 1
        step = power_of_two(-LEVELS * num_blocks)
        choice = next((grid for grid in grids if all(_is_clear(*grid, step, *pair) for pair in pairs)), None)
    start, speed = choice
    # on cell a the interpolant of T^2 - 2 T has slope (2 a + 1) step - 2, and (a step)^2 - 2 a step at its left end
    times = [(g - start) * speed for g in means]
    cells = [_cell(t, step) for t in times]
    lines = [((2 * a + 1) * step - 2, (a * step) ** 2 - 2 * a * step, a * step) for a in cells]
    unit_heights = [value + slope * (t - left) for (slope, value, left), t in zip(lines, times, strict=True)]
    margins = [
        unit_heights[i] - (lines[j][1] + lines[j][0] * (times[i] - lines[j][2]))
        for j, neighbours in near.items()
        for i in neighbours
    ]
    scale = power_of_two_above(spread / min(margins)) if margins else fmpq(1)
    slopes = {j: scale * lines[j][0] * speed for j in near}
    found = ParabolaLift([scale * h for h in unit_heights], slopes, start, speed, scale, num_blocks)
    _require(means, order, found, spread)
    return found


def _find_grids(lowest: fmpq, highest: fmpq) -> Iterator[tuple[fmpq, fmpq]]:
    """(g_0, speed) of few bits with T = (g - g_0) speed in [0, 1] for all g: powers of two first."""
    span = highest - lowest if highest > lowest else fmpq(1)
    unit = power_of_two_at_most(1 / span)
    for eighths in (8, 12, 10, 14, 9, 11, 13, 15):
        speed = unit * fmpq(eighths, 8)
        room = 1 / speed - (highest - lowest)
        if room < 0:
            continue
        for part in range(STARTS if room > 0 else 1):
            low, high = lowest - room * fmpq(part + 1, STARTS), lowest - room * fmpq(part, STARTS)
            yield find_simple_dyadic(low, high, True, True) if room > 0 else lowest, speed


def _cell(time: fmpq, step: fmpq) -> int:
    """The cell [a step, (a + 1) step] of a time in [0, 1]."""
    return min(int((time / step).floor()), int(1 / step) - 1)


def _is_clear(start: fmpq, speed: fmpq, step: fmpq, mean: fmpq, other: fmpq) -> bool:
    """Whether ``other`` lies outside the closed cell of ``mean``."""
    time, cell = (other - start) * speed, _cell((mean - start) * speed, step)
    return not cell * step <= time <= (cell + 1) * step


def _require(means: Sequence[fmpq], order: Sequence[int], found: Lift, spread: fmpq) -> None:
    lines = {place: found.slopes[j] for place, j in enumerate(order) if j in found.slopes}
    points = [(means[j], found.heights[j]) for j in order]
    require(lemma.check_promise(points, lines, spread), "lift")
