"""What the checking part may contain: its imports, its arithmetic."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.test_architecture import imported, name_of, sources, tree_of

CHECKING = sources("proofs/functional_gd")


@pytest.mark.parametrize("path", CHECKING, ids=name_of)
def test_imports(path):
    for module in imported(path):
        assert module.partition(".")[0] in {"flint", "proofs", *sys.stdlib_module_names}, module
        assert module.partition(".")[0] not in {"cmath", "decimal", "random", "pickle", "subprocess"}


@pytest.mark.parametrize("path", CHECKING, ids=name_of)
def test_no_float(path):
    for node in ast.walk(tree_of(path)):
        place = f"{name_of(path)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Constant):
            assert not isinstance(node.value, float | complex), place
        if isinstance(node, ast.Name):
            assert node.id not in {"float", "complex", "round"}, place
        if isinstance(node, ast.ImportFrom) and node.module == "math":
            assert {alias.name for alias in node.names} <= {"prod", "gcd", "lcm"}, place


# int / int makes a float. Every division was looked at: number, balls or rationals on the left.
DIVISIONS = {"forward.py": 1, "descent.py": 2, "bayes.py": 1}


@pytest.mark.parametrize("path", CHECKING, ids=name_of)
def test_every_true_division_was_looked_at(path):
    nodes = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.BinOp | ast.AugAssign))
    divisions = [node.lineno for node in nodes if isinstance(node.op, ast.Div)]
    assert len(divisions) == DIVISIONS.get(path.name, 0), divisions
