"""The engine against the dense pass, token by token."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.api import build
from proofs.engine import runs
from proofs.engine.packed import program_of
from proofs.engine.passes import ENGINE
from proofs.engine.program import Attention, Dense, Run
from proofs.engine.state import Handover
from proofs.kernel.check import DENSE
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import LimitReached, Status
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Readout
from proofs.planes import factored
from tests.engine.agreement import disagreement, prepare
from tests.engine.cases import FAMILIES
from tests.strategies import choose_dataset, loose_sequences, make_dataset, to_row, transformer_bytes, transformers


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=60)
@given(data=st.data())
def test_aimed_cases(family, data):
    case = FAMILIES[family](lambda low, high: data.draw(st.integers(low, high)))
    assert disagreement(*prepare(case), data.draw(st.booleans())) is None


@pytest.mark.parametrize("few", [0, 64])
@pytest.mark.parametrize("family", FAMILIES)
def test_aimed_cases_from_seeds(family, few, monkeypatch):
    monkeypatch.setattr(factored, "FEW", few)
    for seed in range(100):
        case = prepare(FAMILIES[family](random.Random(seed).randint))
        assert disagreement(*case, few == 0 or seed % 2 == 0) is None, seed


@pytest.mark.parametrize("family", ["hats", "shifts", "growth"])
def test_few_pairs_at_a_time(family, monkeypatch):
    monkeypatch.setattr(runs, "SPARE", -(2**40))  # every search looks at one layer
    for seed in range(60):
        assert disagreement(*prepare(FAMILIES[family](random.Random(seed).randint))) is None, seed


@settings(max_examples=150)
@given(st.data())
def test_arbitrary_transformers(data):
    d = data.draw(st.integers(2, 4))
    sequences = [[to_row(token) for token in tokens] for tokens in data.draw(loose_sequences(d))]
    transformer = decode_transformer(data.draw(transformers(d)))
    with suppress(Handover):  # numbers of more than 4096 bits
        assert disagreement(sequences, transformer) is None


@pytest.mark.parametrize("construction", ["hardmax", "compact", "peeling"])
def test_built_transformers_and_their_verdicts(construction):
    for seed in range(12):
        dataset = choose_dataset(random.Random(seed).randint, 6)
        transformer = build(dataset, construction, seed)
        fast, parts = ENGINE.hardmax(dataset, transformer, Readout.ALL, DEFAULT_LIMITS, None)
        assert fast == DENSE.hardmax(dataset, transformer, Readout.ALL, DEFAULT_LIMITS, None)[0]
        assert fast.status is Status.VERIFIED
        assert parts in (("engine/hardmax",), ("kernel/hardmax",))


def test_a_wrong_pair_is_told_as_the_dense_pass_tells_it():
    dataset = make_dataset(*(([(k, 1), (k, 2)], [(k, 0)]) for k in range(5)))
    wrong = make_dataset(*(([(k, 1), (k, 2)], [(k + (k > 2), 0)]) for k in range(5)))
    transformer = build(dataset)
    fast, _ = ENGINE.hardmax(wrong, transformer, Readout.ALL, DEFAULT_LIMITS, None)
    assert fast == DENSE.hardmax(wrong, transformer, Readout.ALL, DEFAULT_LIMITS, None)[0]
    assert fast.status is Status.REFUTED
    assert fast.mismatch.pair == 3
    assert "2 of 5" in fast.detail


def test_inclusion_is_not_equality():
    keep = decode_transformer(transformer_bytes(2, [{"sa": {"rho": 0, "V": {"beta": 1}}}]))
    for wanted, status in (([(1, 0)], Status.VERIFIED), ([(1, 0), (2, 0)], Status.REFUTED)):
        answer, _ = ENGINE.hardmax(make_dataset(([(0, 0), (2, 0)], wanted)), keep, Readout.ALL, DEFAULT_LIMITS, None)
        assert answer.status is status
    nothing = decode_transformer(transformer_bytes(2, []))
    answer, _ = ENGINE.hardmax(make_dataset(([(0, 0), (2, 0)], [(0, 0)])), nothing, Readout.ALL, DEFAULT_LIMITS, None)
    assert answer.status is Status.REFUTED


def test_a_limit_is_reached_where_the_dense_pass_reaches_it():
    double = transformer_bytes(2, [{"ff": {"eta": 2}}] * 70)
    transformer, dataset = decode_transformer(double), make_dataset(([(1, 1)], [(2**70, 2**70)]))
    assert ENGINE.hardmax(dataset, transformer, Readout.ALL, Limits(max_height=71), None)[0].status is Status.VERIFIED
    with pytest.raises(LimitReached):
        ENGINE.hardmax(dataset, transformer, Readout.ALL, Limits(max_height=70), None)


def test_giants_go_to_the_kernel():
    square = transformer_bytes(2, [{"ff": {"eta": str(2**3000)}}] * 2)
    dataset = make_dataset(([(1, 1)], [(2**6000, 2**6000)]))
    answer, parts = ENGINE.hardmax(dataset, decode_transformer(square), Readout.ALL, DEFAULT_LIMITS, None)
    assert answer.status is Status.VERIFIED
    assert parts == ("kernel/hardmax",)


def test_the_theorem_runs_as_two_runs_and_one_attention():
    dataset = make_dataset(*(([(k, 1), (k, 2)], [(k, 0)]) for k in range(5)))
    kinds = [type(step) for step in program_of(build(dataset))]
    assert kinds == [Run, Attention, Run]
    curve = decode_transformer(transformer_bytes(2, [{"ff": {"eta": 1, "W": [[1], [0]], "U": [[1, 0]], "b": [0]}}]))
    assert [type(step) for step in program_of(curve)] == [Dense]


def test_progress_reaches_the_last_block():
    dataset = make_dataset(*(([(k, 1), (k, 2)], [(k, 0)]) for k in range(5)))
    transformer, seen = build(dataset), []
    ENGINE.hardmax(dataset, transformer, Readout.ALL, DEFAULT_LIMITS, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(transformer.blocks),) * 2
    assert seen == sorted(seen)
