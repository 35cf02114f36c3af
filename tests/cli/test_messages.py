"""What a newcomer does wrong in the first minutes: the message names the place and says what to do."""

from __future__ import annotations

import pytest

import interp
from interp.cli.main import run_command
from tests.strategies import dataset_bytes, make_dataset

DATASET = make_dataset(([[0, 0], [1, 2]], [[5, 5]]), ([[0, 0], [3, 1]], [[1, 0]]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.json").write_bytes(dataset_bytes(DATASET))
    interp.save_transformer(interp.build(DATASET), tmp_path / "T.jsonl")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("verify data.json T.jsonl", 12, "T.jsonl: a transformer where a dataset is expected (the dataset comes last)"),
        ("verify data.json T.jsonl --positions", 12, "the dataset comes last"),
        ("build T.jsonl -o S.jsonl", 12, "T.jsonl: a transformer where a dataset is expected"),
        ("run T.jsonl data.json", 12, "for a dataset say --pair J"),
        ("run T.jsonl data.json --pair 2", 2, "--pair: there is no pair 2 (they are numbered from 0 to 1)"),
        ("run T.jsonl [[0,0]]", 2, "or from standard input: echo '[[0,0]]' | interp run T -"),
        ("build data.json -o nowhere/T.jsonl", 2, "there is no folder nowhere"),
        ("verfy T.jsonl data.json", 2, "'verify'"),
    ],
)
def test_messages(folder, capsys, command, code, message):
    assert run_command(command.split()) == code
    assert message in "".join(capsys.readouterr())


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
