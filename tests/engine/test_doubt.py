"""What the engine leaves to the kernel, and what it then says: pairs whose boxes are no points, and other read-outs."""

from __future__ import annotations

import numpy as np
import pytest

from interp.api import build
from proofs.engine.boxes import find_doubtful
from proofs.engine.forward import Part
from proofs.engine.passes import ENGINE
from proofs.engine.state import State
from proofs.kernel.check import DENSE
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import Status
from proofs.kernel.rational import DEFAULT_LIMITS
from proofs.kernel.statement import Readout, parse_temperatures
from tests.strategies import make_dataset, transformer_bytes

PAIRS = make_dataset(*(([(k, 1), (k, 2)], [(k, 0)]) for k in range(3)))
ALL_TEMPERATURES = parse_temperatures("(0,1]")


@pytest.mark.parametrize(
    ("radii", "wrong", "doubtful"),
    [
        (None, [], []),
        (None, [2], [7]),
        ([[0, 0]] * 4, [1], [6]),
        ([[0, 0], [0, 0], [0, 1], [0, 0]], [], [6]),
        ([[0, 0], [1, 1], [0, 0], [0, 0]], [2], [5, 7]),
        ([[0, 0], [0, 0], [0, 0], [np.inf, 0]], [], [7]),
        ([[np.nan, 0], [0, 0], [0, 0], [2.0**-1000, 0]], [], [5, 7]),
    ],
)
def test_pairs_of_a_part_are_doubtful_where_a_radius_is_not_0(radii, wrong, doubtful):
    """Pairs 5, 6 and 7 have two, one and one tokens."""
    ends = np.array([0, 2, 3, 4])
    state = State(np.zeros((4, 2), dtype=np.int64), 1, ends, np.ones(4, dtype=np.int64), DEFAULT_LIMITS)
    state.radii = None if radii is None else np.array(radii, dtype=np.float64)
    assert find_doubtful(Part(5, PAIRS, state, wrong)) == doubtful


def test_a_part_of_which_nothing_is_known_is_doubtful():
    assert find_doubtful(Part(5, make_dataset(([(0, 0)], [(0, 0)])), None, [])) == [5]


def test_the_read_out_at_the_last_tokens_is_left_to_the_kernel():
    stay = decode_transformer(transformer_bytes(2, []))
    dataset = make_dataset(([(0, 1), (0, 2)], [(0, 2)]))
    for readout, status in ((Readout.LAST, Status.VERIFIED), (Readout.ALL, Status.REFUTED)):
        answer, parts = ENGINE.softmax(dataset, stay, ALL_TEMPERATURES, readout, DEFAULT_LIMITS, None)
        assert answer == DENSE.softmax(dataset, stay, ALL_TEMPERATURES, readout, DEFAULT_LIMITS, None)[0]
        assert answer.status is status
        assert parts == (("kernel/softmax",) if readout is Readout.LAST else ("engine/softmax", "kernel/softmax"))


@pytest.mark.parametrize("readout", Readout)
def test_progress_is_told_whoever_answers(readout):
    seen = []
    transformer = build(PAIRS, "softmax")
    ENGINE.softmax(PAIRS, transformer, ALL_TEMPERATURES, readout, DEFAULT_LIMITS, lambda *done: seen.append(done))
    assert seen[-1] == (len(transformer.blocks),) * 2


def test_the_upper_temperature_is_that_of_the_claim():
    """The engine alone certifies what holds up to the claimed temperature, and what does not above it."""
    transformer = build(PAIRS, "softmax")  # for temperatures up to 1
    for text, status, parts in (
        ("(0,1]", Status.VERIFIED, ("engine/softmax",)),
        ("(0,1000000]", Status.UNDECIDED, ("engine/softmax", "kernel/softmax")),
    ):
        answer, used = ENGINE.softmax(PAIRS, transformer, parse_temperatures(text), Readout.ALL, DEFAULT_LIMITS, None)
        assert (answer.status, used) == (status, parts)
