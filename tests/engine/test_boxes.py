"""The engine's boxes against the kernel's, box by box, and planted faults."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.api import build
from proofs.engine import attention, boxes, forward, layers, radii, runs
from proofs.engine.forward import run_steps
from proofs.engine.passes import ENGINE
from proofs.engine.state import Handover, State
from proofs.kernel.boxes import Box, Undecided, point
from proofs.kernel.check import DENSE
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import Status
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Row, coordinates_of, row_of
from proofs.kernel.softmax import Mean, apply_block_boxes, mean_up_to
from proofs.kernel.statement import Dataset, Pair, Readout, parse_temperatures
from tests.engine.agreement import plant, prepare
from tests.engine.cases import FAMILIES, boxed, extreme, wide
from tests.strategies import choose_dataset, loose_sequences, make_dataset, to_row, transformer_bytes, transformers

SEEN: Counter[Status] = Counter()
KNOWN: Counter[bool] = Counter()  # pairs of which the engine knows points, and those of which it knows boxes
NONE = fmpq(0)
SHORT = fmpq(1, 1 << 24)  # radii of the kernel are rounded up to 32 bits
INTERVALS = ("(0,1]", "(0,1/300]", "(0,40]", "(0,oo)")


def run_kernel(rows: list[Row], transformer: Transformer, mean: Mean) -> list[Box] | None:
    """The kernel's boxes of one sequence, None where a sign is open."""
    state = [[point(row) for row in rows]]
    try:
        for block in transformer.blocks:
            state = apply_block_boxes(block, state, mean, DEFAULT_LIMITS)
    except Undecided:
        return None
    return state[0]


def holds(outer: Box, inner: Box, slack: fmpq = NONE) -> bool:
    """Whether one box, its radii made larger by a share of them, contains the other."""
    sides = map(coordinates_of, (outer.center, outer.radius, inner.center, inner.radius))
    return all(abs(c - x) + r <= R * (1 + slack) for c, R, x, r in zip(*sides, strict=True))


def boxes_of(state: State, pair: int) -> list[Box] | None:
    """The boxes of a pair, None if nothing is known of one."""
    places = range(state.starts[pair], state.starts[pair + 1])
    if state.radii is None:
        return [point(row) for row in state.rows(pair)]
    if not np.isfinite(state.radii[places.start : places.stop]).all():
        return None
    radii = [row_of([fmpq(*x.as_integer_ratio()) for x in state.radii[i].tolist()]) for i in places]
    return [Box(row, radius) for row, radius in zip(state.rows(pair), radii, strict=True)]


def difference(sequences: list[list[Row]], transformer: Transformer, interval: str, more: bool = False) -> str | None:
    """What is wrong with the boxes of the engine or with its answer, None if nothing is.

    The targets are what the kernel finds, where that is points, so that there is something to verify,
    and one ``more`` if wanted.
    """
    claimed = parse_temperatures(interval)
    found = [run_kernel(rows, transformer, mean_up_to(claimed.upper)) for rows in sequences]
    outputs = [x if y is None else [box.center for box in y] for x, y in zip(sequences, found, strict=True)]
    if more:
        outputs[0] = [*outputs[0], (10**6,) * transformer.dimension + (1,)]
    dataset = Dataset(
        transformer.dimension, tuple(Pair(tuple(x), tuple(y)) for x, y in zip(sequences, outputs, strict=True))
    )
    try:
        state = run_steps(dataset, transformer, DEFAULT_LIMITS, None, attention.Decay(claimed.upper))
    except (Handover, OverflowError):
        state = None
    for j, dense in enumerate(found):
        engine = None if state is None else boxes_of(state, j)
        if engine is None:
            continue
        KNOWN[any(not box.is_point for box in engine)] += 1
        if dense is None:
            return f"pair {j} is doubtful"
        if not all(any(holds(outer, inner, SHORT) for outer in engine) for inner in dense):
            return f"a box of pair {j} is lost"
        if not all(any(holds(outer, inner, SHORT) for inner in dense) for outer in engine):
            return f"a box of pair {j} is no image"
    fast, _ = ENGINE.softmax(dataset, transformer, claimed, Readout.ALL, DEFAULT_LIMITS, None)
    slow, _ = DENSE.softmax(dataset, transformer, claimed, Readout.ALL, DEFAULT_LIMITS, None)
    SEEN[slow.status] += 1
    return None if fast == slow else f"{fast}, not {slow}"


