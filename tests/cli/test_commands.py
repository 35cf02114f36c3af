"""Every command as a user types it: what it prints, what it exits with, and what it leaves behind."""

from __future__ import annotations

import json

import pytest

from interp.cli.main import run_command

EXAMPLE = {
    "format": "interp-dataset/1",
    "dimension": 2,
    "pairs": [
        {"input": [[0, 0], [1, "1/2"], [3, 1]], "output": [[5, 5], [1, 0]]},
        {"input": [[0, 0], [1, "1/2"]], "output": [[7, 5]]},
    ],
}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.json"
    path.write_text(json.dumps(EXAMPLE))
    return path


@pytest.fixture
def built(tmp_path, data):
    path = tmp_path / "T.jsonl"
    assert run_command(["build", str(data), "-o", str(path)]) == 0
    return path


def record(capsys, *arguments, code=0):
    """The JSON that a command prints."""
    capsys.readouterr()
    assert run_command([*map(str, arguments), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_build_verify_audit(built, data, capsys):
    assert run_command(["verify", str(built), str(data)]) == 0
    claim = "T(X_j) = Y_j for every pair at temperature 0, width <= 4, blocks <= 11, parameters <= 308"
    assert f"VERIFIED {built}: {claim}\n" in capsys.readouterr().out
    found = record(capsys, "audit", built, data)
    assert found["verified"]
    assert found["within"]
    assert found["counts"]["blocks"] <= 2 * 3 + 1
    assert {c["name"]: c["allowed"] for c in found["comparisons"]} == {"blocks": 11, "width": 4, "parameters": 28 * 11}


def test_padding_reaches_the_number_of_the_theorem(tmp_path, data, capsys):
    for attention, bound in (("hardmax", 2 * 3 + 2 * 2 + 1), ("softmax", 2 * 3 + 3 * 2)):
        out = tmp_path / f"{attention}.jsonl"
        assert record(capsys, "build", data, "-o", out, "--attention", attention, "--pad")["blocks"] == bound
        assert run_command(["verify", str(out), str(data), "--attention", attention]) == 0


def test_the_same_bytes_again(tmp_path, data, built):
    again = tmp_path / "again.jsonl"
    assert run_command(["build", str(data), "-o", str(again)]) == 0
    assert again.read_bytes() == built.read_bytes()
    assert run_command(["build", str(data), "-o", str(again), "--seed", "1"]) == 0
    assert again.read_bytes() != built.read_bytes()


def test_a_wrong_target_is_refuted_with_its_distance(built, data, capsys):
    wrong = json.loads(json.dumps(EXAMPLE))
    wrong["pairs"][1]["output"] = [[7, "51/10"]]
    data.write_text(json.dumps(wrong))
    found = record(capsys, "verify", built, data, code=10)
    mismatch = found["obligations"][-1]["mismatch"]
    assert mismatch == {
        "pair": 1,
        "missing": [["7", "51/10"]],
        "surplus": [["7", "5"]],
        "squared_hausdorff": "1/100",
    }
    assert "another dataset" in " ".join(found["notes"])


def test_the_audit_explains_where_it_went_wrong(built, data, capsys):
    wrong = json.loads(json.dumps(EXAMPLE))
    wrong["pairs"][1]["output"] = [[7, 6]]
    data.write_text(json.dumps(wrong))
    found = record(capsys, "audit", built, data, "--explain", code=10)
    assert "promise kept" in found["explanation"][0]
    assert "interpolation: sequence 1 is not its target set" in found["explanation"][-1]


def test_budgets_are_the_users(built, data, capsys):
    assert record(capsys, "verify", built, data, "--max-blocks", "3", code=10)["verdict"] == "refuted"
    assert run_command(["audit", str(built), "--max-blocks", "3"]) == 10
    assert run_command(["audit", str(built), "--max-bits", "1"]) == 10
    assert run_command(["audit", str(built), "--max-blocks", "300"]) == 0


def test_an_audit_without_data_compares_nothing_and_says_so(built, capsys):
    capsys.readouterr()
    assert run_command(["audit", str(built)]) == 0
    out = capsys.readouterr().out
    assert "nothing was compared" in out
    assert "does not prove" in out


def test_softmax_is_audited_at_zero_too(tmp_path, data, capsys):
    out = tmp_path / "S.jsonl"
    assert run_command(["build", str(data), "-o", str(out), "--attention", "softmax"]) == 0
    assert run_command(["verify", str(out), str(data), "--temperatures", "[0,1]"]) == 0
    capsys.readouterr()
    assert run_command(["audit", str(out), str(data), "--attention", "softmax"]) == 0
    assert "exact for every 0 <= tau <= 1" in capsys.readouterr().out
    found = record(capsys, "temperature", out, data)
    assert found["certified"] is not None
    assert run_command(["verify", str(out), str(data), "--temperatures", f"(0,{found['failing']}]"]) == 11


def test_several_files_and_folders(tmp_path, built, data, capsys):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (folder / name).write_bytes(built.read_bytes())
    (folder / "data.jsonl").write_text('{"format":"interp-dataset-lines/1"}\n')
    assert len(record(capsys, "verify", folder, built, data)) == 3
    (folder / "b.jsonl").write_bytes(built.read_bytes()[:-20])
    assert [r["exit_code"] for r in record(capsys, "verify", folder, data, code=12)] == [0, 12]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run_command(["verify", str(empty), str(data)]) == 12


def test_run_prints_exact_tokens(built, data, capsys, tmp_path):
    assert record(capsys, "run", built, data, "--pair", "1")["tokens"] == [["7", "5"]] * 2
    tokens = tmp_path / "tokens.json"
    tokens.write_text('[[0, 0], [1, "1/2"]]')
    found = record(capsys, "run", built, tokens, "--trace")
    assert found["exact"]
    assert found["trace"][0] == [["0", "0"], ["1", "1/2"]]
    assert not record(capsys, "run", built, tokens, "--arithmetic", "float64")["exact"]
    assert run_command(["run", str(built), str(tokens), "--temperature", "1"]) == 2
    assert run_command(["run", str(built), str(tokens), "--arithmetic", "float16"]) == 2
    tokens.write_text("[[0, 0, 0]]")
    assert run_command(["run", str(built), str(tokens)]) == 12


def test_bounds_before_building(data, capsys):
    by_data = record(capsys, "bounds", data)["bounds"]
    sizes = ["--pairs", "2", "--outputs", "3", "--dimension", "2", "--length", "3"]
    by_size = record(capsys, "bounds", *sizes)["bounds"]
    assert (
        by_data[0]
        == by_size[0]
        == {
            "name": "hardmax",
            "blocks": 11,
            "parameters": 308,
            "source": "theorem 1.6 of arXiv 2502.02270v3: 2M + 2N + 1",
        }
    )
    assert run_command(["bounds", "--pairs", "2"]) == 2
    assert run_command(["bounds", "--pairs", "2", "--outputs", "1", "--dimension", "2", "--length", "3"]) == 2


def test_show_marks_what_is_claimed(built, capsys):
    found = record(capsys, "show", built)
    assert found["claimed"]["construction"] == "hardmax"
    assert found["dimension"] == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["verify", "missing.jsonl", "DATA"], 12),
        (["verify", "T", "missing.json"], 12),
        (["verify", "T"], 2),
        (["verify", "T", "DATA", "--temperatures", "hot"], 2),
        (["verify", "T", "DATA", "--temperatures", "(0,-1]"], 2),
        (["verify", "T", "DATA", "--max-blocks", "-1"], 2),
        (["verify", "T", "DATA", "--max-digits", "1"], 13),
        (["verify", "T", "DATA", "--max-bytes", "100"], 13),
        (["verify", "DATA", "DATA"], 12),
        (["verify", "T", "T"], 12),
        (["build", "DATA", "-o", "nowhere/T.jsonl"], 2),
        (["build", "DATA"], 2),
        (["build", "T", "-o", "out.jsonl"], 12),
        (["audit", "T", "--explain"], 2),
        (["nonsense"], 2),
    ],
)
def test_faults_have_their_code_and_leave_nothing(arguments, code, built, data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = sorted(p.name for p in tmp_path.iterdir())
    names = {"T": str(built), "DATA": str(data)}
    assert run_command([names.get(a, a) for a in arguments]) == code
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    out = capsys.readouterr()
    assert "Traceback" not in out.err + out.out


def test_hypotheses_are_checked_before_building(tmp_path, capsys):
    data = tmp_path / "repeated.json"
    data.write_text(json.dumps(EXAMPLE | {"pairs": [{"input": [[1, 1], [1, 1], [2, 2]], "output": [[0, 0]]}]}))
    out = tmp_path / "T.jsonl"
    assert run_command(["build", str(data), "-o", str(out)]) == 12
    assert "--allow-repeats" in capsys.readouterr().err
    assert not out.exists()
    for attention in ("hardmax", "softmax"):
        assert run_command(["build", str(data), "-o", str(out), "--allow-repeats", "--attention", attention]) == 0
        assert run_command(["verify", str(out), str(data), "--attention", attention]) == 0


def test_nothing_is_left_when_a_build_is_interrupted(tmp_path, data, monkeypatch):
    import interp.cli.build as command

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "build_transformer", interrupted)
    assert run_command(["build", str(data), "-o", str(tmp_path / "T.jsonl")]) == 130
    assert [p.name for p in tmp_path.iterdir()] == ["data.json"]


