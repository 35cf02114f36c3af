"""Every writer against every reader: the digest of the content never changes, and the bytes depend on it alone."""

from __future__ import annotations

import json
from io import BytesIO

import numpy as np
import pytest
from dataset_strategies import datasets, rationals, short_datasets
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.datasets.convert import convert_dataset
from interp.datasets.encode import encode_dataset_json, encode_dataset_lines
from interp.datasets.npz import encode_dataset_npz
from interp.datasets.read import decode_draft, load_dataset
from proofs.kernel.decode import decode_dataset
from proofs.kernel.errors import UsageError
from proofs.kernel.rational import coordinates_of, row_of
from proofs.kernel.statement import Dataset, Pair


@given(datasets())
@settings(max_examples=50)
def test_json_and_lines_go_through_the_kernel(dataset):
    for encode in (encode_dataset_json, encode_dataset_lines):
        assert decode_dataset(encode(dataset)) == dataset
        assert decode_draft(encode(dataset), "json").to_dataset() == dataset


@given(short_datasets())
@settings(max_examples=50)
def test_npz(dataset):
    data = encode_dataset_npz(dataset)
    assert decode_draft(data, "npz").to_dataset().digest == dataset.digest
    assert encode_dataset_npz(decode_draft(data, "npz").to_dataset()) == data


@given(st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), min_size=1))
def test_a_double_is_the_dyadic_that_it_is(tokens):
    stream = BytesIO()
    np.savez(stream, inputs=np.array(tokens), input_lengths=[len(tokens)], outputs=[[0, 1]], output_lengths=[1])
    dataset = decode_draft(stream.getvalue(), "npz").to_dataset()
    expected = tuple(row_of([fmpq(*x.as_integer_ratio()) for x in token]) for token in tokens)
    assert dataset.pairs[0].input == expected
    assert decode_dataset(encode_dataset_lines(dataset)) == dataset


@given(rationals())
def test_short_integers_are_json_numbers_and_others_text(number):
    dataset = Dataset(2, (Pair((row_of([number, fmpq(0)]),), ((0, 0, 1),)),))
    written = json.loads(encode_dataset_json(dataset))["pairs"][0]["input"][0][0]
    assert isinstance(written, int) == (number.q == 1 and abs(number.p) < 2**53)
    assert fmpq(*map(int, str(written).split("/"))) == number == coordinates_of(dataset.pairs[0].input[0])[0]


def test_a_chain_of_conversions_ends_where_it_began(tmp_path):
    first = convert_dataset("bundled:japanese_vowels_30", tmp_path / "a.jsonl")
    for source, target in (("a.jsonl", "b.npz"), ("b.npz", "c.json"), ("c.json", "d.npz"), ("d.npz", "e.jsonl")):
        assert convert_dataset(tmp_path / source, tmp_path / target).digest == first.digest
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "e.jsonl").read_bytes()
    assert (tmp_path / "b.npz").read_bytes() == (tmp_path / "d.npz").read_bytes()
    assert load_dataset(tmp_path / "e.jsonl") == first


def test_npz_bytes_are_known():
    dataset = Dataset(2, (Pair(((1, 2, 3), (-4, 5, 1)), ((0, 0, 1),)),))
    stream = BytesIO(encode_dataset_npz(dataset))
    with np.load(stream, allow_pickle=False) as archive:
        assert archive.files == ["inputs", "input_lengths", "input_denominators", "outputs", "output_lengths"]
        assert archive["inputs"].tolist() == [[1, 2], [-4, 5]]
        assert archive["input_denominators"].tolist() == [3, 1]
        assert {str(archive[name].dtype) for name in archive.files} == {"int64"}


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, fmpq(1, 2**63)])
def test_npz_refuses_what_does_not_fit(number):
    dataset = Dataset(2, (Pair(((0, 0, 1), row_of([fmpq(0), fmpq(number)])), ((0, 0, 1),)),))
    with pytest.raises(UsageError) as caught:
        encode_dataset_npz(dataset)
    assert caught.value.path in ("inputs[1,1]", "input_denominators[1]")
    assert caught.value.hint == "write .jsonl"
    assert "19 digits" in caught.value.message


def test_npz_holds_the_ends_of_int64():
    dataset = Dataset(2, (Pair(((2**63 - 1, -(2**63), 1),), ((1, 0, 2**63 - 1),)),))
    assert decode_draft(encode_dataset_npz(dataset), "npz").to_dataset() == dataset
