"""``interp dataset`` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import interp.datasets.convert
from interp.cli.dataset import MAX_SHOWN, dataset
from interp.cli.reading import ReadOptions, reading_options
from interp.datasets.convert import convert_dataset
from interp.datasets.read import is_kernel_format, load_dataset
from proofs.__main__ import read_dataset
from proofs.kernel.errors import InternalFault, InterpError, MalformedInput, Status, UsageError
from proofs.kernel.rational import DEFAULT_LIMITS

GOLDEN = Path(__file__).parent / "golden"
BUNDLED = "bundled:japanese_vowels_30"


def call(*arguments):
    return CliRunner().invoke(dataset, list(map(str, arguments)))


def test_check_of_a_clean_file():
    result = call("check", BUNDLED)
    assert result.exit_code == 0
    assert "N = 30 pairs, M = 30 outputs (9 distinct), d = 12" in result.output
    assert "467 tokens, at most n = 21 in a sequence, 0 shared" in result.output
    assert result.output.endswith("all hypotheses hold\n")


def test_check_lists_everything():
    result = call("check", GOLDEN / "several-defects.jsonl")
    assert result.exit_code == Status.MALFORMED.exit_code
    for text in ("line 3: $.output[0][1]", "line 3: $.input[1]", "line 2: $.input[1]", "--positions", "3 violations"):
        assert text in result.output


def test_check_for_programs():
    result = call("check", GOLDEN / "repeated-input-token.json", "--json")
    record = json.loads(result.output)
    assert result.exit_code == record["exit_code"] == 12
    assert record["hypotheses"] == "violated"
    assert record["summary"]["tokens"] == 3
    (violation,) = record["violations"]
    assert (violation["rule"], violation["option"]) == ("repeated-input-token", "--positions")
    assert json.loads(call("check", BUNDLED, "--json").output)["hypotheses"] == "hold"
    record = json.loads(call("check", GOLDEN / "cut-short.json", "--json").output)
    assert (record["hypotheses"], record["summary"]) == ("not a dataset", None)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("repeated-input-token.json", ["--positions"]),
        ("repeated-input-token.json", ["--allow-repeats"]),
        ("repeated-output-token.json", ["--merge-outputs"]),
        ("identical-pairs.json", ["--merge-pairs"]),
        ("contradictory-pairs.json", ["--positions"]),
        ("contradictory-pairs.json", ["--limit", "1"]),
        ("dimension-one.json", ["--append-constant"]),
        ("univariate.ts", ["--append-constant"]),
        ("unequal-length.ts", ["--limit", "1"]),
    ],
)
def test_the_option_named_is_the_fix(name, options):
    before = call("check", GOLDEN / name)
    assert before.exit_code == 12
    assert call("check", GOLDEN / name, *options).exit_code == 0


def test_long_lists_are_cut_in_the_table_only(tmp_path):
    file = tmp_path / "many.npz"
    np.savez(file, inputs=np.zeros((500, 2)), input_lengths=[500], outputs=[[0, 0]], output_lengths=[1])
    assert f"and {499 - MAX_SHOWN} more (--json lists all)" in call("check", file).output
    assert len(json.loads(call("check", file, "--json").output)["violations"]) == 499


def test_text_from_the_file_is_shown_as_it_is(tmp_path):
    file = tmp_path / "odd.json"
    file.write_text('{"format":"interp-dataset/1","dimension":2,"pairs":[],"[/red]\\u001b[31m":1}')
    output = call("check", file).output
    assert r"unknown key '[/red]\x1b[31m'" in output


def test_show():
    assert "d = 12" in call("show", BUNDLED).output
    record = json.loads(
        call("show", BUNDLED, "--limit", "2", "--task", "forecasting", "--horizon", "3", "--json").output
    )
    assert (record["pairs"], record["outputs"]) == (2, 6)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".npz"])
def test_convert(tmp_path, suffix):
    target = tmp_path / f"out{suffix}"
    assert call("convert", BUNDLED, target, "--positions").exit_code == 0
    assert load_dataset(target) == load_dataset(BUNDLED, ReadOptions(positions=True))
    assert list(tmp_path.iterdir()) == [target]


def test_kernel_and_loader_read_the_same(tmp_path):
    for suffix in (".json", ".jsonl", ".txt"):
        target = tmp_path / f"out{suffix}"
        convert_dataset(BUNDLED, target.with_suffix(".json"))
        target.write_bytes(target.with_suffix(".json").read_bytes())
        assert is_kernel_format(target)
        assert not is_kernel_format(target, ReadOptions(limit=3))
        assert load_dataset(target) == read_dataset(target, DEFAULT_LIMITS)
    assert not is_kernel_format(BUNDLED)
    assert not is_kernel_format(tmp_path / "nothing")


def test_formats_by_content(tmp_path):
    convert_dataset(BUNDLED, tmp_path / "a.npz")
    expected = load_dataset(BUNDLED)
    for name, data in (
        ("archive", (tmp_path / "a.npz").read_bytes()),
        ("series.txt", (Path(interp.datasets.__file__).parent / "bundled/japanese_vowels_30.ts").read_bytes()),
    ):
        (tmp_path / name).write_bytes(data)
        assert load_dataset(tmp_path / name) == expected
    (tmp_path / "other").write_bytes(b"hello")
    with pytest.raises(MalformedInput, match="not a dataset file"):
        load_dataset(tmp_path / "other")


def broken(encode):
    return lambda dataset: encode(type(dataset)(dataset.dimension, dataset.pairs[1:]))


@pytest.mark.parametrize(
    ("source", "target", "options", "error"),
    [
        (GOLDEN / "not-a-number.json", "out.npz", ReadOptions(), MalformedInput),
        (BUNDLED, "out.ts", ReadOptions(), UsageError),
        (BUNDLED, "missing/out.json", ReadOptions(), UsageError),
        (BUNDLED + "0", "out.json", ReadOptions(), UsageError),
        (GOLDEN / "nothing.json", "out.json", ReadOptions(), MalformedInput),
        (GOLDEN / "identical-pairs.json", "out.json", ReadOptions(task="forecasting"), UsageError),
    ],
)
def test_convert_leaves_nothing_behind(tmp_path, source, target, options, error):
    with pytest.raises(error):
        convert_dataset(source, tmp_path / target, options)
    assert list(tmp_path.iterdir()) == []


def test_convert_checks_the_bytes_before_they_are_a_file(tmp_path, monkeypatch):
    (tmp_path / "out.json").write_text("precious")
    encoders = interp.datasets.convert.ENCODERS
    monkeypatch.setitem(encoders, ".json", broken(encoders[".json"]))
    with pytest.raises(InternalFault):
        convert_dataset(BUNDLED, tmp_path / "out.json")
    assert (tmp_path / "out.json").read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 1


def test_convert_to_npz_of_what_does_not_fit(tmp_path):
    file = tmp_path / "long.json"
    file.write_text('{"format":"interp-dataset/1","dimension":2,"pairs":[{"input":[[1,2],[1e30,2]],"output":[[1,2]]}]}')
    with pytest.raises(UsageError) as caught:
        convert_dataset(file, tmp_path / "out.npz")
    assert (caught.value.path, caught.value.hint) == ("inputs[1,0]", "write .jsonl")
    assert list(tmp_path.iterdir()) == [file]


def test_convert_never_writes_over_its_source(tmp_path):
    file = tmp_path / "a.json"
    convert_dataset(BUNDLED, file)
    before = file.read_bytes()
    with pytest.raises(UsageError):
        convert_dataset(file, tmp_path / "." / "a.json", ReadOptions(limit=1))
    assert file.read_bytes() == before


def test_the_options_make_one_argument():
    @click.command()
    @click.argument("file")
    @reading_options
    def command(file: str, reading: ReadOptions) -> None:
        click.echo(f"{file} {reading}")

    arguments = ["x", "--task", "forecasting", "--horizon", "4", "--limit", "7", "--merge-pairs", "--append-constant"]
    expected = ReadOptions("forecasting", 4, None, 7, True, False, False, True)
    assert CliRunner().invoke(command, arguments).output == f"x {expected}\n"


def test_faults_are_raised_for_the_main_program():
    result = call("show", GOLDEN / "cut-short.json")
    assert isinstance(result.exception, InterpError)
    assert result.exception.status is Status.MALFORMED
