"""Untrusted. Many lattice points on one small circle: the directions of the leaders that go down."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count as count_from
from math import isqrt, prod


def find_circle_points(count: int) -> list[tuple[int, int]]:
    """``count`` different (a, b) with integers a, b >= 1 and a^2 + b^2 the same for all.

    A norm prod p^e over primes p = 1 mod 4 has prod (e + 1) lattice points per quadrant, all of them products of
    Gaussian primes; the smallest such norm with enough points is taken (exponents may be ordered decreasingly).
    """
    if count <= 0:
        return []
    primes = list(zip(_gaussian_primes(), range(64), strict=False))
    heap: list[tuple[int, tuple[int, ...]]] = [(1, ())]
    while True:
        norm, exponents = heapq.heappop(heap)
        # one of the points may lie on an axis, and then it does not count
        if prod(e + 1 for e in exponents) - (isqrt(norm) ** 2 == norm) >= count:
            return _points(norm, [p for p, _ in primes], exponents)[:count]
        for k in range(len(exponents) + 1):
            raised = [*exponents, 0][: max(len(exponents), k + 1)]
            raised[k] += 1
            if k == 0 or raised[k - 1] >= raised[k]:
                (a, b), _ = primes[k]
                entry = (norm * (a * a + b * b), tuple(raised))
                if entry not in heap:
                    heapq.heappush(heap, entry)


def _gaussian_primes() -> Iterator[tuple[int, int]]:
    """(a, b) with a > b > 0 and a^2 + b^2 the primes 5, 13, 17, 29, ..."""
    for p in count_from(5, 4):
        if all(p % q for q in range(3, isqrt(p) + 1, 2)):
            a = next(a for a in range(isqrt(p), 0, -1) if isqrt(p - a * a) ** 2 == p - a * a)
            yield a, isqrt(p - a * a)


def _points(norm: int, primes: list[tuple[int, int]], exponents: tuple[int, ...]) -> list[tuple[int, int]]:
    """All lattice points of the circle in the open first quadrant, sorted."""
    found = [(1, 0)]
    for (a, b), exponent in zip(primes, exponents, strict=False):
        powers = []
        for k in range(exponent + 1):
            value = (1, 0)
            for factor in [(a, b)] * k + [(a, -b)] * (exponent - k):
                value = _times(value, factor)
            powers.append(value)
        found = [_times(z, w) for z in found for w in powers]
    # turning by a unit brings each point into the first quadrant
    turned = ((a, b) if (a > 0) == (b > 0) else (b, a) for a, b in found)
    return sorted((abs(a), abs(b)) for a, b in turned if a and b)


def _times(z: tuple[int, int], w: tuple[int, int]) -> tuple[int, int]:
    return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]
