"""What a newcomer does wrong in the first minutes: the message names the place and says what to do."""

from __future__ import annotations

import pytest

import interp
from interp.cli.main import run_command
from interp.datasets.encode import encode_dataset_lines
from tests.strategies import dataset_bytes, make_dataset

DATASET = make_dataset(([[0, 0], [1, 2]], [[5, 5]]), ([[0, 0], [3, 1]], [[1, 0]]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.json").write_bytes(dataset_bytes(DATASET))
    (tmp_path / "lines.jsonl").write_bytes(encode_dataset_lines(DATASET))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "none.json").write_bytes(b"[]")
    (tmp_path / "word.json").write_bytes(b'[[0, "x"]]')
    interp.save_transformer(interp.build(DATASET), tmp_path / "T.jsonl")
    interp.save_transformer(interp.build(DATASET), tmp_path / "T.npz")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("verify data.json T.jsonl", 12, "T.jsonl: a transformer where a dataset is expected (the two files the other"),
        ("verify data.json T.jsonl --positions", 12, "the two files the other way round?"),
        ("build T.jsonl -o S.jsonl", 12, "T.jsonl: a transformer where a dataset is expected"),
        ("show data.json", 12, "data.json: a dataset where a transformer is expected (the two files the other"),
        ("audit lines.jsonl T.jsonl", 12, "lines.jsonl: a dataset where a transformer is expected"),
        ("convert data.json T2.npz", 12, "a dataset where a transformer is expected"),
        ("export data.json -o m.py --to numpy", 12, "a dataset where a transformer is expected"),
        ("show empty", 12, "empty: the file is empty"),
        ("run T.jsonl none.json", 12, "none.json: $: there is no token"),
        ("run T.jsonl word.json", 12, "word.json: $[0][1]: 'x' is not a number"),
        ("run T.jsonl data.json", 12, "for a dataset say --pair J"),
        ("run T.jsonl data.json --pair 2", 2, "--pair: there is no pair 2 (they are numbered from 0 to 1)"),
        ("shrink T.jsonl data.json -o s.json --pair 2", 2, "they are numbered from 0 to 1"),
        ("robustness T.jsonl data.json --pair 2", 2, "they are numbered from 0 to 1"),
        ("robustness T.jsonl data.json", 0, "such as --distance 1/1000"),
        ("bounds data.json --pairs 3", 2, "DATA has its own sizes"),
        ("build data.json -o S.jsonl --float-distance x", 12, "malformed input: --float-distance: 'x' is not a number"),
        ("run T.jsonl [[0,0]]", 2, "or from standard input: echo '[[0,0]]' | interp run T -"),
        ("build data.json -o nowhere/T.jsonl", 2, "there is no folder nowhere"),
        ("verfy T.jsonl data.json", 2, "'verify'"),
    ],
)
def test_messages(folder, capsys, command, code, message):
    assert run_command(command.split()) == code
    assert message in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "command",
    [
        "build data.json -o data.json",
        "build data.json -o ./data.json",
        "certify T.jsonl data.json -o data.json",
        "plot T.jsonl data.svg -o data.svg",
        "report T.jsonl data.json -o T.jsonl",
        "shrink T.jsonl data.json -o data.json",
        "import torch T.jsonl -o T.jsonl",
        "export T.npz -o T.py --to numpy",
        "audit T.jsonl data.json --baseline T.jsonl --update-baseline",
        "verify T.jsonl data.json --report junit=data.json",
        "verify T.npz T.jsonl data.json --report junit=x.xml --report markdown=T.jsonl",
        "audit T.jsonl --report json=T.jsonl",
        "fgd build data.json -o data.json --kernel relu --steps 1",
    ],
)
def test_no_command_replaces_a_file_that_it_reads(folder, capsys, command):
    (folder / "data.svg").write_bytes(dataset_bytes(DATASET))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert run_command(command.split()) == 2
    assert "this is the file that is read (write to another file)" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("[[[0, 0]], [[1, 1]]]", 'the shape is {"format": "interp-dataset/1"'),
        ('{"dimension": 2, "pairs": []}', 'the shape is {"format": "interp-dataset/1"'),
        ('{"format": "interp-dataset/1", "dimension": 2, "pairs": [{"inputs": [[0, 0]]}]}', "rename 'inputs'"),
    ],
)
def test_shapes_that_are_no_dataset(folder, capsys, text, fix):
    (folder / "mine.json").write_text(text)
    assert run_command(["dataset", "check", "mine.json"]) == 12
    assert fix in capsys.readouterr().out


def test_a_dataset_may_speak_of_transformers(folder):
    text = dataset_bytes(DATASET).decode().replace('"pairs"', '"comment": "interp-transformer/1", "pairs"', 1)
    (folder / "mine.json").write_text(text)
    assert run_command(["verify", "T.jsonl", "mine.json"]) == 0
