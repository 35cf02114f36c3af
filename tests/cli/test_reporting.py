"""``interp audit`` and ``interp verify`` as continuous integration calls them: formats, report files, baselines."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest

from interp.audit.baseline import decode_record, list_changes
from interp.cli.main import run_command
from interp.reports.formats import FORMATS
from proofs.kernel.errors import MalformedInput
from tests.cli.test_commands import EXAMPLE
from tests.strategies import sign


@pytest.fixture
def files(tmp_path, monkeypatch, capsys):
    """A dataset D.json, a transformer T.jsonl for it, and wrong.json, which it does not interpolate."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "D.json").write_text(json.dumps(EXAMPLE))
    wrong = json.loads(json.dumps(EXAMPLE))
    wrong["pairs"][1]["output"] = [[7, 6]]
    (tmp_path / "wrong.json").write_text(json.dumps(wrong))
    assert run_command(["build", "D.json", "-o", "T.jsonl"]) == 0
    capsys.readouterr()
    return tmp_path


def change(file, edit):
    record = json.loads(file.read_text())
    edit(record)
    file.write_text(json.dumps(record))


@pytest.mark.parametrize("command", ["audit", "verify"])
@pytest.mark.parametrize("data", ["D.json", "wrong.json", "missing.json"])
def test_every_format_agrees_with_the_exit_code(command, data, files, capsys):
    code = {"D.json": 0, "wrong.json": 10, "missing.json": 12}[data]
    reports = [part for name in FORMATS for part in ("--report", f"{name}=out.{name}")]
    assert run_command([command, "T.jsonl", data, "--format", "github", *reports]) == code
    out = capsys.readouterr().out
    assert ("::error" in out) is (code != 0)
    assert (files / "out.github").read_text() == out
    record = json.loads((files / "out.json").read_text())
    verdict = record if "exit_code" in record else record["verdict"]
    assert verdict["exit_code"] == code
    root = ElementTree.fromstring((files / "out.junit").read_bytes())
    names = [case.get("name") for case in root.iter("testcase")]
    assert len(set(names)) == len(names)
    bad = {element.tag for element in root.iter() if element.tag in ("failure", "error")}
    assert bad == {0: set(), 10: {"failure"}, 12: {"error"}}[code]
    (run,) = json.loads((files / "out.sarif").read_text())["runs"]
    assert run["invocations"][0]["exitCode"] == code
    assert bool(run["results"]) is (code != 0)
    assert run_command([command, "T.jsonl", data, "--format", "markdown"]) == code


def test_json_is_one_thing_by_two_names(files, capsys):
    outputs = []
    for options in (["--json"], ["--format", "json"], ["--json", "--format", "json"]):
        assert run_command(["verify", "T.jsonl", "D.json", *options]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] == outputs[2]
    assert run_command(["verify", "T.jsonl", "D.json", "--json", "--format", "junit"]) == 2


@pytest.mark.parametrize("report", ["junit", "junit=", "html=a.html", "=a", "junit=nowhere/a.xml"])
def test_a_report_that_cannot_be_written_is_no_success(report, files):
    assert run_command(["verify", "T.jsonl", "D.json", "--report", report]) == 2
    assert not list(files.glob("*.xml"))


def test_nothing_audited_is_no_success_in_a_report(files, capsys):
    assert run_command(["audit", "T.jsonl", "--format", "junit"]) == 2
    root = ElementTree.fromstring(capsys.readouterr().out)
    assert root.find("testsuite").get("errors") == "1"
    assert run_command(["audit", "T.jsonl", "--format", "junit", "--max-blocks", "99"]) == 0


def test_every_check_has_a_name_of_its_own(files, capsys):
    assert run_command(["build", "D.json", "-o", "C.jsonl", "--construction", "compact"]) == 0
    capsys.readouterr()
    budgets = ["--max-blocks", "99", "--max-parameters", "999", "--max-width", "9", "--max-bits", "999"]
    assert run_command(["audit", "C.jsonl", "D.json", *budgets, "--format", "junit"]) == 0
    names = [case.get("name") for case in ElementTree.fromstring(capsys.readouterr().out).iter("testcase")]
    assert sorted(names) == sorted(set(names))
    assert {"audit-blocks", "audit-blocks-own", "max-blocks", "max-bits", "blocks", "hardmax"} <= set(names)


def test_several_transformers_are_several_suites(files, capsys):
    (files / "cut.jsonl").write_bytes((files / "T.jsonl").read_bytes()[:-20])
    assert run_command(["verify", "T.jsonl", "cut.jsonl", "D.json", "--format", "junit"]) == 12
    suites = ElementTree.fromstring(capsys.readouterr().out).findall("testsuite")
    assert [(s.get("name"), s.get("errors")) for s in suites] == [("T.jsonl", "0"), ("cut.jsonl", "1")]


