"""Each shortcut made wrong on purpose: the cases aimed at it must show it."""

from __future__ import annotations

import inspect
import random
import textwrap

import pytest

from proofs.engine import attention, integers, passes, program, runs
from tests.engine.agreement import disagreement, prepare
from tests.engine.cases import FAMILIES

# module, function, what it says, what it says instead, family of cases
FAULTS = {
    "a support begins too late": (runs, "find_first", "frame.low[start:], side", "frame.low[start:] + 1, side", "hats"),
    "a support ends too early": (runs, "find_first", "frame.high[start:], side", "frame.high[start:] - 1, side", "hats"),
    "the sign of a coefficient is lost": (runs, "Frame", "-B * np.sign(C) * denominator", "-B * denominator", "hats"),
    "no search after a move": (runs, "apply_run", "since[found] = layers + 1", "since[found] = length", "hats"),
    "a search skips the next layer": (runs, "apply_run", "since[found] = layers + 1", "since[found] = layers + 2", "hats"),
    "the values are not moved along": (runs, "apply_run", "values[found] = after", "pass", "hats"),
    "the shifts before a layer are forgotten": (runs, "Frame", "[offset] * (l + 1 - passed)", "[0] * (l + 1 - passed)", "shifts"),
    "the shifts after the last are forgotten": (runs, "Frame", "[offset] * (len(tau) - passed)", "[0] * (len(tau) - passed)", "shifts"),
    "the shift of a layer counts twice": (runs, "move", "total = total - shift.astype(total.dtype) * denominator", "pass", "shifts"),
    "the shifts need a denominator": (runs, "find_factor", "return factor", "return 1", "shifts"),
    "denominators do not grow": (runs, "find_growth", "return lcm(1, *factors)", "return 1", "growth"),
    "tails of other values are no matter": (program, "find_hats", " & (value_left == value_right)", "", "curves"),
    "a slope to the right is no matter": (program, "find_hats", " & (slope_right == 0)", "", "curves"),
    "a slope to the left is no matter": (program, "find_hats", "(slope_left == 0) & ", "", "curves"),
    "any direction is the same": (program, "_Collected", "line.direction != self._direction", "False", "general"),
    "eta is 1": (program, "find_line", "layer.eta != 1 or ", "", "general"),
    "int64 is enough": (integers, "room", "if bound <= LARGEST", "if True", "large"),
    "int64 is one bit wider": (integers, "room", "if bound <= LARGEST", "if bound <= 2 * LARGEST", "large"),
    "a query of 0 asks for the largest": (attention, "_choose_by_line", "np.sign(queries) == sign", "np.where(queries < 0, -1, 1) == sign", "lines"),
    "a negative query asks for the largest": (attention, "_choose_by_line", "(-1, np.minimum)", "(-1, np.maximum)", "lines"),
    "p and q change places": (attention, "_choose_by_line", "_column(A.left)), state.project(_column(A.right))", "_column(A.right)), state.project(_column(A.left))", "lines"),
    "dominance with a coordinate that is 0": (attention, "_choose_by_dominance", "(X > 0)", "(X >= 0)", "dominance"),
    "dominance by one coordinate": (attention, "_choose_by_dominance", "(X[candidates] == corner[owner[candidates]]).all(axis=1)", "(X[candidates] == X[candidates]).all(axis=1)", "dominance"),
    "the sign of alpha is lost": (attention, "choose", "-1 if A.scale < 0 else 1", "1", "dominance"),
    "ties go to the first": (attention, "_score", "several = ties > 1", "several = ties > 99", "dominance"),
    "merged tokens count once": (attention, "apply_attention", "np.add.at(weights, place, state.weights)", "weights += 1", "merging"),
    "ties count merged tokens once": (attention, "_score", "weights = state.weights[token[held]]", "weights = np.ones_like(held)", "merging"),
    "means count merged tokens once": (attention, "choose", "multiply(state.numerators, state.weights[:, None])", "state.numerators", "merging"),
    "lines count merged tokens once": (attention, "_choose_by_line", "multiply(state.numerators, state.weights[:, None])", "state.numerators", "merging"),
    "rho is 0 after all": (attention, "apply_attention", "if rho == 0", "if rho >= 0", "general"),
}  # fmt: skip


def shows(family: str) -> bool:
    """Whether one of the cases shows a difference (or fails)."""
    for seed in range(400):
        sequences, transformer = prepare(FAMILIES[family](random.Random(seed).randint))
        try:
            if disagreement(sequences, transformer) is not None:
                return True
        except (IndexError, ValueError, OverflowError, passes.Handover):
            return True
    return False


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_shows(name, monkeypatch):
    module, function, right, wrong, family = FAULTS[name]
    source = textwrap.dedent(inspect.getsource(getattr(module, function)))
    assert source.count(right) >= 1, "the fault must be planted somewhere"
    namespace = dict(vars(module))
    exec(compile(source.replace(right, wrong), module.__file__, "exec"), namespace)
    planted = namespace[function]
    users = [
        m
        for m in (attention, integers, passes, program, runs)
        if getattr(m, function, None) is getattr(module, function)
    ]
    for user in users:
        monkeypatch.setattr(user, function, planted)
    assert shows(family)
