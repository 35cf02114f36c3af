"""Datasets from bytes: every fault has its place, and what is read is exactly what is written."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given

from proofs.kernel.decode import decode_dataset
from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.rational import Limits
from tests.strategies import dataset_bytes, dataset_record, datasets, make_dataset

RECORD = {
    "format": "interp-dataset/1",
    "dimension": 2,
    "pairs": [
        {"input": [[1, 2], ["1/2", 0.5]], "output": [[3, 4]]},
        {"input": [[0, 0]], "output": [["-1e1", "7/3"]]},
    ],
}


def altered(*path_and_value):
    """RECORD with one value replaced (or removed, when the value is ...)."""
    *path, key, value = path_and_value
    record = copy.deepcopy(RECORD)
    place = record
    for step in path:
        place = place[step]
    if value is ...:
        del place[key]
    elif isinstance(place, list) and key == len(place):
        place.append(value)
    else:
        place[key] = value
    return json.dumps(record).encode()


def as_lines(record=RECORD, **header):
    head = {
        "format": "interp-dataset-lines/1",
        "dimension": record["dimension"],
        "pairs": len(record["pairs"]),
    } | header
    return "".join(json.dumps(line) + "\n" for line in (head, *record["pairs"])).encode()


def test_a_dataset_is_read_exactly():
    expected = make_dataset(([(1, 2), ("1/2", "1/2")], [(3, 4)]), ([(0, 0)], [(-10, "7/3")]))
    assert decode_dataset(json.dumps(RECORD).encode()) == expected
    assert decode_dataset(as_lines()) == expected


def test_a_comment_may_hold_anything_that_is_json():
    assert decode_dataset(altered("comment", {"why": [1, None, True]})) == decode_dataset(json.dumps(RECORD).encode())


P0 = ("pairs", 0)


@pytest.mark.parametrize(
    ("data", "path", "reason"),
    [
        (b"[]", "$", "expected an object"),
        (b"null", "$", "expected an object"),
        (b'"x"', "$", "expected an object"),
        (b"5", "$", "expected an object"),
        (altered("format", ...), "$", "'format' is missing"),
        (altered("dimension", ...), "$", "'dimension' is missing"),
        (altered("pairs", ...), "$", "'pairs' is missing"),
        (altered("claim", {"max_blocks": 10**6}), "$", "unknown key 'claim'"),
        (altered("max_blocks", 9), "$", "unknown key 'max_blocks'"),
        (altered("format", "interp-dataset/2"), "$.format", "expected 'interp-dataset/1'"),
        (altered("format", None), "$.format", "expected"),
        (altered("format", 1), "$.format", "expected"),
        (altered("dimension", 3), "$.pairs[0].input[0]", "2 coordinates, expected 3"),
        (altered("dimension", 0), "$.dimension", "below 2"),
        (altered("dimension", 1), "$.dimension", "below 2"),
        (altered("dimension", -2), "$.dimension", "expected a count"),
        (altered("dimension", "2"), "$.dimension", "expected a count"),
        (altered("dimension", 2.0), "$.dimension", "expected a count"),
        (altered("dimension", True), "$.dimension", "expected a count"),
        (altered("dimension", None), "$.dimension", "expected a count"),
        (altered("dimension", 10**40), "$.dimension", "expected a count"),
        (altered("pairs", []), "$.pairs", "no pairs"),
        (altered("pairs", {}), "$.pairs", "expected a list"),
        (altered("pairs", None), "$.pairs", "expected a list"),
        (altered("pairs", "ab"), "$.pairs", "expected a list"),
        (altered("pairs", 1, []), "$.pairs[1]", "expected an object"),
        (altered("pairs", 1, None), "$.pairs[1]", "expected an object"),
        (altered("pairs", 1, "input", ...), "$.pairs[1]", "'input' is missing"),
        (altered("pairs", 1, "output", ...), "$.pairs[1]", "'output' is missing"),
        (altered("pairs", 1, "weight", 1), "$.pairs[1]", "unknown key 'weight'"),
        (altered("pairs", 1, "input", []), "$.pairs[1].input", "empty"),
        (altered("pairs", 1, "output", []), "$.pairs[1].output", "empty"),
        (altered("pairs", 1, "output", {}), "$.pairs[1].output", "expected a list"),
        (altered("pairs", 1, "output", "12"), "$.pairs[1].output", "expected a list"),
        (altered("pairs", 1, "output", 5), "$.pairs[1].output", "expected a list"),
        (altered("pairs", 1, "output", [1, 2]), "$.pairs[1].output[0]", "expected a list"),
        (altered("pairs", 1, "output", 0, "12"), "$.pairs[1].output[0]", "expected a list"),
        (altered("pairs", 1, "output", 0, []), "$.pairs[1].output[0]", "0 coordinates"),
        (altered(*P0, "input", 1, [1]), "$.pairs[0].input[1]", "1 coordinates"),
        (altered(*P0, "input", 1, [1, 2, 3]), "$.pairs[0].input[1]", "3 coordinates"),
        (altered(*P0, "input", 1, 0, None), "$.pairs[0].input[1][0]", "expected a number"),
        (altered(*P0, "input", 1, 0, True), "$.pairs[0].input[1][0]", "expected a number"),
        (altered(*P0, "input", 1, 0, False), "$.pairs[0].input[1][0]", "expected a number"),
        (altered(*P0, "input", 1, 0, [1]), "$.pairs[0].input[1][0]", "expected a number"),
        (altered(*P0, "input", 1, 0, {"p": 1}), "$.pairs[0].input[1][0]", "expected a number"),
        (altered(*P0, "input", 1, 1, ""), "$.pairs[0].input[1][1]", "is not a number"),
        (altered(*P0, "input", 1, 1, "1/0"), "$.pairs[0].input[1][1]", "is not a number"),
        (altered(*P0, "input", 1, 1, "NaN"), "$.pairs[0].input[1][1]", "is not a number"),
        (altered(*P0, "input", 1, 1, "1\n"), "$.pairs[0].input[1][1]", "is not a number"),
        (altered(*P0, "input", 1, 1, "１"), "$.pairs[0].input[1][1]", "is not a number"),  # noqa: RUF001
        (altered(*P0, "output", 0, 1, "x"), "$.pairs[0].output[0][1]", "is not a number"),
        (altered("pairs", 1, "output", 0, 0, float("nan")), "$", "NaN is not a number"),
        (altered("pairs", 1, "output", 0, 0, float("inf")), "$", "Infinity is not a number"),
    ],
)
def test_a_fault_is_refused_with_its_place(data, path, reason):
    with pytest.raises(MalformedInput) as fault:
        decode_dataset(data)
    assert fault.value.path == path
    assert reason in str(fault.value)


@pytest.mark.parametrize(
    ("value", "reason"), [("1" * 20_000, "digits"), ("1e100000000", "exponent"), ("-1e-100000000", "exponent")]
)
def test_a_limit_is_told_with_its_place(value, reason):
    with pytest.raises(LimitReached, match=reason) as fault:
        decode_dataset(altered("pairs", 1, "input", 0, 0, value))
    assert fault.value.path == "$.pairs[1].input[0][0]"


def test_a_number_too_long_is_a_limit_when_written_as_a_json_number_too():
    data = (
        json.dumps(RECORD).encode().replace(b"7/3", b"0").replace(b"[0, 0]", b"[" + b"1" * 20_000 + b", 1e100000000]")
    )
    with pytest.raises(LimitReached):
        decode_dataset(data)


def test_a_file_above_the_byte_limit_is_a_limit():
    data = json.dumps(RECORD).encode()
    assert decode_dataset(data, Limits(max_bytes=len(data)))
    with pytest.raises(LimitReached, match="bytes"):
        decode_dataset(data, Limits(max_bytes=len(data) - 1))


def test_a_dataset_cut_anywhere_is_refused():
    data = json.dumps(RECORD).encode()
    for end in range(len(data)):
        with pytest.raises(MalformedInput):
            decode_dataset(data[:end])


# ------------------------------------------------------------------------------------------------------ JSON lines


def test_lines_cut_anywhere_are_refused():
    data = as_lines()
    for end in range(len(data) - 1):  # without its last newline alone the file is still whole
        with pytest.raises(MalformedInput):
            decode_dataset(data[:end])
    assert decode_dataset(data[:-1]) == decode_dataset(data)


def test_lines_cut_at_a_line_end_are_refused_because_the_header_counts_them():
    first_two = b"".join(as_lines().splitlines(keepends=True)[:2])
    with pytest.raises(MalformedInput, match="1 pairs where the header says 2"):
        decode_dataset(first_two)


@pytest.mark.parametrize(
    ("data", "path", "reason"),
    [
        (as_lines(pairs=1), "line 1: $.pairs", "2 pairs where the header says 1"),
        (as_lines(pairs=3), "line 1: $.pairs", "2 pairs where the header says 3"),
        (as_lines(pairs="2"), "line 1: $.pairs", "expected a count"),
        (as_lines(pairs=[]), "line 1: $.pairs", "expected a count"),
        (as_lines(dimension=None), "line 1: $.dimension", "expected a count"),
        (as_lines(dimension=3), "$.pairs[0].input[0]", "expected 3"),
        (as_lines(max_blocks=1), "line 1", "unknown key"),
        (as_lines(format="interp-dataset-lines/10"), "line 1: $.format", "expected"),
        (as_lines() + b"\n", "line 4", "not JSON"),
        (as_lines().replace(b"\n", b"\n\n", 1), "line 2", "not JSON"),
        (as_lines() + b'{"input": [[1, 1]], "output": [[1, 1]]}', "line 1: $.pairs", "3 pairs"),
        (as_lines() + b"[]", "line 4: $", "expected an object"),
        (as_lines().replace(b"7/3", b"7/0"), "line 3: $.output[0][1]", "is not a number"),
        (as_lines().replace(b"7/3", b"7\xff"), "line 3", "not UTF-8"),
        (as_lines({"dimension": 2, "pairs": []}), "$.pairs", "no pairs"),
    ],
)
def test_a_fault_in_lines_is_refused_with_its_place(data, path, reason):
    with pytest.raises(MalformedInput) as fault:
        decode_dataset(data)
    assert fault.value.path == path
    assert reason in str(fault.value)


@given(datasets(largest=5))
def test_json_and_json_lines_are_one_dataset(dataset):
    record = dataset_record(dataset)
    decoded = decode_dataset(dataset_bytes(dataset))
    assert decoded == decode_dataset(as_lines(record)) == dataset
    assert decoded.digest == dataset.digest


@pytest.mark.parametrize("comment", ["interp-dataset-lines/1", {"format": "interp-dataset-lines/1"}])
@pytest.mark.parametrize("indent", [None, 1])
def test_the_name_of_the_lines_format_in_a_comment_is_only_text(comment, indent):
    pairs = [{"input": [[1, 2]], "output": [[3, 4]]}]
    record = {"comment": comment, "format": "interp-dataset/1", "dimension": 2, "pairs": pairs}
    plain = {key: value for key, value in record.items() if key != "comment"}
    assert decode_dataset(json.dumps(record, indent=indent).encode()) == decode_dataset(json.dumps(plain).encode())
    first_line = b'{"comment": "interp-dataset-lines/1",\n'
    assert decode_dataset(first_line + json.dumps(plain).encode()[1:]) == decode_dataset(json.dumps(plain).encode())


def test_tokens_are_counted_over_all_pairs_and_both_sides():
    pairs = [{"input": [[1, 2], [3, 4]], "output": [[3, 4]]}] * 2
    document = json.dumps({"format": "interp-dataset/1", "dimension": 2, "pairs": pairs}).encode()
    header = json.dumps({"format": "interp-dataset-lines/1", "dimension": 2, "pairs": 2}).encode()
    lines = b"\n".join([header, *(json.dumps(pair).encode() for pair in pairs)])
    for data, place in ((document, "$.pairs[1]"), (lines, "line 3: $")):
        assert decode_dataset(data, Limits(max_tokens=6)).num_listed == 2
        with pytest.raises(LimitReached, match="--max-tokens") as fault:
            decode_dataset(data, Limits(max_tokens=5))
        assert fault.value.path == place
