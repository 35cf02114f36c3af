"""The hardmax construction: theorem 1.6 on datasets of every kind, in fewer blocks than the theorem allows."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.constructions.hardmax import build_hardmax
from interp.stages.separation import POLICIES
from proofs.kernel.errors import Status
from proofs.kernel.statement import Dataset, Pair
from tests.constructions.build import build_file, check_everything, judge
from tests.strategies import HUGE, datasets, leave_one_out, make_dataset

policies = st.sampled_from(POLICIES)


@settings(max_examples=60)
@given(datasets(largest=6), st.integers(0, 2**32), policies)
def test_every_dataset_builds_verifies_and_agrees_with_the_reference(dataset, seed, policy):
    check_everything(dataset, seed, policy)


@settings(max_examples=30)
@given(datasets(largest=4), policies, st.integers(2, 3))
def test_repeated_tokens_inside_a_sequence_do_no_harm(dataset, policy, times):
    first, *rest = dataset.pairs
    repeated = Pair(first.input + first.input[:1] * times, first.output * times)
    check_everything(Dataset(dataset.dimension, (repeated, *rest)), 0, policy)


@settings(max_examples=30)
@given(datasets(largest=5), policies)
def test_the_phases_account_for_every_block(dataset, policy):
    ledger = build_hardmax(dataset, 0, policy)
    owned = [k for phase in ledger.phases if not phase.shared for k in range(phase.first, phase.last + 1)]
    assert owned == list(range(1, len(ledger.blocks) + 1))
    blocks = {phase.name: phase.num_blocks for phase in ledger.phases}
    assert list(blocks) == ["separation", "leader selection", "collapse", "interpolation"]
    assert blocks["separation"] <= max(dataset.num_pairs - 1, 0)
    assert blocks["leader selection"] == blocks["interpolation"] == dataset.num_outputs
    assert blocks["collapse"] == 0


@pytest.mark.parametrize(("num_pairs", "dimension"), [(3, 2), (5, 3), (8, 5), (12, 2)])
def test_leaving_one_out_is_interpolated_by_every_policy(num_pairs, dimension):
    dataset = leave_one_out(num_pairs, dimension)
    for policy in POLICIES:
        check_everything(dataset, num_pairs, policy)


F = Fraction
NAMED = {
    "one token": make_dataset(([(0, 0)], [(0, 0)])),
    "one token at the origin goes far": make_dataset(([(0, 0)], [(HUGE, -HUGE)])),
    "one pair, all tokens kept": make_dataset(([(0, 0), (1, 0), (0, 1)], [(0, 0), (1, 0), (0, 1)])),
    "one pair, tokens permuted": make_dataset(([(0, 0), (1, 0), (0, 1)], [(1, 0), (0, 1), (0, 0)])),
    "a chain of subsets": make_dataset(*(([(k, -k) for k in range(n)], [(n, n)]) for n in range(1, 7))),
    "two sequences exchange tokens": make_dataset(([(1, 0)], [(2, 0)]), ([(2, 0)], [(1, 0)])),
    "every target the same": make_dataset(*(([(j, 0), (j, 1)], [(0, 0)]) for j in range(5))),
    "n = m with shared tokens": make_dataset(
        ([(0, 0), (1, 1), (2, 2)], [(3, 0), (4, 0), (5, 0)]),
        ([(0, 0), (1, 1), (3, 3)], [(3, 0), (4, 0), (5, 0)]),
        ([(0, 0), (2, 2), (3, 3)], [(5, 0), (4, 0), (3, 0)]),
    ),
    "all subsets of four tokens": make_dataset(
        *(([(k, k * k) for k in range(4) if mask >> k & 1], [(mask, -mask)]) for mask in range(1, 16))
    ),
    "a hair apart": make_dataset(*(([(F(k, HUGE), 0), (F(k + 1, HUGE), 0)], [(k, HUGE)]) for k in range(4))),
    "huge and tiny together": make_dataset(
        ([(HUGE, F(1, HUGE)), (-HUGE, 0)], [(0, 0)]), ([(HUGE, F(1, HUGE)), (0, 0)], [(1, 1)])
    ),
    "on one line through the origin": make_dataset(
        *(([(k, 2 * k), (-k, -2 * k), (0, 0)], [(k, 0)]) for k in range(1, 6))
    ),
    "unrelated denominators": make_dataset(
        *(([(F(1, p), F(1, q)), (F(1, 2), F(1, 3))], [(F(1, q), F(1, p))]) for p, q in permutations([7, 11, 13], 2))
    ),
    "many leaders": make_dataset(([(k, k * k) for k in range(12)], [(k, -k) for k in range(12)]), ([(0, 0)], [(5, 5)])),
    "sums agree in every sequence": make_dataset(
        ([(0, 0), (3, 3)], [(1, 0)]), ([(1, 1), (2, 2)], [(2, 0)]), ([(0, 0), (1, 1), (2, 2), (3, 3)], [(3, 0)])
    ),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", NAMED)
def test_named_cases(name, policy):
    check_everything(NAMED[name], 1, policy)


@settings(max_examples=25)
@given(datasets(largest=4), st.integers(0, 100), policies)
def test_the_same_input_and_seed_give_the_same_bytes(dataset, seed, policy):
    assert build_file(dataset, seed, policy) == build_file(dataset, seed, policy)


def test_the_bytes_do_not_depend_on_the_process():
    code = (
        "import hashlib\n"
        "from tests.constructions.build import build_file\n"
        "from tests.constructions.test_hardmax import NAMED, POLICIES\n"
        "files = b''.join(build_file(data, 3, policy) for data in NAMED.values() for policy in POLICIES)\n"
        "print(hashlib.sha256(files).hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            cwd=Path(__file__).parent.parent.parent,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(digests) == 1


@settings(max_examples=20)
@given(datasets(largest=5), st.randoms(use_true_random=False))
def test_the_order_of_pairs_and_tokens_does_not_matter(dataset, rng):
    pairs = [
        Pair(tuple(rng.sample(p.input, len(p.input))), tuple(rng.sample(p.output, len(p.output))))
        for p in dataset.pairs
    ]
    shuffled = Dataset(dataset.dimension, tuple(rng.sample(pairs, len(pairs))))
    data = build_file(shuffled)
    assert judge(shuffled, data).status is judge(dataset, data).status is Status.VERIFIED


@settings(max_examples=20)
@given(datasets(largest=4))
def test_a_transformer_built_for_other_targets_is_refuted(dataset):
    last = dataset.pairs[-1]
    x, *rest = last.output[-1]
    target = (x + last.output[-1][-1], *rest)
    if target in last.output:
        return
    other = Dataset(dataset.dimension, (*dataset.pairs[:-1], Pair(last.input, (*last.output[:-1], target))))
    verdict = judge(other, build_file(dataset))
    assert verdict.status is Status.REFUTED
    assert verdict.failed[-1].mismatch.pair == len(dataset.pairs) - 1
