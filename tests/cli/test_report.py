"""``interp report`` and ``interp plot``: the verdict is the checker's, faults are told, sizes are bounded."""

from __future__ import annotations

import json
import re

import pytest

import interp.cli.report as command
from interp.cli.main import run_command
from interp.datasets.encode import encode_dataset_json
from tests.strategies import make_dataset, sign, transformer_bytes

plotly = pytest.importorskip("plotly.offline", reason="needs plotly (extra report)")


@pytest.fixture
def files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_command(["example", "plane", "-o", "D.json"]) == 0
    assert run_command(["build", "D.json", "-o", "T.jsonl"]) == 0
    capsys.readouterr()
    return tmp_path


def page_of(folder, name="out.html"):
    """The page without its scripts, and the data in it."""
    text = (folder / name).read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1])
    return re.sub(r"<script.*?</script>", "", text, flags=re.S), data


def test_a_page_has_the_verdict_and_what_it_rests_on(files, capsys):
    assert run_command(["report", "T.jsonl", "D.json", "-o", "out.html", "--max-blocks", "12"]) == 0
    assert capsys.readouterr().out.startswith("VERIFIED T.jsonl")
    page, data = page_of(files)
    for words in (
        "✓ VERIFIED", "blocks &lt;= 12", "11 &lt;= 12", "engine/hardmax", "trusted-base.md", "theorem 1.6",
        "interp verify T.jsonl D.json --max-blocks 12</pre>",
    ):  # fmt: skip
        assert words in page
    assert len(re.findall(r"sha256:[0-9a-f]{64}", page)) == 2
    assert "Where it goes wrong" not in page
    assert data["numBlocks"] == 11
    assert (files / "out.html").stat().st_size < 6_000_000


def test_nothing_in_the_file_makes_a_page_say_verified(files):
    """A false claim is refuted, whatever the header says about the dataset, and exits with 10."""
    record = json.loads((files / "D.json").read_text())
    record["pairs"][0]["output"][0] = [6, 7]
    (files / "wrong.json").write_text(json.dumps(record))
    header, *blocks = (files / "T.jsonl").read_text().splitlines()[:-1]
    boast = json.loads(header) | {"comment": {"verdict": "VERIFIED", "status": "verified"}}
    (files / "B.jsonl").write_bytes(sign([json.dumps(boast), *blocks]))
    assert run_command(["report", "B.jsonl", "wrong.json", "-o", "out.html"]) == 10
    page, data = page_of(files)
    assert "✗ REFUTED" in page
    assert "VERIFIED" not in page
    assert "Pair 0: squared Hausdorff distance" in page
    assert "(6, 7)" in page
    assert "✗ broken" in page
    assert data["start"]["sequence"] == 0


def test_a_budget_that_does_not_hold_is_where_it_goes_wrong(files):
    assert run_command(["report", "T.jsonl", "D.json", "-o", "out.html", "--max-blocks", "5"]) == 10
    page, _ = page_of(files)
    assert "<strong>blocks</strong>: 11 &gt; 5" in page


def test_an_undecided_claim_is_no_verified_page(files):
    arguments = ["report", "T.jsonl", "D.json", "-o", "out.html", "--attention", "softmax"]
    code = run_command(arguments)
    page, _ = page_of(files)
    assert code in (10, 11)
    assert {10: "✗ REFUTED", 11: "? UNDECIDED"}[code] in page
    assert "✓ VERIFIED" not in page
    assert "not claimed" in page


@pytest.mark.parametrize("name", ["T.jsonl", "D.json"])
def test_a_file_that_changes_meanwhile_makes_no_page(name, files, monkeypatch, capsys):
    assert run_command(["build", "D.json", "-o", "C.jsonl", "--construction", "compact"]) == 0
    assert run_command(["example", "zen", "-o", "Z.json"]) == 0
    original = command.check_files

    def check_then_swap(*arguments):
        answers = original(*arguments)
        other = {"T.jsonl": "C.jsonl", "D.json": "Z.json"}[name]
        (files / name).write_bytes((files / other).read_bytes())
        return answers

    monkeypatch.setattr(command, "check_files", check_then_swap)
    assert run_command(["report", "T.jsonl", "D.json", "-o", "out.html"]) == 12
    assert "changed while" in capsys.readouterr().err
    assert not (files / "out.html").exists()


