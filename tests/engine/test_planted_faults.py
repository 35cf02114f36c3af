"""Each shortcut made wrong on purpose: the cases aimed at it must show it."""

from __future__ import annotations

import random

import pytest

from proofs.engine import attention, forward, integers, layers, packed, program, runs
from proofs.engine.state import Handover
from proofs.planes import factored
from tests.engine.agreement import disagreement, plant, prepare
from tests.engine.cases import FAMILIES

# module, function, what it says, what it says instead, family of cases
FAULTS = {
    "a support begins too late": (runs, "find_first", "low, side", "low + 1, side", "hats"),
    "a support ends too early": (runs, "find_first", "high, side", "high - 1, side", "hats"),
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
    "any direction is the same": (program, "_Compiler", "line.direction != self._direction", "False", "general"),
    "eta is 1": (program, "find_line", "layer.eta != 1 or ", "", "general"),
    "a unit reads scaled tokens as they are": (program, "_Compiler", "layer.U * before", "layer.U", "scaled"),
    "a scaled layer adds what it added": (program, "_Compiler", "layer.W / after", "layer.W / before", "scaled"),
    "scales are not multiplied": (program, "_Compiler", "self._scale, self._scaled = after, True", "self._scale, self._scaled = layer.eta, True", "scaled"),
    "a layer with eta = 0 reads scaled tokens": (program, "_Compiler", "            self.close()\n        before", "            pass\n        before", "scaled"),
    "tokens are not scaled back": (program, "_Compiler", "if self._scaled:", "if False:", "scaled"),
    "tokens are scaled back before the last layers": (program, "_Compiler", "        self._close_run()\n        if self._scaled:", "        if self._scaled:", "scaled"),
    "rho is 1 where V is 0": (program, "compile_program", "elif block.attention.rho != 1:", "elif False:", "scaled"),
    "a scale is used twice": (program, "_Compiler", "self._scale, self._scaled = fmpq(1), False", "self._scaled = False", "scaled"),
    "int64 is enough": (integers, "room", "if bound <= LARGEST", "if True", "large"),
    "int64 is one bit wider": (integers, "room", "if bound <= LARGEST", "if bound <= 2 * LARGEST", "large"),
    "a query of 0 asks for the largest": (attention, "_choose_by_line", "np.sign(queries) == sign", "np.where(queries < 0, -1, 1) == sign", "lines"),
    "a negative query asks for the largest": (attention, "_choose_by_line", "(-1, np.minimum)", "(-1, np.maximum)", "lines"),
    "p and q change places": (attention, "_choose_by_line", "_column(A.left), _column(A.right)", "_column(A.right), _column(A.left)", "lines"),
    "dominance with a coordinate that is 0": (attention, "_choose_by_dominance", "(X > 0)", "(X >= 0)", "dominance"),
    "dominance by one coordinate": (attention, "_choose_by_dominance", "(X[candidates] == corner[owner[candidates]]).all(axis=1)", "(X[candidates] == X[candidates]).all(axis=1)", "dominance"),
    "the sign of alpha is lost": (attention, "_choose_by_dominance", "if alpha > 0 else", "if alpha != 0 else", "dominance"),
    "ties go to the first": (attention, "_score", "several = ties > 1", "several = ties > 99", "dominance"),
    "merged tokens count once": (attention, "apply_attention", "np.add.at(weights, place, state.weights)", "weights += 1", "merging"),
    "ties count merged tokens once": (attention, "_score", "weights = state.weights[token[held]]", "weights = np.ones_like(held)", "merging"),
    "means count merged tokens once": (attention, "choose", "multiply(state.numerators, state.weights[:, None])", "state.numerators", "merging"),
    "lines count merged tokens once": (attention, "_choose_by_line", "multiply(state.numerators, state.weights[:, None])", "state.numerators", "merging"),
    "a line begins with its kink": (factored, "Factored", 'side="right"', 'side="left"', "planes"),
    "a line ends after its kink": (factored, "Factored", 'place, side="left"', 'place, side="right"', "planes"),
    "floor and ceil change places": (factored, "Factored", "if slope > 0 else int(kink.ceil())", "if slope < 0 else int(kink.ceil())", "planes"),
    "pieces stay whatever their map": (factored, "Factored", "slopes, code) != image", "slopes, code) is None", "planes"),
    "tokens that come loose stay as well": (factored, "Factored", "self._drop(tokens)", "pass", "planes"),
    "a sequence lies at its smallest factors": (factored, "Factored", "(np.minimum, np.maximum)", "(np.minimum, np.minimum)", "planes"),
    "tokens that left come loose again": (factored, "Factored", "others[there & (codes == code)]", "others[codes == code]", "stages"),
    "copies that left count": (factored, "Factored", "self.weights[leaving] = 0", "self.weights[leaving] += 0", "planes"),
    "loose points are forgotten": (factored, "Factored", "layer.eta == 1 and self._is_silent(layer)", "layer.eta == 1", "planes"),
    "the box of loose points does not grow": (factored, "Factored", "list(map(max, self.high or map(max, columns), map(max, columns)))", "list(map(max, columns))", "stages"),
    "the box is as good as its other corner": (factored, "Factored", "b if u > 0 else a", "a if u > 0 else b", "planes"),
    "a bias is no matter to loose points": (factored, "Factored", "highest = bias", "highest = bias - bias", "planes"),
    "tokens that leave stay": (factored, "Factored", "if leaving:", "if not leaving:", "planes"),
    "the filter always decides": (factored, "Factored", "active[doubtful] =", "_ =", "planes"),
    "new factors are not relu": (factored, "Factored", "A[splits]), 0)", "A[splits]), -(2**40))", "planes"),
    "what all units add is left out": (factored, "Factored", "slopes, everywhere)", "slopes, 0)", "planes"),
    "columns lose their divisor": (factored, "Factored", "[x * g / q for x in row]", "[x / q for x in row]", "planes"),
    "merged tokens count once on a plane": (factored, "Factored", "np.add.at(weights, place, self.weights)", "weights += 1", "planes"),
    "means count merged tokens once on a plane": (factored, "Factored", "multiply(self.factors, self.weights[:, None])", "self.factors", "planes"),
    "sequences are merged": (factored, "Factored", "(*self.factors.T, self.owner)", "self.factors.T", "planes"),
    "a line is not sorted": (factored, "Factored", "if rank < before or rank < 2 or merge", "if merge", "planes"),
    "tokens that left come back": (factored, "Factored", "kept = self.weights > 0\n        P", "kept = self.weights >= 0\n        P", "planes"),
    "rho is 0 after all": (attention, "apply_attention", "if rho == 0", "if rho >= 0", "general"),
}  # fmt: skip


def shows(family: str) -> bool:
    """Whether one of the cases shows a difference (or fails)."""
    for seed in range(400):
        sequences, transformer = prepare(FAMILIES[family](random.Random(seed).randint))
        try:
            if disagreement(sequences, transformer) is not None:
                return True
        except (IndexError, ValueError, OverflowError, Handover):
            return True
    return False


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_shows(name, monkeypatch):
    *fault, family = FAULTS[name]
    monkeypatch.setattr(factored, "FEW", 2)  # more tokens than that do not come loose
    plant(monkeypatch, (attention, factored, forward, integers, layers, packed, program, runs), *fault)
    assert shows(family)
