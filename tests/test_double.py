"""``--double``: verified only if both checkers say so, and a bug planted in either one is found by the other."""

from __future__ import annotations

import json

import pytest

from interp.cli.main import run_command
from proofs import double, standalone
from proofs.kernel import check as kernel_check
from tests.strategies import dataset_bytes, make_dataset, transformer_bytes

DATASET = make_dataset(([[0, 0], [1, 2], [3, 1]], [[5, 5], [1, 0]]), ([[0, 0], [1, 2]], [[7, 5]]))


@pytest.fixture
def files(tmp_path):
    data, out = tmp_path / "data.json", tmp_path / "T.jsonl"
    data.write_bytes(dataset_bytes(DATASET))
    return data, out


def doubled(files, capsys, *options, code=0):
    capsys.readouterr()
    assert run_command(["verify", str(files[1]), str(files[0]), "--double", "--json", *options]) == code
    return json.loads(capsys.readouterr().out)["second_checker"]


@pytest.mark.parametrize(
    ("construction", "temperatures"),
    [("hardmax", "0"), ("softmax", "[0,1]"), ("compact", "[0,oo)"), ("peeling", "0"), ("hardmax", "(0,1]")],
)
def test_both_agree_on_what_is_built(construction, temperatures, files, capsys):
    data, out = files
    assert run_command(["build", str(data), "-o", str(out), "--construction", construction]) == 0
    code = 11 if (construction, temperatures) == ("hardmax", "(0,1]") else 0
    assert "agrees" in doubled(files, capsys, "--temperatures", temperatures, code=code)


def test_both_agree_on_what_is_false_or_malformed(files, capsys):
    _, out = files
    out.write_bytes(transformer_bytes(2, [{"ff": {"eta": 2}}]))
    assert "agrees" in doubled(files, capsys, code=10)
    out.write_bytes(out.read_bytes()[:-9])
    assert "agrees" in doubled(files, capsys, code=12)


# the mean of two tied tokens: first-index ties or forgotten averages change it
TIED = make_dataset(([[1, 0], [1, 2]], [[1, 1]]))
TIE = [{"sa": {"rho": 0, "A": {"p": [1, 0], "q": [1, 0]}, "V": {"beta": 1}}}]


@pytest.mark.parametrize("side", ["kernel", "second"])
def test_a_bug_in_either_checker_is_found_by_the_other(side, files, capsys, monkeypatch):
    data, out = files
    data.write_bytes(dataset_bytes(TIED))
    out.write_bytes(transformer_bytes(2, TIE))
    assert "agrees" in doubled(files, capsys, "--paranoid")
    if side == "kernel":
        monkeypatch.setattr(kernel_check, "apply_block", lambda block, sequences, limits: [s[:1] for s in sequences])
    else:
        monkeypatch.setattr(standalone, "check", lambda *statement: standalone.Result(standalone.Status.REFUTED, "bug"))
    assert "disagree" in doubled(files, capsys, "--paranoid", code=14)


def test_an_undecided_second_checker_is_not_overruled(files, capsys, monkeypatch):
    data, out = files
    data.write_bytes(dataset_bytes(TIED))
    out.write_bytes(transformer_bytes(2, TIE))
    undecided = double.check_files("", "", {})._replace(status=standalone.Status.UNDECIDED)
    monkeypatch.setattr(double, "check_files", lambda *question: undecided)
    assert "says undecided" in doubled(files, capsys, code=11)


def test_other_datasets_are_refused(files):
    assert run_command(["verify", str(files[1]), "bundled:japanese_vowels_30", "--double"]) == 2
