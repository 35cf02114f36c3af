"""Trusted. A dataset as arrays: the same statement as the kernel's, without a Python object for every coordinate.

Pairs are made when they are asked for; counts, digest and the forward pass read the arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np

from proofs.engine.integers import Array, integer_array, multiply, segment_reduce
from proofs.engine.state import State, find_common
from proofs.kernel.errors import MalformedInput
from proofs.kernel.rational import Limits, Row
from proofs.kernel.statement import Dataset, Pair


@dataclass(frozen=True, eq=False)
class Side:
    """The inputs or the outputs of all pairs: primitive rows (K, d + 1) as int64, pair j from starts[j] on."""

    rows: Array
    starts: Array

    @classmethod
    def from_arrays(cls, numerators: Array, denominators: Array | None, lengths: Array) -> Side:
        """Tokens numerators / denominators (None: 1), both int64, denominators positive, lengths at least 1."""
        count, dimension = numerators.shape
        rows = np.ones((count, dimension + 1), dtype=np.int64)
        rows[:, :-1] = numerators
        if denominators is not None:
            rows[:, -1] = denominators
            if (denominators != 1).any():
                rows = _lowest_terms(rows)
        rows.setflags(write=False)
        return cls(rows, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

    def tokens(self, pair: int) -> tuple[Row, ...]:
        """The kernel rows of one pair."""
        return tuple(map(tuple, self.rows[self.starts[pair] : self.starts[pair + 1]].tolist()))

    def keys(self) -> list[bytes]:
        """For every token the bytes of its row: equal just for equal tokens."""
        flat = np.ascontiguousarray(self.rows)
        size = flat.shape[1] * flat.itemsize
        return [bytes(key) for key in flat.view(np.dtype((np.void, size))).ravel().tolist()]

    @cached_property
    def has_repeats(self) -> bool:
        """Whether a sequence holds a token twice."""
        keys = self.keys()
        return any(len(set(keys[first:last])) < last - first for first, last in pairwise(self.starts.tolist()))

    def state(self, limits: Limits) -> State:
        """The tokens over one denominator."""
        denominators = [int(x) for x in np.unique(self.rows[:, -1])]
        common = find_common(denominators, limits)
        numerators = self.rows[:, :-1]
        if common != 1:
            factors = integer_array([common // x for x in denominators])
            factors = factors[np.searchsorted(integer_array(denominators), self.rows[:, -1])]
            numerators = multiply(numerators, factors[:, None])
        return State(numerators, common, self.starts, np.ones(len(numerators), dtype=np.int64), limits)


def _lowest_terms(rows: Array) -> Array:
    """The primitive rows of the same tokens."""
    if int(rows.min()) == -(2**63):  # whose gcd numpy does not find in 64 bits
        rows = rows.astype(object)
    divisors = np.gcd.reduce(rows, axis=1)
    return np.asarray(rows // divisors[:, None], dtype=np.int64)  # as small as what is divided


class ArrayPairs(Sequence[Pair]):
    """The pairs of two sides, each made when it is asked for."""

    def __init__(self, inputs: Side, outputs: Side) -> None:
        self.inputs, self.outputs = inputs, outputs

    def __len__(self) -> int:
        return len(self.inputs.starts) - 1

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Pair]: ...
    def __getitem__(self, index: int | slice) -> Pair | Sequence[Pair]:
        if isinstance(index, slice):
            return tuple(self[j] for j in range(*index.indices(len(self))))
        j = index + len(self) if index < 0 else index
        if not 0 <= j < len(self):
            raise IndexError(index)
        return Pair(self.inputs.tokens(j), self.outputs.tokens(j))

    def __iter__(self) -> Iterator[Pair]:
        return (self[j] for j in range(len(self)))


@dataclass(frozen=True, eq=False)
class ArrayDataset(Dataset):
    """A dataset whose pairs are arrays. Two datasets are equal if all their pairs are."""

    pairs: ArrayPairs

    def __post_init__(self) -> None:
        inputs, outputs = self.pairs.inputs, self.pairs.outputs
        if self.dimension < 2:
            raise MalformedInput(
                f"dimension {self.dimension} is below 2", "$.dimension", "append a constant coordinate"
            )
        if len(inputs.starts) != len(outputs.starts) or len(inputs.starts) < 2:
            raise MalformedInput("the dataset has no pairs: nothing to check", "$.pairs")
        for name, side in (("input", inputs), ("output", outputs)):
            short = np.flatnonzero(np.diff(side.starts) < 1)
            if len(short):
                raise MalformedInput("an empty sequence", f"$.pairs[{short[0]}].{name}")
            found = (side.rows.shape[1], side.rows.dtype, int(side.starts[0]), int(side.starts[-1]))
            if found != (self.dimension + 1, np.dtype(np.int64), 0, len(side.rows)) or int(side.rows[:, -1].min()) < 1:
                raise MalformedInput("the arrays do not fit together", f"$.pairs.{name}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        return self.dimension == other.dimension and tuple(self.pairs) == tuple(other.pairs)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """As the kernel counts: pairs that differ as pairs of sets, and their distinct outputs.

        The coordinatewise maximum of its rows depends on the set of tokens alone. So only pairs that agree in it can
        be equal, and only those are compared as sets.
        """
        inputs, outputs = self.pairs.inputs, self.pairs.outputs
        keys = outputs.keys()
        counts = [len(set(keys[a:b])) for a, b in pairwise(outputs.starts.tolist())]
        corners = segment_reduce(np.maximum, inputs.rows, inputs.starts)
        _, place, shared = np.unique(corners, axis=0, return_inverse=True, return_counts=True)
        doubtful = np.flatnonzero(shared[place.ravel()] > 1).tolist()
        seen = set()
        for j in doubtful:
            pair = self.pairs[j]
            content = (frozenset(pair.input), frozenset(pair.output))
            if content in seen:
                counts[j] = 0
            seen.add(content)
        return sum(1 for count in counts if count), sum(counts)

    @property
    def num_tokens(self) -> int:
        """K."""
        return len(self.pairs.inputs.rows)

    @property
    def max_length(self) -> int:
        """n."""
        return int(np.diff(self.pairs.inputs.starts).max())

    @cached_property
    def digest(self) -> str:
        """The kernel's digest of the same content."""
        state = hashlib.sha256(f"interp-dataset/1 {self.dimension} {len(self.pairs)}\n".encode())
        for left, right in zip(*(_texts(side) for side in (self.pairs.inputs, self.pairs.outputs)), strict=True):
            state.update(f"{left};{right}\n".encode())
        return "sha256:" + state.hexdigest()


