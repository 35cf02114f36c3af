"""Every example is built and verified; each is what it says."""

from __future__ import annotations

import json

import pytest

import interp
from interp.cli.main import run_command
from interp.datasets.doctor import find_violations
from interp.datasets.examples import EXAMPLES, make_plane, make_summary, make_zen, read_zen
from proofs.kernel.errors import Status


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_written_built_and_verified(name, tmp_path, capsys):
    if name == "digits":
        pytest.importorskip("sklearn", reason="needs scikit-learn")
    data, file = tmp_path / "data.json", tmp_path / "T.jsonl"
    assert run_command(["example", name, "-o", str(data)]) == 0
    content = data.read_bytes()
    assert run_command(["example", name, "-o", str(data)]) == 0
    assert data.read_bytes() == content
    assert not find_violations(EXAMPLES[name].make())
    assert run_command(["build", str(data), "-o", str(file)]) == 0
    assert run_command(["verify", str(file), str(data)]) == 0
    assert "VERIFIED" in capsys.readouterr().out


@pytest.mark.parametrize("construction", ["softmax", "compact"])
def test_other_constructions_take_the_small_ones(construction):
    for dataset in (make_plane(), make_zen()):
        transformer = interp.build(dataset, construction)
        claimed = transformer.header["temperatures"]
        assert interp.verify(transformer, dataset, temperatures=claimed).status is Status.VERIFIED


def test_zen_shares_words_and_says_nothing(capsys):
    lines = read_zen()
    assert capsys.readouterr().out == ""
    assert len(lines) == 19
    assert lines[0] == "Beautiful is better than ugly."
    dataset = make_zen()
    better = [set(pair.input) for pair, line in zip(dataset.pairs, lines, strict=True) if "better" in line]
    assert len(set.intersection(*better)) >= 2  # better, than
    for pair in dataset.pairs:
        assert all(x * x + y * y == z * z for x, y, z in pair.input)  # the unit circle
    assert dataset.pairs[0].output == (dataset.pairs[1].input[0],)


def test_the_summary_is_two_of_two_hundred():
    dataset = make_summary()
    assert {(len(pair.input), len(pair.output)) for pair in dataset.pairs} == {(200, 2)}
    assert all(set(pair.output) <= set(pair.input) for pair in dataset.pairs)


def test_plane_shares_tokens():
    first, second, third = (set(pair.input) for pair in make_plane().pairs)
    assert first & second & third
    assert (first & third) - second


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope", "-o", "x.json"], "there are plane, zen"),
        (["plane"], "interp example plane -o data.json"),
        (["-o", "x.json"], "which example?"),
        (["plane", "-o", "x.csv"], "write .json"),
    ],
)
def test_mistakes_are_told(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_command(["example", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_one_clear_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.datasets", None)
    assert run_command(["example", "digits", "-o", str(tmp_path / "d.json")]) == 2
    assert "scikit-learn is not installed (pip install scikit-learn)" in capsys.readouterr().err


def test_the_list(capsys):
    assert run_command(["example"]) == 0
    shown = capsys.readouterr().out
    assert all(f"{example.name} " in shown and example.about in shown for example in EXAMPLES.values())
    assert run_command(["example", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(EXAMPLES)
