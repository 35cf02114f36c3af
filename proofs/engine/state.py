"""Trusted. Where all tokens stand: integers over one denominator, equal tokens kept once with their number.

Tokens of a sequence stand together, sequence j at starts[j] .. starts[j + 1] - 1; no sequence is empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm

import numpy as np

from proofs.engine.integers import Array, bound_of, common_divisor, multiply, narrow, product, room
from proofs.kernel.rational import Limits, Row, primitive_row

HANDOVER_BITS = 4096  # beyond, FLINT is faster than Python integers


class Handover(Exception):
    """What the engine is not made for: the kernel's dense pass has to answer."""


class KernelOnly(Handover):
    """A step that the engine runs on no tokens: they have an order under a mask; or several heads, or a low limit."""


class State:
    """Tokens numerators / denominator with weights (how many tokens each row stands for).

    ``bound`` is at least every |numerator|. It is found once and follows every move, because each look at all numbers
    costs as much as a step. ``radii`` (K, d): the tokens are centers of boxes (``proofs.engine.radii``); None: they are
    points.
    """

    def __init__(self, numerators: Array, denominator: int, starts: Array, weights: Array, limits: Limits) -> None:
        self.numerators, self.denominator, self.starts, self.weights = numerators, denominator, starts, weights
        self.limits = limits
        self.radii: Array | None = None
        self.bound = bound_of(numerators)
        self._owned = False  # whether numerators may be written to
        self.check_height()

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.numerators.shape[1])

    @property
    def owner(self) -> Array:
        """The sequence of every token."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def check_height(self, shift: int = 0) -> None:
        """Hands over when a number, moved by at most ``shift``, may be larger than the user or the engine allows.

        A primitive row is never larger than the same token over a common denominator: below the bound here the kernel
        finds no number above its limit either.
        """
        bits = max(self.bound + shift, self.denominator).bit_length()
        if bits > min(self.limits.max_height, HANDOVER_BITS):
            raise Handover(f"{bits} bits")

    def rescale(self, factor: int) -> None:
        """The same tokens over a denominator ``factor`` times as large."""
        if factor != 1:
            self.denominator *= factor
            self.bound *= factor
            self.check_height()
            self.numerators, self._owned = multiply(self.numerators, factor), True

    def reduce(self) -> None:
        """The same tokens over their smallest common denominator."""
        divisor = common_divisor(self.denominator, self.numerators)
        if divisor != 1:
            (numerators,) = room(divisor, self.numerators)
            self.numerators, self._owned = narrow(numerators // divisor), True
            self.denominator //= divisor

    def put(self, index: Array, rows: Array, shift: int = 0) -> None:
        """Moves tokens, which are still to be moved by at most ``shift``."""
        if rows.dtype == object and self.numerators.dtype != object:
            self.numerators, self._owned = self.numerators.astype(object), True
        elif not self._owned:
            self.numerators, self._owned = self.numerators.copy(), True
        self.numerators[index] = rows
        self.bound = max(self.bound, bound_of(rows))
        self.check_height(shift)

    def shift(self, vector: Array) -> None:
        """Moves all tokens by one vector, given over the denominator of the state."""
        numerators, vector = room(self.bound + bound_of(vector), self.numerators, vector)
        self.replace(numerators + vector, self.denominator)

    def replace(self, numerators: Array, denominator: int) -> None:
        """Moves all tokens."""
        self.numerators, self.denominator, self._owned = narrow(numerators), denominator, True
        self.reduce()
        self.bound = bound_of(self.numerators)
        self.check_height()

    def project(self, direction: Array) -> Array:
        """<u, x> of every token, over the denominator of the state."""
        return product(self.numerators, direction, self.bound)

    def rows(self, sequence: int) -> list[Row]:
        """The kernel rows of one sequence."""
        part = self.numerators[self.starts[sequence] : self.starts[sequence + 1]]
        return [primitive_row(row, self.denominator) for row in part.tolist()]


def find_common(denominators: Iterable[int], limits: Limits) -> int:
    """Their least common multiple. Raises: Handover once it is too large, before K numbers over it fill the memory."""
    common = 1
    for denominator in denominators:
        common = lcm(common, denominator)
        if common.bit_length() > min(limits.max_height, HANDOVER_BITS):
            raise Handover("a common denominator of too many bits")
    return common
