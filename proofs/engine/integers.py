"""Trusted. Arrays of integers: int64 where a bound was proved beforehand, Python integers otherwise.

numpy is silent when int64 wraps. So every product and sum here and in the engine is preceded by ``room``: it is told a
bound, computed in Python integers, on the absolute value of all results, of all intermediate sums and of the Python
integers that meet an array. Above 2^63 - 1 it returns the operands as arrays of Python integers. No float occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
LARGEST = 2**63 - 1


def bound_of(array: Array) -> int:
    """The largest absolute value, 0 for none."""
    return max(int(array.max()), -int(array.min())) if array.size else 0


def room(bound: int, *arrays: Array) -> tuple[Array, ...]:
    """The arrays, as Python integers if a result may exceed ``bound`` > 2^63 - 1 in absolute value."""
    return arrays if bound <= LARGEST else tuple(array.astype(object) for array in arrays)


def narrow(array: Array) -> Array:
    """The same integers as int64 if all of them fit."""
    return array.astype(np.int64) if array.dtype == object and bound_of(array) <= LARGEST else array


def integer_array(values: Sequence[Any]) -> Array:
    """Nested lists of Python integers of one shape: int64 if all fit."""
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)


def product(left: Array, right: Array, left_bound: int | None = None) -> Array:
    """The matrix product; ``left_bound`` is a known bound of the left factor."""
    inner = left.shape[-1]
    if inner == 0:
        return np.zeros((*left.shape[:-1], *right.shape[1:]), dtype=np.int64)
    left, right = room(inner * (bound_of(left) if left_bound is None else left_bound) * bound_of(right), left, right)
    return narrow(left @ right)


def multiply(array: Array, factor: int | Array) -> Array:
    """The entrywise product with an integer or an array that broadcasts."""
    other = integer_array([factor])[0:1] if isinstance(factor, int) else factor
    array, other = room(bound_of(array) * bound_of(other), array, other)
    return narrow(array * other)


def add(left: Array, right: Array) -> Array:
    """The entrywise sum."""
    left, right = room(bound_of(left) + bound_of(right), left, right)
    return narrow(left + right)


def common_divisor(start: int, array: Array) -> int:
    """gcd of ``start`` and all entries. One is reached soon as a rule; otherwise one pass of remainders decides."""
    flat = array.ravel()
    divisor, known = start, 0
    while divisor != 1 and known < len(flat):
        chunk = flat[known : known + 64 + known]
        divisor = gcd(divisor, *chunk.tolist())
        if divisor > 1 and divisor <= LARGEST:
            wrong = np.flatnonzero(flat % divisor)
            if not len(wrong):
                return divisor
            known = max(known + len(chunk), int(wrong[0]))
        else:
            known += len(chunk)
    return divisor


def segment_reduce(operation: np.ufunc, array: Array, starts: Array) -> Array:
    """``operation`` over the rows of every segment; starts (N + 1,), no segment is empty.

    reduceat would take the single row ``starts[j]`` for an empty segment: states never hold one.
    """
    sizes = np.diff(starts)
    if len(sizes) and (sizes == sizes[0]).all() and array.dtype != object:
        return np.asarray(operation.reduce(array.reshape(len(sizes), int(sizes[0]), *array.shape[1:]), axis=1))
    return np.asarray(operation.reduceat(array, starts[:-1], axis=0))


def segment_sum(array: Array, starts: Array) -> Array:
    """The sum over the rows of every segment."""
    longest = int(np.diff(starts).max())
    (array,) = room(longest * bound_of(array), array)
    return narrow(segment_reduce(np.add, array, starts))


def expand(first: Array, counts: Array) -> tuple[Array, Array]:
    """For ranges first[k] .. first[k] + counts[k] - 1: the k of every member, and the member, range after range."""
    owner = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    return owner, np.arange(len(owner)) - np.repeat(ends - counts, counts) + np.repeat(first, counts)
