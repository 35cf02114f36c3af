"""The compact construction: within its formulas, exact at every temperature, on datasets of every kind."""

from __future__ import annotations

import random

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.constructions.bounds import (
    count_caps_bound,
    count_compact_bound,
    count_digits,
    count_digits_bound,
    count_key_bound,
    count_line_bound,
)
from interp.constructions.compact import (
    CapsPlan,
    DirectPlan,
    FullPlan,
    KeyPlan,
    Plan,
    SinglePlan,
    build_compact,
    find_plans,
)
from interp.constructions.hardmax import list_targets
from interp.stages.signature import find_signatures
from interp.stages.tokens import TokenState
from interp.transformers.encode import encode_transformer
from interp.transformers.ledger import Ledger
from proofs.kernel.errors import MalformedInput, Status
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Dataset, Pair
from proofs.lemmas import LEMMAS
from tests.constructions.build import judge
from tests.constructions.compact_cases import (
    all_subsets,
    continuous,
    local_pairs,
    random_dataset,
    symmetric_subsets,
)
from tests.reference import evaluator
from tests.strategies import datasets, fractions_of, make_dataset


def verify(dataset: Dataset, ledger: Ledger, temperatures: str = "0") -> int:
    """The number of blocks of a verified transformer whose attention is uniform wherever it acts."""
    data = encode_transformer(Transformer(dataset.dimension, tuple(ledger.blocks)))
    verdict = judge(dataset, data, temperatures=temperatures, max_blocks=len(ledger.blocks), max_parameters=10**9)
    assert verdict.status is Status.VERIFIED, verdict.failed
    for block in ledger.blocks:
        attention = block.attention
        assert attention.V.is_zero(dataset.dimension) or attention.A.is_zero(dataset.dimension)
        assert block.feed_forward.width <= 4
    return len(ledger.blocks)


