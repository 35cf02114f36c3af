"""Untrusted, approximate. How the token stream should be scaled between layers: a convex problem along a chain.

Let y_0 = 0 at the input, y_(2k-1) after the feed-forward layer of block k, y_2k after its attention, y_2L = 0. If
tokens are multiplied by e^(y_i) behind layer i, the same function is computed by weights with the sum of squares

    feed-forward, x = y_(i-1), z = y_i:   eta^2 e^(2(z - x)) + sum over units of 2 |w| e^z sqrt(|u|^2 e^(-2x) + b^2)
    attention:                            sum of c e^(px + qz) over its monomials

(see ``rescaling``). Every summand is log-convex, so the sum is convex in y, and its Hessian is tridiagonal. Newton's
method on it, with the step chosen among a few lengths, finds the minimum; the answer is only a proposal, rounded to a
few bits and judged exactly by the caller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from flint import fmpq

Vector = npt.NDArray[np.float64]

ROUNDS = 400
STEPS = (16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.0625, 2.0**-7)
LONGEST = 20.0  # no coordinate moves further in one step of length 1
MANTISSA = 4  # bits of a scale
PROGRESS = 1e-7  # of the logarithm of the sum: less than that ends the search
NOTHING = -math.inf  # the logarithm of 0


def approx_log(value: fmpq) -> float:
    """log of a non-negative rational of any height."""
    return math.log(int(value.p)) - math.log(int(value.q)) if value > 0 else NOTHING


@dataclass
class Terms:
    """Summands of layer i between y_(i-1) and y_i; coefficients are logarithms."""

    layer: list[int] = field(default_factory=list)
    log: list[float] = field(default_factory=list)
    p: list[float] = field(default_factory=list)
    q: list[float] = field(default_factory=list)
    unit_layer: list[int] = field(default_factory=list)
    log_w: list[float] = field(default_factory=list)  # log |w|^2
    log_u: list[float] = field(default_factory=list)
    log_b: list[float] = field(default_factory=list)

    def add_monomial(self, layer: int, log: float, p: float, q: float) -> None:
        """e^log e^(p x + q z)."""
        if log > NOTHING:
            self.layer.append(layer)
            self.log.append(log)
            self.p.append(p)
            self.q.append(q)

    def add_unit(self, layer: int, log_w: float, log_u: float, log_b: float) -> None:
        """2 |w| e^z sqrt(|u|^2 e^(-2x) + b^2), by the logarithms of the squares."""
        self.unit_layer.append(layer)
        self.log_w.append(log_w)
        self.log_u.append(log_u)
        self.log_b.append(log_b)


def find_scales(terms: Terms, num_layers: int) -> list[fmpq]:
    """The scale behind each layer, dyadics of at most ``MANTISSA`` bits: ``num_layers`` + 1 of them, 1 at both ends."""
    if num_layers < 2 or not (terms.layer or terms.unit_layer):
        return [fmpq(1)] * (num_layers + 1)
    chain = _Chain(terms, num_layers)
    y = np.zeros(num_layers + 1)
    value = chain.log_sum(y)
    for _ in range(ROUNDS):
        step = chain.find_step(y)
        tried = [y + length * step for length in STEPS]
        values = [chain.log_sum(candidate) for candidate in tried]
        best = int(np.argmin(values))
        if not values[best] < value - PROGRESS:
            break
        y, value = tried[best], values[best]
    return [_round(float(t) / math.log(2)) for t in y]


def _round(exponent: float) -> fmpq:
    """2^exponent with a mantissa of a few bits: relative error at most 1/16, which costs about 1 % of the sum."""
    whole = math.floor(exponent)
    return fmpq(round(2.0 ** (exponent - whole + MANTISSA - 1))) * fmpq(2) ** (whole - MANTISSA + 1)


class _Chain:
    """The sum, its gradient and its tridiagonal Hessian, all divided by the largest summand."""

    def __init__(self, terms: Terms, num_layers: int) -> None:
        self.num_layers = num_layers
        self.layer, self.unit_layer = np.array(terms.layer, dtype=int), np.array(terms.unit_layer, dtype=int)
        self.log, self.p, self.q = (np.array(values, dtype=float) for values in (terms.log, terms.p, terms.q))
        self.log_w, self.log_u, self.log_b = (
            np.array(values, dtype=float) for values in (terms.log_w, terms.log_u, terms.log_b)
        )

    def logs(self, y: Vector) -> tuple[Vector, Vector, Vector]:
        """Logarithms of the monomials, of the units, and the share r = |u|^2 e^(-2x) / (|u|^2 e^(-2x) + b^2)."""
        monomials = self.log + self.p * y[self.layer - 1] + self.q * y[self.layer]
        x, z = y[self.unit_layer - 1], y[self.unit_layer]
        read = self.log_u - 2 * x
        both = np.logaddexp(read, self.log_b)
        return monomials, math.log(2) + self.log_w / 2 + z + both / 2, np.exp(read - both)

    def log_sum(self, y: Vector) -> float:
        """The logarithm of the sum."""
        monomials, units, _ = self.logs(y)
        everything = np.concatenate([monomials, units])
        top = float(everything.max())
        return top + math.log(float(np.exp(everything - top).sum()))

    def find_step(self, y: Vector) -> Vector:
        """Newton's step with a little damping, 0 at both ends.

        For a unit f: f_z = f_zz = f, f_x = -r f, f_xz = -r f, f_xx = (2r - r^2) f.
        """
        monomials, units, r = self.logs(y)
        top = max(monomials.max(initial=NOTHING), units.max(initial=NOTHING))
        m, f = np.exp(monomials - top), np.exp(units - top)
        size = self.num_layers + 1
        gradient, diagonal, upper = np.zeros(size), np.zeros(size), np.zeros(size)  # upper[i]: between i - 1 and i
        x, z, ux, uz = self.layer - 1, self.layer, self.unit_layer - 1, self.unit_layer
        for place, slope, curvature in (
            (x, self.p * m, self.p**2 * m),
            (z, self.q * m, self.q**2 * m),
            (ux, -r * f, (2 * r - r**2) * f),
            (uz, f, f),
        ):
            np.add.at(gradient, place, slope)
            np.add.at(diagonal, place, curvature)
        np.add.at(upper, z, self.p * self.q * m)
        np.add.at(upper, uz, -r * f)
        inner = slice(1, size - 1)
        damped = diagonal[inner] * (1 + 1e-9) + 1e-14 * float(diagonal.max())
        step = np.zeros(size)
        step[inner] = _solve_tridiagonal(damped, upper[2 : size - 1], -gradient[inner])
        longest = float(np.abs(step).max())
        return step * (LONGEST / longest) if longest > LONGEST else step


def _solve_tridiagonal(diagonal: Vector, beside: Vector, right: Vector) -> Vector:
    """The solution of a symmetric positive definite tridiagonal system, by elimination."""
    pivots, values = diagonal.tolist(), right.tolist()
    offs: Sequence[float] = beside.tolist()
    for i, off in enumerate(offs):
        factor = off / pivots[i]
        pivots[i + 1] -= factor * off
        values[i + 1] -= factor * values[i]
    result = [0.0] * len(pivots)
    for i in range(len(pivots) - 1, -1, -1):
        carried = offs[i] * result[i + 1] if i < len(offs) else 0.0
        result[i] = (values[i] - carried) / pivots[i]
    return np.array(result)
