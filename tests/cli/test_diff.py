"""``interp diff``: what differs between two transformers, or between two audits."""

from __future__ import annotations

import json

import pytest

from interp.audit.diff import diff_transformers
from interp.cli.main import run_command
from proofs.kernel.decode import decode_transformer
from tests.cli.test_commands import EXAMPLE, record
from tests.strategies import block_records, transformer_bytes

BLOCKS = [
    {"ff": {"eta": 1, "W": [[1], [0]], "U": [[1, 2]], "b": [3]}, "sa": {"rho": 1, "A": {"alpha": 1}, "V": {"beta": 2}}},
    {"ff": {"eta": "1/2"}},
    {"sa": {"rho": 0, "A": {"p": [1, 0], "q": [0, 1]}, "V": {"beta": 1}}},
]


def difference(first, second, dimension=2):
    return diff_transformers(*(decode_transformer(transformer_bytes(dimension, side)) for side in (first, second)))


def test_the_same_maps_in_another_form_are_the_same():
    other = json.loads(json.dumps(BLOCKS))
    other[0]["sa"]["A"] = {"dense": [[1, 0], [0, 1]]}
    other[0]["ff"]["W"] = {"outer": [["2/2", 0], [1]]}
    other[2]["sa"]["A"] = {"dense": [[0, 1], [0, 0]]}
    found = difference(BLOCKS, other)
    assert found.same
    assert "max_rank" not in {change.name for change in found.counts}
    assert "counts.parameters" in {change.name for change in found.counts}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ((0, "ff", "b", 0), "b"),
        ((0, "ff", "U", 0, 1), "U"),
        ((0, "ff", "W", 1, 0), "W"),
        ((0, "sa", "rho"), "rho"),
        ((0, "sa", "V", "beta"), "V"),
        ((1, "ff", "eta"), "eta"),
        ((2, "sa", "A", "p", 0), "A"),
    ],
)
def test_one_changed_number_is_found(path, name):
    other = json.loads(json.dumps(BLOCKS))
    *steps, last = path
    place = other
    for step in steps:
        place = place[step]
    place[last] = "7/3"
    (change,) = difference(BLOCKS, other).blocks
    assert (change.old, change.new) == (path[0] + 1, path[0] + 1)
    assert list(change.parts) == [name]


def test_blocks_that_come_and_go():
    extra = {"ff": {"eta": 5}}
    (change,) = difference(BLOCKS, [BLOCKS[0], extra, *BLOCKS[1:]]).blocks
    assert (change.old, change.new) == (None, 2)
    (change,) = difference(BLOCKS, BLOCKS[:2]).blocks
    assert str(change) == "block 3: only in the first"
    (change,) = difference(BLOCKS, [BLOCKS[0] | {"ff": {"eta": 1}}, *BLOCKS[1:]]).blocks
    assert change.parts == {"W": 2, "U": 2, "b": 1}
    assert not difference([], BLOCKS).same
    first, second = (decode_transformer(transformer_bytes(d, [])) for d in (2, 3))
    assert [str(c) for c in diff_transformers(first, second).counts] == ["dimension: 2 -> 3"]


def test_other_dimensions_are_never_the_same():
    first, second = (decode_transformer(transformer_bytes(d, [])) for d in (2, 3))
    assert not diff_transformers(first, second).same


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "D.json").write_text(json.dumps(EXAMPLE))
    for k, construction in enumerate(("hardmax", "compact")):
        assert run_command(["build", "D.json", "--construction", construction, "-o", f"T{k}.jsonl"]) == 0
        assert run_command(["audit", f"T{k}.jsonl", "D.json", "--report", f"json=A{k}.json"]) == 0
    assert record(capsys, "diff", "T0.jsonl", "T0.jsonl")["identical"]
    found = record(capsys, "diff", "T0.jsonl", "T1.jsonl", code=10)
    assert found["blocks"]
    assert {"name": "construction", "old": "'hardmax'", "new": "'compact'"} in found["header"]
    assert [c["new"] - c["old"] for c in found["counts"] if c["name"] == "counts.blocks"] < [0]
    assert record(capsys, "diff", "A0.json", "A1.json", code=10)["changes"]
    (tmp_path / "plain.jsonl").write_bytes(transformer_bytes(2, block_records((tmp_path / "T0.jsonl").read_bytes())))
    found = record(capsys, "diff", "T0.jsonl", "plain.jsonl")
    assert (found["same"], found["identical"]) == (True, False)

    assert record(capsys, "diff", "A0.json", "A0.json")["same"]
    audit = json.loads((tmp_path / "A0.json").read_text())
    audit["counts"]["blocks"] += 2
    (tmp_path / "A2.json").write_text(json.dumps(audit, sort_keys=True))
    (change,) = record(capsys, "diff", "A0.json", "A2.json", code=10)["changes"]
    assert (change["name"], change["new"] - change["old"]) == ("counts.blocks", 2)

    assert run_command(["diff", "A0.json", "T0.jsonl"]) == 2
    assert run_command(["diff", "T0.jsonl", "missing.jsonl"]) == 12
    assert run_command(["diff", "D.json", "D.json"]) == 12
    (tmp_path / "A2.json").write_text('{"format":"interp-audit/1"}')
    assert run_command(["diff", "A2.json", "A2.json"]) == 12
