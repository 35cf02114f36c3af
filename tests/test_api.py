"""The Python API of the README."""

from __future__ import annotations

import pytest

import interp
from proofs.kernel.errors import MalformedInput, UsageError
from tests.strategies import make_dataset

DATASET = make_dataset(([[0, 0], [1, 2]], [[5, 5]]), ([[0, 0], [3, 1]], [[1, 0]]))


def test_build_verify_audit_save_load(tmp_path):
    transformer = interp.build(DATASET)
    verdict = interp.verify(transformer, DATASET)
    assert verdict.status.label == "verified"
    digest = interp.save_transformer(transformer, tmp_path / "T.jsonl")
    assert verdict.transformer_digest == digest
    assert interp.load_transformer(tmp_path / "T.jsonl").blocks == transformer.blocks
    assert interp.audit(transformer, DATASET).within
    assert not interp.audit(transformer, max_blocks=1).within


def test_hypotheses_and_options():
    with pytest.raises(MalformedInput):
        interp.build(make_dataset(([[1, 1]], [[0, 0], [1, 1]])))
    with pytest.raises(UsageError):
        interp.build(DATASET, construction="magic")
    with pytest.raises(UsageError):
        interp.build(DATASET, construction="hardmax", temperature=1)
    for option in ({"separation": "leader"}, {"temperature": 1}):
        with pytest.raises(UsageError, match="one construction"):
            interp.build(DATASET, construction="auto", **option)
    with pytest.raises(UsageError):
        interp.verify(interp.build(DATASET), DATASET, temperatures="warm")
