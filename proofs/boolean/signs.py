"""Trusted. The sign of T on all 2^N strings, and whether |T| reaches a margin: float64 first, balls where it must be.

Every string gets its own answer. One that is settled neither by the running error bound nor by balls of at most
``max_precision`` bits stays undecided. "Undefined" means that T has no sign: a variance is exactly 0 with epsilon = 0,
or T is exactly 0; balls see that where the numbers on the way are short dyadics, otherwise the string is undecided.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, count, takewhile

import numpy as np
from flint import ctx, fmpq
from numpy.typing import NDArray

from proofs.boolean.enclosure import BallEncoder, UndefinedValueError
from proofs.boolean.forward import FloatEncoder
from proofs.boolean.model import Encoder
from proofs.kernel.errors import LimitReached

UNDECIDED, NEGATIVE, POSITIVE, UNDEFINED = 0, -1, 1, 2
FIRST_PRECISION = 64
WORK = 1 << 17  # numbers in one float array: fits the cache
Small = NDArray[np.int8]
Floats = NDArray[np.float64]
Watch = Callable[[int, int], None]  # strings done, strings in all


@dataclass(frozen=True, slots=True)
class Signs:
    """For every string: its sign, whether |T| >= margin (1 yes, -1 no, 0 unknown), bounds low <= |T| <= high.

    ``by_balls`` says for which strings balls were asked.
    """

    sign: Small
    reach: Small
    low: Floats
    high: Floats
    by_balls: NDArray[np.bool_]


class SignFinder:
    """What is needed to treat any string of one encoder."""

    def __init__(self, encoder: Encoder, bits: int, margin: fmpq, max_precision: int) -> None:
        self.encoder, self.bits, self.margin, self.max_precision = encoder, bits, margin, max_precision
        self.floats = FloatEncoder(encoder, bits)
        self.balls: dict[int, BallEncoder] = {}

    def treat(self, start: int, stop: int) -> Signs:
        """The answers for strings start .. stop - 1."""
        found = self.floats.run(np.arange(start, stop, dtype=np.int64))
        with np.errstate(all="ignore"):
            size = np.abs(found.value)
            known = np.isfinite(size) & np.isfinite(found.error)
            low = np.where(known, np.nextafter(size - found.error, -np.inf), -np.inf)
            high = np.where(known, np.nextafter(size + found.error, np.inf), np.inf)
        sign = np.where(low > 0, np.sign(found.value), UNDECIDED).astype(np.int8)
        least = float_below(self.margin), float_above(self.margin)
        reach = ((low >= least[1]).astype(np.int8) - (high < least[0])).astype(np.int8)
        signs = Signs(sign, reach, np.maximum(low, 0.0), high, np.zeros(stop - start, dtype=np.bool_))
        for k in np.flatnonzero((sign == UNDECIDED) | (reach == 0)):
            self.ask_balls(start, int(k), signs)
        return signs

    def ask_balls(self, start: int, k: int, signs: Signs) -> None:
        """Doubles the precision until the string is settled or the cap is reached; what is certain is kept."""
        signs.by_balls[k] = True
        for precision in takewhile(lambda p: p <= self.max_precision, (FIRST_PRECISION << j for j in count())):
            if precision not in self.balls:
                self.balls[precision] = BallEncoder(self.encoder, self.bits, precision)
            try:
                value = self.balls[precision].run(start + k)
            except UndefinedValueError:
                signs.sign[k], signs.reach[k], signs.low[k], signs.high[k] = UNDEFINED, -1, 0.0, np.inf
                return
            if not value.is_finite():
                continue
            with ctx.workprec(precision):  # a rational is compared as a ball of this precision
                size = abs(value)
                # not by way of rationals: exponents may be huge. The nearest double is 0 or infinity then
                below, above = np.nextafter(float(size.lower()), -np.inf), np.nextafter(float(size.upper()), np.inf)
                reached, missed = bool(size >= self.margin), bool(size < self.margin)  # true only if certain
            signs.low[k], signs.high[k] = max(signs.low[k], below), min(signs.high[k], above)
            if value.is_zero():
                signs.sign[k], signs.reach[k] = UNDEFINED, -1
                return
            if value > 0 or value < 0:
                signs.sign[k] = POSITIVE if value > 0 else NEGATIVE
            if reached or missed:
                signs.reach[k] = 1 if reached else -1
            if signs.sign[k] != UNDECIDED and signs.reach[k] != 0:
                return


def float_below(number: fmpq) -> float:
    """A double at most ``number``."""
    try:
        return float(np.nextafter(int(number.p) / int(number.q), -np.inf))
    except OverflowError:
        return float("-inf") if number < 0 else float(np.finfo(np.float64).max)


def float_above(number: fmpq) -> float:
    """A double at least ``number``."""
    return -float_below(-number)


def _treat(job: tuple[int, int]) -> Signs:
    return _finder[0].treat(*job)


_finder: list[SignFinder] = []  # the child's own: set before its first job


def find_signs(
    encoder: Encoder, bits: int, margin: fmpq, max_precision: int, jobs: int = 1, watch: Watch | None = None
) -> Signs:
    """The answers for all 2^N strings, with ``jobs`` processes."""
    total = 1 << bits
    step = max(1, min(1 << 12, WORK // ((bits + 1) * encoder.dimension), -(-total // jobs)))
    ranges = [(start, min(start + step, total)) for start in range(0, total, step)]
    parts = []
    finder = SignFinder(encoder, bits, margin, max_precision)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside idle threads of a library
        for part in _run(finder, ranges, jobs):
            parts.append(part)
            if watch is not None:
                watch(ranges[len(parts) - 1][1], total)
    fields = ("sign", "reach", "low", "high", "by_balls")
    return Signs(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))


def _run(finder: SignFinder, ranges: list[tuple[int, int]], jobs: int) -> Iterator[Signs]:
    if jobs == 1 or len(ranges) == 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield from chain(finder.treat(*pair) for pair in ranges)
        return
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(jobs, context, initializer=_finder.append, initargs=(finder,)) as pool:
            yield from pool.map(_treat, ranges)
    except BrokenProcessPool as error:
        raise LimitReached("a process of --jobs died", hint="fewer --jobs, or raise --max-memory") from error
