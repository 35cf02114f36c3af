"""Untrusted. Binary floating-point formats, and what one rounding can do.

Model of arithmetic: a format of precision p has unit roundoff u = 2^-p. The result of +, -, *, / and of a fused
multiply-add is z (1 + delta) + eta with z the exact result, |delta| <= u, |eta| <= 2^(e - p), e the exponent of the
smallest normal number; eta = 0 for + and -, and a result that is a number of the format is exact. That is IEEE 754 in
rounding to nearest with gradual underflow.

n roundings of one term, in whatever order a sum is taken, change it by a factor 1 + theta with |theta| <= gamma_n =
n u / (1 - n u). Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1 and section 3.1.
"""

from __future__ import annotations

import math

from flint import fmpq

from interp.export.rounding import FORMATS, FloatFormat
from proofs.kernel.errors import UsageError

BFLOAT16 = FloatFormat("bfloat16", 8, -126, 127)
BINARY128 = FloatFormat("binary128", 113, -16382, 16383)
BINARY256 = FloatFormat("binary256", 237, -262142, 262143)
RUNNABLE = {"bfloat16": BFLOAT16, "float32": FORMATS["float32"], "float64": FORMATS["float64"]}
LADDER = (*RUNNABLE.values(), BINARY128, BINARY256)  # by precision
MAX_BITS = 400


def make_format(bits: int) -> FloatFormat:
    """A format of that precision with the exponents of binary128. Raises: UsageError."""
    if not 2 <= bits <= MAX_BITS:
        raise UsageError(f"a precision of {bits} bits", "--bits", f"2 to {MAX_BITS}")
    return FloatFormat(f"{bits} bits", bits, BINARY128.min_exponent, BINARY128.max_exponent)


def unit_roundoff(target: FloatFormat) -> float:
    """u = 2^-p."""
    return math.ldexp(1.0, -target.precision)


def smallest_error(target: FloatFormat) -> float:
    """What a product below the normal range may lose at most, or a larger number that float64 has."""
    return math.ldexp(1.0, max(target.min_exponent - target.precision, LEAST_EXPONENT))


def gamma(roundings: int, target: FloatFormat) -> float:
    """An upper bound of gamma_n, infinite when n u is not below 1/2."""
    product = roundings * unit_roundoff(target)
    return math.inf if product >= 0.5 else product / (1 - product) * (1 + 2.0**-50)


LEAST_EXPONENT = -240  # magnitudes below 2^-240 are taken for 2^-240: products of four of them stay normal in float64


def is_representable(value: fmpq, target: FloatFormat) -> bool:
    """Whether a rational is a number of the format, subnormal ones included."""
    numerator, denominator = abs(int(value.p)), int(value.q)
    if numerator == 0:
        return True
    if denominator & (denominator - 1):
        return False
    trailing = (numerator & -numerator).bit_length() - 1
    if numerator.bit_length() - trailing > target.precision:
        return False
    exponent = trailing - (denominator.bit_length() - 1)
    top = numerator.bit_length() - denominator.bit_length()
    return exponent >= target.min_exponent - target.precision + 1 and top <= target.max_exponent


def is_power_of_two(value: fmpq) -> bool:
    """Whether |value| is a power of two: multiplying by it rounds nothing in the normal range."""
    numerator, denominator = abs(int(value.p)), int(value.q)
    return numerator != 0 and not (numerator & (numerator - 1) or denominator & (denominator - 1))
