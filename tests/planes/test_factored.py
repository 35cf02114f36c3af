"""Limits of tokens on a plane and of those that came loose; the tokens themselves: tests/engine/test_agreement.py."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from proofs.engine.passes import ENGINE
from proofs.engine.state import HANDOVER_BITS, Handover, State
from proofs.kernel.check import DENSE
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import LimitReached, Status
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Readout
from proofs.planes.factored import Factored
from tests.strategies import make_dataset, transformer_bytes

DATASET = make_dataset(([(k, 0) for k in (0, 1, 2, 5)], [(k, 0) for k in (1, 2, 3, 6)]))
FLAT = {"ff": {"eta": 0, "W": [[1], [0]], "U": [[1, 0]], "b": [1]}}  # (x, y) to (x + 1, 0): a line


def unit(height: int, row: list[int], bias: int) -> dict:
    """Adds ``height`` times what a unit says to the second coordinate."""
    return {"ff": {"eta": 1, "W": [[0], [str(height)]], "U": [row], "b": [bias]}}


def mean(beta: int) -> dict:
    return {"sa": {"rho": 1, "V": {"beta": str(beta)}}}


def shift(x: int) -> dict:
    return {"ff": {"eta": 1, "W": [[str(x)], [0]], "U": [[0, 0]], "b": [1]}}


CASES = {  # a number of more than h bits, which the next block takes back
    "a loose point": lambda h: [unit(2**h, [1, 0], -5), unit(-(2**h), [1, 0], -5)],
    "all tokens": lambda h: [unit(2**h, [0, 0], 1), unit(-(2**h), [0, 0], 1)],
    "a mean": lambda h: [mean(2**h), shift(-3 * 2**h)],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("h", [20, HANDOVER_BITS])
def test_a_number_that_vanishes_again_meets_the_limit_all_the_same(case, h):
    transformer = decode_transformer(transformer_bytes(2, [FLAT, *CASES[case](h)]))
    for passes in (ENGINE, DENSE):
        found, parts = passes.hardmax(DATASET, transformer, Readout.ALL, Limits(max_height=h + 5), None)
        assert found.status is Status.VERIFIED
        assert parts == (("engine/hardmax",) if passes is ENGINE and h < HANDOVER_BITS else ("kernel/hardmax",))
        with pytest.raises(LimitReached):
            passes.hardmax(DATASET, transformer, Readout.ALL, Limits(max_height=h), None)


def test_loose_points_of_unrelated_denominators_are_left_alone_before_they_fill_the_memory():
    """K loose points over K primes would be K numbers of K times as many bits."""
    one = np.ones(1, dtype=np.int64)
    state = Factored(State(np.zeros((1, 2), dtype=np.int64), 1, np.array([0, 1]), one, DEFAULT_LIMITS))
    primes = [p for p in range(10**6, 10**6 + 30_000) if all(p % q for q in range(2, 1003))]
    state.loose = {(0, (1, 1, p)): 1 for p in primes}
    tracemalloc.start()
    with pytest.raises(Handover):
        state.to_state()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
