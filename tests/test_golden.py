"""Golden files through the command line: every refusal with its exit code and reason, every acceptance, every run."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from proofs.__main__ import main
from proofs.kernel.decode import decode_transformer
from proofs.kernel.hardmax import apply_block
from tests.reference import evaluator
from tests.strategies import fractions_of, to_row

ROOT = Path(__file__).parent.parent
GOLDEN = Path(__file__).parent / "golden"
ACCEPT = json.loads((GOLDEN / "accept" / "expected.json").read_text())
REJECT = json.loads((GOLDEN / "reject" / "expected.json").read_text())
RUN = sorted(path.stem for path in (GOLDEN / "run").glob("*.json"))
WORDS = {0: "VERIFIED", 2: "USAGE ERROR", 10: "REFUTED", 12: "MALFORMED INPUT", 13: "LIMIT REACHED"}


def accepted(name):
    return ["check", f"{GOLDEN}/accept/{name}.json", f"{GOLDEN}/accept/{name}.jsonl", *ACCEPT[name]["options"]]


def rejected(name):
    case, data, witness = REJECT[name], GOLDEN / "accept" / "collapse-shift.json", GOLDEN / "reject" / name
    if name.startswith("dataset-"):
        data, witness = witness, GOLDEN / "accept" / "collapse-shift.jsonl"
        if "witness" in case:
            witness = GOLDEN / "reject" / case["witness"]
    return ["check", str(data), str(witness), *case.get("options", [])]


@pytest.mark.parametrize("name", ACCEPT)
def test_accept(name, capsys):
    assert main(accepted(name)) == 0
    out = capsys.readouterr().out
    assert out.startswith("VERIFIED ")
    assert "FAILS" not in out
    assert main([*accepted(name), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "verified"


@pytest.mark.parametrize("name", REJECT)
def test_reject(name, capsys):
    code, reason = REJECT[name]["exit_code"], REJECT[name]["reason"]
    assert main(rejected(name)) == code
    out = capsys.readouterr().out
    assert reason in out
    assert out.startswith(WORDS[code])
    assert "VERIFIED" not in out
    assert main([*rejected(name), "--json"]) == code
    record = json.loads(capsys.readouterr().out)
    assert record["exit_code"] == code
    assert record["verdict"].upper() == WORDS[code]


@pytest.mark.parametrize("name", RUN)
def test_run(name):
    case, data = (
        json.loads((GOLDEN / "run" / f"{name}.json").read_text()),
        (GOLDEN / "run" / f"{name}.jsonl").read_bytes(),
    )
    start, expected = (
        [[tuple(map(Fraction, token)) for token in tokens] for tokens in case[k]] for k in ("input", "expected")
    )
    *_, by_reference = evaluator.run(data, start)
    assert by_reference == expected
    rows = [[to_row(token) for token in tokens] for tokens in start]
    for block in decode_transformer(data).blocks:
        rows = apply_block(block, rows)
    assert fractions_of(rows) == expected


def test_no_golden_file_is_left_out():
    found = {path.name for path in (GOLDEN / "reject").iterdir()} - {"expected.json"}
    assert found == set(REJECT)
    found = {path.name for path in (GOLDEN / "accept").iterdir()} - {"expected.json"}
    assert found == {f"{name}.{end}" for name in ACCEPT for end in ("json", "jsonl")}
    found = {path.name for path in (GOLDEN / "run").iterdir()}
    assert found == {f"{name}.{end}" for name in RUN for end in ("json", "jsonl")}


def test_a_reject_file_is_refused_for_its_defect_alone():
    # what the defective files are checked against is right by itself
    assert "collapse-shift" in ACCEPT
    reasons = [(case["exit_code"], case["reason"], str(case.get("options"))) for case in REJECT.values()]
    assert len(set(reasons)) > len(reasons) / 2


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, accepted("collapse-shift")),
        (0, accepted("five-thousand-digits")),
        (2, rejected("usage-temperatures-none.jsonl")),
        (2, ["check"]),
        (2, []),
        (2, ["verify", "x", "y"]),
        (10, rejected("dataset-last-target-wrong.json")),
        (10, rejected("blocks-exchanged.jsonl")),
        (12, rejected("cut-at-line-end.jsonl")),
        (12, rejected("dataset-nested-deeply.json")),
        (13, rejected("dataset-number-exponent-huge.json")),
    ],
)
def test_exit_codes_of_the_real_process(code, arguments):
    done = subprocess.run([sys.executable, "-m", "proofs", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ("VERIFIED" in done.stdout) == (code == 0)
