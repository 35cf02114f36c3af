"""Both forms of a transformer file, as a user meets them."""

from __future__ import annotations

import json
import os

import pytest

from interp.cli.main import run_command
from tests.strategies import dataset_bytes, make_dataset, transformer_bytes

DATASET = make_dataset(([[0, 0], [1, "1/2"], [3, 1]], [[5, 5], [1, 0]]), ([[0, 0], [1, "1/2"]], [[7, 5]]))


@pytest.fixture
def files(tmp_path):
    """Dataset, JSON lines and binary form, all as the commands write them."""
    data, lines, arrays = (tmp_path / name for name in ("data.json", "T.jsonl", "T.npz"))
    data.write_bytes(dataset_bytes(DATASET))
    for target in (lines, arrays):
        assert run_command(["build", str(data), "-o", str(target)]) == 0
    return data, lines, arrays


def record(capsys, *arguments, code=0):
    capsys.readouterr()
    assert run_command([*map(str, arguments), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_every_command_says_the_same_of_both_forms(files, tmp_path, capsys):
    data, lines, arrays = files
    point = tmp_path / "tokens.json"
    point.write_text("[[0, 0], [1, 2]]")
    for arguments in (("verify", None, data), ("audit", None, data), ("show", None), ("run", None, point, "--trace")):
        for extra in ((), ("--paranoid",)) if arguments[0] == "verify" else ((),):
            answers = [
                record(capsys, *(file if part is None else part for part in arguments), *extra)
                for file in (lines, arrays)
            ]
            texts = [json.dumps(answer).replace(str(arrays), str(lines)) for answer in answers]
            assert texts[0] == texts[1], arguments


@pytest.mark.parametrize(("kind", "name"), [("numpy", "m.npz"), ("safetensors", "m.safetensors"), ("smt", "m.smt2")])
def test_both_forms_are_exported_alike(files, tmp_path, kind, name):
    if kind == "safetensors":
        pytest.importorskip("safetensors", reason="safetensors is not installed: pip install exact-interp[test]")
    data, lines, arrays = files
    written = []
    for file, folder in ((lines, tmp_path / "of_lines"), (arrays, tmp_path / "of_arrays")):
        folder.mkdir()
        target = folder / ("m.py" if kind == "numpy" else name)
        asked = [file, *([data] if kind == "smt" else []), "-o", target, "--to", kind]
        assert run_command(["export", *map(str, asked)]) == 0
        written.append((folder / name).read_bytes())
    assert written[0] == written[1]


def test_conversion_both_ways_gives_the_same_bytes(files, tmp_path, capsys):
    _, lines, arrays = files
    there, back = tmp_path / "there.npz", tmp_path / "back.jsonl"
    first = record(capsys, "convert", lines, there)
    assert there.read_bytes() == arrays.read_bytes()
    assert record(capsys, "convert", there, back)["digest"] == first["digest"] == first["source_digest"]
    assert back.read_bytes() == lines.read_bytes()


def test_the_form_is_told_by_content_not_by_name(files, tmp_path, capsys):
    data, _, arrays = files
    renamed = tmp_path / "renamed.jsonl"
    renamed.write_bytes(arrays.read_bytes())
    assert run_command(["verify", str(renamed), str(data)]) == 0
    folder = tmp_path / "folder"
    folder.mkdir()
    os.link(arrays, folder / "T.npz")
    (folder / "other.npz").write_bytes(b"PK\x03\x04 no transformer")
    assert run_command(["verify", str(folder), str(data)]) == 0


def test_lines_in_other_words_are_told_to_have_another_digest(tmp_path, capsys):
    loose = tmp_path / "loose.jsonl"
    loose.write_bytes(transformer_bytes(2, [{"ff": {"eta": "0.5"}}]))
    found = record(capsys, "convert", loose, tmp_path / "T.npz")
    assert found["digest"] != found["source_digest"]
    assert run_command(["convert", str(loose), str(tmp_path / "T.npz")]) == 0
    assert "in other words" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["convert", "{lines}", "{lines}"], 2, "file that is read"),
        (["convert", "{data}", "out.npz"], 12, "data.json"),
        (["convert", "{arrays}", "out.jsonl", "--max-depth", "1"], 13, "--max-depth"),
        (["convert", "nothing", "out.npz"], 12, "no such file"),
        (["verify", "{arrays}", "{data}", "--double"], 2, "interp convert"),
        (["verify", "{lines}", "{data}", "--max-depth", "1"], 13, "--max-depth"),
        (["verify", "{lines}", "{data}", "--max-tokens", "4"], 13, "--max-tokens"),
    ],
)
def test_faults_are_one_line_and_leave_nothing(arguments, code, reason, files, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = dict(zip(("data", "lines", "arrays"), files, strict=True))
    before = sorted(tmp_path.iterdir())
    capsys.readouterr()
    assert run_command([part.format(**names) for part in arguments]) == code
    printed = capsys.readouterr()
    assert reason in printed.out + printed.err
    assert sorted(tmp_path.iterdir()) == before


def test_tokens_are_limited_in_every_form_of_dataset(tmp_path, files):
    data, lines, _ = files
    for name in ("D.npz", "D.jsonl"):
        converted = tmp_path / name
        assert run_command(["dataset", "convert", str(data), str(converted)]) == 0
        assert run_command(["verify", str(lines), str(converted), "--max-tokens", "8"]) == 0
        assert run_command(["verify", str(lines), str(converted), "--max-tokens", "7"]) == 13