@pytest.mark.parametrize("family", [*FAMILIES, "boxed", "wide", "extreme"])
def test_the_answers_are_those_of_the_kernel(family):
    """What numpy warns of is an error in tests; in every other round it is silent and has its consequences."""
    make = (FAMILIES | {"boxed": boxed, "wide": wide, "extreme": extreme})[family]
    SEEN.clear()
    KNOWN.clear()
    for seed in range(12 if family in FAMILIES else 150):
        sequences, transformer = prepare(make(random.Random(seed).randint))
        with np.errstate(all="ignore" if seed // 4 % 2 else None):
            assert difference(sequences, transformer, INTERVALS[seed % 4], seed % 3 == 0) is None, seed
    if family == "boxed":
        assert min(SEEN[Status.VERIFIED], SEEN[Status.UNDECIDED]) > 5
    if family not in FAMILIES:
        assert min(KNOWN[True], KNOWN[False]) > 5


@settings(max_examples=60)
@given(st.data())
def test_arbitrary_transformers(data):
    d = data.draw(st.integers(2, 3))
    sequences = [[to_row(token) for token in tokens] for tokens in data.draw(loose_sequences(d))]
    transformer = decode_transformer(data.draw(transformers(d, 3)))
    assert difference(sequences, transformer, data.draw(st.sampled_from(INTERVALS))) is None


@pytest.mark.parametrize("construction", ["softmax", "compact", "hardmax"])
def test_verdicts_on_built_transformers_are_those_of_the_kernel(construction):
    statuses = set()
    for seed in range(8):
        dataset = choose_dataset(random.Random(seed).randint, 5)
        transformer = build(dataset, construction, seed)
        for interval in INTERVALS:
            claimed = parse_temperatures(interval)
            fast, _ = ENGINE.softmax(dataset, transformer, claimed, Readout.ALL, DEFAULT_LIMITS, None)
            assert fast == DENSE.softmax(dataset, transformer, claimed, Readout.ALL, DEFAULT_LIMITS, None)[0]
            statuses.add(fast.status)
    assert Status.VERIFIED in statuses
    assert (Status.UNDECIDED in statuses) == (construction != "compact")


def test_a_wrong_pair_is_told_as_the_kernel_tells_it():
    dataset = make_dataset(*(([(k, 1), (k, 2)], [(k, 0)]) for k in range(4)))
    wrong = make_dataset(*(([(k, 1), (k, 2)], [(k + (k == 2), 0)]) for k in range(4)))
    transformer, claimed = build(dataset, "softmax"), parse_temperatures("(0,1]")
    fast, _ = ENGINE.softmax(wrong, transformer, claimed, Readout.ALL, DEFAULT_LIMITS, None)
    assert fast == DENSE.softmax(wrong, transformer, claimed, Readout.ALL, DEFAULT_LIMITS, None)[0]
    assert fast.status is Status.REFUTED


def test_one_temperature_is_left_to_the_kernel():
    dataset = make_dataset(([(0, 1), (0, 2)], [(3, 0)]))
    _, parts = ENGINE.softmax(
        dataset, build(dataset, "softmax"), parse_temperatures("1"), Readout.ALL, DEFAULT_LIMITS, None
    )
    assert parts == ("kernel/softmax", "balls")


KEEP = {"sa": {"rho": 0, "A": {"alpha": 8}, "V": {"beta": 1}}}  # the largest token, at most 2^-8 off


def answers(dataset: Dataset, blocks: list[dict], interval: str = "(0,1]") -> list[Status]:
    """Of the engine and of the kernel."""
    transformer, claimed = (
        decode_transformer(transformer_bytes(dataset.dimension, blocks)),
        parse_temperatures(interval),
    )
    found = [
        passes.softmax(dataset, transformer, claimed, Readout.ALL, DEFAULT_LIMITS, None) for passes in (ENGINE, DENSE)
    ]
    return [answer.status for answer, _ in found]


@np.errstate(all="ignore")
def test_an_entry_above_all_floats_is_no_radius_of_nothing():
    """The second block adds 2^1024 - 2^971, the largest float, times a coordinate without radius, and takes it away."""
    W = [[str(2**512 - 2**459), str(2**971 - 2**1024)], [0, 0]]
    block = {"ff": {"eta": 1, "W": W, "U": [[0, str(2**512)], [0, 0]], "b": [0, 1]}}
    dataset = make_dataset(([(1, 1), (2, 1)], [(2, 1)]))
    assert answers(dataset, [KEEP, block, KEEP]) == [Status.UNDECIDED] * 2


def test_sequences_of_one_token_beside_huge_ones():
    """Nothing that numpy warns of: no other token has weight 0, and a side is too long for a float."""
    tokens = [(str(2**1000), 1), (0, 1)]
    block = {"sa": {"rho": 0, "V": {"beta": str(2**600)}}}
    dataset = make_dataset((tokens, tokens), ([(1, 1)], [(1, 1)]))
    assert answers(dataset, [block], "(0,oo)") == [Status.REFUTED] * 2


# module, function, what it says, what it says instead
FAULTS = {
    "the second best is the last": (attention, "_score", "segment_reduce(np.maximum, np.where", "segment_reduce(np.minimum, np.where"),
    "the last gap counts": (attention, "apply_attention", "np.minimum.at(least, place, choices.exponents)", "least[place] = choices.exponents"),
    "an exponent too many": (attention, "Decay", "gaps // int(rate.q)", "gaps // int(rate.q) + 1"),
    "the temperature is forgotten": (attention, "Decay", "unit / self.tau", "unit"),
    "the denominator counts once": (attention, "_score", "state.denominator**2", "state.denominator"),
    "the scale of A is forgotten": (attention, "_choose_by_dominance", "abs(alpha) / state", "fmpq(1000) / state"),
    "dominance always decides": (attention, "_choose_by_dominance", "== MAX_EXPONENT", ">= 0"),
    "the others are behind by the whole corner": (attention, "_choose_by_dominance", "others[candidates] =", "others[:] ="),
    "the lead on a line is over all": (attention, "_choose_by_line", "np.where(keys == best, ", "np.where(keys == keys, "),
    "other tokens weigh nothing": (attention, "spread", "upper(others, 1)", "upper(0 * others, 1)"),
    "one other token": (attention, "spread", "upper(others, 1)", "upper(1 * (others > 0), 1)"),
    "boxes attend as points": (attention, "spread", "[sequences] != 0", "[sequences] < 0"),
    "V turns the other way": (attention, "spread", "matrix.T", "matrix"),
    "radii are in the order of choices": (attention, "apply_attention", "state.radii[order]", "state.radii"),
    "a box has no width": (runs, "apply_run", "find_first(values, since, frame, wide)", "find_first(values, since, frame, 0)"),
    "an open sign is no doubt in a run": (runs, "bend", "result[doubt] = np.inf", "pass"),
    "radii do not follow in a run": (runs, "bend", "scale[part, None, None] * unity +", "scale[part, None, None] * unity + 0 *"),
    "reach does not follow in a run": (runs, "apply_run", "reach[moved] = combine", "_ = combine"),
    "an open sign is no doubt in a layer": (layers, "apply_dense", "radii[doubt] = np.inf", "pass"),
    "radii vanish in a layer": (layers, "apply_dense", "upper(M, common)", "upper(0 * M, common)"),
    "all units are active": (layers, "apply_dense", "np.unique(values > 0,", "np.unique(values == values,"),
    "signs are certain": (radii, "uncertain", "(values < limits) & (-values < limits) | ~known", "~known & known"),
    "unknown radii are 0": (radii, "combine", "result[~known] = np.inf", "pass"),
    "what is below all floats is 0": (radii, "raised", " + LEAST", ""),
    "whole numbers have 64 bits": (radii, "whole", "if not (products >= WHOLE).any():", "if True:"),
    "a box is a point": (boxes, "find_doubtful", "part.state.radii != 0", "part.state.radii < 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
@np.errstate(all="ignore")
def test_a_planted_fault_shows(name, monkeypatch):
    plant(monkeypatch, (attention, boxes, forward, layers, radii, runs), *FAULTS[name])
    for seed in (1704, *range(400)):  # 1704: one hat stretches a box over a kink of the next
        for family in (boxed, wide, extreme):
            sequences, transformer = prepare(family(random.Random(seed).randint))
            if difference(sequences, transformer, INTERVALS[seed % 4], seed % 3 == 0) is not None:
                return
    pytest.fail("no case shows the fault")
