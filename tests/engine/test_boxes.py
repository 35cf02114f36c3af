"""The engine's boxes against the kernel's, box by box, and planted faults."""

from __future__ import annotations

import inspect
import random
import textwrap
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.api import build
from proofs.engine import boxes as engine
from proofs.engine.passes import ENGINE
from proofs.engine.state import Handover
from proofs.kernel.boxes import Undecided, point
from proofs.kernel.check import DENSE
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import Status
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Row
from proofs.kernel.softmax import apply_block_boxes, mean_up_to
from proofs.kernel.statement import Dataset, Pair, parse_temperatures
from tests.engine.agreement import prepare
from tests.engine.cases import FAMILIES, boxed
from tests.strategies import choose_dataset, loose_sequences, make_dataset, to_row, transformers

INTERVALS = ("(0,1]", "(0,1/300]", "(0,40]", "(0,oo)")


def difference(sequences: list[list[Row]], transformer: Transformer, interval: str) -> str | None:
    """Where the two passes differ, None if nowhere. Raises: Handover."""
    dataset = Dataset(transformer.dimension, tuple(Pair(tuple(rows), tuple(rows)) for rows in sequences))
    upper = parse_temperatures(interval).upper
    mean = mean_up_to(upper)
    dense = [[point(row) for row in rows] for rows in sequences]
    owner = [j for j, rows in enumerate(sequences) for _ in rows]
    stopped = None
    for k, block in enumerate(transformer.blocks, 1):
        try:
            dense = apply_block_boxes(block, dense, mean, DEFAULT_LIMITS)
        except Undecided as reason:
            stopped = (k, owner[reason.token])
            break
    try:
        state, done = engine.run_steps(dataset, transformer, upper, mean, DEFAULT_LIMITS, None)
    except engine.Failed as failed:
        return None if (failed.block, failed.pair) == stopped else f"{failed}, not {stopped}"
    found = state.sequences() if isinstance(state, engine.BoxState) else state
    for k, block in enumerate(transformer.blocks[done:], done + 1):
        try:
            found = apply_block_boxes(block, found, mean, DEFAULT_LIMITS)
        except Undecided as reason:
            return None if stopped == (k, owner[reason.token]) else f"block {k}, not {stopped}"
    return None if stopped is None and found == dense else "the boxes differ"


@pytest.mark.parametrize("family", [*FAMILIES, "boxed"])
def test_the_boxes_are_those_of_the_kernel(family):
    make = FAMILIES.get(family, boxed)
    for seed in range(120 if family == "boxed" else 12):
        sequences, transformer = prepare(make(random.Random(seed).randint))
        assert difference(sequences, transformer, INTERVALS[seed % 4]) is None, seed


@settings(max_examples=60)
@given(st.data())
def test_arbitrary_transformers(data):
    d = data.draw(st.integers(2, 3))
    sequences = [[to_row(token) for token in tokens] for tokens in data.draw(loose_sequences(d))]
    transformer = decode_transformer(data.draw(transformers(d, 3)))
    with suppress(Handover):  # numbers of more than 4096 bits
        assert difference(sequences, transformer, data.draw(st.sampled_from(INTERVALS))) is None


@pytest.mark.parametrize("construction", ["softmax", "compact", "hardmax"])
def test_verdicts_on_built_transformers_are_those_of_the_kernel(construction):
    statuses = set()
    for seed in range(8):
        dataset = choose_dataset(random.Random(seed).randint, 5)
        transformer = build(dataset, construction, seed)
        for interval in INTERVALS:
            claimed = parse_temperatures(interval)
            fast, _ = ENGINE.softmax(dataset, transformer, claimed, DEFAULT_LIMITS, None)
            assert fast == DENSE.softmax(dataset, transformer, claimed, DEFAULT_LIMITS, None)[0]
            statuses.add(fast.status)
    assert Status.VERIFIED in statuses
    assert (Status.UNDECIDED in statuses) == (construction != "compact")


def test_a_wrong_pair_is_told_as_the_kernel_tells_it():
    dataset = make_dataset(*(([(k, 1), (k, 2)], [(k, 0)]) for k in range(4)))
    wrong = make_dataset(*(([(k, 1), (k, 2)], [(k + (k == 2), 0)]) for k in range(4)))
    transformer, claimed = build(dataset, "softmax"), parse_temperatures("(0,1]")
    fast, _ = ENGINE.softmax(wrong, transformer, claimed, DEFAULT_LIMITS, None)
    assert fast == DENSE.softmax(wrong, transformer, claimed, DEFAULT_LIMITS, None)[0]
    assert fast.status is Status.REFUTED


def test_one_temperature_is_left_to_the_kernel():
    dataset = make_dataset(([(0, 1), (0, 2)], [(3, 0)]))
    _, parts = ENGINE.softmax(dataset, build(dataset, "softmax"), parse_temperatures("1"), DEFAULT_LIMITS, None)
    assert parts == ("kernel/softmax", "balls")


FAULTS = {
    "gaps need not be clear": ("_find_clear", ">= needed)", ">= 1)"),
    "the cap is reached one step early": ("spread", "MAX_EXPONENT * tau", "(MAX_EXPONENT - 1) * tau"),
    "the temperature is forgotten": ("spread", "MAX_EXPONENT * tau * unit", "MAX_EXPONENT * unit"),
    "the sign of alpha is lost": ("spread", "(-1 if A.scale < 0 else 1)", "1"),
    "other tokens weigh nothing": ("_capped", "sum(weights) - count", "0"),
    "other tokens weigh as one": ("_capped", "sum(weights) - count", "1"),
    "copies count once": ("_capped", "sum(weights[l] for l in held)", "len(held)"),
    "a box has no width": ("_apply_unshifted", "x - widest for", "x for"),
    "no search after a move": ("_apply_unshifted", "since[found] = hit + 1", "since[found] = len(layers)"),
    "what fails is forgotten": ("_apply_unshifted", "if failed:", "if False:"),
    "tokens that differ are merged": ("spread", "held and layer.rho == 0", "held"),
    "the modulus of V is V": ("spread", "absolute(V)", "V"),
    "shifts are forgotten": ("_apply_hats", "[*run.shifted, len(layers)]", "[len(layers)]"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_shows(name, monkeypatch):
    function, right, wrong = FAULTS[name]
    source = textwrap.dedent(inspect.getsource(getattr(engine, function)))
    assert right in source
    namespace = vars(engine).copy()
    exec(compile(source.replace(right, wrong), engine.__file__, "exec"), namespace)
    monkeypatch.setattr(engine, function, namespace[function])
    for seed in range(500):
        sequences, transformer = prepare(boxed(random.Random(seed).randint))
        if difference(sequences, transformer, INTERVALS[seed % 4]) is not None:
            return
    pytest.fail("no case shows the fault")