def test_a_header_writes_no_command_into_a_report(files, capsys):
    lines = (files / "T.jsonl").read_text().splitlines()
    header = json.loads(lines[0])
    header["phases"][0]["name"] = "x\n::set-output name=a::b\n::error::c"
    (files / "evil\n::error::.jsonl").write_bytes(sign([json.dumps(header), *lines[1:-1]]))
    for name in ("github", "text"):
        assert run_command(["audit", "evil\n::error::.jsonl", "D.json", "--max-blocks", "1", "--format", name]) == 10
        out = capsys.readouterr().out
        assert not [line for line in out.splitlines() if line.startswith(("::set-output", "::error::c"))]


def test_a_baseline_that_is_met(files, capsys):
    assert run_command(["audit", "T.jsonl", "D.json", "--baseline", "base.json", "--update-baseline"]) == 0
    assert json.loads((files / "base.json").read_text())["format"] == "interp-audit/1"
    capsys.readouterr()
    assert run_command(["audit", "T.jsonl", "D.json", "--baseline", "base.json"]) == 0
    assert "nothing is worse" in capsys.readouterr().out
    assert run_command(["audit", "T.jsonl", "D.json", "--format", "json"]) == 0
    assert capsys.readouterr().out == (files / "base.json").read_text()


def test_each_count_that_grew_is_named_with_both_values(files, capsys):
    audit = ["audit", "T.jsonl", "D.json", "--baseline", "base.json", "--no-verify"]
    assert run_command([*audit, "--update-baseline"]) == 0
    counts = json.loads((files / "base.json").read_text())["counts"]
    sizes = {"blocks", "width", "parameters", "dense_parameters", "nonzero_parameters", "max_bits"}
    assert set(counts) == sizes | {"heads", "masked", "unmasked"}
    assert counts.pop("masked") == 0
    for name, now in counts.items():
        change(files / "base.json", lambda r, name=name, now=now: r["counts"].update({name: now - 1}))
        capsys.readouterr()
        assert run_command([*audit, "--report", "github=out"]) == 10
        assert f"regression against base.json: {name}: {now - 1} -> {now}\n" in capsys.readouterr().out
        assert (files / "out").read_text().endswith(f"::refuted: regression: {name}: {now - 1} -> {now}\n")
        change(files / "base.json", lambda r, name=name, now=now: r["counts"].update({name: now + 1}))
        assert run_command(audit) == 0
        assert f"better than base.json: {name}: {now + 1} -> {now}\n" in capsys.readouterr().out
        change(files / "base.json", lambda r, name=name, now=now: r["counts"].update({name: now}))


def test_a_larger_rank_is_a_regression(files, capsys):
    audit = ["audit", "T.jsonl", "D.json", "--baseline", "base.json", "--no-verify"]
    assert run_command([*audit, "--update-baseline"]) == 0
    change(files / "base.json", lambda r: r.update(max_rank=0))
    assert run_command(audit) == 10
    assert "max_rank: 0 -> 1" in capsys.readouterr().out


def test_a_baseline_that_was_verified_asks_for_a_verdict(files, capsys):
    assert run_command(["audit", "T.jsonl", "D.json", "--baseline", "base.json", "--update-baseline"]) == 0
    assert run_command(["audit", "T.jsonl", "D.json", "--baseline", "base.json", "--no-verify"]) == 10
    assert "verified: yes -> not asked" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["T.jsonl", "D.json"])
def test_a_file_that_changes_meanwhile_is_no_success(name, files, monkeypatch, capsys):
    import interp.cli.audit as command

    assert run_command(["build", "D.json", "-o", "C.jsonl", "--construction", "compact"]) == 0
    original = command.check_files

    def swap_then_check(*arguments):
        other = {"T.jsonl": files / "C.jsonl", "D.json": files / "wrong.json"}[name]
        (files / name).write_bytes(other.read_bytes())
        return original(*arguments)

    monkeypatch.setattr(command, "check_files", swap_then_check)
    assert run_command(["audit", "T.jsonl", "D.json"]) == 12
    assert "changed while it was audited" in capsys.readouterr().err


