"""Generators of datasets and of arbitrary transformers, and the plain JSON forms that the tests write.

Datasets are made by one function over a source of choices, so that hypothesis and a seeded sweep draw from the same
families. Transformers are made as the JSON records of their file: no builder has touched them.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from flint import fmpq
from hypothesis import strategies as st

from proofs.kernel.rational import Row, coordinates_of, row_of
from proofs.kernel.statement import Dataset, Pair

Choose = Callable[[int, int], int]  # an integer between two bounds, both included
Token = tuple[Fraction, ...]
HUGE = 10**20

# ---------------------------------------------------------------------------------------------------- plain forms


def to_fractions(row: Row) -> Token:
    """The coordinates of a kernel row."""
    return tuple(Fraction(int(x.p), int(x.q)) for x in coordinates_of(row))


def to_row(token: Iterable[Fraction | int]) -> Row:
    """The kernel row of a token."""
    return row_of([fmpq(Fraction(x).numerator, Fraction(x).denominator) for x in token])


def fractions_of(sequences: Iterable[Iterable[Row]]) -> list[list[Token]]:
    """The tokens of all sequences."""
    return [[to_fractions(row) for row in rows] for rows in sequences]


def pairs_of(dataset: Dataset) -> list[tuple[list[Token], list[Token]]]:
    """The pairs of a dataset."""
    return [(fractions_of([pair.input])[0], fractions_of([pair.output])[0]) for pair in dataset.pairs]


def make_dataset(*pairs: tuple[Sequence[Sequence[Any]], Sequence[Sequence[Any]]]) -> Dataset:
    """A kernel dataset from plain numbers."""
    sides = [Pair(*(tuple(to_row(token) for token in side) for side in pair)) for pair in pairs]
    return Dataset(len(pairs[0][0][0]), tuple(sides))


def dataset_record(dataset: Dataset) -> dict[str, Any]:
    """The JSON form of a dataset, numbers as text."""
    pairs = [
        {"input": [list(map(str, token)) for token in left], "output": [list(map(str, token)) for token in right]}
        for left, right in pairs_of(dataset)
    ]
    return {"format": "interp-dataset/1", "dimension": dataset.dimension, "pairs": pairs}


def dataset_bytes(dataset: Dataset) -> bytes:
    """The JSON file of a dataset."""
    return json.dumps(dataset_record(dataset)).encode()


def sign(lines: Sequence[str], blocks: int | None = None) -> bytes:
    """A transformer file: the lines, and an end record with their number and digest."""
    body = "".join(line + "\n" for line in lines).encode()
    end = {"blocks": len(lines) - 1 if blocks is None else blocks, "sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps({"end": end}).encode() + b"\n"


def transformer_bytes(dimension: int, blocks: Sequence[dict[str, Any]], /, **header: Any) -> bytes:
    """A transformer file from block records without their numbers; counts and digest are made consistent."""
    head = {"format": "interp-transformer/1", "dimension": dimension, "blocks": len(blocks)} | header
    return sign([json.dumps(head), *(json.dumps({"block": k} | block) for k, block in enumerate(blocks, 1))])


def block_records(data: bytes) -> list[dict[str, Any]]:
    """The block records of a transformer file, ready for ``transformer_bytes``."""
    records = [json.loads(line) for line in data.splitlines()[1:-1]]
    return [{key: value for key, value in record.items() if key != "block"} for record in records]


def places_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all numbers in a record."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places_of(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from places_of(item, (*path, i))
    elif value != "causal":  # the one word of the format
        yield path


def with_number(blocks: Any, path: tuple[Any, ...], change: Callable[[Fraction], Fraction]) -> Any:
    """A copy of the record with one number changed."""
    mutant = copy.deepcopy(blocks)
    *steps, last = path
    place = mutant
    for step in steps:
        place = place[step]
    place[last] = str(change(Fraction(place[last])))
    return mutant


# ------------------------------------------------------------------------------------------------------- datasets


def choose_dataset(choose: Choose, largest: int = 12) -> Dataset:
    """A dataset that meets the hypotheses of the theorems: 1 <= N <= largest, 2 <= d <= 6.

    Families: arbitrary subsets, leave-one-out, chains of subsets, disjoint sets, single tokens; tokens small,
    collinear, huge, a hair apart, with unrelated denominators; targets taken from inputs, equal, fresh, huge, n = m.
    """
    d, wanted = choose(2, 6), choose(1, choose(1, largest))
    family = choose(0, 4)
    # leave-one-out, chains, disjoint sets and single tokens need a token a sequence
    pool = choose_tokens(choose, d, wanted + choose(0, 2) if family else choose(1, 7))
    masks = list(dict.fromkeys(choose_masks(choose, family, len(pool), wanted)))
    inputs = [[token for i, token in enumerate(pool) if mask >> i & 1] for mask in masks]
    if choose(0, 1):
        inputs = [tokens[::-1] for tokens in inputs]
    return make_dataset(*zip(inputs, choose_targets(choose, d, inputs), strict=True))


def choose_masks(choose: Choose, family: int, size: int, wanted: int) -> list[int]:
    """Non-empty subsets of a pool, as bit masks."""
    everything = (1 << size) - 1
    if family == 1 and size > 1:
        return [everything & ~(1 << j) for j in range(min(wanted, size))]
    if family == 2:
        return [(1 << j) - 1 for j in range(1, min(wanted, size) + 1)]
    if family == 3:
        count = min(wanted, size)
        return [sum(1 << i for i in range(j, size, count)) for j in range(count)]
    if family == 4:
        return [1 << j for j in range(min(wanted, size))]
    return [choose(1, everything) for _ in range(wanted)]


def choose_tokens(choose: Choose, d: int, count: int) -> list[Token]:
    """Different tokens, at most ``count`` and at least one."""
    style = choose(0, 4)
    if style == 0:  # small integers: many equal coordinates, ties, tokens on axes, the origin
        tokens = [[Fraction(choose(-2, 2)) for _ in range(d)] for _ in range(count)]
    elif style == 1:  # one line
        base, step = ([Fraction(choose(-3, 3)) for _ in range(d)] for _ in range(2))
        tokens = [[x + k * (y or 1) for x, y in zip(base, step, strict=True)] for k in range(count)]
    elif style == 2:
        tokens = [[Fraction(choose(-HUGE, HUGE)) for _ in range(d)] for _ in range(count)]
    elif style == 3:  # a hair apart, around a point that need not be near the origin
        base = [Fraction(choose(-3, 3) * 10 ** choose(0, 6)) for _ in range(d)]
        tokens = [[x + Fraction(choose(-3, 3), HUGE) for x in base] for _ in range(count)]
    else:
        tokens = [[Fraction(choose(-40, 40), choose(1, 30)) for _ in range(d)] for _ in range(count)]
    return list(dict.fromkeys(map(tuple, tokens)))


def choose_targets(choose: Choose, d: int, inputs: list[list[Token]]) -> list[list[Token]]:
    """Target sets with 1 <= m_j <= n_j."""
    style = choose(0, 5)
    if style == 0:  # what is wanted is what is there
        return inputs
    if style == 1:  # a part of the input
        return [tokens[: choose(1, len(tokens))] for tokens in inputs]
    if style == 2:  # one target for all
        target = choose_tokens(choose, d, 1)
        return [target for _ in inputs]
    if style == 3:  # tokens of another sequence
        others = [inputs[j - 1] for j in range(len(inputs))]
        return [other[: len(tokens)] for tokens, other in zip(inputs, others, strict=True)]
    scale = HUGE if style == 4 else 3
    wanted = [choose(1, len(tokens)) for tokens in inputs]
    drawn = [[[Fraction(choose(-scale, scale)) for _ in range(d)] for _ in range(m)] for m in wanted]
    return [list(dict.fromkeys(map(tuple, group))) for group in drawn]


@st.composite
def datasets(draw: st.DrawFn, largest: int = 12) -> Dataset:
    """Datasets that meet the hypotheses of the theorems."""
    return choose_dataset(lambda low, high: draw(st.integers(low, high)), largest)


def leave_one_out(num_pairs: int, dimension: int = 2) -> Dataset:
    """Every sequence is one set of N tokens without one of them; all targets are fresh and single."""
    tokens = [[k * k + c * k + 1 for c in range(dimension)] for k in range(num_pairs)]
    return make_dataset(*(([t for t in tokens if t is not left], [[-j, 1, *[0] * (dimension - 2)]])
                          for j, left in enumerate(tokens)))  # fmt: skip


# --------------------------------------------------------------------------------------------------- transformers

# Mostly small integers, so that ties, zeros and cancellations are common.
small_numbers = st.integers(-2, 2)
numbers: st.SearchStrategy[int | str] = st.one_of(
    small_numbers,
    small_numbers,
    st.sampled_from(["1/2", "-1/2", "3/4", "-2/3", "0.5", "-1.25", "1e2", "2E-3", "-0", "0/7", "6/4"]),
    st.integers(-HUGE, HUGE).map(str),
    st.builds(lambda p, q: f"{p}/{q}", st.integers(-HUGE, HUGE), st.integers(1, HUGE)),
)


def vectors(size: int, entries: st.SearchStrategy[Any] = numbers) -> st.SearchStrategy[list[Any]]:
    """Lists of numbers."""
    return st.one_of(*(st.lists(e, min_size=size, max_size=size) for e in (small_numbers, entries)))


def matrices(rows: int, columns: int) -> st.SearchStrategy[Any]:
    """Matrices as rows, or as a column and a row."""
    dense = st.lists(vectors(columns), min_size=rows, max_size=rows)
    return dense | st.builds(lambda column, row: {"outer": [column, row]}, vectors(rows), vectors(columns))


@st.composite
def feed_forwards(draw: st.DrawFn, dimension: int, max_width: int = 6) -> dict[str, Any]:
    """Feed-forward layers of any width from 0, any eta."""
    record = {"eta": draw(numbers)}
    if draw(st.booleans()):
        width = draw(st.integers(0, max_width))
        record |= {
            "W": draw(matrices(dimension, width)),
            "U": draw(matrices(width, dimension)),
            "b": draw(vectors(width)),
        }
    return record


@st.composite
def squares(draw: st.DrawFn, dimension: int, scale: str, left: str, right: str) -> dict[str, Any]:
    """Scaled identity, rank one, both, dense, or nothing at all."""
    if draw(st.integers(0, 3)) == 0:
        return {"dense": draw(matrices(dimension, dimension))}
    record: dict[str, Any] = {}
    if draw(st.booleans()):
        record[scale] = draw(numbers)
    if draw(st.booleans()):
        record |= {left: draw(vectors(dimension)), right: draw(vectors(dimension))}
    return record


@st.composite
def heads(draw: st.DrawFn, dimension: int) -> dict[str, Any]:
    """A and V, or one of them, or none."""
    record = {}
    for name, parts in (("A", ("alpha", "p", "q")), ("V", ("beta", "r", "t"))):
        if draw(st.integers(0, 3)):
            record[name] = draw(squares(dimension, *parts))
    return record


@st.composite
def attentions(draw: st.DrawFn, dimension: int, plain: bool = True) -> dict[str, Any]:
    """Self-attention layers: ``plain`` ones, or with one to three heads and perhaps a causal mask."""
    record = {"rho": draw(numbers)}
    count = 1 if plain else draw(st.integers(1, 3))
    record |= draw(heads(dimension)) if count == 1 else {"heads": [draw(heads(dimension)) for _ in range(count)]}
    return record if plain or draw(st.booleans()) else record | {"mask": "causal"}


@st.composite
def transformers(draw: st.DrawFn, dimension: int, max_blocks: int = 4, plain: bool = True) -> bytes:
    """The file of an arbitrary small transformer, its attention ``plain`` or not."""
    blocks = []
    for _ in range(draw(st.integers(0, max_blocks))):
        block: dict[str, Any] = {}
        if draw(st.booleans()):
            block["ff"] = draw(feed_forwards(dimension))
        if draw(st.booleans()):
            block["sa"] = draw(attentions(dimension, plain))
        blocks.append(block)
    return transformer_bytes(dimension, blocks)


@st.composite
def loose_sequences(draw: st.DrawFn, dimension: int) -> list[list[Token]]:
    """Sequences that need not meet any hypothesis: repeated tokens, equal sequences, tokens on axes."""
    coordinates = st.one_of(
        st.integers(-2, 2).map(Fraction),
        st.fractions(min_value=-4, max_value=4, max_denominator=6),
        st.integers(-HUGE, HUGE).map(Fraction),
    )
    small = st.lists(st.integers(-2, 2).map(Fraction), min_size=dimension, max_size=dimension)
    any_ = st.lists(coordinates, min_size=dimension, max_size=dimension)
    pool = draw(st.lists((small | any_).map(tuple), min_size=1, max_size=5))
    return draw(st.lists(st.lists(st.sampled_from(pool), min_size=1, max_size=6), min_size=1, max_size=3))
