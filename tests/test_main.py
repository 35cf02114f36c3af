"""``python -m proofs``: what is printed, what the process exits with, and what it rests on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from proofs import __main__ as command
from proofs.kernel.errors import InternalFault, LimitReached, Status
from proofs.kernel.rational import Limits
from tests.strategies import dataset_bytes, make_dataset, transformer_bytes

ROOT = Path(__file__).parent.parent
COLLAPSE = {"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}
PAIRS = (([(1, 0), (2, 0)], [(2, 0)]), ([(-1, 0), (-3, 0)], [(-3, 0)]))


@pytest.fixture
def files(tmp_path):
    """A dataset that is interpolated, one whose last pair is not, and the witness."""
    data, wrong, witness = tmp_path / "data.json", tmp_path / "wrong.json", tmp_path / "witness.jsonl"
    data.write_bytes(dataset_bytes(make_dataset(*PAIRS)))
    wrong.write_bytes(dataset_bytes(make_dataset(PAIRS[0], (PAIRS[1][0], [("-7/2", 1), (5, 5)]))))
    witness.write_bytes(transformer_bytes(2, [COLLAPSE]))
    return data, wrong, witness


def run(*arguments, expect, capsys):
    code = command.main(["check", *map(str, arguments)])
    out = capsys.readouterr().out
    assert code == expect
    return out


def process(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=ROOT, capture_output=True, env=os.environ | environment
    )


# ----------------------------------------------------------------------------------------------------- what is printed


def test_the_first_line_is_the_answer_and_the_whole_claim(files, capsys):
    data, wrong, witness = files
    first = run(data, witness, expect=0, capsys=capsys).splitlines()[0]
    assert first == (
        f"VERIFIED {witness}: T(X_j) = Y_j for every pair at temperature 0, width <= 4, blocks <= 9, parameters <= 252"
    )
    budgets = ["--max-width", "7", "--max-blocks", "8", "--max-parameters", "9"]
    first = run(wrong, witness, *budgets, expect=10, capsys=capsys).splitlines()[0]
    assert first == (
        f"REFUTED {witness}: T(X_j) = Y_j for every pair at temperature 0, width <= 7, blocks <= 8, parameters <= 9"
    )


def test_a_refutation_tells_pair_missing_surplus_and_distance(files, capsys):
    _, wrong, witness = files
    out = run(wrong, witness, expect=10, capsys=capsys)
    # from (-3,0): (5,5) is at squared distance 64 + 25
    assert "1 of 2 pairs are wrong, the first is pair 1" in out
    assert "pair 1: squared Hausdorff distance 89" in out
    assert "missing: (-7/2, 1) (5, 5)" in out
    assert "surplus: (-3, 0)" in out


def test_the_record_for_programs_is_exact(files, capsys):
    _, wrong, witness = files
    record = json.loads(run(wrong, witness, "--json", expect=10, capsys=capsys))
    assert record["verdict"] == "refuted"
    assert record["exit_code"] == 10
    budgets = {"max_width": 4, "max_blocks": 11, "max_parameters": 308}
    assert record["claim"] == {"temperatures": "0", "mask": "none", "readout": "all"} | budgets
    *budgets, hardmax = record["obligations"]
    assert [(item["name"], item["status"]) for item in budgets] == [
        ("width", "verified"),
        ("blocks", "verified"),
        ("parameters", "verified"),
    ]
    mismatch = {"pair": 1, "missing": [["-7/2", "1"], ["5", "5"]], "surplus": [["-3", "0"]], "squared_hausdorff": "89"}
    assert hardmax["mismatch"] == mismatch
    assert record["counts"]["blocks"] == 1
    assert record["counts"]["parameters"] == 4
    assert record["dataset"].startswith("sha256:")
    assert record["transformer"].startswith("sha256:")


def test_long_numbers_are_shortened_for_people_and_whole_for_programs(tmp_path, files, capsys):
    _, _, witness = files
    long = "1" + "0" * 4999 + "7"
    data = tmp_path / "long.json"
    data.write_text(
        json.dumps(
            {"format": "interp-dataset/1", "dimension": 2, "pairs": [{"input": [[1, 1]], "output": [[long, 1]]}]}
        )
    )
    out = run(data, witness, expect=10, capsys=capsys)
    assert "(5001 characters)" in out
    assert len(out) < 2000
    record = json.loads(run(data, witness, "--json", expect=10, capsys=capsys))
    assert record["obligations"][-1]["mismatch"]["missing"] == [[long, "1"]]


def test_a_fault_tells_file_and_path(tmp_path, files, capsys):
    data, _, witness = files
    broken = tmp_path / "broken.json"
    broken.write_bytes(data.read_bytes().replace(b'"-3"', b'"x"', 1))
    out = run(broken, witness, expect=12, capsys=capsys)
    assert out.startswith(f"MALFORMED INPUT: {broken}: $.pairs[1].input[1][0]: 'x' is not a number")
    record = json.loads(run(broken, witness, "--json", expect=12, capsys=capsys))
    assert record["file"] == str(broken)
    assert record["path"] == "$.pairs[1].input[1][0]"
    out = run(data, data, expect=12, capsys=capsys)
    assert out.startswith(f"MALFORMED INPUT: {data}: ")


# ----------------------------------------------------------------------------------------------------------- exit codes


def test_files_that_cannot_be_read_are_malformed_input(tmp_path, files, capsys):
    data, _, witness = files
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "none", tmp_path, tmp_path / "pipe", Path("/dev/null"), tmp_path / "none" / "deeper"):
        run(place, witness, expect=12, capsys=capsys)
        run(data, place, expect=12, capsys=capsys)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 0),
        (["--attention", "hardmax"], 0),
        (["--temperatures", "0"], 0),
        (["--max-blocks", "1", "--max-width", "0", "--max-parameters", "4"], 0),
        (["--max-blocks", "0"], 10),
        (["--max-parameters", "3"], 10),
        (["--temperatures", "0.0"], 2),
        (["--temperatures", "(0,x]"], 2),
        (["--attention", "hardmax", "--temperatures", "(0,1]"], 2),
        (["--max-width", "-1"], 2),
        (["--max-bytes", "10"], 13),
        (["--max-digits", "-20"], 13),
    ],
)
def test_options_and_their_exit_codes(files, options, code, capsys):
    data, _, witness = files
    run(data, witness, *options, expect=code, capsys=capsys)
    record = json.loads(run(data, witness, *options, "--json", expect=code, capsys=capsys))
    assert (record["verdict"] == "verified") == (code == 0)


@pytest.mark.parametrize("temperatures", ["(0,1]", "[0,1]", "(0,oo)", "[0,oo)", "1"])
def test_a_claim_that_is_false_at_positive_temperatures_never_exits_zero(files, temperatures, capsys):
    data, _, witness = files
    code = command.main(["check", str(data), str(witness), "--temperatures", temperatures])
    assert code in (Status.REFUTED.exit_code, Status.UNDECIDED.exit_code)
    assert not capsys.readouterr().out.startswith("VERIFIED")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["check"],
        ["check", "a"],
        ["check", "a", "b", "c"],
        ["verify", "a", "b"],
        ["check", "a", "b", "--attention", "linear"],
        ["check", "a", "b", "--max-blocks", "many"],
        ["check", "a", "b", "--max-blocks", "1.5"],
        ["check", "a", "b", "--force"],
        ["check", "a", "b", "--max-blocks"],
    ],
)
def test_a_command_that_is_none_is_a_usage_error(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("x"), 14),
        (IndexError("x"), 14),
        (RecursionError(), 14),
        (AssertionError(), 14),
        (InternalFault("x"), 14),
        (MemoryError(), 13),
        (LimitReached("x"), 13),
    ],
)
def test_what_goes_wrong_inside_is_told_as_such_and_is_no_verdict(files, monkeypatch, capsys, error, code):
    data, _, witness = files

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(command, "check", fail)
    out = run(data, witness, expect=code, capsys=capsys)
    assert out.startswith({13: "LIMIT REACHED", 14: "INTERNAL FAULT"}[code])


def test_every_limit_is_an_option(files, capsys):
    data, _, witness = files
    for field in fields(Limits):
        run(data, witness, "--" + field.name.replace("_", "-"), field.default, expect=0, capsys=capsys)


# -------------------------------------------------------------------------------------------------- the real process


@pytest.mark.parametrize(("option", "more"), [(["--paranoid"], set()), ([], {"numpy"})])
def test_it_rests_on_the_standard_library_and_flint_alone(files, option, more):
    data, _, witness = files
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "from proofs.__main__ import main\n"
        f"assert main(['check', {str(data)!r}, {str(witness)!r}, *{option!r}]) == 0\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(names - set(sys.stdlib_module_names)))\n"
    )
    done = process("-c", code)
    assert done.returncode == 0, done.stderr
    found = {name for name in done.stdout.decode().splitlines()[-1].split() if "cython" not in name}
    assert found == {"flint", "proofs"} | more


def test_optimised_python_checks_as_much(files):
    data, wrong, witness = files
    assert process("-O", "-m", "proofs", "check", data, witness).returncode == 0
    assert process("-OO", "-m", "proofs", "check", wrong, witness).returncode == 10


@pytest.mark.parametrize("name", ["caf\u00e9.jsonl", "not-utf-8-\udcff.jsonl"])
def test_a_name_that_the_terminal_cannot_show_does_not_spoil_the_verdict(tmp_path, files, name):
    data, _, witness = files
    witness.rename(tmp_path / name)
    done = process("-m", "proofs", "check", data, tmp_path / name, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"VERIFIED")
