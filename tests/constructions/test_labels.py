"""The labels construction: exact at every temperature, never longer than compact, short where classes are separable."""

from __future__ import annotations

import importlib
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp import api
from interp.constructions import labels
from interp.constructions.compact import build_compact
from interp.constructions.labels import CodePlan, build_labels, find_code_plans
from interp.datasets.read import load_dataset
from interp.stages import features
from interp.stages.clouds import make_cloud
from interp.stages.codes import count_code_blocks, is_general
from interp.stages.tokens import TokenState
from interp.transformers.ledger import Ledger
from proofs.kernel.errors import Status, UsageError
from proofs.kernel.model import Transformer
from proofs.lemmas import LEMMAS
from tests.constructions.test_compact import verify
from tests.strategies import make_dataset

pytest.importorskip("scipy", reason="scipy is not installed (extra: labels)")


def clusters(seed, num_classes, dimension, general=True, spread=4, copies=4):
    """Sequences of two or three tokens around the centre of their class."""
    rng = random.Random(seed)
    centres = [[rng.randint(-30, 30) for _ in range(dimension)] for _ in range(num_classes)]
    wanted = [[9 * (c == k) - c for k in range(dimension)] if general else [c] * dimension for c in range(num_classes)]
    pairs = []
    for i in range(copies * num_classes):
        centre = centres[i % num_classes]
        tokens = [[x + rng.randint(-spread, spread) for x in centre] for _ in range(rng.randint(2, 3))]
        tokens.append([i, *centre[1:]])  # no two sequences are equal
        pairs.append(([list(t) for t in dict.fromkeys(map(tuple, tokens))], [wanted[i % num_classes]]))
    return make_dataset(*pairs)


def single(dataset):
    return [pair.output[0] for pair in dataset.pairs]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(2, 6), st.booleans(), st.integers(0, 12))
def test_clusters_are_exact_at_every_temperature_and_no_longer_than_compact(seed, classes, dimension, general, spread):
    dataset = clusters(seed, classes, dimension, general, spread)
    ledger = build_labels(dataset, seed)
    assert verify(dataset, ledger, "[0,oo)") <= len(build_compact(dataset, seed).blocks)
    assert all(phase.lemma in LEMMAS for phase in ledger.phases)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 6), st.booleans(), st.integers(0, 9))
def test_every_code_plan_keeps_its_formula_and_is_verified(seed, classes, dimension, general, spread):
    dataset = clusters(seed, classes, dimension, general, spread)
    cloud = make_cloud(TokenState.from_dataset(dataset), single(dataset))
    for plan in find_code_plans(cloud):
        ledger = Ledger(dimension)
        plan.build(ledger)
        before = 1 + (plan.push is not None)
        if is_general(cloud):
            assert plan.num_blocks == before + count_code_blocks(cloud.num_classes, plan.code.num_bits)
        else:
            assert plan.num_blocks <= before + 2 + -(-cloud.num_classes // 4)
        assert verify(dataset, ledger, "[0,oo)") <= plan.num_blocks
        for bits in plan.code.codes:
            assert len(bits) <= min(4, dimension)
        assert len(set(plan.code.codes)) == cloud.num_classes


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_labels_without_geometry_fall_back_to_compact(seed):
    rng = random.Random(seed)
    wanted = [[1, 0], [0, 1], [3, 3]]
    pairs = [([[k, rng.randint(0, 9)], [rng.randint(0, 9), -k]], [rng.choice(wanted)]) for k in range(1, 15)]
    dataset = make_dataset(*pairs)
    assert verify(dataset, build_labels(dataset, seed), "[0,oo)") <= len(build_compact(dataset, seed).blocks)


def shells(num_classes):
    """Classes 0 and 1 are convex and the others stand around them, so that no code exists until some were pushed."""
    points = [(0, 0, 0, 0), (1, 0, 0, 0)]
    pairs = []
    for c in range(num_classes):
        if c < 2:
            middle = [points[c]]
        else:
            axis_, sign = divmod(c - 2, 2)
            middle = [tuple((20 + 3 * i) * (1 - 2 * sign) * (k == axis_) for k in range(4)) for i in range(3)]
        pairs += [([list(m), [x + 1 for x in m]], [[c * c, c, 1, 0]]) for m in middle]
    return make_dataset(*pairs)


def test_pushed_classes_get_their_codes():
    dataset = shells(7)
    cloud = make_cloud(TokenState.from_dataset(dataset), single(dataset))
    original = labels.choose_code
    # as if no code existed at first
    for plan in _with(monkey_no_first_code(original), cloud):
        assert plan.push is not None
        ledger = Ledger(4)
        plan.build(ledger)
        assert "push" in [phase.name for phase in ledger.phases]
        verify(dataset, ledger, "[0,oo)")
        return
    pytest.fail("no plan with a push")


def monkey_no_first_code(original):
    return lambda spaces, classes, pushed: original(spaces, classes, pushed) if pushed else None


def _with(choose, cloud):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labels, "choose_code", choose)
        yield from list(find_code_plans(cloud))


