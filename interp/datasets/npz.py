"""Untrusted. Datasets in numpy's ``.npz``: exact integers, dyadics and fractions; nothing is ever unpickled.

Shapes: inputs (K, d), input_lengths (N,), outputs (sum of m_j, d), output_lengths (N,), optional denominators (rows,).
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from io import BytesIO
from itertools import accumulate
from typing import Any

import numpy as np

from interp.datasets.draft import SIDES, Draft, DraftPair, Place, Token, Tokens
from interp.datasets.violation import Violation
from interp.files.npz import Array, decode_array, open_members, write_member
from proofs.engine.statement import ArrayDataset, ArrayPairs, Side
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.rational import Limits, Row, integer_text, primitive_row
from proofs.kernel.statement import Dataset

ARRAYS = ("inputs", "input_lengths", "outputs", "output_lengths")
DENOMINATORS = ("input_denominators", "output_denominators")
NUMBERS = "int64, int32, uint64, .. or float64, float32"
MAX_LISTED = 99  # entries of one array that are not finite; the others are only counted


def read_npz(data: bytes, limits: Limits) -> Draft:
    """The tokens of an archive and all its faults. Raises: MalformedInput when it is no archive, LimitReached."""
    found: list[Violation] = []
    arrays = _read_arrays(data, limits, found)
    sides = [_read_side(side, arrays, found) for side in SIDES]
    widths = [arrays[f"{side}s"].shape[1] if f"{side}s" in arrays else None for side in SIDES]
    if None not in widths and widths[0] != widths[1]:
        message = f"outputs have {widths[1]} coordinates, inputs {widths[0]}"
        found.append(Violation("ragged-token", "outputs", message))
    inputs, outputs = sides
    if inputs is not None and outputs is not None and len(inputs) != len(outputs):
        message = f"{len(outputs)} outputs for {len(inputs)} inputs"
        found.append(Violation("count", "output_lengths", message, "one length a pair in both arrays"))
    pairs: tuple[DraftPair, ...] = ()
    if inputs is not None and outputs is not None and len(inputs) == len(outputs) and widths[0] == widths[1]:
        starts = (accumulate(map(len, side), initial=0) for side in (inputs, outputs))
        pairs = tuple(
            DraftPair(x, y, _places(j, first_x, first_y))
            for j, (x, y, first_x, first_y) in enumerate(zip(inputs, outputs, *starts, strict=False))
        )
    return Draft(widths[0], pairs, tuple(found), "inputs")


def read_npz_arrays(data: bytes, limits: Limits) -> ArrayDataset | None:
    """The dataset in an archive of integers that fit into int64, or None when something else is to be told.

    Raises: MalformedInput when it is no archive, LimitReached.
    """
    found: list[Violation] = []
    arrays = _read_arrays(data, limits, found)
    if found or any(not np.can_cast(array.dtype, np.int64) for array in arrays.values()):
        return None
    sides = []
    for side in SIDES:
        values, lengths = arrays[f"{side}s"].astype(np.int64), arrays[f"{side}_lengths"].astype(np.int64)
        denominators = arrays.get(f"{side}_denominators")
        # every length is at most the number of rows, so that their sum does not wrap
        if not len(lengths) or values.shape[1] < 2 or int(lengths.min()) < 1 or int(lengths.max()) > len(values):
            return None
        if int(lengths.sum()) != len(values):
            return None
        if denominators is not None and (len(denominators) != len(values) or int(denominators.min()) < 1):
            return None
        sides.append(Side.from_arrays(values, denominators, lengths))
    inputs, outputs = sides
    if len(inputs.starts) != len(outputs.starts) or inputs.rows.shape[1] != outputs.rows.shape[1]:
        return None
    return ArrayDataset(inputs.rows.shape[1] - 1, ArrayPairs(inputs, outputs))


def _places(pair: int, first_input: int, first_output: int) -> Place:
    """Places such as ``inputs[7]`` for a token and ``input_lengths[3]`` for a sequence."""

    def place(side: str, token: int | None) -> str:
        if token is None:
            return f"{side}_lengths[{pair}]"
        return f"{side}s[{(first_input if side == 'input' else first_output) + token}]"

    return place


def _read_arrays(data: bytes, limits: Limits, found: list[Violation]) -> dict[str, Array]:
    """The known arrays that have an accepted type and shape."""
    arrays: dict[str, Array] = {}
    with open_members(data, limits) as members:
        names = [name for name, _ in members]
        for name, read in members:
            if name not in ARRAYS + DENOMINATORS:
                known = ", ".join(ARRAYS + DENOMINATORS)
                found.append(Violation("array", repr(name), "unknown array", f"the arrays are {known}"))
            elif names.count(name) > 1:
                found.append(Violation("array", name, "the array is given twice"))
            else:
                try:
                    arrays[name] = decode_array(name, read(), partial(_check_type, name))
                except MalformedInput as fault:
                    found.append(Violation("array", fault.path, fault.message, fault.hint))
    found += [Violation("array", name, "the array is missing") for name in ARRAYS if name not in names]
    return arrays


def _check_type(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    is_index = name.endswith(("lengths", "denominators"))
    if dtype.kind not in ("iu" if is_index else "iuf") or dtype.itemsize > 8:
        accepted = "an integer type" if is_index else NUMBERS
        raise MalformedInput(f"an array of type {dtype} is not read", name, f"write {accepted}")
    if len(shape) != (1 if is_index else 2):
        expected = "(number of pairs,)" if name.endswith("lengths") else "(rows,)" if is_index else "(tokens, d)"
        raise MalformedInput(f"shape {shape}, expected {expected}", name)


def _read_side(side: str, arrays: dict[str, Array], found: list[Violation]) -> list[Tokens] | None:
    """The sequences of one side, or None when their arrays do not go together."""
    values, lengths = arrays.get(f"{side}s"), arrays.get(f"{side}_lengths")
    rows = None if values is None else _read_rows(side, values, arrays.get(f"{side}_denominators"), found)
    if lengths is None:
        return None
    sizes = [int(size) for size in lengths.tolist()]
    negative = [j for j, size in enumerate(sizes) if size < 0]
    found += [Violation("count", f"{side}_lengths[{j}]", f"a negative length: {sizes[j]}") for j in negative]
    if rows is None or negative:
        return None
    if sum(sizes) != len(rows):
        message = f"the lengths sum up to {sum(sizes)}, {side}s has {len(rows)} rows"
        found.append(Violation("count", f"{side}_lengths", message))
        return None
    ends = list(accumulate(sizes))
    return [tuple(rows[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def _read_rows(side: str, values: Array, denominators: Array | None, found: list[Violation]) -> list[Token]:
    if denominators is not None:
        found += _find_bad_denominators(side, values, denominators)
        if values.dtype.kind == "f" or len(denominators) != len(values):
            return [None] * len(values)
        return [
            primitive_row(row, divisor) if divisor > 0 else None
            for row, divisor in zip(values.tolist(), denominators.tolist(), strict=True)
        ]
    if values.dtype.kind != "f":
        return [(*row, 1) for row in values.tolist()]
    finite = np.isfinite(values)
    places = np.argwhere(~finite)
    for i, c in places[:MAX_LISTED].tolist():
        found.append(_not_a_number(f"{side}s[{i},{c}]", f"{values[i, c]} is not a number"))
    if len(places) > MAX_LISTED:
        found.append(_not_a_number(f"{side}s", f"{len(places) - MAX_LISTED} more entries are not numbers"))
    usable: list[bool] = np.all(finite, axis=1).tolist()
    return [dyadic_row(row) if use else None for row, use in zip(values.tolist(), usable, strict=True)]


def _not_a_number(path: str, message: str) -> Violation:
    return Violation("number", path, message, "correct or drop the token")


def _find_bad_denominators(side: str, values: Array, denominators: Array) -> Iterator[Violation]:
    name = f"{side}_denominators"
    if values.dtype.kind == "f":
        yield Violation("array", name, f"denominators go with integers, {side}s are {values.dtype}", "leave them out")
    if len(denominators) != len(values):
        yield Violation("count", name, f"{len(denominators)} denominators for {len(values)} rows of {side}s")
    for i in np.flatnonzero(denominators <= 0).tolist():
        yield Violation("number", f"{name}[{i}]", f"the denominator {denominators[i]} is not positive")


def dyadic_row(coordinates: Sequence[float]) -> Row:
    """The row of a token of finite doubles, each being the dyadic rational that it is."""
    ratios = [x.as_integer_ratio() for x in coordinates]
    common = max((denominator for _, denominator in ratios), default=1)  # all are powers of two
    return primitive_row([p * (common // q) for p, q in ratios], common)


def encode_dataset_npz(dataset: Dataset) -> bytes:
    """The archive of a dataset: int64 numerators, and denominators unless all are 1; the same bytes every time.

    Raises: UsageError when a number does not fit into 64 bits.
    """
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for side in SIDES:
            if isinstance(dataset, ArrayDataset):
                whole: Side = getattr(dataset.pairs, f"{side}s")
                _write_array(archive, f"{side}s", whole.rows[:, :-1])
                _write_array(archive, f"{side}_lengths", np.diff(whole.starts))
                if (whole.rows[:, -1] != 1).any():
                    _write_array(archive, f"{side}_denominators", whole.rows[:, -1])
                continue
            sequences = [getattr(pair, side) for pair in dataset.pairs]
            rows = [row for tokens in sequences for row in tokens]
            _write_array(archive, f"{side}s", [row[:-1] for row in rows])
            _write_array(archive, f"{side}_lengths", [len(tokens) for tokens in sequences])
            if any(row[-1] != 1 for row in rows):
                _write_array(archive, f"{side}_denominators", [row[-1] for row in rows])
    return stream.getvalue()


def _write_array(archive: zipfile.ZipFile, name: str, values: list[Any] | Array) -> None:
    try:
        array = np.array(values, dtype=np.dtype("<i8"), order="C")
    except OverflowError as error:
        raise _too_long(name, list(values)) from error
    write_member(archive, name, array)


def _too_long(name: str, values: list[Any]) -> UsageError:
    """The fault of the first number outside of int64."""
    entries = (
        (f"{name}[{i},{c}]" if isinstance(row, tuple) else f"{name}[{i}]", x)
        for i, row in enumerate(values)
        for c, x in enumerate(row if isinstance(row, tuple) else (row,))
    )
    path, number = next((path, x) for path, x in entries if not -(2**63) <= x < 2**63)
    digits = len(integer_text(abs(number)))
    return UsageError(f"an integer of {digits} digits does not fit into 64 bits", path, "write .jsonl")
