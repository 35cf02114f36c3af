"""The engine against the dense pass, token by token."""

from __future__ import annotations

import random
import tracemalloc
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.api import build
from proofs.engine import forward, runs
from proofs.engine.attention import apply_attention
from proofs.engine.packed import program_of
from proofs.engine.passes import ENGINE
from proofs.engine.program import Attention, Dense, Run
from proofs.engine.state import Handover, State
from proofs.kernel.check import DENSE, Obligation
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import LimitReached, Status
from proofs.kernel.model import SelfAttention, SquareMatrix
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Dataset, Readout, parse_temperatures
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


def test_a_limit_is_reached_by_a_token_that_moves_between_shifts():
    # the hat lifts (0, 0) to a number of h bits, and the first shift lifts it above them; the second takes that back
    h = 20
    lift, up = 2**h - 2 ** (h - 3), 2 ** (h - 2)
    hat = {"eta": 1, "W": [[0] * 3, [lift, -2 * lift, lift]], "U": [[1, 0]] * 3, "b": [1, 0, -1]}
    shifts = [{"eta": 1, "W": [[0], [step]], "U": [[0, 0]], "b": [1]} for step in (up, -up)]
    transformer = decode_transformer(transformer_bytes(2, [{"ff": layer} for layer in (hat, *shifts)]))
    dataset = make_dataset(([(0, 0)], [(0, lift)]))
    for passes in (ENGINE, DENSE):
        found, _ = passes.hardmax(dataset, transformer, Readout.ALL, Limits(max_height=h + 1), None)
        assert found.status is Status.VERIFIED
        with pytest.raises(LimitReached):
            passes.hardmax(dataset, transformer, Readout.ALL, Limits(max_height=h), None)


def test_a_float_that_is_no_number_goes_to_the_kernel(monkeypatch):
    def make_none(state, *others):
        np.inf * np.zeros(1)
        return state

    monkeypatch.setattr(forward, "apply_step", make_none)
    dataset = make_dataset(([(1, 1)], [(2, 2)]))
    double = decode_transformer(transformer_bytes(2, [{"ff": {"eta": 2}}]))
    answer, parts = ENGINE.hardmax(dataset, double, Readout.ALL, DEFAULT_LIMITS, None)
    assert (answer.status, parts) == (Status.VERIFIED, ("kernel/hardmax",))


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


def test_means_over_unrelated_numbers_of_tokens_are_left_alone_before_they_fill_the_memory():
    """K tokens, each a mean over its own number of copies, would be K numbers of K times as many bits."""
    K = 2000
    copies = np.array([2**40 + k for k in range(K)])
    state = State(np.ones((K, 2), dtype=np.int64), 1, np.arange(K + 1), copies, DEFAULT_LIMITS)
    tracemalloc.start()
    with pytest.raises(Handover):
        apply_attention(state, SelfAttention(V=SquareMatrix(fmpq(1))))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def same(dataset: Dataset, blocks: list[dict], interval: str | None = None) -> Obligation:
    """The answer of the engine, which is that of the kernel to the letter."""
    transformer = decode_transformer(transformer_bytes(dataset.dimension, blocks))
    if interval is None:
        found = [
            passes.hardmax(dataset, transformer, Readout.ALL, DEFAULT_LIMITS, None)[0] for passes in (ENGINE, DENSE)
        ]
    else:
        asked = dataset, transformer, parse_temperatures(interval), Readout.ALL, DEFAULT_LIMITS, None
        found = [passes.softmax(*asked)[0] for passes in (ENGINE, DENSE)]
    assert found[0] == found[1]
    return found[0]


def test_scores_of_54_bits_are_no_ties():
    """(2^27, 1) asks (2^26, 1): 2^53 + 1 for itself, and 2^53, the same float, for (2^27, 0)."""
    block = {"sa": {"rho": 0, "A": {"dense": [[0, 2**26], [0, 1]]}, "V": {"beta": 1}}}
    dataset = make_dataset(([(2**27, 1), (2**27, 0)], [(2**27, 1), (2**27, Fraction(1, 2))]))
    assert same(dataset, [block]).status is Status.VERIFIED


def test_a_slope_of_2_to_the_64_is_no_hat():
    block = {"ff": {"eta": 1, "W": [[2**32], [0]], "U": [[2**32, 0]], "b": [0]}}
    assert same(make_dataset(([(1, 0)], [(2**64 + 1, 0)])), [block]).status is Status.VERIFIED


@pytest.mark.parametrize("interval", [None, "(0,1]"])
@pytest.mark.parametrize("wrong", [{3}, {1, 3}, {1}, {6}, set()])
def test_pairs_that_are_done_apart_keep_their_numbers(wrong, interval):
    """Pair 1 has numbers that the engine hands over; so halves are done, and quarters."""
    tokens = [(k if k != 1 else 2**5000, 0) for k in range(7)]
    dataset = make_dataset(*(([x], [(x[0], 1 + (k in wrong))]) for k, x in enumerate(tokens)))
    answer = same(dataset, [{"ff": {"eta": 1, "W": [[0], [1]], "U": [[0, 0]], "b": [1]}}], interval)
    assert (answer.mismatch.pair if wrong else None) == min(wrong, default=None)


@pytest.mark.parametrize("interval", [None, "(0,1]"])
def test_every_head_counts(interval):
    heads = [{"V": {"beta": 1}}, {"A": {"p": [0, 0], "q": [1, 0]}, "V": {"beta": 2}}]
    dataset = make_dataset(([(0, 1), (2, 1)], [(3, 3)]))
    assert same(dataset, [{"sa": {"rho": 0, "heads": heads}}], interval).status is Status.VERIFIED


def test_keys_of_62_bits_without_another():
    block = {"sa": {"rho": 0, "A": {"p": [1, 0], "q": [0, 1]}, "V": {"beta": 1}}}
    token = (2**61 + 2**60, 1)
    assert same(make_dataset(([token], [token])), [block], "(0,1]").status is Status.VERIFIED


@pytest.mark.parametrize(
    ("token", "row", "value"),
    [
        ((2**70 + 2**17 + 1, 3 * 2**70 + 3 * 2**17 + 4), (3, -1), 0),  # -1; as floats 2^19
        ((2**600, 2**600 - 1), (2**600, -(2**600)), 2**600),  # as floats the difference of two infinities
    ],
    ids=["rounded", "infinite"],
)
def test_signs_that_floats_get_wrong(token, row, value):
    block = {"ff": {"eta": 0, "W": [[1], [0]], "U": [list(map(str, row))], "b": [0]}}
    dataset = make_dataset(([tuple(map(str, token))], [(str(value), 0)]))
    assert same(dataset, [block]).status is Status.VERIFIED
