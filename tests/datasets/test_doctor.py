"""The hypotheses of the theorems, all violations at once."""

from __future__ import annotations

import pytest
from dataset_strategies import tiny_datasets
from hypothesis import given

from interp.datasets.doctor import examine, find_violations
from interp.datasets.fixes import append_positions, merge_identical_pairs, merge_repeated_outputs
from interp.datasets.options import ReadOptions
from interp.datasets.read import load_dataset
from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Dataset, Pair

A, B, C, D = (0, 0, 1), (1, 0, 1), (0, 1, 2), (3, 4, 5)


def make(*pairs):
    return Dataset(2, tuple(Pair(x, y) for x, y in pairs))


def rules(dataset, **options):
    return [(v.rule, v.path) for v in find_violations(dataset, **options)]


def test_clean():
    assert rules(make(((A, B), (C,)), ((A, C), (C, D)))) == []


def test_everything_at_once():
    dataset = make(((A, A, B, A), (C,)), ((B, C), (D, A, D)), ((C, B), (A, D)), ((D,), (A, B)), ((B, C), (B,)))
    assert rules(dataset) == [
        ("repeated-input-token", "$.pairs[0].input[1]"),
        ("repeated-input-token", "$.pairs[0].input[3]"),
        ("repeated-output-token", "$.pairs[1].output[2]"),
        ("too-many-outputs", "$.pairs[3].output"),
        ("identical-pairs", "$.pairs[2].input"),
        ("contradictory-pairs", "$.pairs[4].input"),
    ]


@pytest.mark.parametrize(
    ("pairs", "rule", "option"),
    [
        ((((A, B), (C,)), ((A, B), (C,))), "identical-pairs", "--merge-pairs"),
        ((((A, B), (C, D)), ((B, A), (D, C, D))), "identical-pairs", "--merge-pairs"),
        ((((A, B), (C,)), ((A, B), (D,))), "contradictory-pairs", ""),
        ((((A, B), (C,)), ((B, A), (D,))), "contradictory-pairs", "--positions"),
        ((((A, B), (C,)), ((A, B, B), (D,))), "equal-input-sets", "--positions"),
        ((((A, B), (C,)), ((A, B, B), (C,))), "equal-input-sets", "--positions"),
    ],
)
def test_equal_input_sets(pairs, rule, option):
    """Only equal sequences (up to order) with different outputs are impossible: a mean can see repetitions."""
    found = [v for v in find_violations(make(*pairs)) if v.path == "$.pairs[1].input"]
    assert [(v.rule, v.option) for v in found] == [(rule, option)]
    assert "$.pairs[0].input" in found[0].message
    assert ("no transformer" in found[0].message) == (rule == "contradictory-pairs")


def test_allow_repeats_compares_with_distinct_tokens():
    dataset = make(((A, A, B), (C, D)), ((A, A, C), (A, B, C)))
    assert rules(dataset, allow_repeats=True) == [("too-many-outputs", "$.pairs[1].output")]
    first, second = find_violations(dataset)
    assert "build --allow-repeats" in first.fix
    assert "--allow-repeats cannot" in second.fix
    assert rules(append_positions(dataset)) == []


@given(tiny_datasets())
def test_the_fixes_fix(dataset):
    def left(changed):
        return {v.rule for v in find_violations(changed)}

    assert "repeated-output-token" not in left(merge_repeated_outputs(dataset))
    assert "identical-pairs" not in left(merge_identical_pairs(dataset))
    placed = append_positions(dataset)
    assert left(placed) & {"repeated-input-token", "equal-input-sets"} == set()
    if len({pair.input for pair in dataset.pairs}) == len(dataset.pairs):
        assert left(placed) <= {"repeated-output-token", "too-many-outputs"}


@given(tiny_datasets())
def test_no_violation_exactly_when_the_hypotheses_hold(dataset):
    inputs = [frozenset(pair.input) for pair in dataset.pairs]
    hold = len(set(inputs)) == len(inputs) and all(
        len(set(pair.input)) == len(pair.input) >= len(pair.output) == len(set(pair.output)) for pair in dataset.pairs
    )
    assert (find_violations(dataset) == []) == hold


def test_hypotheses_are_checked_on_what_can_be_read(tmp_path):
    file = tmp_path / "data.jsonl"
    file.write_text(
        '{"format":"interp-dataset-lines/1","dimension":2,"pairs":3}\n'
        '{"input":[[1,2],[1,2],[NaN,0]],"output":[[1,2]]}\n'
        "nonsense\n"
        '{"input":[[1,2,3],[4,5]],"output":[[0,0],["0",0.0]]}\n'
    )
    found = examine(file)
    assert found.dataset is None
    assert [(v.rule, v.path) for v in found.violations] == [
        ("number", "line 2: $.input[2][0]"),
        ("syntax", "line 3"),
        ("ragged-token", "line 4: $.input[0]"),
        ("repeated-input-token", "line 2: $.input[1]"),
        ("repeated-output-token", "line 4: $.output[1]"),
    ]


def test_the_first_fault_is_raised_and_the_others_counted(tmp_path):
    file = tmp_path / "data.json"
    file.write_text('{"format":"interp-dataset/1","dimension":2,"pairs":[{"input":[[NaN,1],[2]],"output":[]}]}')
    with pytest.raises(MalformedInput) as caught:
        load_dataset(file)
    assert (caught.value.file, caught.value.path) == (str(file), "$.pairs[0].input[0][0]")
    assert "2 more: run `interp dataset check`" in caught.value.hint


def test_a_limit_is_no_violation(tmp_path):
    file = tmp_path / "data.json"
    number = "1" * 200
    file.write_text(
        f'{{"format":"interp-dataset/1","dimension":2,"pairs":[{{"input":[[{number},1]],"output":[[1,1]]}}]}}'
    )
    with pytest.raises(LimitReached) as caught:
        examine(file, limits=Limits(max_digits=100))
    assert caught.value.file == str(file)


def test_places_survive_the_options(tmp_path):
    """With merged pairs and positions the places are still those of the file."""
    file = tmp_path / "data.json"
    pair = '{"input":[[1,2],[3,4]],"output":[[1,2]]}'
    last = '{"input":[[5,5]],"output":[[1,2],[3,3]]}'
    file.write_text(f'{{"format":"interp-dataset/1","dimension":2,"pairs":[{pair},{pair},{last},{last}]}}')
    found = examine(file, ReadOptions(positions=True, merge_pairs=True, limit=3))
    assert [v.path for v in found.violations] == ["$.pairs[2].output"]
    assert len(found.dataset.pairs) == 2


def test_the_doctor_never_writes(tmp_path):
    file = tmp_path / "data.json"
    file.write_text('{"format":"interp-dataset/1","dimension":1,"pairs":[{"input":[[1],[1]],"output":[[1],[2],[3]]}]}')
    before = (file.read_bytes(), file.stat().st_mtime_ns, tmp_path.stat().st_mtime_ns)
    assert examine(file).violations
    assert examine(file, ReadOptions(append_constant=True, merge_outputs=True)).violations
    assert list(tmp_path.iterdir()) == [file]
    assert (file.read_bytes(), file.stat().st_mtime_ns, tmp_path.stat().st_mtime_ns) == before
