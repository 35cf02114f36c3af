"""Trusted. Radii of boxes: float64 numbers that are never too small; 0 is exactly 0, inf is "nothing is known".

A token of a state with radii lies, at every temperature of the claim, in |x_c - center_c| <= radius_c. Radii only grow
by what is done here, and a sign that they do not certify makes them infinite: then the pair is left to the kernel.

All terms are >= 0. A conversion, a product, a quotient and a sum of n terms in any order err by factors between
1 - u and 1 + u each, at most n + 6 of them one after the other, u = 2^-53; ``raised`` multiplies by 1 + (n + 8) 2^-52,
which is more than (1 - u)^-(n + 7) for n < 2^40. Below 2^-1022 an operation errs by at most 2^-1074 instead: 2^-1000 is
added to all that is not 0 by rule, far more than n such errors times a later factor of the same expression.
"""

from __future__ import annotations

import numpy as np

from proofs.engine.integers import Array, room

UNIT, LEAST = float.fromhex("0x1p-52"), float.fromhex("0x1p-1000")
WHOLE = float.fromhex("0x1p62")


def raised(values: Array, terms: int, some: Array) -> Array:
    """Upper bounds of sums of ``terms`` products that came out as these values; exactly 0 where ``some`` is false."""
    with np.errstate(over="ignore"):
        return np.asarray(np.where(some, values * (1 + (terms + 8) * UNIT) + LEAST, 0))


def upper(numerators: Array, denominators: int | Array) -> Array:
    """Upper bounds of |numerators / denominators|, denominators > 0, all of them finite. Raises: OverflowError."""
    if isinstance(denominators, int):
        (numerators,) = room(denominators, numerators)  # the quotient of two Python integers is rounded once
    values = np.abs((numerators / denominators).astype(np.float64))
    result = raised(values, 1, numerators != 0)
    if not np.isfinite(result).all():
        raise OverflowError("a number above all floats")
    return result


def combine(moduli: Array, radii: Array) -> Array:
    """Upper bounds of sum_j moduli_ij radii_j, for (.., i, j) and (.., j); inf in a whole row where a radius is.

    The moduli are finite: inf times a radius of 0 would be no number.
    """
    known = np.asarray(np.isfinite(radii).all(axis=-1))
    radii = np.where(known[..., None], radii, 0)[..., None]
    with np.errstate(over="ignore"):
        result = raised((moduli @ radii)[..., 0], radii.shape[-2], ((moduli > 0) @ (radii > 0))[..., 0])
    result[~known] = np.inf
    return result


def whole(values: Array, factor: int) -> Array:
    """Integers at least values times factor > 0, for finite values >= 0."""
    if factor >> 900 == 0:
        with np.errstate(over="ignore"):
            products = np.ceil(raised(values * float(factor), 1, values > 0))
        if not (products >= WHOLE).any():
            return products.astype(np.int64)
    ratios = (x.as_integer_ratio() for x in values.ravel().tolist())
    exact = [-(-p * factor // q) for p, q in ratios]
    return np.array(exact, dtype=object).reshape(values.shape)


def uncertain(values: Array, reach: Array, denominator: int) -> Array:
    """Rows (T,) in which a unit may change its sign: values (T, w) over the denominator, reached up to reach (T, w)."""
    known = np.isfinite(reach)
    limits = whole(np.where(known, reach, 0), denominator)
    return np.asarray(((values < limits) & (-values < limits) | ~known).any(axis=1))