def test_no_verdict_no_page(files, capsys):
    (files / "T.jsonl").write_bytes((files / "T.jsonl").read_bytes()[:-20])
    assert run_command(["report", "T.jsonl", "D.json", "-o", "out.html"]) == 12
    assert run_command(["report", "none.jsonl", "D.json", "-o", "out.html"]) == 12
    assert not (files / "out.html").exists()


def test_another_dimension_is_refuted_and_not_drawn(files):
    (files / "three.jsonl").write_bytes(transformer_bytes(3, [{}]))
    assert run_command(["report", "three.jsonl", "D.json", "-o", "out.html"]) == 10
    page, data = page_of(files)
    assert "Nothing is drawn" in page
    assert data["frames"] == []


def test_a_transformer_without_blocks(files):
    same = make_dataset(([[0, 0], [1, 1]], [[0, 0], [1, 1]]))
    (files / "same.json").write_bytes(encode_dataset_json(same))
    (files / "none.jsonl").write_bytes(transformer_bytes(2, []))
    assert run_command(["report", "none.jsonl", "same.json", "-o", "out.html"]) == 0
    page, data = page_of(files)
    assert "no ledger of phases" in page
    assert len(data["frames"]) == 1


def test_a_ledger_that_lies_is_shown_within_bounds(files):
    header, *blocks = (files / "T.jsonl").read_text().splitlines()[:-1]
    record = json.loads(header)
    lies = [(1, 10**9), (-5, 3), (7, 2), (10**30, 10**31)] * 100
    record["phases"] = [
        {"name": "x" * 10_000, "lemma": "y", "first": first, "last": last, "bits": 1, "shared": False}
        for first, last in lies
    ]
    (files / "L.jsonl").write_bytes(sign([json.dumps(record), *blocks]))
    assert run_command(["report", "L.jsonl", "D.json", "-o", "out.html"]) == 0
    page, _ = page_of(files)
    assert "200 more phases are left out" in page
    assert len(page) < 500_000


def test_a_large_case_stays_below_the_bound(tmp_path, monkeypatch, capsys):
    """270 sequences through 1081 blocks."""
    monkeypatch.chdir(tmp_path)
    data = "bundled:japanese_vowels"
    assert run_command(["build", data, "-o", "T.jsonl", "--pad"]) == 0
    assert run_command(["report", "T.jsonl", data, "-o", "out.html", "--json"]) == 0
    shown = capsys.readouterr().out
    record = json.loads(shown[shown.index("{\n") :])
    assert (tmp_path / "out.html").stat().st_size == record["bytes"] < 12_000_000
    assert "of 270 sequences are drawn" in record["notes_of_pictures"][0]
    page, _ = page_of(tmp_path)
    assert "of 1081 blocks" in page


def test_without_plotly_one_clear_line_before_any_work(files, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "plotly.offline", None)
    assert run_command(["report", "T.jsonl", "D.json", "-o", "out.html"]) == 2
    assert "exact-interp[report]" in capsys.readouterr().err
    assert not (files / "out.html").exists()


def test_the_same_page_again(files):
    for name in ("a.html", "b.html"):
        assert run_command(["report", "T.jsonl", "D.json", "-o", name]) == 0
    assert (files / "a.html").read_bytes() == (files / "b.html").read_bytes()


def test_plot_writes_a_figure_and_tells_mistakes(files, capsys):
    pytest.importorskip("matplotlib", reason="needs matplotlib (extra plot)")
    assert run_command(["plot", "T.jsonl", "D.json", "-o", "f.svg", "--kind", "bits"]) == 0
    assert (files / "f.svg").read_bytes().startswith(b"<?xml")
    assert run_command(["plot", "T.jsonl", "D.json", "-o", "f.gif"]) == 2
    assert "write .pdf, .svg, .png" in capsys.readouterr().err
    (files / "three.jsonl").write_bytes(transformer_bytes(3, [{}]))
    assert run_command(["plot", "three.jsonl", "D.json", "-o", "g.svg"]) == 12
    assert not (files / "g.svg").exists()
