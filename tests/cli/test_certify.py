"""``interp certify``: written without Coq, checked with it, refused when tampered with."""

from __future__ import annotations

import json
import shutil

import pytest

from interp.cli.main import run_command

EXAMPLE = {
    "format": "interp-dataset/1",
    "dimension": 2,
    "pairs": [
        {"input": [[0, 0], [1, "1/2"]], "output": [[5, 5]]},
        {"input": [[0, 0], [3, 1]], "output": [[7, 5]]},
    ],
}


@pytest.fixture
def built(tmp_path):
    data, out = tmp_path / "data.json", tmp_path / "T.jsonl"
    data.write_text(json.dumps(EXAMPLE))
    assert run_command(["build", str(data), "-o", str(out), "--construction", "compact"]) == 0
    return data, out


def test_a_certificate_is_written_without_coq(built, tmp_path, capsys):
    data, out = built
    certificate = tmp_path / "cert.v"
    assert run_command(["certify", str(out), str(data), "-o", str(certificate), "--temperatures", "[0,oo)"]) == 0
    assert "Theorem certificate" in certificate.read_text()
    assert "not checked yet" in capsys.readouterr().out


def test_what_cannot_be_compared_is_refused(built, tmp_path):
    _, out = built
    certificate = tmp_path / "cert.v"
    arguments = ["certify", str(out), "bundled:japanese_vowels_30", "-o", str(certificate), "--check"]
    assert run_command(arguments) == 2
    assert not certificate.exists()


@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed (apt-get install coq libcoq-bignums)")
def test_coq_accepts_the_truth_and_nothing_else(built, tmp_path, capsys):
    data, out = built
    certificate = tmp_path / "cert.v"
    arguments = ["certify", str(out), str(data), "-o", str(certificate), "--temperatures", "[0,oo)", "--check"]
    assert run_command(arguments) == 0
    assert "coqc accepts it" in capsys.readouterr().out
    wrong = json.loads(json.dumps(EXAMPLE))
    wrong["pairs"][1]["output"] = [[7, "50001/10000"]]
    data.write_text(json.dumps(wrong))
    assert run_command(arguments) == 10
    assert "coqc refuses it" in capsys.readouterr().out
