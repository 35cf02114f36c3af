"""Layers with eta other than 0 and 1: tokens divided by a scale, and given back."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from flint import fmpq

from interp.api import build
from interp.norm.rescaling import rescale
from proofs.engine import attention, forward, layers, packed, program, radii, runs
from proofs.engine.forward import last_block
from proofs.engine.passes import ENGINE
from proofs.engine.program import Attention, Dense, Run, Scale, compile_program
from proofs.engine.state import Handover
from proofs.kernel.check import DENSE
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import LimitReached, Status
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Readout, parse_temperatures
from tests.engine.agreement import disagreement, plant, prepare
from tests.engine.cases import block_of, hat, scaled
from tests.engine.test_boxes import INTERVALS, difference
from tests.strategies import choose_dataset, make_dataset, transformer_bytes

TALL = 2**program.SCALE_BITS - 1


def compiled(*blocks: dict) -> list[program.Step]:
    return compile_program(decode_transformer(transformer_bytes(2, list(blocks))))


@pytest.mark.parametrize("bits", [0, 2, 100, 256, 2000])
def test_whenever_a_scale_is_given_back(bits, monkeypatch):
    monkeypatch.setattr(program, "SCALE_BITS", bits)
    for seed in range(150):
        with suppress(Handover):
            assert disagreement(*prepare(scaled(random.Random(seed).randint)), seed % 2 == 0) is None, seed


def test_boxes_are_those_of_the_kernel():
    for seed in range(100):
        sequences, transformer = prepare(scaled(random.Random(seed).randint))
        assert difference(sequences, transformer, INTERVALS[seed % 4], seed % 3 == 0) is None, seed


BOX_FAULTS = {
    "tokens attend as they are scaled": (program, "compile_program", "            compiler.close()\n", "            compiler._close_run()\n"),
    "boxes are not scaled back": (layers, "apply_dense", "unity = multiply(np.eye(state.dimension, dtype=np.int64), keep)", "unity = np.eye(state.dimension, dtype=np.int64)"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOX_FAULTS)
def test_a_planted_fault_shows_in_boxes(name, monkeypatch):
    plant(monkeypatch, (attention, forward, layers, packed, program, radii, runs), *BOX_FAULTS[name])
    cases = (prepare(scaled(random.Random(seed).randint)) for seed in range(400))
    assert any(difference(*case, INTERVALS[seed % 4]) is not None for seed, case in enumerate(cases))


def test_one_run_whatever_the_scales():
    units = hat([1, 0], 3, 1, [1, 2])
    third, back = block_of(units, "1/3"), block_of(units, -2)
    steps = compiled(third, back, block_of(units), {"sa": {"rho": "5/7"}}, third)
    assert [type(step) for step in steps] == [Run, Scale]
    assert steps[0].lines.blocks.tolist() == [1, 2, 3, 5]
    assert (steps[1].block, steps[1].layer.eta) == (5, fmpq(-10, 63))
    steps = compiled({"ff": {"eta": 2}}, {"ff": {"eta": "1/2"}}, block_of(units))
    assert [last_block(step) for step in steps] == [3, 3]


def test_where_tokens_are_given_back():
    zero, two = block_of([([1, 0], [1, 1], 0)], 0), {"ff": {"eta": 2}}
    mean = {"sa": {"rho": 0, "V": {"beta": 1}}}
    assert [type(step) for step in compiled(two, zero, two, mean)] == [Scale, Dense, Scale, Attention]
    assert [(type(step), step.block) for step in compiled(two, two | mean, two)] == [
        (Scale, 2),
        (Attention, 2),
        (Scale, 3),
    ]
    assert compiled({"sa": {"rho": 1}}) == []
    assert [(type(step), step.layer.eta) for step in compiled(two, {"ff": {"eta": "1/2"}})] == [(Scale, 1)]
    tall, taller = {"ff": {"eta": str(TALL)}}, {"ff": {"eta": f"1/{3**170}"}}
    assert [step.layer.eta for step in compiled(two, tall)] == [2, TALL]
    assert [(type(step), step.block) for step in compiled(two, taller, two)] == [(Scale, 1), (Dense, 2), (Scale, 3)]


def test_a_limit_is_reached_behind_a_scale():
    """Tokens of 201 bits between two layers, which the engine does not see."""
    down_and_up = decode_transformer(transformer_bytes(2, [{"ff": {"eta": f"1/{2**200}"}}, {"ff": {"eta": 2**200}}]))
    dataset = make_dataset(([(1, 1)], [(1, 1)]))
    for passes in (ENGINE, DENSE):
        assert (
            passes.hardmax(dataset, down_and_up, Readout.ALL, Limits(max_height=201), None)[0].status.label
            == "verified"
        )
        with pytest.raises(LimitReached):
            passes.hardmax(dataset, down_and_up, Readout.ALL, Limits(max_height=200), None)
    assert ENGINE.hardmax(dataset, down_and_up, Readout.ALL, DEFAULT_LIMITS, None)[1] == ("engine/hardmax",)


@pytest.mark.parametrize("construction", ["hardmax", "softmax", "compact"])
def test_rescaled_transformers_run_as_those_they_came_from(construction):
    for seed in range(6):
        dataset = choose_dataset(random.Random(seed).randint, 5)
        built = build(dataset, construction, seed)
        light = Transformer(built.dimension, rescale(built.blocks, built.dimension, construction != "hardmax"))
        kinds = [[type(s) for s in compile_program(t) if not isinstance(s, Scale)] for t in (built, light)]
        assert kinds[0] == kinds[1]
        fast, _ = ENGINE.hardmax(dataset, light, Readout.ALL, DEFAULT_LIMITS, None)
        assert fast == DENSE.hardmax(dataset, light, Readout.ALL, DEFAULT_LIMITS, None)[0]
        claimed = parse_temperatures("(0,1]")
        fast, _ = ENGINE.softmax(dataset, light, claimed, Readout.ALL, DEFAULT_LIMITS, None)
        assert fast == DENSE.softmax(dataset, light, claimed, Readout.ALL, DEFAULT_LIMITS, None)[0]
        assert fast.status is Status.VERIFIED or construction == "hardmax"