def _texts(side: Side) -> Iterator[str]:
    """The canonical text of the tokens of every pair."""
    token = ",".join(["%d"] * side.rows.shape[1])
    forms: dict[int, str] = {}
    for first, last in pairwise(side.starts.tolist()):
        form = forms.setdefault(last - first, " ".join([token] * (last - first)))
        yield form % tuple(side.rows[first:last].ravel().tolist())


def pack_dataset(dataset: Dataset) -> Dataset:
    """The same dataset with its pairs as arrays if all numbers fit into 64 bits, otherwise the dataset itself."""
    if isinstance(dataset, ArrayDataset):
        return dataset
    sides = [_pack_side([getattr(pair, name) for pair in dataset.pairs]) for name in ("input", "output")]
    if sides[0] is None or sides[1] is None:
        return dataset
    return ArrayDataset(dataset.dimension, ArrayPairs(sides[0], sides[1]))


def _pack_side(sequences: list[tuple[Row, ...]]) -> Side | None:
    rows = integer_array([row for tokens in sequences for row in tokens])
    if rows.dtype == object:
        return None
    lengths: Any = [len(tokens) for tokens in sequences]
    return Side(rows, np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))]))


def state_of(sequences: list[tuple[Row, ...]], limits: Limits) -> State:
    """Kernel rows over one denominator, whatever their size."""
    common = find_common({row[-1] for tokens in sequences for row in tokens}, limits)
    numerators = [[x * (common // row[-1]) for x in row[:-1]] for tokens in sequences for row in tokens]
    starts = np.concatenate([[0], np.cumsum(np.array([len(tokens) for tokens in sequences], dtype=np.int64))])
    array = integer_array(numerators)
    return State(array, common, starts, np.ones(len(numerators), dtype=np.int64), limits)


def outputs_of(dataset: Dataset) -> list[tuple[Row, ...]]:
    """The outputs of all pairs."""
    if isinstance(dataset, ArrayDataset):
        outputs = dataset.pairs.outputs
        return [outputs.tokens(j) for j in range(len(dataset.pairs))]
    return [pair.output for pair in dataset.pairs]


def input_state(dataset: Dataset, limits: Limits) -> State:
    """Where the forward pass starts."""
    if isinstance(dataset, ArrayDataset):
        return dataset.pairs.inputs.state(limits)
    return state_of([pair.input for pair in dataset.pairs], limits)


def output_state(dataset: Dataset, limits: Limits) -> State:
    """The targets."""
    if isinstance(dataset, ArrayDataset):
        return dataset.pairs.outputs.state(limits)
    return state_of([pair.output for pair in dataset.pairs], limits)
