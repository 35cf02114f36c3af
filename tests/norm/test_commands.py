"""``interp norm`` and ``interp build --minimise norm``, as a user types them."""

from __future__ import annotations

import json

import pytest
from flint import fmpq

from interp.api import build, load_transformer, verify
from interp.cli.main import run_command
from interp.datasets.encode import encode_dataset_json
from interp.norm.squares import sum_squares
from proofs.kernel.errors import Status
from proofs.kernel.rational import parse_rational
from tests.strategies import make_dataset, transformer_bytes

DATA = make_dataset(
    ([[0, 0], [1, "1/2"], [3, 1]], [[5, 5], [1, 0]]), ([[0, 0], [1, "1/2"]], [[7, 5]]), ([[9, 4]], [[0, 1]])
)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.json"
    path.write_bytes(encode_dataset_json(DATA))
    return path


def record(capsys, *arguments):
    capsys.readouterr()
    assert run_command([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_norm_by_phase_and_block(tmp_path, data, capsys):
    out = tmp_path / "T.jsonl"
    assert run_command(["build", str(data), "-o", str(out)]) == 0
    found = record(capsys, "norm", out)
    transformer = load_transformer(out)
    assert parse_rational(found["stored"]) == sum_squares(transformer)
    assert parse_rational(found["dense"]) == sum_squares(transformer, "dense")
    for parts in (found["phases"].values(), found["blocks"]):
        assert sum((parse_rational(part["all"]) for part in parts), fmpq(0)) == sum_squares(transformer)
    assert len(found["blocks"]) == len(transformer.blocks)
    assert run_command(["norm", str(out), "--blocks"]) == 0
    text = capsys.readouterr().out
    assert "interpolation" in text
    assert len([line for line in text.splitlines() if line.strip()]) == 2 + 2 + len(found["phases"]) + 1 + len(
        found["blocks"]
    )


def test_norm_of_any_file(tmp_path, capsys):
    path = tmp_path / "plain.jsonl"
    path.write_bytes(transformer_bytes(2, [{"ff": {"eta": "1/3"}, "sa": {"rho": 0, "V": {"beta": 2}}}]))
    found = record(capsys, "norm", path)
    assert (found["stored"], found["dense"]) == ("37/9", "73/9")
    assert found["phases"] == {}
    path.write_bytes(path.read_bytes()[:-5])
    assert run_command(["norm", str(path)]) == 12


@pytest.mark.parametrize("construction", ["hardmax", "softmax", "compact", "peeling", "auto"])
def test_build_minimises_the_norm(construction, tmp_path, data, capsys):
    out = tmp_path / "T.jsonl"
    found = record(capsys, "build", data, "-o", out, "--construction", construction, "--minimise", "norm")
    transformer = load_transformer(out)
    assert parse_rational(found["norm"]) == sum_squares(transformer) < parse_rational(found["norm_before"])
    plain = build(DATA, found["construction"])
    assert parse_rational(found["norm_before"]) == sum_squares(plain)
    assert len(plain.blocks) == len(transformer.blocks)
    assert run_command(["verify", str(out), str(data), "--temperatures", str(transformer.header["temperatures"])]) == 0
    if construction == "auto":
        others = [build(DATA, name, minimise="norm") for name in ("hardmax", "softmax", "compact", "peeling")]
        assert sum_squares(transformer) == min(map(sum_squares, others))


def test_padding_is_counted(data, tmp_path, capsys):
    out = tmp_path / "T.jsonl"
    found = record(capsys, "build", data, "-o", out, "--minimise", "norm", "--construction", "hardmax", "--pad")
    bare = build(DATA, "hardmax", minimise="norm")
    assert parse_rational(found["norm"]) == sum_squares(bare) + 2 * (found["blocks"] - len(bare.blocks))
    assert found["blocks"] > len(bare.blocks)


def test_without_the_option_nothing_is_rescaled():
    assert build(DATA, "hardmax", minimise="blocks").blocks == build(DATA, "hardmax").blocks
    rescaled = build(DATA, "hardmax", minimise="norm")
    assert verify(rescaled, DATA).status is Status.VERIFIED
    assert verify(rescaled, DATA, paranoid=True).status is Status.VERIFIED
