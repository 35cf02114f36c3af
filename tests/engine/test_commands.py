"""The engine as the commands use it, and what its sources may contain."""

from __future__ import annotations

import ast

import pytest

from interp.api import build, save_transformer, verify
from interp.cli.main import run_command
from interp.datasets.encode import encode_dataset_json
from interp.datasets.npz import encode_dataset_npz
from proofs.__main__ import main
from tests.strategies import make_dataset
from tests.test_architecture import imported, sources, tree_of

DATASET = make_dataset(*(([(k, 1), (k, 2)], [(k, 0)]) for k in range(4)))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine")
    paths = [folder / name for name in ("D.json", "D.npz", "T.jsonl")]
    paths[0].write_bytes(encode_dataset_json(DATASET))
    paths[1].write_bytes(encode_dataset_npz(DATASET))
    save_transformer(build(DATASET, "softmax"), paths[2])
    return [str(path) for path in paths]


@pytest.mark.parametrize(("option", "part"), [([], "engine"), (["--paranoid"], "kernel")])
def test_a_verdict_names_the_parts_used(files, option, part, capsys):
    json_file, npz_file, witness = files
    for arguments in (
        ["verify", witness, json_file, "--temperatures", "[0,1]", *option],
        ["verify", witness, npz_file, "--temperatures", "[0,1]", *option],
    ):
        assert run_command([*arguments, "--quiet"]) == 0
        assert f"checked by  kernel, {part}/hardmax, {part}/softmax (" in capsys.readouterr().out
    assert main(["check", json_file, witness, "--temperatures", "[0,1]", *option]) == 0
    assert f"{part}/hardmax, {part}/softmax" in capsys.readouterr().out


def test_both_give_the_same_verdict_from_python():
    transformer = build(DATASET)
    fast, slow = (verify(transformer, DATASET, paranoid=paranoid) for paranoid in (False, True))
    assert fast.parts == ("kernel", "engine/hardmax")
    assert slow.parts == ("kernel", "kernel/hardmax")
    assert (fast.status, fast.obligations, fast.counts) == (slow.status, slow.obligations, slow.counts)


# int / int makes a float. Divisions are of fmpq (and fmpq_mat) but in radii.py and one of attention.py (1 / 2^e, exact); floats are
# listed in docs/explanation/trusted-base.md, with their bounds. How many there are, by module.
DIVISIONS = {"attention.py": 3, "program.py": 1, "radii.py": 1, "factored.py": 3}
FLOATS = {"attention.py": 2, "radii.py": 5, "factored.py": 5}


@pytest.mark.parametrize("path", sources("proofs/engine", "proofs/planes"), ids=lambda path: path.name)
def test_every_float_of_the_engine_was_looked_at(path):
    assert {m.partition(".")[0] for m in imported(path)}.isdisjoint({"cmath", "decimal", "mpmath", "random"})
    divisions = floats = 0
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Constant):
            assert not isinstance(node.value, float | complex), node.lineno
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            assert not name.startswith(("complex", "true_divide", "sqrt", "exp2", "log", "power")), name
            floats += name.startswith("float")
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            divisions += 1
    assert (divisions, floats) == (DIVISIONS.get(path.name, 0), FLOATS.get(path.name, 0))
