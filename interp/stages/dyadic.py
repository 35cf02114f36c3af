"""Untrusted. The simplest dyadic of an interval: how free numbers are chosen so that heights stay low."""

from __future__ import annotations

from flint import fmpq

from interp.stages.tokens import power_of_two_at_most
from proofs.kernel.errors import InternalFault


def find_simple_dyadic(low: fmpq, high: fmpq, include_low: bool = False, include_high: bool = False) -> fmpq:
    """The multiple of the largest power of two in the interval (0 if it lies there); ends belong to it when included.

    Raises: InternalFault if the interval is empty.
    """
    if low > high or (low == high and not (include_low and include_high)):
        raise InternalFault(f"no number between {low} and {high}")
    if low == high:
        return low
    # Steps of at most half the width: an open interval holds at least one multiple, first <= last below.
    step = power_of_two_at_most((high - low) / 2)
    first, last = int((low / step).ceil()), int((high / step).floor())
    if first * step == low and not include_low:
        first += 1
    if last * step == high and not include_high:
        last -= 1
    if first <= 0 <= last:
        return fmpq(0)
    if last < 0:
        return -_fewest_bits(-last, -first) * step
    return _fewest_bits(first, last) * step


def _fewest_bits(first: int, last: int) -> fmpq:
    """The integer in [first, last], first >= 1, with the most trailing zeros.

    first - 1 and last agree above bit k and differ there, so last has a 1 at k: clearing what is below k leaves a
    number above first - 1, and no multiple of 2^(k + 1) lies in the range.
    """
    shift = ((first - 1) ^ last).bit_length() - 1
    return fmpq((last >> shift) << shift)
