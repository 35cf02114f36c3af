"""``interp fgd`` as a user types it."""

from __future__ import annotations

import json

import pytest

from interp.cli.fgd import fgd
from interp.cli.main import cli, run_command
from interp.functional_gd.encode import encode_context
from tests.functional_gd.contexts import EIGENVALUES, INDEFINITE, THREE, TWO, make_context

LINEAR = ("--kernel", "linear", "--steps", "1/2,1/3,1/4")


@pytest.fixture(autouse=True)
def registered():
    if "fgd" not in cli.commands:
        cli.add_command(fgd)


@pytest.fixture
def files(tmp_path):
    names = {"two": TWO, "three": THREE, "eigenvalues": EIGENVALUES, "indefinite": INDEFINITE}
    for name, context in names.items():
        (tmp_path / f"{name}.json").write_bytes(encode_context(context))
    return tmp_path


def run(capsys, *arguments, code=0):
    capsys.readouterr()
    assert run_command(["fgd", *map(str, arguments)]) == code
    return capsys.readouterr().out


def record(capsys, *arguments, code=0):
    return json.loads(run(capsys, *arguments, "--json", code=code))


def test_build_and_verify(files, capsys):
    out, context = files / "T.jsonl", files / "two.json"
    assert "not verified yet: interp fgd verify" in run(capsys, "build", context, "-o", out, *LINEAR)
    text = run(capsys, "verify", out, context, *LINEAR)
    claim = "3 layers of gradient descent on 1/2 sum (f(x_i) - y_i)^2 with K = linear, r = 1/2, 1/3, 1/4, at every layer and entry, exactly"
    assert text.startswith(f"VERIFIED {out}: {claim}\n")
    assert "prediction 449/192" in text
    assert "checked by  proofs.functional_gd" in text
    first = out.read_bytes()
    run(capsys, "build", context, "-o", out, *LINEAR)
    assert out.read_bytes() == first


def test_the_claim_is_the_users_and_not_the_files(files, capsys):
    out, context = files / "T.jsonl", files / "two.json"
    run(capsys, "build", context, "-o", out, *LINEAR)
    for wrong in (
        ("--kernel", "linear", "--steps", "1/2,1/3,1/5"),
        ("--kernel", "relu", "--steps", "1/2,1/3,1/3"),
        (*LINEAR, "--loss", "mean", "--layers", "3"),
        ("--kernel", "linear", "--steps", "1/2,1/3"),
    ):
        if wrong[-1] == "3":  # n = 2: the mean of two squares is the half sum
            assert record(capsys, "verify", out, context, *wrong)["verdict"] == "verified"
        else:
            assert record(capsys, "verify", out, context, *wrong, code=10)["verdict"] == "refuted"
    assert record(capsys, "verify", out, files / "three.json", *LINEAR)["verdict"] == "verified"  # no labels inside
    assert record(capsys, "verify", out, files / "eigenvalues.json", *LINEAR, code=10)["verdict"] == "refuted"


def test_exp_and_several_heads(files, capsys):
    out, context = files / "T.jsonl", files / "three.json"
    words = ("--kernel", "1/2*exp[1]+linear[2]", "--steps", "1/8", "--layers", "6", "--target-bits", "200")
    assert record(capsys, "build", context, "-o", out, *words) == {"output": str(out), "layers": 6, "heads": 2}
    found = record(capsys, "verify", out, context, *words)
    assert found["verdict"] == "verified"
    assert [o["name"] for o in found["obligations"]] == ["shape", "layers", "values"]
    assert "within 2^-200" in found["claim"]


def test_distance(files, capsys):
    found = record(capsys, "distance", files / "two.json", *LINEAR, "--q", "9/10", "--within", "1/6")
    assert found["facts"]["limit"] == "5/2"
    assert [o["status"] for o in found["obligations"]] == ["verified"] * 5
    run(capsys, "distance", files / "two.json", *LINEAR, "--within", "1/7", code=10)
    text = run(capsys, "distance", files / "indefinite.json", "--kernel", "relu", "--steps", "1/8", code=10)
    assert "the minor of rows 1, 2, 3, 4 is -1" in text


def test_steps(files, capsys):
    found = record(capsys, "steps", files / "eigenvalues.json", "--kernel", "linear")
    assert found["exact"] == "1,1/3"
    assert found["best"] == found["contraction"] == "1/2"
    assert "rational" in run(capsys, "steps", files / "two.json", "--kernel", "exp", "--grid-bits", "8")
    run(capsys, "steps", files / "indefinite.json", "--kernel", "relu", code=12)


def test_symmetry(files, capsys):
    path = files / "generic.json"
    path.write_bytes(encode_context(make_context([("1/2", "1/3"), (-1, "2/3")], (1, 2), ("3/2", "-1/5"))))
    words = ["--target", "3/7", "--b", "1/2,2", "--c", "1,2/3", "--a", "1/5,-1/3", "--rho", "-1/4,-1/7"]
    root = ["--root", "2,1;1,3"]
    for kernel in ("linear", "relu", "polynomial:2"):
        found = record(capsys, "symmetry", path, "--kernel", kernel, *root, *words)
        assert (found["directions"], found["unequal"], found["equivariance_failures"]) == (24, [], [])
        assert found["nonzero"] >= 12
    run(capsys, "symmetry", path, "--kernel", "linear", "--root", "2,1", *words, code=2)
    run(capsys, "symmetry", path, "--kernel", "linear", *root, *words[:-1], "1", code=2)
    run(capsys, "symmetry", path, "--kernel", "exp", *root, *words, code=12)


def test_experiment(capsys):
    words = ("--data", "linear", "--activation", "linear", "--activation", "exp", "--tasks", "3", "--layers", "1,2")
    found = record(capsys, "experiment", *words, "--lengths", "3")
    assert [(r["points"], r["layers"], r["activation"]) for r in found] == [
        (3, depth, name) for depth in (1, 2) for name in ("linear", "exp")
    ]
    text = run(capsys, "experiment", *words, "--lengths", "3")
    assert text.startswith("labels of kernel linear")
    assert text == run(capsys, "experiment", *words, "--lengths", "3")
    run(capsys, "experiment", "--layers", "0", code=2)
    run(capsys, "experiment", "--layers", "1/2", code=2)
    run(capsys, "experiment", "--activation", "tanh", code=12)


def test_bounds_and_faults(files, capsys):
    out, context = files / "T.jsonl", files / "two.json"
    run(capsys, "build", context, "-o", out, "--kernel", "linear", "--steps", "1/2", "--layers", "30")
    run(
        capsys,
        "verify",
        out,
        context,
        "--kernel",
        "linear",
        "--steps",
        "1/2",
        "--layers",
        "30",
        "--max-height",
        "5",
        code=13,
    )
    run(capsys, "verify", files / "none", context, *LINEAR, code=12)
    run(capsys, "verify", out, context, "--kernel", "linear", code=2)
