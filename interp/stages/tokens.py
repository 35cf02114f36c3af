"""Untrusted. Where every token stands while a transformer is being built: integers over one denominator.

Shapes: K tokens in all, d dimension. Equal tokens of one sequence are kept once, with a multiplicity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, lcm
from typing import Any

import numpy as np
from flint import fmpq

from proofs.kernel.errors import InternalFault
from proofs.kernel.rational import Row, primitive_row
from proofs.kernel.statement import Dataset

# Arrays of Python integers: exact at any size.
Integers = np.ndarray[Any, np.dtype[np.object_]]


@dataclass(frozen=True)
class TokenState:
    """Tokens numerators / denominator, with the sequence each belongs to (tokens of a sequence stand together)."""

    numerators: Integers  # (K, d)
    denominator: int
    sequence: tuple[int, ...]  # (K,)
    multiplicity: tuple[int, ...]  # (K,)

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> TokenState:
        """The input sequences of a dataset."""
        counted = [Counter(pair.input) for pair in dataset.pairs]
        sequence = tuple(j for j, tokens in enumerate(counted) for _ in tokens)
        multiplicity = tuple(count for tokens in counted for count in tokens.values())
        return cls.from_rows([row for tokens in counted for row in tokens], sequence, multiplicity)

    @classmethod
    def from_rows(cls, rows: Sequence[Row], sequence: tuple[int, ...], multiplicity: tuple[int, ...]) -> TokenState:
        """Tokens from kernel rows."""
        numerators, denominator = common_integers(rows)
        return cls(numerators, denominator, sequence, multiplicity)

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.numerators.shape[1])

    @property
    def num_sequences(self) -> int:
        """N."""
        return self.sequence[-1] + 1

    def rows(self) -> list[Row]:
        """The kernel rows of all tokens."""
        return [primitive_row(numerators, self.denominator) for numerators in self.numerators.tolist()]

    def sequences(self) -> list[list[Row]]:
        """The kernel rows, sequence by sequence, without multiplicities."""
        result: list[list[Row]] = [[] for _ in range(self.num_sequences)]
        for j, row in zip(self.sequence, self.rows(), strict=True):
            result[j].append(row)
        return result

    def members(self) -> list[list[int]]:
        """The token indices of every sequence."""
        result: list[list[int]] = [[] for _ in range(self.num_sequences)]
        for i, j in enumerate(self.sequence):
            result[j].append(i)
        return result

    def moved(self, numerators: Integers, denominator: int) -> TokenState:
        """The same tokens elsewhere, over the smallest common denominator."""
        divisor = gcd(denominator, *numerators.ravel().tolist())
        if divisor != 1:
            numerators, denominator = numerators // divisor, denominator // divisor
        return TokenState(numerators, denominator, self.sequence, self.multiplicity)


def common_integers(rows: Sequence[Row]) -> tuple[Integers, int]:
    """Rows as numerators (K, d) over their smallest common denominator."""
    denominator = lcm(*(row[-1] for row in rows))
    numerators = [[x * (denominator // row[-1]) for x in row[:-1]] for row in rows]
    return np.array(numerators, dtype=object).reshape(len(rows), -1), denominator


def power_of_two_at_most(value: fmpq) -> fmpq:
    """The largest power of two <= value, value > 0."""
    numerator, denominator = int(value.p), int(value.q)
    exponent = numerator.bit_length() - denominator.bit_length()
    power = power_of_two(exponent)
    return power if power <= value else power_of_two(exponent - 1)


def power_of_two_above(value: fmpq) -> fmpq:
    """The smallest power of two > value, value >= 0 (1 for 0)."""
    return 2 * power_of_two_at_most(value) if value > 0 else fmpq(1)


def power_of_two(exponent: int) -> fmpq:
    """2^exponent, exactly."""
    return fmpq(1 << exponent) if exponent >= 0 else fmpq(1, 1 << -exponent)


def require(broken: str | None, phase: str) -> None:
    """Stops the build with an internal fault when a phase's promise does not hold."""
    if broken is not None:
        raise InternalFault(
            f"the promise of the {phase} phase is broken: {broken}", hint="a defect of the program: please report it"
        )
