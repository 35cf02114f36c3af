"""Untrusted. Rational weights as the nearest floats, and how far off those are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import fmpq

from interp.export.state import ExactState
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.rational import short_decimal

Array = np.ndarray[tuple[int, ...], np.dtype[np.floating]]


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """An IEEE 754 binary format: bits of the significand, exponents of the smallest and largest normal numbers."""

    name: str
    precision: int
    min_exponent: int
    max_exponent: int

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """Little-endian, as all files here are."""
        return np.dtype(self.name).newbyteorder("<")


FORMATS = {
    "float64": FloatFormat("float64", 53, -1022, 1023),
    "float32": FloatFormat("float32", 24, -126, 127),
}


def round_nearest(value: fmpq, target: FloatFormat) -> float:
    """The nearest number of the format, ties to even, subnormals included; it fits into a Python float exactly.

    Rounded once, from the rational: by way of float64 a float32 may end on the wrong side. Raises: OverflowError.
    """
    numerator, denominator = abs(int(value.p)), int(value.q)
    if numerator == 0:
        return 0.0
    exponent = numerator.bit_length() - denominator.bit_length()  # 2^(exponent - 1) < |value| < 2^(exponent + 1)
    shift = max(exponent - 1, target.min_exponent) - (target.precision - 1)
    scaled, unit = (numerator, denominator << shift) if shift >= 0 else (numerator << -shift, denominator)
    if scaled >= unit << target.precision:  # |value| >= 2^exponent: one bit less behind the point
        shift, unit = shift + 1, unit << 1
    quotient, remainder = divmod(scaled, unit)
    quotient += 2 * remainder > unit or (2 * remainder == unit and quotient & 1)
    if quotient.bit_length() + shift > target.max_exponent + 1:
        raise OverflowError
    return math.copysign(math.ldexp(quotient, shift), 1 if value > 0 else -1)


def exact_rational(value: float) -> fmpq:
    """The dyadic rational that a float is. Raises: MalformedInput for infinities and NaN."""
    try:
        return fmpq(*value.as_integer_ratio())
    except (OverflowError, ValueError) as error:
        raise MalformedInput(f"{value} is not a number") from error


@dataclass(frozen=True, slots=True)
class RoundingReport:
    """How many weights are not floats, and the largest relative error among them with its place."""

    weights: int
    rounded: int
    relative_error: fmpq
    place: str

    def __str__(self) -> str:
        if not self.rounded:
            return f"{self.weights} weights, all exact"
        worst = f"largest relative error {short_decimal(self.relative_error)} at {self.place}"
        return f"{self.weights} weights, {self.rounded} rounded, {worst}"


def round_state(state: ExactState, target: FloatFormat) -> tuple[dict[str, Array], RoundingReport]:
    """All tensors as arrays of floats. Raises: UsageError naming the first weight that is too large."""
    arrays, count, rounded, worst, place = {}, 0, 0, fmpq(0), ""
    for name, tensor in state.items():
        floats = []
        for index, value in enumerate(tensor.values):
            try:
                nearest = round_nearest(value, target)
            except OverflowError as error:
                hint = "use float64" if target.name != "float64" else "no float is that large"
                path = tensor.place(name, index)
                raise UsageError(f"{short_decimal(value)} overflows {target.name}", path, hint) from error
            floats.append(nearest)
            difference = abs(exact_rational(nearest) - value)
            if difference != 0:
                rounded += 1
                if difference / abs(value) > worst:
                    worst, place = difference / abs(value), tensor.place(name, index)
        count += len(floats)
        arrays[name] = np.array(floats, dtype=target.dtype).reshape(tensor.shape)
    return arrays, RoundingReport(count, rounded, worst, place)
