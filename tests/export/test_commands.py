"""``interp export`` and ``interp distance`` as a user types them."""

from __future__ import annotations

import json
import sys

import pytest

from interp.cli.main import run_command
from tests.export.cases import NEEDS, need
from tests.strategies import dataset_bytes, make_dataset, transformer_bytes

DATA = make_dataset(([[0, 0], [1, 3]], [[0, 1], [1, 4]]), ([[2, 2]], [[2, 3]]))
ADD = {"ff": {"eta": 1, "W": [[0], [1]], "U": [[0, 0]], "b": [1]}}  # x -> x + (0, 1)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "T.jsonl").write_bytes(transformer_bytes(2, [ADD]))
    (tmp_path / "D.json").write_bytes(dataset_bytes(DATA))
    return tmp_path


def run(capsys, *arguments, code=0):
    capsys.readouterr()
    found = run_command([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    assert found == code, printed
    return printed.out + printed.err


@pytest.mark.parametrize(
    ("kind", "name"), [("torch", "m.py"), ("numpy", "m.py"), ("onnx", "m.onnx"), ("safetensors", "m.safetensors")]
)
def test_write_and_run(files, capsys, kind, name):
    need(*NEEDS[kind])
    text = run(capsys, "export", files / "T.jsonl", files / "D.json", "-o", files / name, "--to", kind, "--check")
    assert "7 weights, all exact" in text
    assert "2 of 2 pairs end exactly on their targets" in text


def test_a_check_can_fail(files, capsys):
    (files / "wrong.json").write_bytes(dataset_bytes(make_dataset(([[0, 0]], [[3, 5]]))))
    command = ["export", files / "T.jsonl", files / "wrong.json", "-o", files / "m.py", "--to", "numpy", "--check"]
    assert "0 of 1 pairs end exactly on their targets; the farthest is pair 0, Hausdorff distance 5.000e0" in run(
        capsys, *command
    )
    record = json.loads(run(capsys, *command, "--json"))
    assert record["squared_hausdorff"] == ["25"]


def test_infinity_at_the_end_is_told(files, capsys):
    (files / "T.jsonl").write_bytes(transformer_bytes(2, [{"ff": {"eta": str(10**30)}}] * 2))
    command = ["export", files / "T.jsonl", files / "D.json", "-o", files / "m.py", "--to", "numpy", "--check"]
    with pytest.warns(RuntimeWarning, match="overflow"):
        text = run(capsys, *command, "--dtype", "float32")
    assert "2 end in NaN or infinity, such as pair 0" in text


def test_rounding_is_reported(files, capsys):
    (files / "T.jsonl").write_bytes(transformer_bytes(2, [{"ff": {"eta": "1/3"}, "sa": {"rho": "1/2"}}]))
    text = run(capsys, "export", files / "T.jsonl", "-o", files / "m.py", "--to", "numpy", "--dtype", "float32")
    assert "2 weights, 1 rounded, largest relative error 2.980e-8 at blocks.0.feed_forward.eta" in text


def test_overflow_names_the_weight_and_writes_nothing(files, capsys):
    (files / "T.jsonl").write_bytes(transformer_bytes(2, [{"ff": {"eta": str(10**40)}}]))
    command = ["export", files / "T.jsonl", "-o", files / "m.py", "--to", "numpy", "--dtype", "float32"]
    assert "blocks.0.feed_forward.eta: 1.000e40 overflows float32 (use float64)" in run(capsys, *command, code=2)
    assert not (files / "m.py").exists()


def test_smt_with_both_solvers(files, capsys):
    need("z3", "cvc5")
    command = ["export", files / "T.jsonl", files / "D.json", "-o", files / "q.smt2", "--to", "smt", "--check"]
    text = run(capsys, *command)
    assert "z3: unsat" in text
    assert "cvc5: unsat" in text
    (files / "D.json").write_bytes(dataset_bytes(make_dataset(([[0, 0]], [[0, 2]]))))
    assert "z3: sat" in run(capsys, *command, code=10)


def test_a_solver_that_contradicts_the_kernel_is_a_fault(files, capsys, monkeypatch):
    monkeypatch.setattr("interp.cli.export.ask_solver", lambda solver, script: "sat")
    command = ["export", files / "T.jsonl", files / "D.json", "-o", files / "q.smt2", "--to", "smt", "--check"]
    assert "a solver contradicts the kernel" in run(capsys, *command, code=14)
    monkeypatch.setattr("interp.cli.export.ask_solver", lambda solver, script: "unknown")
    run(capsys, *command, code=11)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "smt"], "DATA is missing"),
        (["--to", "numpy", "--check"], "DATA is missing"),
        (["D.json", "--to", "numpy"], "DATA has no use here"),
        (["D.json", "--to", "smt", "--dtype", "float32"], "smt is exact, at temperature 0"),
        (["D.json", "--to", "smt", "--temperature", "1"], "smt is exact, at temperature 0"),
        (["--to", "numpy", "--max-terms", "3"], "the option is for smt"),
        (["--to", "numpy", "--temperature", "-1"], "temperature -1"),
        (["--to", "onnx"], "ends in .onnx"),
    ],
)
def test_options_that_make_no_sense(files, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(files)
    assert message in run(capsys, "export", "T.jsonl", *arguments, "-o", "m.py", code=2)


@pytest.mark.parametrize(
    ("kind", "module", "package"), [("onnx", "onnx", "onnx"), ("safetensors", "safetensors.numpy", "safetensors")]
)
def test_a_missing_package_is_named(files, capsys, monkeypatch, kind, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    name = files / f"m.{kind}"
    text = run(capsys, "export", files / "T.jsonl", "-o", name, "--to", kind, code=2)
    assert text == f"usage error: {package} is not installed (pip install {package})\n"


def test_a_file_that_is_no_transformer(files, capsys):
    assert "D.json" in run(capsys, "export", files / "D.json", "-o", files / "m.py", "--to", "numpy", code=12)


def test_distances_are_exact_rationals(files, capsys):
    far = make_dataset(([[0, 0], [1, 3]], [[0, 1], [1, 4]]), ([[2, 2]], [[2, "7/3"], [5, 3]]), ([[1, 1]], [[1, "3/2"]]))
    (files / "D.json").write_bytes(dataset_bytes(far))
    text = run(capsys, "distance", files / "T.jsonl", files / "D.json")
    assert "1 of 3 pairs exact at temperature 0" in text.splitlines()[0]
    assert [line.split() for line in text.splitlines()[2:]] == [
        ["1", "3.000e0", "9"],
        ["2", "5.000e-1", "1/4"],
        ["0", "0", "0"],
    ]
    record = json.loads(run(capsys, "distance", files / "T.jsonl", files / "D.json", "--json"))
    assert [entry["squared_hausdorff"] for entry in record["pairs"]] == ["0", "9", "1/4"]


def test_an_undecided_distance_is_not_reported_as_one(files, capsys):
    blocks = [
        {"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}},
        {"ff": {"eta": 1, "W": [[1], [0]], "U": [[1, -1]], "b": [0]}},
    ]
    (files / "T.jsonl").write_bytes(transformer_bytes(2, blocks))
    (files / "D.json").write_bytes(dataset_bytes(make_dataset(([[0, 1], [1, 0]], [[1, 1]]))))
    # the two tokens stay each other's mirror images, but (0, 0), (1, 1) end on the line x = y, where the unit kinks
    (files / "D.json").write_bytes(dataset_bytes(make_dataset(([[0, 0], [1, 1]], [[1, 1]]))))
    text = run(capsys, "distance", files / "T.jsonl", files / "D.json", "--temperatures", "1", code=11)
    assert text.startswith("UNDECIDED")


@pytest.fixture
def masked(tmp_path):
    # the mean of the tokens so far: the last one ends on its target, the first one elsewhere
    mean = {"sa": {"rho": 0, "V": {"beta": 1}, "mask": "causal"}}
    (tmp_path / "T.jsonl").write_bytes(transformer_bytes(2, [mean]))
    data = make_dataset(([[0, 0], [2, 4]], [[1, 2]]), ([[2, 4], [0, 0], [4, 2]], [[2, 2]]))
    (tmp_path / "D.json").write_bytes(dataset_bytes(data))
    return tmp_path


@pytest.mark.parametrize("kind", NEEDS)
def test_a_masked_transformer_is_compared_where_it_is_read_out(masked, capsys, kind):
    need(*NEEDS[kind])
    output = masked / {"onnx": "m.onnx", "safetensors": "m.safetensors"}.get(kind, "m.py")
    command = ["export", masked / "T.jsonl", masked / "D.json", "-o", output, "--to", kind, "--check"]
    assert "read out at the last tokens: 2 of 2 pairs end exactly" in run(capsys, *command, "--readout", "last")
    assert "run on DATA: 0 of 2 pairs end exactly" in run(capsys, *command)


def test_distances_are_those_of_the_tokens_read_out(masked, capsys):
    command = ["distance", masked / "T.jsonl", masked / "D.json"]
    assert "0 of 2 pairs exact at temperature 0" in run(capsys, *command)
    for temperatures in ("0", "1", "[0,oo)"):
        text = run(capsys, *command, "--readout", "last", "--temperatures", temperatures)
        assert "2 of 2 pairs exact" in text


@pytest.mark.parametrize(("kind", "name", "weights"), [("torch", "m.py", "m.safetensors"), ("numpy", "m.py", "m.npz")])
def test_a_mask_comes_back(masked, capsys, kind, name, weights):
    need(*NEEDS[kind])
    run(capsys, "export", masked / "T.jsonl", "-o", masked / name, "--to", kind)
    text = run(capsys, "import", kind, masked / weights, "-o", masked / "back.jsonl")
    assert "DATA --mask causal;" in text
    claim = ["--mask", "causal", "--readout", "last"]
    assert run(capsys, "verify", masked / "back.jsonl", masked / "D.json", *claim).startswith("VERIFIED")
    run(capsys, "verify", masked / "back.jsonl", masked / "D.json", "--readout", "last", code=10)


def test_safetensors_give_the_masked_file_back(masked, capsys):
    need("safetensors")
    run(capsys, "export", masked / "T.jsonl", "-o", masked / "m.safetensors", "--to", "safetensors")
    run(capsys, "import", "safetensors", masked / "m.safetensors", "-o", masked / "back.jsonl")
    assert (masked / "back.jsonl").read_bytes() == (masked / "T.jsonl").read_bytes()


def test_the_readout_goes_with_a_check(masked, capsys):
    command = ["export", masked / "T.jsonl", "-o", masked / "m.py", "--to", "numpy", "--readout", "last"]
    assert "--readout" in run(capsys, *command, code=2)
    assert not (masked / "m.py").exists()
