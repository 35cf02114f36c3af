"""A journal goes on where a killed run stopped, or says why not; it never turns into another verdict."""

from __future__ import annotations

import json

import pytest

from interp.api import build, save_transformer
from interp.cli.main import run_command
from interp.datasets.encode import encode_dataset_json
from proofs.__main__ import main
from proofs.kernel.errors import UsageError
from proofs.shards.journal import Journal
from tests.strategies import make_dataset

PAIRS = [([(k, 1), (k, 2)], [(k, 0)]) for k in range(40)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journal")
    paths = {name: folder / name for name in ("D.json", "E.json", "T.jsonl", "U.jsonl")}
    dataset = make_dataset(*PAIRS)
    paths["D.json"].write_bytes(encode_dataset_json(dataset))
    paths["E.json"].write_bytes(encode_dataset_json(make_dataset(*PAIRS[:-1])))
    save_transformer(build(dataset, "softmax"), paths["T.jsonl"])
    save_transformer(build(dataset, "softmax", pad=True), paths["U.jsonl"])
    return {name: str(path) for name, path in paths.items()}


def verify(capsys, *arguments):
    code = run_command(["verify", *map(str, arguments), "--quiet"])
    found = capsys.readouterr()
    return code, found.out + found.err


def without_notes(text):
    return [line for line in text.splitlines() if "resumed" not in line]


def test_a_finished_and_a_cut_journal_give_the_same_verdict(files, tmp_path, capsys):
    journal = tmp_path / "journal"
    arguments = (files["T.jsonl"], files["D.json"], "--temperatures", "[0,1]", "--resume", journal)
    code, text = verify(capsys, *arguments)
    assert code == 0
    assert "resumed" not in text
    whole = journal.read_bytes()
    ends = [k + 1 for k, byte in enumerate(whole) if byte == 10]
    assert len(ends) > 20
    for cut in (0, 1, ends[0] - 1, ends[0], ends[0] + 5, ends[1], ends[5] + 1, ends[-1] - 1, ends[-1]):
        journal.write_bytes(whole[:cut])
        again = verify(capsys, *arguments)
        assert again[0] == 0
        assert without_notes(again[1]) == without_notes(text)
        assert ("resumed" in again[1]) == (cut > ends[0] + 5)
        assert sorted(journal.read_bytes().splitlines()) == sorted(whole.splitlines()) or cut > 0
    assert "resumed: 40 of 40 pairs (hardmax), 40 of 40 pairs (softmax) answered by an earlier run" in again[1]


def test_other_shards_go_on_in_the_same_journal(files, tmp_path, capsys):
    journal = tmp_path / "journal"
    arguments = [files["D.json"], files["T.jsonl"], "--resume", str(journal)]
    assert main(["check", *arguments]) == 0
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([lines[0], lines[3], lines[9], lines[8]]))
    capsys.readouterr()
    assert main(["check", *arguments, "--jobs", "2"]) == 0
    assert "resumed: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("dataset", ["T.jsonl", "E.json"]),
        ("transformer", ["U.jsonl", "D.json"]),
        ("claim", ["T.jsonl", "D.json", "--max-blocks", "5000"]),
        ("claim", ["T.jsonl", "D.json", "--temperatures", "(0,1]"]),
        ("passes", ["T.jsonl", "D.json", "--paranoid"]),
        ("max_height", ["T.jsonl", "D.json", "--max-height", "5000"]),
    ],
)
def test_a_journal_about_something_else_is_refused_by_name(files, tmp_path, capsys, name, change):
    journal = tmp_path / "journal"
    assert verify(capsys, files["T.jsonl"], files["D.json"], "--resume", journal)[0] == 0
    before = journal.read_bytes()
    code, text = verify(capsys, *(files.get(word, word) for word in change), "--resume", journal)
    assert code == 12
    assert f"about another {name}:" in text
    assert journal.read_bytes() == before


def test_another_version_is_refused(files, tmp_path, capsys, monkeypatch):
    journal = tmp_path / "journal"
    verify(capsys, files["T.jsonl"], files["D.json"], "--resume", journal)
    monkeypatch.setattr("proofs.shards.check.checker_digest", lambda: "sha256:0")
    code, text = verify(capsys, files["T.jsonl"], files["D.json"], "--resume", journal)
    assert (code, "about another version:" in text) == (12, True)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: [*lines, lines[-1]],
        lambda lines: [*lines[:2], b"{}\n", *lines[2:]],
        lambda lines: [*lines[:2], b"\n", *lines[2:]],
        lambda lines: [*lines[:2], b"\xff\n", *lines[2:]],
        lambda lines: [lines[0], edit(lines[1], last=1), *lines[1:]],
        lambda lines: [lines[0], edit(lines[1], pairs="sha256:0"), *lines[2:]],
        lambda lines: [lines[0], edit(lines[1], transformer="sha256:0"), *lines[2:]],
        lambda lines: [lines[0], edit(lines[1], first=39, last=41), *lines[2:]],
        lambda lines: [lines[0], edit(lines[1], first=10**9, last=10**9 + 1), *lines[2:]],
        lambda lines: [lines[0], edit(lines[1], status="refuted", pair=0, wrong=1), *lines[2:]],
    ],
)
def test_a_changed_journal_verifies_nothing(files, tmp_path, capsys, spoil):
    journal = tmp_path / "journal"
    verify(capsys, files["T.jsonl"], files["D.json"], "--resume", journal)
    journal.write_bytes(b"".join(spoil(journal.read_bytes().splitlines(keepends=True))))
    code, text = verify(capsys, files["T.jsonl"], files["D.json"], "--resume", journal)
    assert code in (12, 14)
    assert "VERIFIED" not in text


def edit(line, **fields):
    return json.dumps(json.loads(line) | fields).encode() + b"\n"


def test_answers_to_another_question_do_not_count(files, tmp_path, capsys):
    journal = tmp_path / "journal"
    arguments = (files["T.jsonl"], files["D.json"], "--resume", journal)
    verify(capsys, *arguments)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0] + b"".join(edit(line, question="sha256:0") for line in lines[1:]))
    code, text = verify(capsys, *arguments)
    assert code == 0
    assert "resumed" not in text


@pytest.mark.parametrize("content", [b'{"format": "interp-dataset/1"}', b"\0", b"{}\n", b"[1]\nx\n", b"\xff\n"])
def test_another_file_is_left_alone(files, tmp_path, capsys, content):
    journal = tmp_path / "journal"
    journal.write_bytes(content)
    code, text = verify(capsys, files["T.jsonl"], files["D.json"], "--resume", journal)
    assert (code, "not a journal" in text) == (12, True)
    assert journal.read_bytes() == content


def test_places_that_are_no_file(files, tmp_path, capsys):
    assert verify(capsys, files["T.jsonl"], files["D.json"], "--resume", tmp_path)[0] == 12
    assert verify(capsys, files["T.jsonl"], files["D.json"], "--resume", tmp_path / "no" / "journal")[0] == 2
    code, text = verify(capsys, files["T.jsonl"], files["T.jsonl"], files["D.json"], "--resume", tmp_path / "journal")
    assert (code, "one transformer" in text) == (2, True)


def test_two_runs_do_not_write_one_journal(tmp_path):
    with Journal(tmp_path / "journal", {"claim": "c"}), pytest.raises(UsageError, match="another run"):
        Journal(tmp_path / "journal", {"claim": "c"})
    with Journal(tmp_path / "journal", {"claim": "c"}) as journal:
        assert journal.answers == []
