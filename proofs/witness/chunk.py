"""Trusted. One chunk of blocks in the binary form: its arrays, the lines it stands for, and its blocks.

``structure`` (K, 7) says for each block which parts its line has; the numbers of all blocks stand in one list for each
of the fields eta, W, U, b, rho, A, V, in the order in which they stand in the lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from flint import fmpq, fmpq_mat

from proofs.engine.integers import Array
from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix, identity_feed_forward
from proofs.kernel.rational import Limits
from proofs.witness.numbers import Rationals, column, read_rationals

FIELDS = ("eta", "W", "U", "b", "rho", "A", "V")
MAX_BLOCKS = 4096  # of one chunk
FF, W_OUTER, U_OUTER, WIDTH, SA, A_FORM, V_FORM = range(7)  # columns of the structure
MASKED = 2  # in column SA
SCALE, FACTORS, DENSE, DENSE_OUTER = 1, 2, 4, 5  # forms of A and V; SCALE + FACTORS is both, 0 a missing one


@dataclass(frozen=True)
class Chunk:
    """Blocks ``first``, ``first`` + 1, ... of a transformer of dimension d."""

    first: int
    dimension: int
    structure: Array  # (K, 7)
    numbers: Mapping[str, Rationals]

    @cached_property
    def counts(self) -> dict[str, Array]:
        """How many numbers each block has in each field (K,)."""
        return count_numbers(self.structure, self.dimension)

    def lines(self, limits: Limits) -> Iterator[str]:
        """The lines that the blocks stand for. Raises: LimitReached."""
        texts = {name: numbers.texts(limits) for name, numbers in self.numbers.items()}
        templates: dict[tuple[int, ...], str] = {}
        for k, (row, spans) in enumerate(self.rows(), self.first):
            template = templates.get(row)
            if template is None:
                template = templates[row] = line_template(row, self.dimension)
            values = [text for name, a, b in spans for text in texts[name][a:b]]
            yield template % (k, *values)

    def blocks(self, first: int = 0, last: int | None = None) -> tuple[Block, ...]:
        """Blocks first .. last - 1 of the chunk, counted from 0."""
        identity = identity_feed_forward(self.dimension)
        return tuple(self._block(row, spans, identity) for row, spans in islice(self.rows(), first, last))

    @cached_property
    def _lists(self) -> dict[str, tuple[list[int], list[int] | None]]:
        return {name: numbers.lists() for name, numbers in self.numbers.items()}

    def rows(self) -> Iterator[tuple[tuple[int, ...], list[tuple[str, int, int]]]]:
        """For every block its row of the structure and where its numbers stand in each field."""
        ends = {name: np.cumsum(counts).tolist() for name, counts in self.counts.items() if name in self.numbers}
        before = dict.fromkeys(ends, 0)
        for i, row in enumerate(self.structure.tolist()):
            spans = [(name, before[name], end[i]) for name, end in ends.items()]
            yield tuple(row), spans
            for name, _, end in spans:
                before[name] = end

    def _block(
        self,
        row: tuple[int, ...],
        spans: list[tuple[str, int, int]],
        identity: FeedForward,
    ) -> Block:
        d, width = self.dimension, row[WIDTH]
        parts = {name: column(*self._lists[name], a, b) for name, a, b in spans if a < b}
        layer, attention = identity, SelfAttention()
        if row[FF] == 1:
            layer = FeedForward(parts["eta"][0, 0], identity.W, identity.U, identity.b)
        elif row[FF] == 2:
            layer = FeedForward(
                parts["eta"][0, 0],
                _matrix(parts["W"], row[W_OUTER], d, width),
                _matrix(parts["U"], row[U_OUTER], width, d),
                parts["b"],
            )
        if row[SA]:
            attention = SelfAttention(
                parts["rho"][0, 0],
                _square(parts.get("A"), row[A_FORM], d),
                _square(parts.get("V"), row[V_FORM], d),
                causal=row[SA] == MASKED,
            )
        return Block(layer, attention)


def _matrix(numbers: fmpq_mat, outer: int, rows: int, columns: int) -> fmpq_mat:
    entries = numbers.entries()
    if outer:
        return fmpq_mat(rows, 1, entries[:rows]) * fmpq_mat(1, columns, entries[rows:])
    return fmpq_mat(rows, columns, entries)


def _square(numbers: fmpq_mat | None, form: int, d: int) -> SquareMatrix:
    if numbers is None:
        return SquareMatrix()
    if form >= DENSE:
        return SquareMatrix(dense=_matrix(numbers, form == DENSE_OUTER, d, d))
    entries = numbers.entries()
    scale = entries.pop(0) if form & SCALE else fmpq(0)
    if not form & FACTORS:
        return SquareMatrix(scale)
    return SquareMatrix(scale, fmpq_mat(d, 1, entries[:d]), fmpq_mat(d, 1, entries[d:]))


def count_numbers(structure: Array, d: int) -> dict[str, Array]:
    """How many numbers each block has in each field, by what its row says."""
    full, width = structure[:, FF] == 2, structure[:, WIDTH]
    sizes = {
        "eta": (structure[:, FF] > 0) * 1,
        "W": np.where(full, np.where(structure[:, W_OUTER] == 1, d + width, d * width), 0),
        "U": np.where(full, np.where(structure[:, U_OUTER] == 1, width + d, width * d), 0),
        "b": width,
        "rho": (structure[:, SA] > 0) * 1,
    }
    square = np.array([0, 1, 2 * d, 2 * d + 1, d * d, 2 * d], dtype=np.int64)
    return sizes | {"A": square[structure[:, A_FORM]], "V": square[structure[:, V_FORM]]}


def line_template(row: tuple[int, ...], d: int) -> str:
    """The line of a block with such a row: %d for its number, then %s for each of its numbers."""
    parts = ['{"block":%d']
    width = row[WIDTH]
    if row[FF]:
        parts.append(',"ff":{"eta":%s')
        if row[FF] == 2:
            W, U = _matrix_template(row[W_OUTER], d, width), _matrix_template(row[U_OUTER], width, d)
            parts.append(f',"W":{W},"U":{U},"b":{_list_template(width)}')
        parts.append("}")
    if row[SA]:
        parts.append(',"sa":{"rho":%s')
        for name, form, keys in (("A", row[A_FORM], "alpha p q"), ("V", row[V_FORM], "beta r t")):
            if form:
                parts.append(f',"{name}":{_square_template(form, keys.split(), d)}')
        parts.append(',"mask":"causal"}' if row[SA] == MASKED else "}")
    return "".join(parts) + "}\n"


def _list_template(size: int) -> str:
    return "[" + ",".join(["%s"] * size) + "]"


def _matrix_template(outer: int, rows: int, columns: int) -> str:
    if outer:
        return f'{{"outer":[{_list_template(rows)},{_list_template(columns)}]}}'
    return "[" + ",".join([_list_template(columns)] * rows) + "]"


def _square_template(form: int, keys: list[str], d: int) -> str:
    if form >= DENSE:
        return f'{{"dense":{_matrix_template(form == DENSE_OUTER, d, d)}}}'
    entries = [f'"{keys[0]}":%s'] if form & SCALE else []
    if form & FACTORS:
        entries += [f'"{key}":{_list_template(d)}' for key in keys[1:]]
    return "{" + ",".join(entries) + "}"


def read_chunk(arrays: Mapping[str, Array], label: str, first: int, dimension: int, limits: Limits) -> Chunk:
    """The chunk in arrays named ``label/..``, without that prefix. Raises: MalformedInput, LimitReached."""
    structure = arrays.get("structure")
    if structure is None or structure.ndim != 2 or structure.shape[1] != 7 or structure.dtype.kind != "i":
        raise MalformedInput("the array of shape (blocks, 7) is missing", f"{label}/structure")
    if not 1 <= len(structure) <= MAX_BLOCKS:
        raise MalformedInput(f"{len(structure)} blocks, expected 1 to {MAX_BLOCKS}", f"{label}/structure")
    check_structure(structure, arrays, label)
    structure = structure.astype(np.int64)
    numbers, used = {}, {"structure"}
    for name, counts in count_numbers(structure, dimension).items():
        wanted = int(counts.sum())
        if wanted == 0:
            continue
        try:
            numbers[name] = read_rationals(arrays, name, limits)
        except (MalformedInput, LimitReached) as error:
            error.path = f"{label}/{error.path}"
            raise
        if len(numbers[name]) != wanted:
            raise MalformedInput(f"{len(numbers[name])} numbers, expected {wanted}", f"{label}/{name}")
        for base in (name, f"{name}_denominators"):
            used |= {base} if base in arrays else {f"{base}_sizes", f"{base}_bytes"}
    if unknown := sorted(arrays.keys() - used):
        raise MalformedInput("an array that no block needs", f"{label}/{unknown[0]}")
    return Chunk(first, dimension, structure, numbers)


def check_structure(structure: Array, arrays: Mapping[str, Array], label: str) -> None:
    """Raises MalformedInput for a row that no block has."""
    biases = arrays.get("b", arrays.get("b_sizes"))
    full, bare = structure[:, FF] == 2, structure[:, SA] == 0
    allowed = (structure >= 0) & (structure <= np.array([2, 1, 1, 0 if biases is None else len(biases), MASKED, 5, 5]))
    wrong = ~allowed.all(axis=1) | (full != (structure[:, WIDTH] > 0))
    wrong |= ~full & (structure[:, [W_OUTER, U_OUTER]] != 0).any(axis=1)
    wrong |= bare & (structure[:, [A_FORM, V_FORM]] != 0).any(axis=1)
    if wrong.any():
        raise MalformedInput("no block has such a row", f"{label}/structure[{int(wrong.argmax())}]")
