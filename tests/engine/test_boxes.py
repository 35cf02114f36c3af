"""The engine's boxes against the kernel's, box by box, and planted faults."""

from __future__ import annotations

import inspect
import random
import textwrap
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.api import build
from proofs.engine import boxes as engine
from proofs.engine.passes import ENGINE
from proofs.engine.state import Handover
from proofs.kernel.boxes import Box, Undecided, point
from proofs.kernel.check import DENSE
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import Status
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Row, coordinates_of
from proofs.kernel.softmax import Mean, apply_block_boxes, mean_up_to
from proofs.kernel.statement import Dataset, Pair, parse_temperatures
from tests.engine.agreement import prepare
from tests.engine.cases import FAMILIES, boxed
from tests.strategies import choose_dataset, loose_sequences, make_dataset, to_row, transformers

SEEN: Counter[Status] = Counter()
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


def holds(outer: Box, inner: Box) -> bool:
    """Whether one box contains the other."""
    sides = map(coordinates_of, (outer.center, outer.radius, inner.center, inner.radius))
    return all(abs(c - x) + r <= R for c, R, x, r in zip(*sides, strict=True))


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
        state = engine.run_steps(dataset, transformer, claimed.upper, DEFAULT_LIMITS, None)
    except Handover:
        return None
    for j, dense in enumerate(found):
        boxes = [box for box, pair in zip(state.boxes, state.pairs, strict=True) if pair == j]
        if j in state.doubtful:
            continue
        if dense is None:
            return f"pair {j} is doubtful"
        if not all(any(holds(outer, inner) for outer in boxes) for inner in dense):
            return f"a box of pair {j} is lost"
        if not all(any(holds(outer, inner) for inner in dense) for outer in boxes):
            return f"a box of pair {j} is no image"
    fast, _ = ENGINE.softmax(dataset, transformer, claimed, DEFAULT_LIMITS, None)
    slow, _ = DENSE.softmax(dataset, transformer, claimed, DEFAULT_LIMITS, None)
    SEEN[slow.status] += 1
    return None if fast == slow else f"{fast}, not {slow}"


@pytest.mark.parametrize("family", [*FAMILIES, "boxed"])
def test_the_answers_are_those_of_the_kernel(family):
    make = FAMILIES.get(family, boxed)
    SEEN.clear()
    for seed in range(150 if family == "boxed" else 12):
        sequences, transformer = prepare(make(random.Random(seed).randint))
        assert difference(sequences, transformer, INTERVALS[seed % 4], seed % 3 == 0) is None, seed
    if family == "boxed":
        assert min(SEEN[Status.VERIFIED], SEEN[Status.UNDECIDED]) > 5


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
    "ties are gaps": ("_find_gaps", "gaps = [None if", "gaps = [None if True or"),
    "the last gap counts": ("spread", "gap < known", "gap > known"),
    "an exponent too many": ("spread", "min(int((gap * rate).floor()), MAX_EXPONENT)", "min(int((gap * rate).floor()) + 1, MAX_EXPONENT)"),
    "no cap": ("spread", "min(int((gap * rate).floor()), MAX_EXPONENT)", "int((gap * rate).floor())"),
    "the temperature is forgotten": ("spread", "1 / (tau * unit * D * D)", "1 / (unit * D * D)"),
    "the sign of alpha is lost": ("spread", "-1 if A.scale < 0 else 1", "1"),
    "other tokens weigh nothing": ("spread", "(sum(weights) - ties) * x", "0 * x"),
    "one other token": ("spread", "(sum(weights) - ties) * x", "(sum(weights) > ties) * x"),
    "tokens that differ are merged": ("spread", "if rho else [rows[0]]", "[:1]"),
    "an open gap is no doubt": ("spread", "result.doubtful.add(j)", "pass"),
    "the modulus of V is V": ("spread", "[[abs(x) for x in row] for row in V]", "V"),
    "a box has no width": ("_apply_unshifted", "x - widest for", "x for"),
    "no search after a move": ("_apply_unshifted", "since[found] = hit + 1", "since[found] = len(run.shift)"),
    "an open sign is no doubt": ("_apply_unshifted", "state.doubtful.add(state.pairs[i])", "pass"),
    "signs are certain": ("apply_hat", "abs(value) * E < abs(c) * R * D", "False"),
    "radii vanish": ("apply_hat", "scale * (i == j) + v * u", "0"),
    "shifts are forgotten": ("_apply_hats", "[*run.shifted, len(run.shift)]", "[len(run.shift)]"),
    "radii are rounded down": ("round_up_row", "-(-(x << shift) // denominator)", "(x << shift) // denominator"),
    "a box is a point": ("find_inexact", "box.center if box.is_point else None", "box.center"),
    "inclusion is equality": ("find_inexact", "points != set(wanted)", "not points <= set(wanted)"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_shows(name, monkeypatch):
    function, right, wrong = FAULTS[name]
    source = textwrap.dedent(inspect.getsource(getattr(engine, function)))
    assert right in source
    namespace = vars(engine).copy()
    exec(compile(source.replace(right, wrong), engine.__file__, "exec"), namespace)
    monkeypatch.setattr(engine, function, namespace[function])
    for seed in range(300):
        sequences, transformer = prepare(boxed(random.Random(seed).randint))
        if difference(sequences, transformer, INTERVALS[seed % 4], seed % 3 == 0) is not None:
            return
    pytest.fail("no case shows the fault")
