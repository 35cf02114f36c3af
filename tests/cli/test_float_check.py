"""``interp float-check``, ``interp robustness`` and ``interp build --float-safe`` from the command line."""

from __future__ import annotations

import json

import pytest

from interp.cli.main import run_command
from tests.cli.test_commands import EXAMPLE, record
from tests.strategies import transformer_bytes


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.json"
    path.write_text(json.dumps(EXAMPLE))
    return str(path)


def test_formats_are_told_apart(tmp_path, data, capsys):
    built = str(tmp_path / "T.jsonl")
    assert run_command(["build", data, "-o", built]) == 0
    capsys.readouterr()
    found = record(capsys, "float-check", built, data, "--bits", "60")
    assert found["answer"] == "agrees"
    names = [item["format"] for item in found["formats"]]
    assert names == ["bfloat16", "float32", "float64", "60 bits", "binary128", "binary256"]
    assert found["smallest"] in names
    assert found["formats"][2]["run"]["wrong_decisions"] == 0
    assert run_command(["float-check", built, data]) == 0
    assert "float64 agrees" in capsys.readouterr().out


def test_a_difference_has_its_place_and_exit_code(tmp_path, data, capsys):
    d = len(EXAMPLE["pairs"][0]["input"][0])
    data = str(tmp_path / "three.json")
    pairs = [{"input": [[3, *[0] * (d - 1)]], "output": [[3] * d]}]
    (tmp_path / "three.json").write_text(json.dumps(EXAMPLE | {"pairs": pairs}))
    ff = {"eta": 1, "W": [[1], *[[0]] * (d - 1)], "U": [[1, *[0] * (d - 1)]], "b": [f"{-3 * 2**30 + 1}/{2**30}"]}
    path = tmp_path / "T.jsonl"
    path.write_bytes(transformer_bytes(d, [{"ff": ff}]))
    assert run_command(["float-check", str(path), data, "--dtype", "bfloat16"]) == 10
    out = capsys.readouterr().out
    assert "bfloat16 differs" in out
    assert "block 1, pair 0, token 0, unit 0: exact 1/1073741824, float 0.0" in out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["float-check", "--temperature", "-1"], 2),
        (["float-check", "--distance", "-1"], 2),
        (["float-check", "--bits", "1"], 2),
        (["float-check", "--dtype", "float16"], 2),
        (["robustness", "--distance", "-1"], 2),
        (["robustness", "--pair", "99"], 2),
    ],
)
def test_faults_have_their_code(arguments, code, tmp_path, data, capsys):
    built = str(tmp_path / "T.jsonl")
    run_command(["build", data, "-o", built])
    command, *options = arguments
    assert run_command([command, built, data, *options]) == code
    assert capsys.readouterr().err


def test_radii_have_both_bounds(tmp_path, data, capsys):
    built = str(tmp_path / "T.jsonl")
    run_command(["build", data, "-o", built, "--attention", "softmax"])
    capsys.readouterr()
    found = record(capsys, "robustness", built, data, "--temperatures", "(0,1]", "--distance", "1/10", "--tries", "2")
    assert len(found["pairs"]) == len(EXAMPLE["pairs"])
    assert all(pair["exact"] and pair["certified_radius"] != "0" for pair in found["pairs"])
    assert all(pair["counterexample_radius"] for pair in found["pairs"])


def test_a_float_safe_build_is_proved_and_exact(tmp_path, data, capsys):
    built = str(tmp_path / "T.jsonl")
    found = record(capsys, "build", data, "-o", built, "--float-safe", "float64")
    assert found["float_safe"]["safe"]
    assert found["float_safe"]["answer"] == "agrees"
    assert run_command(["verify", built, data]) == 0
    assert run_command(["float-check", built, data]) == 0


def test_a_build_that_is_not_safe_says_so(tmp_path, data, capsys):
    built = str(tmp_path / "T.jsonl")
    options = ["--float-safe", "float64", "--float-distance", "1e-300"]
    found = record(capsys, "build", data, "-o", built, *options, code=11)
    assert not found["float_safe"]["safe"]
    assert run_command(["verify", built, data]) == 0
    assert run_command(["build", data, "-o", built, "--float-safe", "float32", "--minimise", "norm"]) == 2