def test_a_defect_is_an_internal_fault_not_a_crash(built, data, monkeypatch, capsys):
    import interp.cli.show as command

    def broken(*arguments):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(command, "count_transformer", broken)
    assert run_command(["show", str(built)]) == 14
    assert "report" in capsys.readouterr().err


def test_all_constructions_side_by_side(data, capsys):
    found = {item["name"]: item for item in record(capsys, "compare", data)["constructions"]}
    assert "share a token" in found.pop("resnet")["refusal"]
    assert "more than one target" in found.pop("labels")["refusal"]
    assert "not for this dataset" in found.pop("folded")["refusal"]
    assert {item["verdict"] for item in found.values()} == {"verified"}
    assert found["compact"]["temperatures"] == "[0, oo)"
    assert all(item["blocks"] <= item["bound"] for item in found.values())
    assert found["compact"]["blocks"] < found["hardmax"]["blocks"]


@pytest.mark.parametrize("measure", ["blocks", "parameters", "bits"])  # the norm, after rescaling: tests/norm
def test_auto_takes_the_best_by_the_measure(measure, tmp_path, data, capsys):
    out = tmp_path / "A.jsonl"
    built = record(capsys, "build", data, "-o", out, "--construction", "auto", "--minimise", measure)
    rows = [item for item in record(capsys, "compare", data, "--no-verify")["constructions"] if item["blocks"]]
    key = {"blocks": "blocks", "parameters": "parameters", "bits": "max_bits"}[measure]
    best = min(rows, key=lambda item: float(item[key]))
    assert built["construction"] == best["name"]


def test_compact_is_exact_at_every_temperature(tmp_path, data, capsys):
    out = tmp_path / "C.jsonl"
    for options in ([], ["--no-rank-one-v"]):
        assert run_command(["build", str(data), "-o", str(out), "--construction", "compact", *options]) == 0
        assert run_command(["verify", str(out), str(data), "--temperatures", "[0,oo)"]) == 0
        assert record(capsys, "audit", out, data)["rank_one_v"] is (not options)
    assert record(capsys, "temperature", out, data)["every_temperature"]
    assert run_command(["build", str(data), "-o", str(out), "--no-rank-one-v"]) == 2
    assert run_command(["build", str(data), "-o", str(out), "--construction", "peeling", "--attention", "softmax"]) == 2
    assert run_command(["build", str(data), "-o", str(out), "--construction", "peeling", "--minimise", "bits"]) == 2
