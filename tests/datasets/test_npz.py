"""The npz reader: what it accepts, and every fault with its place."""

from __future__ import annotations

import zipfile
from contextlib import suppress
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interp.datasets.npz import MAX_LISTED, encode_dataset_npz
from interp.datasets.options import ReadOptions
from interp.datasets.read import decode_draft
from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Dataset, Pair

GOOD = {
    "inputs": [[1, 2], [3, 4], [5, 6]],
    "input_lengths": [2, 1],
    "outputs": [[7, 8], [9, 9]],
    "output_lengths": [1, 1],
}


def archive(**changes):
    stream = BytesIO()
    arrays = {name: np.array(value) for name, value in (GOOD | changes).items() if value is not None}
    np.savez(stream, **arrays)
    return stream.getvalue()


def faults(data):
    return [(v.path, v.message) for v in decode_draft(data, "npz").violations]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint64", "float16", "float32", "float64", ">i4", ">f8"])
def test_types(dtype):
    for order in ("C", "F"):
        values = np.array(GOOD["inputs"], dtype=dtype, order=order)
        dataset = decode_draft(archive(inputs=values), "npz").to_dataset()
        assert dataset.pairs == (
            Pair(((1, 2, 1), (3, 4, 1)), ((7, 8, 1),)),
            Pair(((5, 6, 1),), ((9, 9, 1),)),
        )


def test_exact_values():
    largest = 2**64 - 1
    dataset = decode_draft(
        archive(
            inputs=np.array([[largest, 0], [0, 1], [2, 2]], dtype="uint64"),
            outputs=np.array([[0.1, -0.0], [5e-324, 1e300]]),
        ),
        "npz",
    ).to_dataset()
    assert dataset.pairs[0].input[0] == (largest, 0, 1)
    assert dataset.pairs[0].output[0] == (3602879701896397, 0, 2**55)
    assert dataset.pairs[1].output[0] == (1, int(1e300) * 2**1074, 2**1074)


def test_denominators_give_fractions_in_lowest_terms():
    dataset = decode_draft(archive(input_denominators=[1, 2, 10]), "npz").to_dataset()
    assert [row for pair in dataset.pairs for row in pair.input] == [(1, 2, 1), (3, 4, 2), (5, 6, 10)]
    dataset = decode_draft(archive(input_denominators=[1, 6, 1], inputs=[[1, 2], [3, 9], [5, 6]]), "npz").to_dataset()
    assert dataset.pairs[0].input[1] == (1, 3, 2)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"inputs": [[1.0, NAN], [3, 4], [-INF, 6]]}, [("inputs[0,1]", "nan is not a number"),
                                                       ("inputs[2,0]", "-inf is not a number")]),
        ({"outputs": [[1, 2], [3, INF]]}, [("outputs[1,1]", "inf is not a number")]),
        ({"inputs": [[True, False]] * 3}, [("inputs", "an array of type bool is not read")]),
        ({"outputs": [[1j, 2], [3, 4]]}, [("outputs", "an array of type complex128 is not read")]),
        ({"outputs": [["1", "2"], ["3", "4"]]}, [("outputs", "an array of type <U1 is not read")]),
        ({"inputs": np.array([[None, 1]] * 3)}, [("inputs", "an array of type object is not read")]),
        ({"input_lengths": [2.0, 1.0]}, [("input_lengths", "an array of type float64 is not read")]),
        ({"input_lengths": [2, 2]}, [("input_lengths", "the lengths sum up to 4, inputs has 3 rows")]),
        ({"output_lengths": [1]}, [("output_lengths", "the lengths sum up to 1, outputs has 2 rows")]),
        ({"output_lengths": [2]}, [("output_lengths", "1 outputs for 2 inputs")]),
        ({"input_lengths": [4, -1]}, [("input_lengths[1]", "a negative length: -1")]),
        ({"input_lengths": [0, 3]}, [("input_lengths[0]", "an empty sequence")]),
        ({"inputs": [1, 2, 3]}, [("inputs", "shape (3,), expected (tokens, d)")]),
        ({"input_lengths": [[2, 1]]}, [("input_lengths", "shape (1, 2), expected (number of pairs,)")]),
        ({"outputs": [[1, 2, 3], [4, 5, 6]]}, [("outputs", "outputs have 3 coordinates, inputs 2")]),
        ({"inputs": None, "output_lengths": None}, [("inputs", "the array is missing"),
                                                    ("output_lengths", "the array is missing")]),
        ({"input": [1], "labels": [2]}, [("'input'", "unknown array"), ("'labels'", "unknown array")]),
        ({"input_denominators": [1, 0, -3]}, [("input_denominators[1]", "the denominator 0 is not positive"),
                                              ("input_denominators[2]", "the denominator -3 is not positive")]),
        ({"output_denominators": [1]}, [("output_denominators", "1 denominators for 2 rows of outputs")]),
        ({"input_denominators": [1.0, 2.0, 3.0]}, [("input_denominators", "an array of type float64 is not read")]),
        ({"outputs": [[0.5, 1], [1, 2]], "output_denominators": [1, 2]},
         [("output_denominators", "denominators go with integers, outputs are float64")]),
        ({"inputs": [[1], [2], [3]], "outputs": [[1], [2]]}, [("inputs", "dimension 1 is below 2")]),
        ({"inputs": np.zeros((0, 2)), "outputs": np.zeros((0, 2)), "input_lengths": np.zeros(0, int),
          "output_lengths": np.zeros(0, int)}, [("$.pairs", "the dataset has no pairs: nothing to check")]),
    ],
)  # fmt: skip
def test_faults(changes, expected):
    assert faults(archive(**changes)) == expected


