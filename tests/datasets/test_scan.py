"""The tolerant scan agrees with the kernel's decoder on what a dataset is."""

from __future__ import annotations

import json

import pytest
from dataset_strategies import datasets
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.datasets.draft import Draft, DraftPair, check_dimension, check_structure, json_places
from interp.datasets.encode import encode_dataset_json, encode_dataset_lines
from interp.datasets.read import decode_draft
from interp.datasets.scan import scan_json
from proofs.kernel.decode import decode_dataset
from proofs.kernel.errors import InternalFault, MalformedInput
from proofs.kernel.rational import DEFAULT_LIMITS
from proofs.kernel.statement import Dataset

VALUES = st.sampled_from(
    [None, True, [], {}, "1", "x", "1/0", 1.5, 7, -1, 1e300, float("nan"), float("-inf"), "1/2", [[1, 2]], [1, 2]]
)


def containers(value):
    """Every object and list inside a JSON value."""
    if isinstance(value, dict | list):
        yield value
        for child in value.values() if isinstance(value, dict) else value:
            yield from containers(child)


@st.composite
def changed(draw, record):
    """The record with a few values replaced, removed or added."""
    record = json.loads(json.dumps(record))
    for _ in range(draw(st.integers(0, 3))):
        node = draw(st.sampled_from(list(containers(record))))
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "add":
            if isinstance(node, dict):
                node[draw(st.sampled_from(["comment", "extra", "input"]))] = draw(VALUES)
            else:
                node.append(draw(VALUES))
        elif keys:
            key = draw(st.sampled_from(keys))
            if action == "replace":
                node[key] = draw(VALUES)
            else:
                del node[key]
    return record


def refusal(data):
    """The kernel's fault, or its dataset."""
    try:
        return decode_dataset(data)
    except MalformedInput as fault:
        return fault


def agree(data):
    draft = check_dimension(check_structure(scan_json(data, DEFAULT_LIMITS)))
    answer = refusal(data)
    if isinstance(answer, Dataset):
        assert draft.to_dataset() == answer
    else:
        assert draft.violations, f"the kernel refuses: {answer}"
        if len(draft.violations) == 1 and "is not a number" not in answer.message:
            assert draft.violations[0].message == answer.message


@given(st.data())
@settings(max_examples=100)
def test_documents(data):
    record = data.draw(changed(json.loads(encode_dataset_json(data.draw(datasets(max_pairs=3))))))
    agree(json.dumps(record).encode())


@given(st.data())
@settings(max_examples=60)
def test_lines(data):
    lines = [json.loads(line) for line in encode_dataset_lines(data.draw(datasets(max_pairs=3))).splitlines()]
    changed_lines = data.draw(changed(lines))
    agree("\n".join(map(json.dumps, changed_lines)).encode() + data.draw(st.sampled_from([b"", b"\n", b"\n\n"])))


@given(st.data())
@settings(max_examples=60)
def test_any_cut(data):
    encode = data.draw(st.sampled_from([encode_dataset_json, encode_dataset_lines]))
    text = encode(data.draw(datasets(max_pairs=2)))
    agree(text[: data.draw(st.integers(0, len(text)))])


def test_bytes_that_are_no_text():
    header = b'{"format":"interp-dataset-lines/1","dimension":2,"pairs":2}\n'
    draft = scan_json(header + b'\xff\n{"input":[[1,2]],"output":[[1,2]]}\n', DEFAULT_LIMITS)
    assert [(v.rule, v.path, v.message) for v in draft.violations] == [("syntax", "line 2", "not UTF-8 at byte 0")]
    assert draft.pairs[1].input == ((1, 2, 1),)


def test_the_kernel_has_the_last_word(monkeypatch):
    """A fault that the scan does not see is still a violation."""
    monkeypatch.setattr("interp.datasets.read.scan_json", lambda data, limits: Draft(2, (), ()))
    monkeypatch.setattr("interp.datasets.read.check_structure", lambda draft: draft)
    draft = decode_draft(b"[]", "json")
    assert [(v.rule, v.path, v.message) for v in draft.violations] == [("format", "$", "expected an object")]


def test_a_token_is_never_lost_silently():
    draft = Draft(2, (DraftPair(((1, 2, 1), None), ((1, 2, 1),), json_places(0)),))
    with pytest.raises(InternalFault):
        draft.to_dataset()


def test_deep_nesting_is_one_violation():
    draft = scan_json(b"[" * 100_000, DEFAULT_LIMITS)
    assert [v.message for v in draft.violations] == ["nested too deeply"]
