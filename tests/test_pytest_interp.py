"""The pytest plugin in scratch projects, and the assertion behind it."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

import interp
from interp.testing import assert_interpolates, exact_decimal
from proofs.kernel.errors import MalformedInput, UsageError
from tests.strategies import dataset_bytes, make_dataset, transformer_bytes

pytest_plugins = ["pytester"]

DATASET = make_dataset(([[0, 0], [1, 2]], [[5, 5]]), ([[0, 0], [3, 1]], [[1, "1/3"], ["1/8", 0]]))
WRONG = make_dataset(([[0, 0], [1, 2]], [[5, 5]]), ([[0, 0], [3, 1]], [[1, "1/3"], ["1/8", "1/10"]]))


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6))
def test_decimals_are_exact(numerator, denominator):
    text = exact_decimal(fmpq(numerator, denominator))
    assert Fraction(text) == Fraction(numerator, denominator)


def test_decimals_end_where_they_end():
    values = [fmpq(-1, 8), fmpq(1, 3), fmpq(2469, 20), fmpq(0), fmpq(100), fmpq(-1, 10**20)]
    assert [exact_decimal(x) for x in values] == [
        "-0.125", "1/3", "123.45", "0", "100", "-0.00000000000000000001"]  # fmt: skip


def test_a_failure_names_pair_tokens_and_place():
    transformer = interp.build(DATASET)
    assert assert_interpolates(transformer, DATASET).status.label == "verified"
    with pytest.raises(AssertionError) as caught:
        assert_interpolates(transformer, WRONG)
    text = str(caught.value)
    assert text.startswith("refuted: T(X_j) = Y_j for every pair at temperature 0")
    assert "pair 1 (2 input tokens)" in text
    assert "expected {(0.125, 0.1), (1, 1/3)}" in text
    assert "got      {(0.125, 0), (1, 1/3)}" in text
    assert "squared Hausdorff distance 0.01" in text
    assert "interpolation: sequence 1 is not its target set" in text


def test_what_is_not_verified_is_a_failure():
    transformer = interp.build(DATASET)
    with pytest.raises(AssertionError, match=r"blocks: \d+ > 1"):
        assert_interpolates(transformer, DATASET, max_blocks=1)
    with pytest.raises(AssertionError, match="undecided"):
        assert_interpolates(transformer, DATASET, temperatures="(0,1]")
    with pytest.raises(UsageError):
        assert_interpolates(transformer, DATASET, temperatures="warm")
    with pytest.raises(MalformedInput):
        assert_interpolates("missing.jsonl", DATASET)


def test_loading_the_plugin_loads_nothing_else():
    code = "import sys, pytest; old = set(sys.modules); import pytest_interp; print(*sorted(set(sys.modules) - old))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["pytest_interp"]


@pytest.fixture
def project(pytester):
    """A scratch project with models/T.jsonl, a dataset that it interpolates and one that it does not."""
    folder = pytester.path / "models"
    folder.mkdir()
    interp.save_transformer(interp.build(DATASET), folder / "T.jsonl")
    (folder / "C.jsonl").write_bytes(transformer_bytes(2, []))
    (folder / "D.json").write_bytes(dataset_bytes(DATASET))
    (folder / "wrong.json").write_bytes(dataset_bytes(WRONG))
    tokens = [[1, 2]]
    pairs = [{"input": tokens, "output": tokens}]
    (folder / "I.json").write_text(json.dumps({"format": "interp-dataset/1", "dimension": 2, "pairs": pairs}))
    return pytester


def run(project, ini=""):
    project.makeini(f"[pytest]\ninterp_root = models\n{ini}")
    return project.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest")


def test_a_scratch_project(project):
    project.makepyfile(
        """
        def test_good(assert_interpolates):
            assert assert_interpolates("T.jsonl", "D.json").status.label == "verified"

        def test_objects(interp_transformer, interp_dataset, assert_interpolates):
            assert_interpolates(interp_transformer("T.jsonl"), interp_dataset("D.json"), max_blocks=20)

        def test_bad(assert_interpolates):
            assert_interpolates("T.jsonl", "wrong.json")
        """
    )
    result = run(project)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *AssertionError: refuted: T(X_j) = Y_j*",
            "E *expected {(0.125, 0.1), (1, 1/3)}",
            "E *got * {(0.125, 0), (1, 1/3)}",
        ]
    )
    assert "def verify" not in result.stdout.str()  # the traceback ends at the user's own line


def test_the_ini_file_makes_the_claim(project):
    project.makepyfile(
        """
        def test_claim(assert_interpolates):
            verdict = assert_interpolates("C.jsonl", "I.json")
            assert str(verdict.claim.temperatures) == "[0, oo)"
            assert not any("engine" in part for part in verdict.parts)

        def test_own_claim(assert_interpolates):
            claim = assert_interpolates("C.jsonl", "I.json", attention="softmax").claim
            assert str(claim.temperatures) == "(0, 1]"
        """
    )
    run(project, "interp_temperatures = [0,oo)\ninterp_paranoid = true\n").assert_outcomes(passed=2)
