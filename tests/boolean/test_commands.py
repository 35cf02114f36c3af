"""``interp boolean`` as a user types it."""

from __future__ import annotations

import json

import pytest

from interp.cli.main import run_command


def run(capsys, *arguments, code=0):
    capsys.readouterr()
    assert run_command(["boolean", *map(str, arguments)]) == code
    return capsys.readouterr().out


def record(capsys, *arguments, code=0):
    return json.loads(run(capsys, *arguments, "--json", code=code))


def test_profile(capsys):
    text = run(capsys, "profile", "parity", "--bits", 12)
    assert "4096" in text
    assert "closed form agree" in text
    found = record(capsys, "profile", "majority", "--bits", 7)
    assert found["profile"] == [58, 0, 0, 0, 70, 0, 0, 0]
    assert found["average"] == "35/16"
    assert record(capsys, "profile", "truth:0110", "--bits", 2)["closed_form"] is False


def test_a_wrong_closed_form_is_an_internal_fault(capsys, monkeypatch):
    monkeypatch.setattr("interp.cli.boolean.closed_profile", lambda function, bits: (0,) * (bits + 1))
    run(capsys, "profile", "parity", "--bits", 4, code=14)


@pytest.mark.parametrize("arguments", [("x9", "--bits", 4), ("nonsense", "--bits", 4)])
def test_no_function(capsys, arguments):
    run(capsys, "profile", *arguments, code=12)


def test_build_and_certify(capsys, tmp_path):
    file = tmp_path / "P.json"
    assert f"certify {file} --bits 5 --function parity" in run(
        capsys, "build", "parity", "--bits", "2-3,5", "--norm", "-o", file
    )
    text = run(capsys, "certify", file, "--bits", 5, "--function", "parity", "--margin", 3)
    assert text.startswith(f"VERIFIED {file}: T has the sign of parity on all 32 strings of 5 bits, with |T| >= 3\n")
    assert "proofs.boolean" in text
    found = record(capsys, "certify", file, "--bits", 3, "--jobs", 2)
    assert found["verdict"] == "verified"
    assert found["facts"]["profile"] == "K_3 = 8"
    assert record(capsys, "certify", file, "--bits", 3, "--function", "majority", code=10)["verdict"] == "refuted"
    run(capsys, "certify", file, "--bits", 4, code=10)
    run(capsys, "certify", file, "--bits", 3, "--influence", "--margin", 1, code=11)
    run(capsys, "certify", file, "--bits", 3, "--influence", code=2)
    run(capsys, "certify", file, "--bits", 3, "--function", "x4", code=12)
    run(capsys, "certify", tmp_path / "none.json", "--bits", 3, code=12)
    file.write_text(file.read_text()[:-30])
    run(capsys, "certify", file, "--bits", 3, code=12)


def test_draw_and_certify(capsys, tmp_path):
    file = tmp_path / "G.json"
    run(capsys, "draw", "gaussian", "--bits", 4, "--dimension", 4, "--depth", 1, "-o", file)
    assert record(capsys, "certify", file, "--bits", 4)["facts"]["decided by"].endswith("balls 0")
    run(capsys, "draw", "gaussian", "--bits", 4, "--epsilon", "-1", "-o", file, code=2)


def test_experiment(capsys):
    options = ("--bits", 3, "--depth", 1, "--dimension", 4, "--count", 2, "--scheme", "uniform")
    found = record(capsys, "experiment", *options)
    assert [row["weights"] for row in found] == ["uniform", "uniform random functions"]
    assert len(found[0]["profiles"]) == 2
    run(capsys, "experiment", "--bits", "3,x", code=2)
    run(capsys, "experiment", "--bits", "30", code=2)


def test_bounds(capsys):
    text = run(capsys, "bounds", "--bits", 8, "--depth", 1, "--dimension", 16, "--zero", 3)
    assert "at most 2^N from N = 8 on" in text
    assert "not met" in text
    found = record(capsys, "bounds", "--bits", 3, "--depth", 2, "--dimension", 16)
    assert found["fits_from"] is None
    assert found["without_zero"] == 118
    run(capsys, "bounds", "--bits", 3, "--margin", 0, code=2)


def test_train(capsys, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: training is optional", exc_type=ImportError)
    file = tmp_path / "T.json"
    run(capsys, "train", "first", "--bits", 2, "--dimension", 4, "--depth", 1, "--updates", 1, "-o", file)
    assert record(capsys, "certify", file, "--bits", 2)["verdict"] == "verified"
    run(capsys, "train", "first", "--bits", 2, "--dimension", 5, "--updates", 1, "-o", file, code=2)
    run(capsys, "train", "nothing", "--bits", 2, "-o", file, code=12)
