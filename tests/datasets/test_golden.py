"""One defect a file, named after it: the rules and places that the doctor lists, and the fault that ends a reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from interp.datasets.doctor import examine
from interp.datasets.read import load_dataset
from proofs.kernel.errors import MalformedInput

FOLDER = Path(__file__).parent / "golden"

NO_DATASET = {
    "bad-number.json": [("number", f"$.pairs[0].{place}") for place in ("input[1][0]", "output[0][0]", "output[0][1]")],
    "bad-number.ts": [("number", "line 4: dimension 1, value 2"), ("number", "line 4: dimension 2, value 2")],
    "cut-line.jsonl": [("syntax", "line 3")],
    "cut-short.json": [("syntax", "$")],
    "dimension-one.json": [("dimension", "$.dimension")],
    "empty-sequence.json": [("empty-sequence", "$.pairs[0].input")],
    "format-and-count.json": [("format", "$.format"), ("count", "$.dimension")],
    "header.ts": [("header", f"line {k}") for k in range(1, 6)],
    "label-twice.ts": [("header", "line 2")],
    "lost-line.jsonl": [("count", "line 1: $.pairs")],
    "missing-and-unknown-key.json": [("key", "$.pairs[0]"), ("key", "$.pairs[0]")],
    "missing-value.ts": [("number", f"line 5: {place}") for place in
                         ("dimension 1, value 2", "dimension 2, value 1", "dimension 2, value 2")],
    "no-cases.ts": [("no-pairs", "$.pairs")],
    "no-data-line-at-all.ts": [("header", "end of file")],
    "no-data-line.ts": [("header", "line 3")],
    "no-pairs.json": [("no-pairs", "$.pairs")],
    "not-utf-8.ts": [("syntax", "line 4"), ("label", "line 4")],
    "not-a-number.json": [("number", "$.pairs[0].input[1][1]"), ("number", "$.pairs[0].output[0][1]")],
    "number-of-dimensions.ts": [("ragged-token", "line 5"), ("ragged-token", "line 6")],
    "pairs-not-a-list.json": [("type", "$.pairs")],
    "ragged-token.json": [("ragged-token", "$.pairs[0].input[1]")],
    "regression.ts": [("header", "line 2")],
    "repeated-key.json": [("key", "$.pairs[0]")],
    "several-defects.jsonl": [("number", "line 3: $.output[0][1]"), ("ragged-token", "line 3: $.input[1]"),
                              ("repeated-input-token", "line 2: $.input[1]")],
    "time-stamps.ts": [("header", "line 1")],
    "unequal-length.ts": [("length", "line 7")],
    "uneven-dimensions.ts": [("ragged-token", "line 5")],
    "univariate.ts": [("dimension", "line 1")],
    "unknown-label.ts": [("label", "line 5")],
    "wrong-type.json": [("type", "$.pairs[0].input"), ("type", "$.pairs[0].output[0]"),
                        ("type", "$.pairs[0].output[1]")],
}  # fmt: skip

VIOLATED = {
    "contradictory-pairs.json": [("contradictory-pairs", "$.pairs[1].input")],
    "identical-pairs.json": [("identical-pairs", "$.pairs[1].input")],
    "repeated-input-token.json": [("repeated-input-token", "$.pairs[0].input[2]")],
    "repeated-input-token.ts": [("repeated-input-token", "line 4: token 3")],
    "repeated-output-token.json": [("repeated-output-token", "$.pairs[0].output[1]")],
    "too-many-outputs.json": [("too-many-outputs", "$.pairs[0].output")],
}


def test_every_file_is_expected():
    assert {path.name for path in FOLDER.iterdir()} == NO_DATASET.keys() | VIOLATED.keys()


@pytest.mark.parametrize("name", sorted(NO_DATASET | VIOLATED))
def test_the_doctor_lists_exactly_this(name):
    found = examine(FOLDER / name)
    assert [(v.rule, v.path) for v in found.violations] == (NO_DATASET | VIOLATED)[name]
    assert all(v.message for v in found.violations)
    assert (found.dataset is None) == (name in NO_DATASET)


@pytest.mark.parametrize("name", sorted(NO_DATASET))
def test_reading_ends_at_the_first(name):
    with pytest.raises(MalformedInput) as caught:
        load_dataset(FOLDER / name)
    assert caught.value.path == NO_DATASET[name][0][1]
    assert caught.value.file == str(FOLDER / name)


@pytest.mark.parametrize("name", sorted(VIOLATED))
def test_a_violated_hypothesis_is_still_a_dataset(name):
    assert load_dataset(FOLDER / name).pairs