def test_all_faults_at_once():
    data = archive(inputs=[[NAN, 1], [INF, 1], [0, 0]], output_lengths=[3, -1], more=[1])
    assert [path for path, _ in faults(data)] == ["'more'", "inputs[0,0]", "inputs[1,0]", "output_lengths[1]"]


def test_many_nans_are_counted():
    found = faults(archive(inputs=np.full((1000, 2), NAN), input_lengths=[999, 1]))
    assert len(found) == MAX_LISTED + 1
    assert found[-1] == ("inputs", f"{2000 - MAX_LISTED} more entries are not numbers")


def test_nothing_is_unpickled():
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    stream = BytesIO()
    np.savez(stream, **{name: np.array(value) for name, value in GOOD.items() if name != "outputs"})
    with zipfile.ZipFile(stream, "a") as file:
        content = BytesIO()
        np.lib.format.write_array(content, np.array([[Trap()]], dtype=object), allow_pickle=True)
        file.writestr("outputs.npy", content.getvalue())
    assert faults(stream.getvalue()) == [("outputs", "an array of type object is not read")]


def member(header):
    """An archive whose inputs have this npy header and no data."""
    text = header.encode().ljust(117) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    stream = BytesIO(archive(inputs=None))
    with zipfile.ZipFile(stream, "a") as file:
        file.writestr("inputs.npy", content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000, 9)}", "the array does not fill its shape"),
        ("{'descr': '<i8', 'fortran_order': False, 'shape': (-1, 2)}", "the array does not fill its shape"),
        ("{'descr': '<i8', 'shape': (1, 2)}", "not a readable .npy array"),
        ("{'descr': 'nonsense', 'fortran_order': False, 'shape': (1, 2)}", "not a readable .npy array"),
        ("__import__('os').getcwd()", "not a readable .npy array"),
        ("((((", "not a readable .npy array"),
    ],
)  # fmt: skip
def test_headers_that_lie(header, message):
    assert faults(member(header)) == [("inputs", message)]


def test_arrays_given_twice():
    stream = BytesIO(archive())
    with zipfile.ZipFile(stream) as file:
        content = file.read("inputs.npy")
    with zipfile.ZipFile(stream, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("inputs.npy", content)
    assert faults(stream.getvalue()) == [("inputs", "the array is given twice")] * 2


def test_a_small_archive_of_large_arrays_meets_the_limit():
    stream = BytesIO()
    np.savez_compressed(stream, inputs=np.zeros((10**6, 2)))
    assert len(stream.getvalue()) < 10**5
    with pytest.raises(LimitReached):
        decode_draft(stream.getvalue(), "npz", ReadOptions(), Limits(max_bytes=10**6))


def test_no_archive():
    for data in (b"", b"PK", b"{}", archive()[:200]):
        with pytest.raises(MalformedInput, match="not a readable"):
            decode_draft(data, "npz")


@given(st.integers(0, 2000), st.integers(1, 255))
def test_a_flipped_byte_is_a_fault_or_a_dataset(position, flip):
    data = bytearray(archive())
    data[position % len(data)] ^= flip
    with suppress(MalformedInput):
        assert isinstance(decode_draft(bytes(data), "npz").to_dataset(), Dataset)


def test_repeated_tokens_are_named_by_row():
    dataset = decode_draft(archive(), "npz").to_dataset()
    draft = decode_draft(encode_dataset_npz(dataset), "npz")
    assert [draft.pairs[j].place("input", i) for j, i in ((0, 0), (0, 1), (1, 0))] == [f"inputs[{k}]" for k in range(3)]
    assert draft.pairs[1].place("output", None) == "output_lengths[1]"
