"""The composite action: its steps are run by bash, as GitHub runs them, on hostile inputs too."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import interp
from tests.strategies import dataset_bytes, make_dataset

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed: pip install exact-interp[test]")

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
DATASET = make_dataset(([[0, 0], [1, 2]], [[5, 5]]), ([[0, 0], [3, 1]], [[1, 0]]))
EXPRESSION = re.compile(r"\$\{\{ *(inputs|github)\.([a-z_-]+) *\}\}")

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.fixture
def folder(tmp_path):
    transformer = interp.build(DATASET)
    interp.save_transformer(transformer, tmp_path / "T.jsonl")
    (tmp_path / "D.json").write_bytes(dataset_bytes(DATASET))
    other = make_dataset(([[0, 0], [1, 2]], [[5, 6]]), ([[0, 0], [3, 1]], [[1, 0]]))
    (tmp_path / "wrong.json").write_bytes(dataset_bytes(other))
    return tmp_path


def run_steps(folder, inputs, steps=("Audit",)):
    """Runs the steps of these names; the exit code, what was printed, and the three files GitHub reads."""
    values = {name: item.get("default", "") for name, item in ACTION["inputs"].items()} | inputs
    values = {("inputs", name): value for name, value in values.items()} | {("github", "action_path"): str(ROOT)}
    files = {"GITHUB_OUTPUT": folder / "output", "GITHUB_STEP_SUMMARY": folder / "summary"}
    for file in files.values():
        file.write_text("")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    out = ""
    for step in ACTION["runs"]["steps"]:
        if step.get("name") not in steps:
            continue
        given = {k: EXPRESSION.sub(lambda m: values[m[1], m[2]], v) for k, v in step["env"].items()}
        environment = os.environ | {name: str(file) for name, file in files.items()} | {"PATH": path} | given
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        out += done.stdout
        if done.returncode:
            return done.returncode, out, files
    return 0, out, files


def test_nothing_but_the_environment_brings_inputs_into_a_script():
    assert [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        for value in step.get("env", {}).values():
            assert EXPRESSION.fullmatch(value)
            assert EXPRESSION.fullmatch(value)[1] == "github" or EXPRESSION.fullmatch(value)[2] in ACTION["inputs"]
    used = {m[2] for step in ACTION["runs"]["steps"] for v in [*step.get("env", {}).values(),
            *step.get("with", {}).values()] for m in [EXPRESSION.fullmatch(v)] if m}  # fmt: skip
    assert set(ACTION["inputs"]) <= used


def test_a_good_transformer_passes(folder):
    inputs = {"transformer": "T.jsonl", "dataset": "D.json", "report": "report.xml", "max-bits": "99"}
    code, out, files = run_steps(folder, inputs | {"args": "--max-width\n4\n\n--explain"})
    assert (code, out.startswith("::notice ")) == (0, True)
    assert files["GITHUB_OUTPUT"].read_text() == "exit-code=0\n"
    assert "### interp audit: verified" in files["GITHUB_STEP_SUMMARY"].read_text()
    assert "<testsuite " in (folder / "report.xml").read_text()


def test_a_refuted_one_fails_with_annotations(folder):
    code, out, files = run_steps(folder, {"transformer": "T.jsonl", "dataset": "wrong.json"})
    assert code == 10
    assert out.startswith("::error file=T.jsonl,line=1,title=interp audit%3A hardmax::refuted: 1 of 2 pairs")
    assert files["GITHUB_OUTPUT"].read_text() == "exit-code=10\n"
    assert "**refuted**" in files["GITHUB_STEP_SUMMARY"].read_text()


HOSTILE = ["$(touch pwned)", "`touch pwned`", "; touch pwned #", '" && touch pwned && "', "x\ntouch pwned", "--help",
           "-x", "a b  c", "*", "~", "\\", "${PWNED:=$(touch pwned)}", "'"]  # fmt: skip


@pytest.fixture
def arguments(folder, monkeypatch):
    """A program ``interp`` that writes down its arguments, and what reads them back."""
    (folder / "bin").mkdir()
    (folder / "bin" / "interp").write_text('#!/bin/sh\nprintf "%s\\0" "$@" > arguments\nexit 13\n')
    (folder / "bin" / "interp").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "bin" / "python"))
    return lambda: (folder / "arguments").read_text().split("\0")[:-1]


@pytest.mark.parametrize("name", sorted(set(ACTION["inputs"]) - {"python-version", "format"}))
@pytest.mark.parametrize("text", HOSTILE)
def test_an_input_is_one_argument_and_no_command(name, text, folder, arguments):
    before = sorted(folder.iterdir())
    inputs = {"transformer": "T.jsonl", "dataset": "D.json", name: text}
    code, _, files = run_steps(folder, inputs)
    assert code == 13
    assert sorted(folder.iterdir()) == sorted([*before, folder / "arguments", *files.values()])
    assert files["GITHUB_OUTPUT"].read_text() == "exit-code=13\n"
    found = arguments()
    assert found[-3:] == ["--", inputs["transformer"], inputs["dataset"]]
    summary = f"markdown={files['GITHUB_STEP_SUMMARY']}"
    expected = {
        "transformer": [],
        "dataset": [],
        "args": text.splitlines(),
        "report": ["--report", f"junit={text}"],
    }.get(name, [f"--{name}={text}"])
    assert found[:-3] == ["audit", "--quiet", "--format", "github", "--report", summary, *expected]


@pytest.mark.parametrize("missing", ["transformer", "dataset"])
def test_an_input_that_is_missing_is_no_success(missing, folder):
    inputs = {"transformer": "T.jsonl", "dataset": "D.json", missing: ""}
    assert run_steps(folder, inputs)[0] == 12


@pytest.mark.slow
def test_the_install_step(folder, tmp_path, monkeypatch):
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "bin" / "python"))
    code, out, _ = run_steps(folder, {"transformer": "T.jsonl", "dataset": "D.json"}, ("Install interp", "Audit"))
    assert (code, "::notice " in out) == (0, True)
