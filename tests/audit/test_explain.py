"""What went wrong, phase by phase: only what was checked is called kept, and limits hold while explaining."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flint import fmpq

import interp
from interp.audit.explain import explain_hardmax
from proofs.kernel.errors import LimitReached
from proofs.kernel.rational import Limits
from tests.strategies import make_dataset

DATASET = make_dataset(([[0, 0], [1, 2], [3, 1]], [[5, 5], [1, 0]]), ([[0, 0], [1, 2]], [[7, 5]]))


def broken_at(transformer, index):
    """The transformer with eta = -1 in one block: doubling alone keeps every promise of the leaders."""
    blocks = list(transformer.blocks)
    blocks[index] = replace(blocks[index], feed_forward=replace(blocks[index].feed_forward, eta=fmpq(-1)))
    return replace(transformer, blocks=tuple(blocks))


def test_every_promise_is_kept_by_what_is_built():
    lines = explain_hardmax(DATASET, interp.build(DATASET))
    assert len(lines) == 4
    assert all("promise kept" in line for line in lines)


@pytest.mark.parametrize("phase", ["leader selection", "interpolation"])
def test_the_first_broken_phase_is_named(phase):
    transformer = interp.build(DATASET)
    place = next(p for p in transformer.header["phases"] if p["name"] == phase)
    *kept, last = explain_hardmax(DATASET, broken_at(transformer, place["last"] - 1))
    assert all("promise kept" in line for line in kept)
    assert phase in last
    assert "promise kept" not in last


@pytest.mark.parametrize("construction", ["softmax", "compact"])
def test_a_phase_without_a_check_is_not_called_kept(construction):
    lines = explain_hardmax(DATASET, interp.build(DATASET, construction))
    unchecked = [line for line in lines if "no check" in line]
    assert unchecked
    assert not any("promise kept" in line for line in unchecked)


def test_limits_hold_while_explaining():
    with pytest.raises(LimitReached):
        explain_hardmax(DATASET, interp.build(DATASET), Limits(max_height=2))
