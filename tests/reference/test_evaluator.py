"""The reference evaluator itself, against values worked out by hand."""

from __future__ import annotations

import ast
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from tests.reference import evaluator
from tests.strategies import transformer_bytes

F = Fraction


def last(data, *sequences):
    *_, final = evaluator.run(data, [[tuple(map(F, token)) for token in tokens] for tokens in sequences])
    return final


def test_it_uses_the_standard_library_only():
    tree = ast.parse(Path(evaluator.__file__).read_text())
    names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", F(0)),
        ("-0", F(0)),
        ("-17", F(-17)),
        ("6/4", F(3, 2)),
        ("-1/3", F(-1, 3)),
        ("0.1", F(1, 10)),
        ("-2.5e-1", F(-1, 4)),
        ("1E2", F(100)),
        ("1" + "0" * 9000, F(10**9000)),
        ("-3/1" + "0" * 5000, F(-3, 10**5000)),
    ],
)
def test_numbers(text, value):
    assert evaluator.read_number(text) == value


def test_feed_forward_by_hand():
    ff = {"eta": 2, "W": [[1, 0], ["1/2", 3]], "U": [[1, 1], [-1, 0]], "b": [-1, 0]}
    data = transformer_bytes(2, [{"ff": ff}])
    # (1,1): relu(1+1-1)=1, relu(-1)=0      -> (2,2) + (1, 1/2)
    # (-2,1): relu(-2)=0, relu(2)=2         -> (-4,2) + (0, 6)
    # (0,1): relu(0)=0, relu(0)=0           -> (0,2)
    assert last(data, [(1, 1), (-2, 1), (0, 1)]) == [[(3, F(5, 2)), (-4, 8), (0, 2)]]


def test_ties_average_with_multiplicity():
    data = transformer_bytes(2, [{"sa": {"rho": 0, "V": {"beta": 1}}}])
    assert last(data, [(0, 0), (0, 0), (3, 0)]) == [[(1, 0)] * 3]


def test_largest_score_wins_and_score_is_of_A_times_the_query():
    # A = p q^T with p = (0,1), q = (1,0): the score of x_l for x_i is x_i1 x_l2
    data = transformer_bytes(2, [{"sa": {"rho": 1, "A": {"p": [0, 1], "q": [1, 0]}, "V": {"beta": 10}}}])
    # query 1 takes the largest second coordinate, query -1 the smallest, query 0 the mean (0, 2)
    assert last(data, [(1, 5), (-1, 3), (0, -2)]) == [[(1 + 10, 5 + 50), (-1 + 0, 3 - 20), (0 + 0, -2 + 20)]]


def test_V_may_have_rank_one_and_be_dense():
    rank_one = transformer_bytes(2, [{"sa": {"rho": 0, "V": {"beta": 1, "r": [1, 0], "t": [0, 2]}}}])
    dense = transformer_bytes(2, [{"sa": {"rho": 0, "V": {"dense": [[1, 2], [0, 1]]}}}])
    assert last(rank_one, [(3, 5)]) == last(dense, [(3, 5)]) == [[(13, 5)]]


def test_blocks_run_in_order_and_feed_forward_comes_first():
    ff, sa = {"eta": 1, "W": [[1], [0]], "U": [[0, 0]], "b": [1]}, {"rho": 2}
    assert last(transformer_bytes(2, [{"ff": ff, "sa": sa}]), [(0, 0)]) == [[(2, 0)]]
    assert last(transformer_bytes(2, [{"sa": sa}, {"ff": ff}]), [(0, 0)]) == [[(1, 0)]]


def test_counts_by_hand():
    full = {
        "ff": {"eta": 1, "W": [[0] * 4] * 3, "U": [[0] * 3] * 4, "b": [0] * 4},
        "sa": {"rho": 1, "A": {"alpha": 1, "p": [0] * 3, "q": [0] * 3}, "V": {"beta": 1}},
    }
    assert evaluator.count(transformer_bytes(3, [full])) == (1, 4, 10 * 3 + 8)
    assert evaluator.count(transformer_bytes(3, [full, {}])) == (2, 4, 38 + 4)
    assert evaluator.count(transformer_bytes(3, [{"sa": {"rho": 1, "V": {"dense": [[0] * 3] * 3}}}])) == (
        1,
        0,
        2 + 1 + 9,
    )