def test_thirty_utterances_of_nine_speakers_take_five_blocks():
    dataset = load_dataset(Path("bundled:japanese_vowels_30"))
    ledger = build_labels(dataset)
    assert [(p.name, p.num_blocks) for p in ledger.phases] == [("mean", 1), ("codes", 2), ("corrections", 2)]
    assert verify(dataset, ledger, "[0,oo)") == 5
    assert max(phase.bits for phase in ledger.phases) <= 16


def test_all_utterances_take_six_blocks():
    dataset = load_dataset(Path("bundled:japanese_vowels"))
    assert (
        dataset.digest == "sha256:868a745e77d5c7c98a6dbc8ecdad4a17afeb98289479dab9d846e773ffa56130"
    )  # of the .ts file
    ledger = build_labels(dataset)
    assert len(ledger.blocks) == 6
    assert max(phase.bits for phase in ledger.phases) <= 16
    transformer = Transformer(dataset.dimension, tuple(ledger.blocks))
    verdict = api.verify(transformer, dataset, temperatures="[0,oo)", max_blocks=6, max_parameters=768)
    assert verdict.status is Status.VERIFIED


@pytest.mark.slow
def test_all_utterances_take_five_blocks_with_trained_features():
    pytest.importorskip("torch", reason="torch is not installed (extra: torch)")
    dataset = load_dataset(Path("bundled:japanese_vowels"))
    transformer = Transformer(dataset.dimension, tuple(build_labels(dataset, trained=True).blocks))
    assert api.verify(transformer, dataset, temperatures="[0,oo)", max_blocks=5).status is Status.VERIFIED


def test_one_target_and_two_targets():
    assert len(build_labels(make_dataset(([[0, 1]], [[2, 2]]), ([[1, 1]], [[2, 2]]))).blocks) == 1
    dataset = clusters(1, 2, 2)
    assert verify(dataset, build_labels(dataset), "[0,oo)") <= 3


def test_several_targets_and_a_missing_package_are_refused(monkeypatch):
    with pytest.raises(UsageError, match="more than one target"):
        build_labels(make_dataset(([[0, 1], [1, 1]], [[2, 2], [3, 3]])))

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(UsageError, match="scipy is not installed"):
        build_labels(clusters(1, 3, 3))


def test_the_file_is_the_same_for_the_same_seed():
    dataset = clusters(5, 5, 5)
    first, second = (build_labels(dataset, 3).blocks for _ in range(2))
    assert first == second


def test_trained_features_make_a_code_where_means_have_none(monkeypatch):
    pytest.importorskip("torch", reason="torch is not installed (extra: torch)")
    monkeypatch.setattr(features, "STEPS", 1000)
    # means of all sequences are (0, 0, 0): the classes differ in how far their tokens are from the middle
    pairs = [
        ([[r + k, s * k, 1], [-r - k, -s * k, 1]], [[c, c * c, c**3]])
        for c, r in enumerate((10, 60, 160))
        for k in (1, 2, 3)
        for s in (1, 2)
    ]
    dataset = make_dataset(*pairs)
    ledger = build_labels(dataset, trained=True)
    verify(dataset, ledger, "[0,oo)")
    assert isinstance(ledger, Ledger)
    assert len(ledger.blocks) <= len(build_labels(dataset).blocks)
    plans = list(find_code_plans(make_cloud(TokenState.from_dataset(dataset), single(dataset))))
    assert not [plan for plan in plans if isinstance(plan, CodePlan)]
