"""Trusted. Rational numbers in the arrays of the binary form, and the text that each has in JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import gcd

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat

from proofs.engine.integers import Array
from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.rational import Limits, integer_text

PLAIN = 2**53  # from here on JSON lines hold integers as text
Integers = Array | list[int]


@dataclass(frozen=True, slots=True)
class Rationals:
    """Numbers in lowest terms; denominators None: all are 1."""

    name: str
    numerators: Integers
    denominators: Integers | None

    def __len__(self) -> int:
        return len(self.numerators)

    def lists(self) -> tuple[list[int], list[int] | None]:
        """As Python integers."""
        return _list(self.numerators), None if self.denominators is None else _list(self.denominators)

    def texts(self, limits: Limits) -> list[str]:
        """As they stand in JSON lines: an integer while it is below 2^53, a string otherwise. Raises: LimitReached."""
        numerators, denominators = self.lists()
        texts = list(map(integer_text if isinstance(self.numerators, list) else str, numerators))
        below = list(map(integer_text if isinstance(self.denominators, list) else str, denominators or ()))
        for i, q in enumerate(below):
            if q != "1":
                texts[i] = f'"{texts[i]}/{q}"'
        for i in _find_large(self.numerators):
            if denominators is None or denominators[i] == 1:
                texts[i] = f'"{texts[i]}"'
        if max(map(len, texts), default=0) > limits.max_digits:
            for i, text in enumerate(texts):
                if sum(map(str.isdigit, text)) > limits.max_digits:
                    place = f"{self.name}[{i}]"
                    raise LimitReached(f"a number of more than {limits.max_digits} digits", place, "raise --max-digits")
        return texts


def _find_large(values: Integers) -> list[int]:
    if isinstance(values, list):
        return [i for i, value in enumerate(values) if not -PLAIN < value < PLAIN]
    return [] if values.dtype.itemsize < 8 else np.flatnonzero((values >= PLAIN) | (values <= -PLAIN)).tolist()


def _list(values: Integers) -> list[int]:
    return values if isinstance(values, list) else values.tolist()


def column(numerators: list[int], denominators: list[int] | None, first: int, last: int) -> fmpq_mat:
    """Numbers first .. last - 1 as a column."""
    if denominators is None:
        return fmpq_mat(fmpz_mat(last - first, 1, numerators[first:last]))
    pairs = zip(numerators[first:last], denominators[first:last], strict=True)
    return fmpq_mat(last - first, 1, [fmpq(p, q) for p, q in pairs])


def read_rationals(arrays: Mapping[str, Array], name: str, limits: Limits) -> Rationals:
    """The numbers in the arrays of that name. Raises: MalformedInput, LimitReached."""
    numerators = _read_integers(arrays, name, limits)
    if numerators is None:
        raise MalformedInput("the array is missing", name)
    denominators = _read_integers(arrays, f"{name}_denominators", limits)
    if denominators is not None:
        if len(denominators) != len(numerators):
            raise MalformedInput(f"{len(denominators)} denominators for {len(numerators)} numbers", name)
        _check_lowest_terms(name, numerators, denominators)
    return Rationals(name, numerators, denominators)


def _check_lowest_terms(name: str, numerators: Integers, denominators: Integers) -> None:
    if isinstance(numerators, list) or isinstance(denominators, list):
        pairs = list(zip(_list(numerators), _list(denominators), strict=True))
        wrong = [i for i, (p, q) in enumerate(pairs) if q < 1 or gcd(p, q) != 1]
        whole = all(q == 1 for _, q in pairs)
    else:
        p, q = numerators.astype(np.int64), denominators.astype(np.int64)  # none is -2^63
        wrong = np.flatnonzero((q < 1) | (np.gcd(p, q) != 1)).tolist()
        whole = bool((q == 1).all())
    if wrong:
        raise MalformedInput("not a fraction in lowest terms with a positive denominator", f"{name}[{wrong[0]}]")
    if whole:
        raise MalformedInput("denominators that are all 1 are left out", f"{name}_denominators")


def _read_integers(arrays: Mapping[str, Array], name: str, limits: Limits) -> Integers | None:
    """The integers of that name, or None if there are none: one array, or sizes and bytes of numbers of any length."""
    if name in arrays:
        found = arrays[name]
        if found.ndim != 1 or found.dtype.kind != "i":
            raise MalformedInput(f"an array of type {found.dtype} and shape {found.shape}", name)
        if found.dtype.itemsize == 8 and found.size and int(found.min()) == -(2**63):
            raise MalformedInput("-2^63 is written in sizes and bytes", name)
        return found
    if f"{name}_sizes" not in arrays or f"{name}_bytes" not in arrays:
        return None
    sizes, content = arrays[f"{name}_sizes"], arrays[f"{name}_bytes"]
    if sizes.ndim != 1 or sizes.dtype.kind != "i" or content.ndim != 1 or content.dtype != np.uint8:
        raise MalformedInput("sizes are integers and bytes are bytes, in one dimension each", name)
    # each size is at most the number of bytes, of which there are fewer than 2^32: the sum does not wrap
    if len(sizes) == 0 or int(sizes.min()) < 1 or int(sizes.max()) > len(content):
        raise MalformedInput("a size below 1 or above the number of bytes", f"{name}_sizes")
    if int(sizes.sum(dtype=np.int64)) != len(content):
        raise MalformedInput("the sizes do not add up to the number of bytes", f"{name}_sizes")
    if int(sizes.max()) > limits.max_digits:  # more digits than bytes
        place = f"{name}[{int(sizes.argmax())}]"
        raise LimitReached(f"a number of more than {limits.max_digits} digits", place, "raise --max-digits")
    data, ends = content.tobytes(), list(accumulate(sizes.tolist()))
    values = [
        int.from_bytes(data[end - size : end], "little", signed=True)
        for size, end in zip(sizes.tolist(), ends, strict=True)
    ]
    for i, (value, size) in enumerate(zip(values, sizes.tolist(), strict=True)):
        if (value if value >= 0 else ~value).bit_length() // 8 + 1 != size:
            raise MalformedInput("more bytes than the number needs", f"{name}[{i}]")
    if all(-(2**63) < value < 2**63 for value in values):
        raise MalformedInput("numbers of 64 bits are written as one array", name)
    return values
