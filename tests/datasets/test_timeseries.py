"""The .ts reader: decimals as they are written, both tasks, every fault with its line."""

from __future__ import annotations

import warnings

import pytest
from flint import fmpq

from interp.datasets.bundle import bundled_path
from interp.datasets.options import PLAIN, ReadOptions
from interp.datasets.read import decode_draft, load_dataset
from interp.datasets.timeseries import read_ts
from proofs.kernel.errors import UsageError
from proofs.kernel.rational import DEFAULT_LIMITS, coordinates_of

TEXT = """# a comment
@problemName  Small
@TIMESTAMPS False
@Missing false
@univariate false
@dimensions 2
@classLabel TRUE b a c

@data
1, 2.5,8.3E-4:-1,0,1e2:a
# another comment
7,8:9,10:b
"""


def read(text, options=PLAIN):
    return decode_draft(text.encode(), "ts", options)


def points(tokens):
    return [coordinates_of(row) for row in tokens]


def test_values_are_the_decimals_written():
    dataset = read(TEXT).to_dataset()
    assert points(dataset.pairs[0].input) == [(1, -1), (fmpq(5, 2), 0), (fmpq(83, 100_000), 100)]
    assert points(dataset.pairs[1].input) == [(7, 9), (8, 10)]


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
def test_line_ends(newline):
    assert read(TEXT.replace("\n", newline)).to_dataset() == read(TEXT).to_dataset()


def test_comments_may_be_in_any_encoding():
    data = b"# caf\xe9\n" + TEXT.encode()
    assert decode_draft(data, "ts").to_dataset() == read(TEXT).to_dataset()


def test_targets_follow_the_order_of_the_header():
    more = TEXT.replace("@dimensions 2\n", "@dimensions 3\n").replace(":a", ":0,0,0:a").replace(":b", ":0,0:b")
    assert [pair.output for pair in read(TEXT).to_dataset().pairs] == [((2, 0, 1),), ((1, 0, 1),)]
    assert [pair.output for pair in read(more).to_dataset().pairs] == [((0, 1, 0, 1),), ((1, 0, 0, 1),)]
    index = ReadOptions(targets="index")
    assert [pair.output for pair in read(more, index).to_dataset().pairs] == [((2, 0, 0, 1),), ((1, 0, 0, 1),)]


def test_one_hot_needs_dimensions():
    with pytest.raises(UsageError, match="3 classes do not fit into 2 dimensions"):
        read(TEXT, ReadOptions(targets="one-hot"))


def test_forecasting():
    pair = read(TEXT, ReadOptions(task="forecasting")).to_dataset().pairs[0]
    assert (len(pair.input), points(pair.output)) == (2, [(fmpq(83, 100_000), 100)])
    draft = read(TEXT, ReadOptions(task="forecasting", horizon=2))
    assert [(v.path, v.message) for v in draft.violations] == [
        ("line 12", "a series of length 2 leaves no input at horizon 2")
    ]
    assert draft.pairs[0].place("input", 0) == "line 10: token 1"
    assert [draft.pairs[0].place("output", i) for i in (None, 1)] == ["line 10: tokens 2-3", "line 10: token 3"]


def test_classification_needs_labels():
    text = "@univariate true\n@data\n1,2\n"
    with pytest.raises(UsageError) as caught:
        read(text)
    assert "--task forecasting" in caught.value.hint
    options = ReadOptions(task="forecasting", append_constant=True)
    assert read(text, options).to_dataset().pairs[0].output == ((2, 1, 1),)


def test_limit_stops_the_reading():
    broken = TEXT + "1,?:2,3:b\n"
    assert read(broken, ReadOptions(limit=2)).to_dataset() == read(TEXT).to_dataset()
    assert read(broken, ReadOptions(limit=3)).violations
    assert len(read(TEXT, ReadOptions(limit=1)).to_dataset().pairs) == 1


def test_dimensions_may_be_left_to_the_first_case():
    assert read(TEXT.replace("@dimensions 2\n", "")).to_dataset() == read(TEXT).to_dataset()


def test_aeon_reads_the_same_numbers():
    """Each of its doubles is the double nearest to our decimal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        datasets = pytest.importorskip("aeon.datasets", reason="aeon is not installed (extra: aeon)")
        arrays, labels = datasets.load_from_ts_file(str(bundled_path("japanese_vowels_30")))
    series = read_ts(bundled_path("japanese_vowels_30").read_bytes(), None, DEFAULT_LIMITS)
    assert [case.label for case in series.cases] == list(labels)
    assert len(arrays) == len(series.cases) == 30
    for array, case in zip(arrays, series.cases, strict=True):
        expected = [[int(x.p) / int(x.q) for x in token] for token in points(case.tokens)]
        assert array.T.tolist() == expected


def test_the_bundled_subset():
    dataset = load_dataset("bundled:japanese_vowels_30")
    assert (dataset.num_pairs, dataset.dimension, dataset.num_tokens) == (30, 12, 467)
    assert points(dataset.pairs[0].input)[0][:2] == (fmpq(1_860_936, 10**6), fmpq(-207_383, 10**6))
    assert len({pair.output for pair in dataset.pairs}) == 9
    assert b"CC BY 4.0" in bundled_path("japanese_vowels_30").read_bytes()
