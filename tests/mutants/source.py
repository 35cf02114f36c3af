"""Faults planted in trusted source by mutmut, and which of them the tests find: ``make source-mutants PART=kernel``.

Every survivor needs a reason: a rule below that holds for its whole kind, or a line of its own in ``survivors.json``.
An unexplained survivor is a gap in the tests, and the run fails.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
REASONS = Path(__file__).with_name("survivors.json")
SETTINGS = """
[mutmut]
source_paths = proofs
only_mutate =
    {files}
also_copy =
    interp
    docs
    README.md
pytest_add_cli_args =
    -p
    no:cacheprovider
pytest_add_cli_args_test_selection =
    {tests}
timeout_multiplier = 3
timeout_constant = 20
"""
TARGET = 95  # per cent of the mutants that can change an answer

WORDING = "words, place or hint of an error; its class and so its exit code are the same"
STRICT = "both sides have one length by construction; strict only makes a programming error loud"
PROGRESS = "the number shown on the progress bar"


@dataclass(frozen=True)
class Part:
    """Modules of one package, by their globs, and the tests that have to find a fault in them."""

    package: str
    files: tuple[str, ...]
    tests: tuple[str, ...]


PARTS = {
    "kernel": Part("kernel", ("*",), ("tests/kernel", "tests/test_golden.py", "tests/constructions/test_mutations.py")),
    "engine": Part(
        "engine", ("radii.py", "boxes.py"), ("tests/engine", "-k", "not planted and not looked_at")
    ),  # where floats bound radii
}


@dataclass(frozen=True)
class Survivor:
    """A planted fault that no test found: the lines it removed and added."""

    function: str
    removed: str
    added: str
    rule: str | None

    @property
    def key(self) -> str:
        """What survivors.json is keyed by: it does not depend on how mutmut numbers its mutants."""
        return f"{self.function}: {self.removed} -> {self.added}"


def run_mutmut(part: Part, folder: Path) -> None:
    """Plants every fault and runs the tests on it, in a copy of the tree."""
    for name in ("proofs", "interp", "tests", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    for name in ("README.md", "pytest_interp.py", "setup.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    with (folder / "setup.cfg").open("a") as stream:
        files = [f"proofs/{part.package}/{name}" for name in part.files]
        stream.write(SETTINGS.format(files="\n    ".join(files), tests="\n    ".join(part.tests)))
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", "2"]
    subprocess.run(command, cwd=folder, check=True, env=os.environ | {"HYPOTHESIS_PROFILE": "mutants"})


def read_results(part: Part, folder: Path) -> tuple[Counter[str], list[Survivor]]:
    """How many mutants were killed and how many survived, and the survivors."""
    counts: Counter[str] = Counter()
    survivors = []
    for meta in sorted((folder / "mutants" / "proofs" / part.package).glob("*.meta")):
        module = ast.parse(meta.with_suffix("").read_text())
        functions = {node.name: node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)}
        for key, code in json.loads(meta.read_text())["exit_code_by_key"].items():
            counts["survived" if code == 0 else "not run" if code is None else "killed"] += 1
            if code == 0:
                survivors.append(describe(key.removeprefix(f"proofs.{part.package}."), functions))
    return counts, survivors


def describe(key: str, functions: dict[str, ast.FunctionDef]) -> Survivor:
    """The difference between a function and its mutant, and the rule that explains it."""
    name = key.rpartition(".")[2]
    base, _, _ = name.partition("__mutmut_")
    original, mutant = functions[f"{base}__mutmut_orig"], functions[name]
    removed, added = next(differing_statements(original.body, mutant.body), (original.args, mutant.args))
    readable = key.rpartition("__mutmut_")[0].replace("ǁ", ".").replace("x_", "", 1)
    before, after = (ast.unparse(node) if node else "" for node in (removed, added))
    return Survivor(readable.replace(".x.", "."), before, after, find_rule(removed, added))


def differing_statements(
    left: list[ast.stmt], right: list[ast.stmt]
) -> Iterator[tuple[ast.AST | None, ast.AST | None]]:
    """The smallest pairs of statements that differ."""
    for a, b in zip(left, right, strict=False):
        if ast.dump(a) == ast.dump(b):
            continue
        bodies = ("body", "orelse", "finalbody")
        heads = [
            (x, y)
            for (field, x), (_, y) in zip(ast.iter_fields(a), ast.iter_fields(b), strict=False)
            if field not in (*bodies, "handlers") and _dump(x) != _dump(y)
        ]
        if type(a) is not type(b) or heads or not hasattr(a, "body"):
            inner = [pair for pair in heads if isinstance(pair[0], ast.expr) and isinstance(pair[1], ast.expr)]
            yield inner[0] if inner and hasattr(a, "body") else (a, b)
        else:
            for field in bodies:
                yield from differing_statements(getattr(a, field, []), getattr(b, field, []))
            for x, y in zip(getattr(a, "handlers", []), getattr(b, "handlers", []), strict=False):
                yield from differing_statements(x.body, y.body)
                if _dump(x.type) != _dump(y.type):
                    yield x.type, y.type


def _dump(value: object) -> str:
    if isinstance(value, list):
        return str([_dump(item) for item in value])
    return ast.dump(value) if isinstance(value, ast.AST) else repr(value)


def find_rule(removed: ast.AST | None, added: ast.AST | None) -> str | None:
    """The reason that holds for a whole kind of survivors, if one does."""
    if isinstance(removed, ast.Raise) and isinstance(added, ast.Raise):
        classes = {ast.unparse(node.exc.func) if isinstance(node.exc, ast.Call) else "?" for node in (removed, added)}
        if len(classes) == 1 and classes != {"?"}:
            return WORDING
    if removed is not None and added is not None:
        if _dump(_Lax().visit(deepcopy(removed))) == _dump(_Lax().visit(deepcopy(added))):
            return STRICT
        if ast.unparse(removed).startswith("progress("):
            return PROGRESS
    return None


class _Lax(ast.NodeTransformer):
    """Drops every strict=."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != "strict"]
        return node


def main(name: str = "kernel", folder: Path | None = None) -> int:
    """Prints the table; 1 when a survivor has no reason or too many survive."""
    part = PARTS[name]
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            run_mutmut(part, Path(temporary))
            counts, survivors = read_results(part, Path(temporary))
    else:
        counts, survivors = read_results(part, folder)
    listed: dict[str, str] = json.loads(REASONS.read_text()).get(name, {})
    reasons = Counter(item.rule or listed.get(item.key, "UNEXPLAINED") for item in survivors)
    kinds = [item for item in survivors if item.rule is None]
    rated = counts["killed"] + len(kinds)
    share = 100 * counts["killed"] / max(rated, 1)
    print(f"{sum(counts.values())} mutants: {dict(counts)}")
    print(f"{share:.1f} % killed of the {rated} that no rule explains (target {TARGET} %)")
    for reason, number in reasons.most_common():
        print(f"{number:5d}  {reason}")
    unexplained = [item for item in kinds if item.key not in listed]
    for item in unexplained:
        print(f"UNEXPLAINED {item.key}")
    return 1 if unexplained or counts["not run"] or share < TARGET else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2], *map(Path, sys.argv[2:])))
