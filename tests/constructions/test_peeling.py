"""The peeling construction: theorem B, hardmax only."""

from __future__ import annotations

import random

import pytest
from flint import fmpq

from interp.constructions.bounds import count_compact_bound, count_peeling_bound
from interp.constructions.compact import build_compact
from interp.constructions.peeling import build_peeling
from interp.stages.peeling import Peeling
from interp.stages.signature import Signature
from interp.transformers.encode import encode_transformer
from proofs.kernel.errors import MalformedInput, Status, UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Dataset
from proofs.lemmas import peeling as lemma
from tests.constructions.build import judge
from tests.constructions.compact_cases import all_subsets, continuous, local_pairs, random_dataset
from tests.reference import evaluator
from tests.strategies import block_records, make_dataset, pairs_of, transformer_bytes


def build_and_verify(dataset: Dataset, seed: int = 0, temperatures: str = "0", **budgets: int) -> int:
    """The number of blocks of a verified transformer."""
    ledger = build_peeling(dataset, seed)
    data = encode_transformer(Transformer(dataset.dimension, tuple(ledger.blocks)))
    verdict = judge(dataset, data, temperatures=temperatures, max_parameters=10**9, max_blocks=10**6)
    assert verdict.status is Status.VERIFIED, verdict.failed
    owned = [k for phase in ledger.phases if not phase.shared for k in range(phase.first, phase.last + 1)]
    assert owned == list(range(1, len(ledger.blocks) + 1))
    return len(ledger.blocks)


def bound(dataset: Dataset, num_kinks: int) -> int:
    """Theorem B, or theorem A if all m_j = 1."""
    sizes = [(len(set(pair.input)), len(set(pair.output))) for pair in dataset.pairs]
    most = max(m for _, m in sizes)
    if most == 1:
        return count_compact_bound(dataset)
    return count_peeling_bound([min(most, n) for n, _ in sizes], num_kinks)


@pytest.mark.parametrize("seed", range(60))
def test_random_datasets(seed):
    dataset = random_dataset(seed, largest=8)
    assert build_and_verify(dataset, seed) <= bound(dataset, dataset.num_pairs - 1)


@pytest.mark.parametrize(("outputs", "length"), [(2, 5), (3, 10), (5, 6)])
def test_equal_sizes_take_m_plus_one_and_a_quarter(outputs, length):
    dataset = continuous(20, length, 3, outputs)
    assert build_and_verify(dataset) == outputs + 1 + -(-20 * outputs // 4)


def test_it_beats_theorem_a_when_all_sequences_have_many_targets():
    dataset = continuous(20, 6, 2, 3)
    assert build_and_verify(dataset) < len(build_compact(dataset).blocks)


@pytest.mark.parametrize("most", [2, 4])
def test_sequences_shorter_than_m(most):
    # m_j = min(m, n_j), with n_j from 1 to 5
    dataset = all_subsets(5, 3, most)
    assert build_and_verify(dataset) == most + 1 + -(-dataset.num_outputs // 4)


def test_many_kinks():
    dataset = local_pairs(5, (2, 3))
    assert build_and_verify(dataset) <= bound(dataset, 5)


def test_single_targets_are_left_to_compact():
    dataset = continuous(5, 4, 2, 1)
    assert build_and_verify(dataset, temperatures="[0,oo)") == 3


def test_too_many_targets_are_refused():
    with pytest.raises(MalformedInput, match="2 different output tokens for 1"):
        build_peeling(make_dataset(([[1, 1]], [[0, 1], [0, 2]])))


def test_a_sequence_that_is_peeled_twice_keeps_different_labels():
    signature = Signature((1, 0), fmpq(0), (), ((1, 2), (1, 2, 5)), 1, (fmpq(3, 2), fmpq(8, 3)))
    peeling = Peeling(signature, 4, fmpq(1), fmpq(8), fmpq(1, 64))
    # steps 1, 3 peel the larger token, 2, 4 the smaller one
    assert [place - fmpq(3, 2) for place in peeling.points(0)] == [fmpq(2 + 8, 64), fmpq(4 + 16, 64)]
    assert [place - fmpq(8, 3) for place in peeling.points(1)] == [fmpq(4, 64), fmpq(8, 64), fmpq(2 + 16, 64)]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0, 9, fmpq(1, 16)), "positive"),
        ((2, 9, fmpq(1, 16)), "closer"),
        ((1, 3, fmpq(1, 16)), "drop"),
        ((1, 9, fmpq(1, 2)), "reach the next"),
    ],
)
def test_the_promise_check_bites(numbers, message):
    values, means = [[fmpq(1), fmpq(2)], [fmpq(1), fmpq(4)]], [fmpq(3, 2), fmpq(5, 2)]
    assert lemma.check_promise(values, means, 2, (fmpq(1), fmpq(4), fmpq(1, 8))) is None
    assert message in (lemma.check_promise(values, means, 2, tuple(map(fmpq, numbers))) or "")
    assert lemma.check_promise(values, [fmpq(0), fmpq(1)], 2, (fmpq(1), fmpq(4), fmpq(1, 8))) is not None


