"""Untrusted. Where every token stands while a transformer is being built: integers over one denominator.

Shapes: K tokens in all, d dimension. Equal tokens of one sequence are kept once, with a multiplicity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from flint import fmpq

from proofs.engine.integers import Array, common_divisor, integer_array, narrow
from proofs.engine.statement import ArrayDataset
from proofs.kernel.errors import InternalFault
from proofs.kernel.rational import DEFAULT_LIMITS, Row, primitive_row
from proofs.kernel.statement import Dataset

# Arrays of Python integers: exact at any size.
Integers = np.ndarray[Any, np.dtype[np.object_]]


@dataclass(frozen=True, eq=False)
class TokenState:
    """Tokens array / denominator; tokens of a sequence stand together, sequence j from starts[j] to starts[j + 1] - 1.

    ``array`` is int64 if all numerators fit, and then sums and products need a bound (proofs/engine/integers.py);
    ``numerators`` are the same as Python integers.
    """

    array: Array  # (K, d)
    denominator: int
    starts: Array  # (N + 1,)
    copies: Array  # (K,)

    @classmethod
    def from_dataset(cls, dataset: Dataset) -> TokenState:
        """The input sequences of a dataset."""
        if isinstance(dataset, ArrayDataset) and not dataset.pairs.inputs.has_repeats:
            state = dataset.pairs.inputs.state(DEFAULT_LIMITS)
            return cls(state.numerators, state.denominator, state.starts, state.weights)
        counted = [Counter(pair.input) for pair in dataset.pairs]
        sequence = tuple(j for j, tokens in enumerate(counted) for _ in tokens)
        multiplicity = tuple(count for tokens in counted for count in tokens.values())
        return cls.from_rows([row for tokens in counted for row in tokens], sequence, multiplicity)

    @classmethod
    def from_rows(cls, rows: Sequence[Row], sequence: tuple[int, ...], multiplicity: tuple[int, ...]) -> TokenState:
        """Tokens from kernel rows."""
        numerators, denominator = common_integers(rows)
        starts = np.searchsorted(np.array(sequence, dtype=np.int64), np.arange(sequence[-1] + 2))
        return cls(narrow(numerators), denominator, starts, integer_array(multiplicity))

    @cached_property
    def numerators(self) -> Integers:
        """The numerators as Python integers."""
        return self.array.astype(object)

    @cached_property
    def sequence(self) -> tuple[int, ...]:
        """The sequence of every token."""
        return tuple(self.owner.tolist())

    @cached_property
    def multiplicity(self) -> tuple[int, ...]:
        """How often every token occurs in its sequence."""
        return tuple(self.copies.tolist())

    @cached_property
    def owner(self) -> Array:
        """The sequence of every token, as an array."""
        return np.repeat(np.arange(self.num_sequences), np.diff(self.starts))

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.array.shape[1])

    @property
    def num_sequences(self) -> int:
        """N."""
        return len(self.starts) - 1

    def rows(self) -> list[Row]:
        """The kernel rows of all tokens."""
        return [primitive_row(numerators, self.denominator) for numerators in self.array.tolist()]

    def sequences(self) -> list[list[Row]]:
        """The kernel rows, sequence by sequence, without multiplicities."""
        rows = self.rows()
        return [rows[member.start : member.stop] for member in self._ranges()]

    def members(self) -> list[list[int]]:
        """The token indices of every sequence."""
        return [list(member) for member in self._ranges()]

    def _ranges(self) -> list[range]:
        cuts = self.starts.tolist()
        return [range(cuts[j], cuts[j + 1]) for j in range(self.num_sequences)]

    def moved(self, numerators: Array, denominator: int) -> TokenState:
        """The same tokens elsewhere, over the smallest common denominator."""
        divisor = common_divisor(denominator, numerators)
        if divisor != 1:
            if numerators.dtype != object and divisor >= 2**63:
                numerators = numerators.astype(object)
            numerators, denominator = numerators // divisor, denominator // divisor
        return TokenState(narrow(numerators), denominator, self.starts, self.copies)

    def only(self, index: Array) -> TokenState:
        """Some of the tokens, at least one a sequence, their copies counting once."""
        starts = np.searchsorted(self.owner[index], np.arange(self.num_sequences + 1))
        kept = TokenState(self.array[index], self.denominator, starts, np.ones(len(index), dtype=np.int64))
        return kept.moved(kept.array, kept.denominator)


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
