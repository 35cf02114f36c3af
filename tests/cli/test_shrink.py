"""``interp shrink``: the part that is written is refuted, and is one pair."""

from __future__ import annotations

import json
import shlex
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interp.audit.shrink import find_refuted_pairs
from interp.cli.main import run_command
from proofs.kernel.check import check
from proofs.kernel.decode import decode_dataset, decode_transformer
from proofs.kernel.errors import InternalFault, Status
from proofs.kernel.statement import make_claim
from tests.cli.test_commands import record
from tests.strategies import make_dataset, transformer_bytes

SIZE = 7
INPUTS = [[[j, 1]] for j in range(SIZE)]


def dataset_of(wrong):
    """The identity maps pair j onto its target unless j is in ``wrong``."""
    return make_dataset(*((tokens, [[j, 2]] if j in wrong else tokens) for j, tokens in enumerate(INPUTS)))


IDENTITY = decode_transformer(transformer_bytes(2, []))


@given(wrong=st.sets(st.integers(0, SIZE - 1), min_size=1))
def test_exactly_the_refuted_pairs_are_found(wrong):
    dataset = dataset_of(wrong)
    claim = make_claim(dataset)
    assert list(find_refuted_pairs(dataset, lambda part: check(part, IDENTITY, claim))) == sorted(wrong)


def test_the_first_pair_costs_little():
    dataset, asked = dataset_of({5}), Counter()

    def ask(part):
        asked["pairs"] += len(part.pairs)
        return check(part, IDENTITY, make_claim(dataset))

    assert next(find_refuted_pairs(dataset, ask)) == 5
    assert asked["pairs"] <= 2 * SIZE


def test_a_refutation_that_no_half_shows_is_a_fault():
    dataset = dataset_of(set())
    with pytest.raises(InternalFault):
        list(find_refuted_pairs(dataset, lambda part: check(part, IDENTITY, make_claim(dataset))))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "T.jsonl").write_bytes(transformer_bytes(2, []))
    pairs = [{"input": tokens, "output": [[j, 2]] if j in (2, 5) else tokens} for j, tokens in enumerate(INPUTS)]
    (tmp_path / "D.json").write_text(json.dumps({"format": "interp-dataset/1", "dimension": 2, "pairs": pairs}))
    return tmp_path


@pytest.mark.parametrize("temperatures", ["0", "[0,1]", "(0,oo)", "1/2"])
def test_one_pair_is_written_and_refuted_again(temperatures, files, capsys):
    found = record(capsys, "shrink", "T.jsonl", "D.json", "-o", "S.json", "--temperatures", temperatures, code=10)
    assert found["pairs"] == [2]
    assert found["verdict"] == "refuted"
    small = decode_dataset((files / "S.json").read_bytes())
    assert len(small.pairs) == 1
    assert run_command(shlex.split(found["command"])[1:]) == Status.REFUTED.exit_code


def test_the_pair_may_be_chosen_or_all_be_kept(files, capsys):
    shrink = ["shrink", "T.jsonl", "D.json", "-o", "S.jsonl"]
    assert record(capsys, *shrink, "--pair", "5", code=10)["pairs"] == [5]
    assert record(capsys, *shrink, "--all", code=10)["pairs"] == [2, 5]
    assert len(decode_dataset((files / "S.jsonl").read_bytes()).pairs) == 2
    (files / "S.jsonl").unlink()
    assert record(capsys, *shrink, "--pair", "3", code=3)["written"] is None
    for options in (["--pair", "7"], ["--pair", "2", "--all"], ["-o", "S.npz"]):
        assert run_command([*shrink, *options]) == 2
    assert not (files / "S.jsonl").exists()


def test_nothing_is_written_without_a_refuted_pair(files, capsys):
    pairs = [{"input": tokens, "output": tokens} for tokens in INPUTS]
    (files / "good.json").write_text(json.dumps({"format": "interp-dataset/1", "dimension": 2, "pairs": pairs}))
    (files / "wide.jsonl").write_bytes(transformer_bytes(2, [{}] * 3))
    shrink = ["shrink", "T.jsonl", "good.json", "-o", "S.json"]
    assert run_command(shrink) == 3
    assert "nothing to shrink" in capsys.readouterr().out
    assert run_command(["shrink", "wide.jsonl", "good.json", "-o", "S.json", "--max-blocks", "2"]) == 2
    assert "no pair is refuted: blocks: 3 > 2" in capsys.readouterr().err
    (files / "other.jsonl").write_bytes(transformer_bytes(3, []))
    assert run_command(["shrink", "other.jsonl", "good.json", "-o", "S.json"]) == 2
    assert run_command(["shrink", "T.jsonl", "missing.json", "-o", "S.json"]) == 12
    assert not (files / "S.json").exists()