def formula(plan: Plan, dataset: Dataset) -> int:
    """The closed bound of a plan, with the kinks of its own signature."""
    sizes = [(len(set(pair.input)), len(set(pair.output))) for pair in dataset.pairs]
    outputs = sum(m for _, m in sizes)
    if isinstance(plan, DirectPlan):
        return -(-len(plan.tokens) // 4)
    if isinstance(plan, SinglePlan | FullPlan):
        return count_line_bound(outputs, len(plan.signature.kinks))
    if isinstance(plan, CapsPlan):
        signature = plan.frame.signature
        bound = count_caps_bound(outputs, sum(m > 1 for _, m in sizes), len(signature.kinks))
        if dataset.dimension > 2:
            digits = count_digits(signature.means)
            bound = min(bound, count_digits_bound(outputs, digits, len(signature.kinks)))
        return bound
    assert isinstance(plan, KeyPlan)
    collapsed, targets = sum(m < n for n, m in sizes), {row for pair in dataset.pairs for row in pair.output}
    return count_key_bound(len(sizes), outputs, collapsed, len(targets), len(plan.signature.kinks))


def check_all_plans(dataset: Dataset, seed: int = 0) -> None:
    """Every plan that applies is built, has the number of blocks it announces, keeps its formula, and is verified."""
    state, targets = TokenState.from_dataset(dataset), list_targets(dataset)
    for rank_one_v in (True, False):
        plans = list(find_plans(state, targets, rank_one_v, random.Random(seed)))
        for plan in plans[:6]:
            ledger = Ledger(dataset.dimension)
            plan.build(ledger)
            assert len(ledger.blocks) == plan.num_blocks <= formula(plan, dataset)
            verify(dataset, ledger)
        best = build_compact(dataset, seed, rank_one_v)
        assert len(best.blocks) == min(plan.num_blocks for plan in plans)
        assert len(best.blocks) <= count_compact_bound(dataset, rank_one_v=rank_one_v)


@pytest.mark.parametrize("seed", range(150))
def test_every_plan_keeps_its_formula_and_is_verified(seed):
    check_all_plans(random_dataset(seed), seed)


@settings(max_examples=40)
@given(datasets(largest=5), st.integers(0, 2**32), st.booleans())
def test_every_temperature_and_the_reference_agree(dataset, seed, rank_one_v):
    ledger = build_compact(dataset, seed, rank_one_v)
    verify(dataset, ledger, "[0,oo)")
    data = encode_transformer(Transformer(dataset.dimension, tuple(ledger.blocks)))
    *_, final = evaluator.run(data, fractions_of(pair.input for pair in dataset.pairs))
    assert list(map(set, final)) == list(map(set, fractions_of(pair.output for pair in dataset.pairs)))


@settings(max_examples=20)
@given(datasets(largest=5), st.integers(2, 4), st.booleans())
def test_copies_of_a_token_count_in_the_mean_and_move_together(dataset, times, rank_one_v):
    first, *rest = dataset.pairs
    repeated = Dataset(dataset.dimension, (Pair(first.input + first.input[:1] * times, first.output), *rest))
    verify(repeated, build_compact(repeated, 0, rank_one_v))


@settings(max_examples=20)
@given(datasets(largest=6), st.booleans())
def test_the_phases_account_for_every_block(dataset, rank_one_v):
    ledger = build_compact(dataset, 0, rank_one_v)
    owned = [k for phase in ledger.phases if not phase.shared for k in range(phase.first, phase.last + 1)]
    assert owned == list(range(1, len(ledger.blocks) + 1))
    assert all(phase.lemma in LEMMAS for phase in ledger.phases)


@pytest.mark.parametrize(("outputs", "blocks"), [(1, 33), (2, 69), (4, 110), (7, 113)])
def test_all_subsets_of_seven_tokens(outputs, blocks):
    dataset = all_subsets(7, 3, outputs)
    assert verify(dataset, build_compact(dataset)) <= blocks


@pytest.mark.parametrize("dimension", [2, 3])
def test_one_sequence_takes_a_quarter_of_its_targets(dimension):
    rng = random.Random(1)
    tokens = [[k, k * k, 1][:dimension] for k in range(40)]
    targets = [[rng.randint(-99, 99) for _ in range(dimension)] for _ in range(39)]
    dataset = make_dataset((tokens, targets))
    assert verify(dataset, build_compact(dataset)) == 10


def test_one_sequence_by_every_plan():
    check_all_plans(make_dataset(([[0, 0], [1, 5], [2, 3], [4, 4], [9, 1]], [[3, 3], [1, 1], [0, 0]])))


def test_random_tokens_in_twelve_dimensions():
    dataset = continuous(40, 10, 12, 3)
    ledger = build_compact(dataset)
    assert verify(dataset, ledger) <= 40
    assert max(phase.bits for phase in ledger.phases) <= 65


@pytest.mark.parametrize("outputs", [1, 2])
def test_sequences_with_one_mean_need_few_kinks_when_they_differ_everywhere(outputs):
    dataset = symmetric_subsets(5, outputs)
    check_all_plans(dataset)
    [signature] = find_signatures(TokenState.from_dataset(dataset), random.Random(0), count=5)
    assert 1 <= len(signature.kinks) <= 2


@pytest.mark.parametrize("outputs", [(1,), (4,), (2, 1), (2, 3)])
def test_sequences_that_differ_locally_need_a_kink_a_pair(outputs):
    dataset = local_pairs(8, outputs)
    check_all_plans(dataset)
    [signature] = find_signatures(TokenState.from_dataset(dataset), random.Random(0), count=5)
    assert len(signature.kinks) == 8


def test_runs_of_equal_targets_take_two_units():
    # 40 sequences, two targets, the first for all small tokens: two runs along any increasing signature
    pairs = [([[k, 1], [k, 2]], [[5, 5]] if k < 20 else [[-7, 3]]) for k in range(40)]
    dataset = make_dataset(*pairs)
    assert verify(dataset, build_compact(dataset)) == 1  # targets are a function of the token: no attention


def test_few_labels_of_sequences_that_share_tokens():
    tokens = [[k, 0] for k in range(40)]
    pairs = [([[1000, 1], [-1000, 1], token], [[5, 5]] if k < 20 else [[-7, 3]]) for k, token in enumerate(tokens)]
    dataset = make_dataset(*pairs)
    assert verify(dataset, build_compact(dataset)) == 2


def test_a_common_target_is_left_to_the_remainders():
    tokens = [[1, 0], [0, 1], [2, 5], [7, 3], [4, 4]]
    inputs = [[a, b, [k, 50 + k]] for k, (a, b) in enumerate((a, b) for a in tokens for b in tokens if a < b)]
    dataset = make_dataset(*((x, [[9, 9], [k, -k]]) for k, x in enumerate(inputs)))
    plan = next(p for p in find_plans(TokenState.from_dataset(dataset), list_targets(dataset), True, random.Random(0))
                if isinstance(p, CapsPlan))  # fmt: skip
    assert all(rows[-1] == (9, 9, 1) for rows in plan.ordered)
    check_all_plans(dataset)


def test_targets_equal_to_inputs_and_zero_targets():
    dataset = make_dataset(([[0, 0], [1, 2]], [[0, 0], [1, 2]]), ([[3, 1]], [[0, 0]]), ([[0, 0], [3, 1]], [[0, 0]]))
    check_all_plans(dataset)
    zero = make_dataset(([[1, 1], [2, 2]], [[0, 0]]), ([[1, 1]], [[0, 0]]))
    assert verify(zero, build_compact(zero)) == 1


def test_the_file_is_the_same_for_the_same_seed():
    dataset = all_subsets(5, 3, 3)
    first, second = (Transformer(3, tuple(build_compact(dataset, 4).blocks)) for _ in range(2))
    assert encode_transformer(first) == encode_transformer(second)


def test_equal_inputs_and_too_many_targets_are_refused():
    with pytest.raises(MalformedInput, match="equal"):
        build_compact(make_dataset(([[1, 1], [2, 2]], [[0, 1]]), ([[2, 2], [1, 1]], [[3, 1]])))
    with pytest.raises(MalformedInput, match="2 different output tokens for 1"):
        build_compact(make_dataset(([[1, 1]], [[0, 1], [0, 2]])))


@pytest.mark.slow
def test_three_thousand_sequences():
    rng = random.Random(1)

    def token() -> list[str]:
        return [f"{rng.getrandbits(53) - 2**52}/{2**52}" for _ in range(16)]

    dataset = make_dataset(*(([token() for _ in range(50)], [token(), token()]) for _ in range(3000)))
    ledger = build_compact(dataset)
    assert len(ledger.blocks) <= 1520
    # every sequence is processed by itself: a few of them are checked whole
    sample = Dataset(16, tuple(rng.sample(dataset.pairs, 3)))
    verify(sample, ledger)


def test_the_bounds_in_numbers():
    assert [count_line_bound(270, k) for k in (0, 3, 4)] == [69, 69, 70]
    assert [count_caps_bound(8, 3, k) for k in (0, 2, 3)] == [1 + 1 + 3, 1 + 1 + 3, 2 + 1 + 3]
    assert count_digits([fmpq(0), fmpq(1), fmpq(7)]) == 4  # gap 1, H = 8
    assert count_digits_bound(8, 4) == 1 + 2 + 3
    assert count_key_bound(2, 5, 1, 3) == 1 + 2 + 1
    assert count_key_bound(1, 5, 1, 3) == 2 + 1
