"""What the sources may and may not contain: the size of the trusted part, its imports, its arithmetic."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMELESS = {"utils", "util", "misc", "helpers", "helper", "common", "tools", "stuff"}


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), name_of(path))


def lines_of_code(text: str) -> int:
    """Lines that hold a token which is no comment, no docstring and no bare line end."""
    idle = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in idle:
            used.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            docstring = node.body[0]
            used.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(used)


def imports_of(tree: ast.AST, package: str) -> Iterator[str]:
    """The full names of all imported modules, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if name in {"__import__", "import_module"}:
                yield node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else "computed"


def imported(path: Path) -> set[str]:
    package = ".".join(path.relative_to(ROOT).parent.parts)
    return set(imports_of(tree_of(path), package))


def belongs(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


# ------------------------------------------------------------------------------------------------- the test's own tools


def test_lines_are_counted_as_they_should_be():
    text = (
        '"""Head.\n\nmore\n"""\n\n# note\nx = 1  # one\n\n\ndef f():\n    """Doc."""\n    return """\n    text\n"""\n'
    )
    assert lines_of_code(text) == 5  # x = 1, def, and three lines of text that are no docstring


def test_imports_are_found_wherever_they_stand():
    text = "import a.b\ndef f():\n    from ..c import d\n    __import__('e')\n    importlib.import_module(name)\n"
    assert set(imports_of(ast.parse(text), "p.q.r")) == {"a.b", "p.q.c", "p.q.c.d", "e", "computed"}


# ---------------------------------------------------------------------------------------------------------- the kernel


# of code; docs/decisions/0001 says how they are counted
BUDGETS = {
    "proofs/kernel": 1080,
    "proofs/engine": 1200,
    "proofs/planes": 320,
    "proofs/witness": 750,
    "proofs/shards": 700,
    "proofs/functional_gd": 600,
    "proofs/boolean": 800,
}


@pytest.mark.parametrize("folder", BUDGETS)
def test_trusted_parts_are_small(folder):
    sizes = {name_of(path): lines_of_code(path.read_text()) for path in sources(folder)}
    assert len(sizes) > 1
    assert sum(sizes.values()) <= BUDGETS[folder], sizes


FLOATING = re.compile(
    r"^(sqrt|exp|exp2|expm1|log|log2|log10|log1p|pow|fsum|isclose|hypot|dist|sin|cos|tan|floor|ceil)$"
)


@pytest.mark.parametrize("path", sources("proofs/kernel"), ids=name_of)
def test_the_kernel_has_no_floating_point(path):
    for node in ast.walk(tree_of(path)):
        place = f"{name_of(path)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Constant):
            assert not isinstance(node.value, float | complex), place
        if isinstance(node, ast.Name):
            assert node.id not in {"float", "complex", "round"}, place
        if isinstance(node, ast.ImportFrom) and node.module == "math":
            assert not [alias.name for alias in node.names if FLOATING.match(alias.name)], place
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in {"math", "cmath"}:
            assert not FLOATING.match(node.attr), place
    for module in imported(path):
        assert module.partition(".")[0] not in {"cmath", "numpy", "decimal", "random", "mpmath"}, module


# int / int makes a float. Every division in the kernel was looked at and is one of fmpq: how many there are, by module.
DIVISIONS = {"softmax.py": 4}


@pytest.mark.parametrize("path", sources("proofs/kernel"), ids=name_of)
def test_every_true_division_in_the_kernel_was_looked_at(path):
    nodes = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.BinOp | ast.AugAssign))
    divisions = [node.lineno for node in nodes if isinstance(node.op, ast.Div)]
    assert len(divisions) == DIVISIONS.get(path.name, 0), f"lines {divisions}: of fmpq? then count them in DIVISIONS"


@pytest.mark.parametrize("path", sources("proofs/kernel"), ids=name_of)
def test_the_kernel_imports_the_standard_library_flint_and_checking_code_only(path):
    for module in imported(path):
        assert module.partition(".")[0] in {"flint", "proofs", *sys.stdlib_module_names}, module
        assert not belongs(module, "proofs.lemmas"), module


@pytest.mark.parametrize("path", sources("proofs/kernel"), ids=name_of)
def test_the_kernel_neither_writes_nor_runs_nor_asks(path):
    forbidden = {"os", "subprocess", "socket", "pickle", "marshal", "shelve", "urllib", "http", "ctypes", "threading"}
    assert not {module.partition(".")[0] for module in imported(path)} & forbidden
    calls = (node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call))
    names = {func.id for func in calls if isinstance(func, ast.Name)}
    assert not names & {"open", "eval", "exec", "compile", "input", "print", "globals", "setattr", "__import__"}


# ------------------------------------------------------------------------------------------------------ the whole tree


@pytest.mark.parametrize("path", sources("proofs"), ids=name_of)
def test_checking_code_never_imports_building_code(path):
    assert not [module for module in imported(path) if belongs(module, "interp")]
    assert "computed" not in imported(path)


@pytest.mark.parametrize("path", sources("proofs", "interp"), ids=name_of)
def test_no_assert_outside_tests(path):
    # python -O removes them
    assert not [node.lineno for node in ast.walk(tree_of(path)) if isinstance(node, ast.Assert)]


@pytest.mark.parametrize("path", sources("proofs", "interp", "tests"), ids=name_of)
def test_nothing_is_pickled(path):
    # worker processes of joblib are this user's own; nothing else may bring a pickle in
    allowed = {"joblib"} if name_of(path) == "proofs/shards/dispatch.py" else set()
    modules = {module.partition(".")[0] for module in imported(path)} - allowed
    assert not modules & {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


@pytest.mark.parametrize("path", sources("proofs", "interp"), ids=name_of)
def test_no_pickle_is_read_through_numpy(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant), node.value.lineno
            assert node.value.value is False, node.value.lineno


@pytest.mark.parametrize("path", sources("proofs", "interp", "tests"), ids=name_of)
def test_no_module_has_a_name_that_says_nothing(path):
    assert not NAMELESS & {path.stem, *path.relative_to(ROOT).parent.parts}


@pytest.mark.parametrize("path", sources("proofs", "interp"), ids=name_of)
def test_no_fault_is_swallowed(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"bare except in line {node.lineno}"
            silent = all(isinstance(step, ast.Pass) for step in node.body)
            caught = {part.id for part in ast.walk(node.type) if isinstance(part, ast.Name)}
            assert not (silent and caught & {"Exception", "BaseException"}), f"swallowed in line {node.lineno}"


def test_every_module_says_what_it_is_for():
    silent = [
        name_of(path)
        for path in sources("proofs", "interp")
        if path.read_text() and not ast.get_docstring(tree_of(path))
    ]
    assert not silent


@pytest.mark.parametrize("path", sources("proofs"), ids=name_of)
def test_only_programs_and_the_guard_of_a_child_process_end_a_process(path):
    exits = [n.lineno for n in ast.walk(tree_of(path)) if isinstance(n, ast.Attribute) and n.attr in {"exit", "_exit"}]
    exits += [n.lineno for n in ast.walk(tree_of(path)) if isinstance(n, ast.Name) and n.id == "SystemExit"]
    assert not exits or name_of(path) == "proofs/guard.py" or 'if __name__ == "__main__":' in path.read_text()


@pytest.mark.parametrize("path", sources("proofs"), ids=name_of)
def test_the_precision_of_balls_is_never_set_globally(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            assert not [t for t in targets if isinstance(t, ast.Attribute) and t.attr in {"prec", "dps"}], node.lineno
