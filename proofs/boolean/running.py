"""Trusted. Float64 arrays with running error bounds: real arrays X with |X - value| <= error, elementwise.

Only IEEE + - * / sqrt, round-to-integer and comparisons are used, one numpy operation each; a matrix product is a sum
of k products in any order, fused or not. So a computed sum of k products differs from the exact one by at most
g(k) = (k + 4) u / (1 - (k + 4) u) times the sum of the absolute products, u = 2^-53, plus underflow (Higham, *Accuracy
and Stability of Numerical Algorithms*, section 3.1). No exp or tanh of a library is called.

* Bounds are sums and products of numbers >= 0, computed in float64 too: the last step of each multiplies by
  1 + 2^-30, which covers up to 2^22 roundings, and adds TINY, which covers the underflows.
* A weight is replaced by the nearest double, relative error u. A weight that is too large or too small for that becomes
  NaN. NaN and infinity only ever spread, and never decide: whoever asks compares |value| > error.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from proofs.boolean.model import Vector

Array = NDArray[np.float64]
UNIT = 2.0**-53
UP = 1 + 2.0**-30
TINY = 1e-290
MOST_TERMS = 1 << 20  # k + 4 at most this: then g(k) <= 1.01 (k + 4) u, and bounds take fewer than 2^22 roundings
CUT = -700.0  # exp(x) <= 1e-304 from here on
EXP_ERROR = 2.0**-50
TANH_ERROR = 2.0**-48
LN2_HIGH = 0x162E42FEE * 2.0**-33  # 33 bits: times an integer below 2^20 it is exact
LN2_LOW = 0x1A39EF35793C76 * 2.0**-85  # ln 2 - LN2_HIGH up to 2^-85
LOG2_E = 0x171547652B82FE * 2.0**-52
EXP_COEFFICIENTS = tuple(1 / factorial(k) for k in range(13, -1, -1))  # nearest doubles


@dataclass(frozen=True, slots=True)
class Running:
    """Values and the bounds of their errors, of the same shape."""

    value: Array
    error: Array

    def __getitem__(self, key: Any) -> Running:
        return Running(self.value[key], self.error[key])

    @property
    def size(self) -> Array:
        """Upper bound of the absolute value, up to a rounding that the user of it covers."""
        return np.abs(self.value) + self.error


def gamma(terms: int) -> float:
    """g(k). A sum of more terms than the bounds are made for is NaN, hence undecided."""
    return 1.01 * (terms + 4) * UNIT if terms + 4 <= MOST_TERMS else float("nan")


def nearest(number: fmpq) -> float:
    """The nearest double, NaN if it is not zero and its size is not between 2^-900 and 2^900."""
    p, q = int(number.p), int(number.q)
    if p and abs(abs(p).bit_length() - q.bit_length()) > 898:
        return float("nan")
    return p / q  # Python divides integers with one correct rounding


def nearest_array(numbers: Vector) -> Array:
    """Nearest doubles of a vector."""
    return np.array([nearest(x) for x in numbers], dtype=np.float64)


def nearest_matrix(matrix: fmpq_mat) -> Array:
    """Nearest doubles of a matrix."""
    return nearest_array(tuple(matrix.entries())).reshape(int(matrix.nrows()), int(matrix.ncols()))


def exact_vector(numbers: Vector) -> Running:
    """A vector of rationals."""
    value = nearest_array(numbers)
    return Running(value, np.abs(value) * (2 * UNIT))


def bound(error: Array) -> Array:
    """A computed bound, made safe against its own roundings and underflows."""
    return error * UP + TINY


def multiply(x: Running, W: Array, b: Array | None = None) -> Running:
    """W x + b over the last axis, for nearest doubles W (m x k) and b of rationals.

    |X W' - x W| <= (error |W| + u |x| |W|)(1 + u) for the exact weights W', and the sum costs g(k + 1).
    """
    g = gamma(W.shape[1]) + 2 * UNIT
    value, size = x.value @ W.T, np.abs(W).T
    error = (x.error * (1 + 4 * UNIT) + g * np.abs(x.value)) @ size
    if b is not None:
        value, error = value + b, error + g * np.abs(b)
    return Running(value, bound(error + UNIT * np.abs(value)))


def add(x: Running, y: Running) -> Running:
    """x + y."""
    value = x.value + y.value
    return Running(value, bound(x.error + y.error + UNIT * np.abs(value)))


def relu(x: Running) -> Running:
    """max(x, 0), which does not stretch distances."""
    return Running(np.maximum(x.value, 0.0), x.error)


def approx_exp(x: Array) -> Array:
    """exp(max(x, CUT)) for x <= 0, with relative error at most EXP_ERROR.

    x = k ln 2 + r with |r| <= 0.35: k LN2_HIGH is exact, subtractions and LN2_LOW cost at most 0.8 u in r. Degree 13
    leaves 1e-17 of the Taylor series. In Horner's rule c_i r^i meets 2 i + 1 roundings, and one in c_i: the sum of
    (2 i + 2) u |r|^i / i! = (2 + 2 |r|) e^|r| u is less than 5.5 u e^r. Together less than 7 u; 2^-50 is 8 u. 2^k is
    made of its bits, k > -1023, and scales without error.
    """
    x = np.maximum(x, CUT)
    k = np.rint(x * LOG2_E)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = np.full_like(r, EXP_COEFFICIENTS[0])
    for coefficient in EXP_COEFFICIENTS[1:]:
        p *= r
        p += coefficient
    exponent = np.where(np.isfinite(k), k, 0.0).astype(np.int64)  # p is NaN where k is
    power: Array = ((exponent + 1023) << 52).view(np.float64)
    return p * power


def tanh(x: Running) -> Running:
    """tanh, which does not stretch distances. With t = exp(-2|x|) it is (1 - t) / (1 + t) up to sign.

    |d/dt (1 - t) / (1 + t)| <= 2 and t (1 + EXP_ERROR) has an error of at most EXP_ERROR (or 1e-304 beyond CUT): 2^-49,
    and three roundings of numbers of at most 2.
    """
    t = approx_exp(-2 * np.abs(x.value))
    value = np.copysign((1 - t) / (1 + t), x.value)
    return Running(value, bound(x.error + TANH_ERROR))


def scores(q: Running, k: Running, scale_squared: fmpq) -> Running:
    """sqrt(scale_squared) <q_i, k_j>: ... x n x r and ... x m x r give ... x n x m."""
    g, scale = gamma(q.value.shape[-1]), np.sqrt(nearest(scale_squared))
    turned, size = np.swapaxes(k.value, -1, -2), np.swapaxes(k.size, -1, -2)
    value = (q.value @ turned) * scale
    error = (q.error * (1 + 4 * UNIT) + g * np.abs(q.value)) @ size
    error += np.abs(q.value) @ np.swapaxes(k.error, -1, -2)
    # the inner bound: what has underflowed before grows with the scale
    return Running(value, bound(bound(error * (1 + 4 * UNIT)) * scale + 4 * UNIT * np.abs(value)))


def attend(s: Running, v: Running) -> Running:
    """Softmax of the scores, then the mean of v: ... x n x m and ... x m x D give ... x n x D.

    The exact weights e^S are w (1 + t) with |t| <= theta < 1/2 and w = approx_exp(s - max s), up to a common factor:
    for |S - s| + rounding <= d <= 1, theta = 1.01 (d + d^2) + 2 EXP_ERROR. Shares w / sum w then change by at most
    4 theta in relative terms. Beyond CUT both weights are at most 1e-303 of the largest one, within TINY.
    """
    x = s.value - np.max(s.value, axis=-1, keepdims=True)
    d = bound(s.error + UNIT * np.abs(x))
    theta = np.max(1.01 * (d + d * d) + 2 * EXP_ERROR, axis=-1, keepdims=True)
    theta = np.where(theta < 0.5, theta, np.nan)
    weights = approx_exp(x)
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    D, g = v.value.shape[-1], gamma(3 * x.shape[-1])
    sums = weights @ np.concatenate((v.value, np.abs(v.value), v.error), axis=-1)
    value, size, spread = sums[..., :D], sums[..., D : 2 * D], sums[..., 2 * D :]
    remote = np.sum(v.size, axis=-2, keepdims=True) * TINY
    return Running(value, bound((1 + 5 * theta) * spread + (5 * theta + 2 * g) * size + remote))


def normalise(x: Running, epsilon: float, gain: Array, bias: Array) -> Running:
    """Layer norm over the last axis, NaN unless the variance (with epsilon) is certainly positive.

    sqrt(variance + epsilon) is a Euclidean norm of (x - mean) / sqrt D and sqrt epsilon: it moves by at most the root
    mean square of the errors of x - mean. For a = deviation / sd, A' exact: |A' - a| <= (d + |a| sd_error) / (sd -
    sd_error).
    """
    D = x.value.shape[-1]
    g = gamma(2 * D)
    deviation = x.value - np.sum(x.value, axis=-1, keepdims=True) / D
    size = np.abs(x.value)
    d = bound(x.error + g * size + np.sum(x.error + g * size, axis=-1, keepdims=True) / D)
    variance = np.sum(deviation * deviation, axis=-1, keepdims=True) / D + epsilon
    sd = np.sqrt(np.where(variance > 1e-270, variance, np.nan))
    sd_error = bound(np.sqrt(np.sum(d * d, axis=-1, keepdims=True) / D + 1e-280) + g * sd)
    low = (sd - sd_error) * (1 - 4 * UNIT)
    a = deviation / sd
    error = bound((d + np.abs(a) * sd_error) / np.where(low > 0, low, np.nan) + 2 * UNIT * np.abs(a))
    value = a * gain
    error = bound(error * np.abs(gain) + 4 * UNIT * np.abs(value))
    return Running(value + bias, bound(error + 4 * UNIT * (np.abs(value) + np.abs(bias))))