def test_only_a_success_becomes_a_baseline(files):
    assert run_command(["audit", "T.jsonl", "wrong.json", "--baseline", "base.json", "--update-baseline"]) == 10
    assert (
        run_command(["audit", "T.jsonl", "D.json", "--max-blocks", "1", "--baseline", "b", "--update-baseline"]) == 10
    )
    assert run_command(["audit", "T.jsonl", "D.json", "--update-baseline"]) == 2
    assert not (files / "base.json").exists()
    assert not (files / "b").exists()


@pytest.mark.parametrize(
    "edit",
    [
        lambda r: r["counts"].pop("blocks"),
        lambda r: r["counts"].update(blocks="7"),
        lambda r: r["counts"].update(blocks=7.0),
        lambda r: r["counts"].update(blocks=None),
        lambda r: r["counts"].update(more=1),
        lambda r: r.update(format="interp-audit/2"),
        lambda r: r.update(format="interp-dataset/1"),
        lambda r: r.pop("dataset"),
        lambda r: r.pop("claim"),
        lambda r: r.update(extra=1),
        lambda r: r.update(max_rank=True),
        lambda r: r.update(within="yes"),
        lambda r: r.update(verified=1),
        lambda r: r.update(verified=None),
        lambda r: r["claim"].pop("temperatures"),
        lambda r: r["dataset"].update(digest=5),
        lambda r: r.update(phases={}),
        lambda r: r.update(counts=[]),
        lambda r: r["phases"][0].update(name=1),
        lambda r: r["phases"].append("collapse"),
    ],
)
def test_a_malformed_baseline_is_no_pass(edit):
    with pytest.raises(MalformedInput):
        decode_record(edited(edit))


def test_the_baseline_of_these_tests_is_well_formed():
    assert decode_record(edited(lambda r: None))["counts"]["blocks"] == 7


def test_a_phase_that_returns_is_compared_on_its_own():
    old = decode_record(edited(lambda r: r["phases"].append(dict(r["phases"][0]))))
    new = decode_record(edited(lambda r: r["phases"].append(r["phases"][0] | {"blocks": 5})))
    assert list(map(str, list_changes(old, new))) == ["phases[collapse 2].blocks: 0 -> 5"]
    assert list_changes(old, old) == []


def edited(edit):
    record = {
        "format": "interp-audit/1", "within": True, "construction": "hardmax",
        "claim": {"temperatures": "0", "mask": "none", "readout": "all", "max_width": 4, "max_blocks": 11, "max_parameters": 308},
        "counts": {"blocks": 7, "width": 3, "parameters": 127, "dense_parameters": 165, "nonzero_parameters": 113,
                   "max_bits": 9, "heads": 1, "masked": 0, "unmasked": 1},
        "max_rank": 1, "rank_one_v": False, "num_targets": 3, "comparisons": [],
        "phases": [{"name": "collapse", "lemma": "collapse", "blocks": 0, "allotted": 1, "bits": 0}],
        "dataset": {"N": 2, "M": 3, "d": 2, "digest": "sha256:00"},
        "explanation": [], "verified": True, "verdict": {"verdict": "verified"},
    }  # fmt: skip
    edit(record)
    return json.dumps(record).encode()


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{", b"{}", b"\xff", b'{"format":"interp-audit/1"}'])
def test_what_is_no_baseline_at_all_is_no_pass(content, files):
    (files / "base.json").write_bytes(content)
    assert run_command(["audit", "T.jsonl", "D.json", "--baseline", "base.json"]) == 12
    assert run_command(["audit", "T.jsonl", "D.json", "--baseline", "missing.json"]) == 12


def test_a_baseline_of_another_question_is_an_error(files, capsys):
    base = ["--baseline", "base.json"]
    assert run_command(["audit", "T.jsonl", "D.json", *base, "--update-baseline"]) == 0
    other = json.loads(json.dumps(EXAMPLE))
    other["pairs"].append({"input": [[0, 0], [1, "1/2"], [3, 1]], "output": [[5, 5], [1, 0]]})  # the same pair again
    (files / "other.json").write_text(json.dumps(other))
    for arguments, what in (
        (["T.jsonl", "other.json"], "another dataset"),
        (["T.jsonl", "D.json", "--temperatures", "[0,1]"], "another claim: claim.temperatures: 0 -> [0, 1]"),
        (["T.jsonl", "D.json", "--max-blocks", "10"], "another claim: claim.max_blocks: 11 -> 10"),
        (["T.jsonl", "--max-blocks", "99"], "another dataset"),
    ):
        capsys.readouterr()
        assert run_command(["audit", *arguments, *base, "--no-verify"]) == 2
        assert what in capsys.readouterr().err
    change(files / "base.json", lambda r: r.update(within=False))
    assert run_command(["audit", "T.jsonl", "D.json", *base]) == 2
