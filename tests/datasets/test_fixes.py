"""The changes that mend a dataset: pure, exact, and the same as reading options."""

from __future__ import annotations

import pytest
from dataset_strategies import datasets, tiny_datasets
from hypothesis import given, settings

from interp.datasets.encode import encode_dataset_json
from interp.datasets.fixes import append_constant, append_positions, merge_identical_pairs, merge_repeated_outputs
from interp.datasets.options import ReadOptions
from interp.datasets.read import decode_draft
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.rational import coordinates_of, row_of
from proofs.kernel.statement import Dataset, Pair

A, B, C = (0, 0, 1), (1, 0, 1), (0, 1, 2)


@given(datasets())
@settings(max_examples=30)
def test_positions(dataset):
    changed = append_positions(dataset)
    assert changed.dimension == dataset.dimension + 1
    for before, after in zip(dataset.pairs, changed.pairs, strict=True):
        for side, place in (("input", lambda i: i + 1), ("output", lambda i: 0)):
            for i, (x, y) in enumerate(zip(getattr(before, side), getattr(after, side), strict=True)):
                assert coordinates_of(y) == (*coordinates_of(x), place(i))
                assert row_of(coordinates_of(y)) == y


@given(datasets())
@settings(max_examples=30)
def test_constant(dataset):
    changed = append_constant(dataset)
    for before, after in zip(dataset.pairs, changed.pairs, strict=True):
        for x, y in zip(before.input + before.output, after.input + after.output, strict=True):
            assert coordinates_of(y) == (*coordinates_of(x), 1)


@given(tiny_datasets())
def test_merging_keeps_the_statement(dataset):
    """N, M and the set of pairs as the kernel sees them stay."""
    merged = merge_identical_pairs(merge_repeated_outputs(dataset))
    assert (merged.num_pairs, merged.num_outputs) == (dataset.num_pairs, dataset.num_outputs)

    def obligations(d):
        return {(tuple(sorted(pair.input)), frozenset(pair.output)) for pair in d.pairs}

    assert obligations(merged) == obligations(dataset)
    assert len(obligations(merged)) == len(merged.pairs)
    assert merge_identical_pairs(merged) == merged


def test_pairs_that_differ_in_repetitions_stay():
    dataset = Dataset(2, (Pair((A, B), (C,)), Pair((A, B, B), (C,)), Pair((B, A), (C, C))))
    assert merge_identical_pairs(dataset).pairs == dataset.pairs[:2]


@pytest.mark.parametrize(
    ("options", "change"),
    [
        (ReadOptions(append_constant=True), append_constant),
        (ReadOptions(positions=True), append_positions),
        (ReadOptions(merge_outputs=True), merge_repeated_outputs),
        (ReadOptions(merge_pairs=True), merge_identical_pairs),
        (ReadOptions(append_constant=True, positions=True), lambda d: append_positions(append_constant(d))),
        (ReadOptions(positions=True, merge_pairs=True), lambda d: merge_identical_pairs(append_positions(d))),
        (ReadOptions(limit=2), lambda d: Dataset(2, d.pairs[:2])),
    ],
)
def test_options_do_what_the_functions_do(options, change):
    dataset = Dataset(2, (Pair((A, B, A), (C, C)), Pair((B, A, A), (C,)), Pair((A, B, A), (C,))))
    assert decode_draft(encode_dataset_json(dataset), "json", options).to_dataset() == change(dataset)


LINE = b'{"format":"interp-dataset/1","dimension":1,"pairs":[{"input":[["1/2"],[3]],"output":[[1e-1]]}]}'


@pytest.mark.parametrize(
    ("options", "pair"),
    [
        (ReadOptions(append_constant=True), Pair(((1, 2, 2), (3, 1, 1)), ((1, 10, 10),))),
        (ReadOptions(positions=True), Pair(((1, 2, 2), (3, 2, 1)), ((1, 0, 10),))),
    ],
)
def test_dimension_one_can_be_lifted(options, pair):
    assert decode_draft(LINE, "json", options).to_dataset() == Dataset(2, (pair,))
    with pytest.raises(MalformedInput) as caught:
        decode_draft(LINE, "json").to_dataset()
    assert "--append-constant" in caught.value.hint


@pytest.mark.parametrize(
    "options",
    [
        {"task": "regression"},
        {"targets": "binary"},
        {"limit": 0},
        {"task": "forecasting", "horizon": 0},
        {"horizon": 2},
        {"task": "forecasting", "targets": "index"},
    ],
)
def test_options_that_make_no_sense(options):
    with pytest.raises(UsageError):
        ReadOptions(**options)


@pytest.mark.parametrize("options", [{"task": "classification"}, {"targets": "index"}])
def test_task_options_are_for_time_series(options):
    with pytest.raises(UsageError) as caught:
        decode_draft(LINE, "json", ReadOptions(**options))
    assert caught.value.path == f"--{next(iter(options))}"
