"""What the checking part may contain: its imports, its functions of a library of mathematics."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.test_architecture import imported, name_of, sources, tree_of

CHECKING = sources("proofs/boolean")
FLOATING = {"running.py", "forward.py", "signs.py", "check.py"}
# of numpy: IEEE operations, comparisons, selections and shapes
NUMPY = {
    *("sqrt", "rint", "abs", "maximum", "max", "sum", "copysign", "nextafter", "sign", "isfinite", "where"),
    *("array", "arange", "zeros", "zeros_like", "full_like", "stack", "concatenate", "swapaxes", "flatnonzero"),
    *("argmax", "packbits", "unpackbits", "frombuffer", "errstate", "inf", "nan", "finfo"),
    *("float64", "int64", "int8", "uint8", "bool_"),
}


@pytest.mark.parametrize("path", CHECKING, ids=name_of)
def test_imports(path):
    for module in imported(path):
        assert module.partition(".")[0] in {"flint", "numpy", "proofs", *sys.stdlib_module_names}, module
        assert module.partition(".")[0] not in {"cmath", "decimal", "random", "subprocess"}
        assert not module.startswith("numpy") or path.name in FLOATING, module


@pytest.mark.parametrize("path", CHECKING, ids=name_of)
def test_no_function_of_a_library_of_mathematics_is_called(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module == "math":
            assert {alias.name for alias in node.names} <= {"prod", "factorial"}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in {"np", "math"}:
            assert node.value.id == "np", node.lineno
            assert node.attr in NUMPY, f"{node.attr} in line {node.lineno}"