# ------------------------------------------------------------------------------------------------------------ two heads


@pytest.mark.parametrize("m", [2, 3, 4, 5, 6])
def test_two_heads_peel_two_tokens_a_block(m):
    rng = random.Random(m)
    for _ in range(6):
        pool = list({tuple(rng.randint(-4, 4) for _ in range(3)) for _ in range(12)})
        inputs = {frozenset(rng.sample(pool, rng.randint(1, 9))) for _ in range(5)} | {frozenset(pool[:m])}
        sizes = [min(m, len(x)) for x in inputs]
        targets = [rng.sample([(k, 1, k % 3) for k in range(12)], size) for size in sizes]
        dataset = make_dataset(*((sorted(x), y) for x, y in zip(inputs, targets, strict=True)))
        ledger = build_peeling(dataset, 0, heads=2)
        data = encode_transformer(Transformer(3, tuple(ledger.blocks)))
        verdict = judge(dataset, data, max_parameters=10**9, max_blocks=10**6)
        assert verdict.status is Status.VERIFIED, verdict.failed
        assert verdict.counts.heads == (2 if m > 2 else 1)
        assert evaluator.interpolates(data, pairs_of(dataset))
        assert verdict.counts.blocks <= count_peeling_bound(sizes, dataset.num_pairs - 1, heads=2)
        one = build_peeling(dataset, 0)
        assert len(one.blocks) - len(ledger.blocks) == (m - 1) // 2


def test_a_head_left_out_doubled_or_exchanged_is_refuted():
    points = [(k, k * k, 1) for k in range(5)]
    dataset = make_dataset((points, [(-k, 1, 0) for k in range(5)]), (points[1:], [(k, 2, 0) for k in range(4)]))
    blocks = block_records(encode_transformer(Transformer(3, tuple(build_peeling(dataset, heads=2).blocks))))
    assert judge(dataset, transformer_bytes(3, blocks), max_blocks=99).status is Status.VERIFIED
    places = [k for k, block in enumerate(blocks) if "heads" in block.get("sa", {})]
    assert len(places) == 2
    for k in places:
        heads = blocks[k]["sa"]["heads"]
        crossed = [{"A": heads[1]["A"], "V": heads[0]["V"]}, {"A": heads[0]["A"], "V": heads[1]["V"]}]
        for changed in ([heads[0], {}], [{}, heads[1]], [*heads, heads[0]], [heads[1]] * 2, crossed):
            mutant = [b | {"sa": b["sa"] | {"heads": changed}} if i == k else b for i, b in enumerate(blocks)]
            assert judge(dataset, transformer_bytes(3, mutant), max_blocks=99).status is Status.REFUTED
        swapped = [b | {"sa": b["sa"] | {"heads": heads[::-1]}} if i == k else b for i, b in enumerate(blocks)]
        assert judge(dataset, transformer_bytes(3, swapped), max_blocks=99).status is Status.VERIFIED


def test_two_heads_need_a_third_coordinate():
    with pytest.raises(UsageError):
        build_peeling(make_dataset(([(0, 0), (1, 2)], [(1, 1), (2, 2)])), heads=2)
