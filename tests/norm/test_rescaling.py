"""Rescaling changes no output, exactly, never adds to the norm, and comes near the optimum where that is known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from interp.api import make_transformer, verify
from interp.constructions.catalogue import CONSTRUCTIONS, HARDMAX, SOFTMAX, run_construction
from interp.execution.approximate import approx_run, find_arithmetic
from interp.norm.rescaling import FREE, find_balance, find_shrink, prune, rescale, rescale_ledger, shrink_freely
from interp.norm.scales import Terms, find_scales
from interp.norm.squares import square_sum, sum_blocks
from interp.transformers.encode import encode_transformer
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import Status, UsageError
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix, Transformer
from proofs.kernel.statement import parse_temperatures
from tests.reference import evaluator
from tests.strategies import datasets, loose_sequences, make_dataset, transformers

FORMS = ("stored", "dense")
rationals = st.builds(fmpq, st.integers(1, 10**30), st.integers(1, 10**30))


def final(data, sequences):
    *_, last = evaluator.run(data, sequences)
    return [set(tokens) for tokens in last]


@given(st.data(), st.booleans(), st.sampled_from(FORMS))
def test_no_output_changes_at_temperature_0(data, positive, form):
    d = data.draw(st.integers(2, 3))
    file = data.draw(transformers(d, max_blocks=3))
    sequences = data.draw(loose_sequences(d))
    given_ = decode_transformer(file)
    blocks = rescale(given_.blocks, d, positive, form)
    assert sum_blocks(blocks, d, form).total <= sum_blocks(given_.blocks, d, form).total
    assert final(encode_transformer(Transformer(d, blocks)), sequences) == final(file, sequences)


@settings(max_examples=40)
@given(st.data(), st.sampled_from(FORMS))
def test_no_output_changes_at_a_positive_temperature(data, form):
    d = 2
    given_ = decode_transformer(data.draw(transformers(d, max_blocks=2)))
    weights = [abs(x) for block in given_.blocks for x in square_entries(block)]
    assume(all(x < 1000 for x in weights))
    tokens = [
        [fmpq(x) for x in token] for token in data.draw(st.lists(st.tuples(*[st.integers(-2, 2)] * d), min_size=1))
    ]
    rescaled = replace(given_, blocks=rescale(given_.blocks, d, True, form))
    *_, before = approx_run(given_, tokens, find_arithmetic("mpmath:300"), fmpq(1, 3))
    *_, after = approx_run(rescaled, tokens, find_arithmetic("mpmath:300"), fmpq(1, 3))
    size = max(abs(x) for token in before for x in token)
    assert all(
        abs(x - y) <= (size + 1) * 1e-60 for s, t in zip(before, after, strict=True) for x, y in zip(s, t, strict=True)
    )


def square_entries(block):
    yield from block.attention.A.to_dense(2).entries()
    yield from block.attention.V.to_dense(2).entries()


@settings(max_examples=15)
@given(datasets(largest=5), st.sampled_from(list(CONSTRUCTIONS.values())), st.sampled_from(FORMS))
def test_every_construction_is_verified_after_rescaling(dataset, construction, form):
    try:
        ledger = run_construction(construction, dataset, 0, {})
    except UsageError:
        assume(False)
    reached = parse_temperatures(construction.temperatures)
    rescaled = rescale_ledger(ledger, reached.positive, form)
    names = [(p.name, p.first, p.last, p.shared) for p in ledger.phases]
    assert [(p.name, p.first, p.last, p.shared) for p in rescaled.phases] == names
    verdict = verify(
        make_transformer(rescaled, construction, dataset, 0),
        dataset,
        temperatures=str(reached),
        max_blocks=len(ledger.blocks),
        max_parameters=10**9,
    )
    assert verdict.status is Status.VERIFIED, verdict.failed


TWO = make_dataset(([[0, 0], [1, 0], [5, 1]], [[1, 1], [2, 3]]), ([[0, 0], [2, 1]], [[4, 4]]))


def test_a_small_A_is_for_temperature_0_alone():
    ledger = run_construction(HARDMAX, TWO, 0, {})
    blocks = rescale_ledger(ledger, positive=False).blocks
    acting = [block.attention.A for block in blocks if not block.attention.A.is_zero(2)]
    assert acting
    assert all(square_sum(A.to_dense(2).entries()) <= FREE for A in acting)
    # the same freedom would break a softmax transformer, so it is not taken there
    ledger = run_construction(SOFTMAX, TWO, 0, {})
    for positive, status in ((True, Status.VERIFIED), (False, Status.UNDECIDED)):
        rescaled = make_transformer(rescale_ledger(ledger, positive), SOFTMAX, TWO, 0)
        assert verify(rescaled, TWO, attention="softmax").status is status


@given(rationals, rationals)
def test_balance_is_near_the_optimum(left, right):
    c = find_balance(left, right)
    found = c * c * left + right / (c * c)
    assert c > 0
    assert found <= left + right
    assert found**2 <= fmpq(1001, 1000) ** 2 * 4 * left * right
    assert int(c.p).bit_length() <= 8 or int(c.q).bit_length() <= 8


def test_a_balanced_unit_stays():
    assert find_balance(fmpq(3), fmpq(3)) == 1
    assert find_balance(fmpq(0), fmpq(3)) == 1
    assert find_balance(fmpq(1), fmpq(16)) == 2


@given(rationals, rationals)
def test_shrinking_reaches_the_bound(squares, bound):
    f = find_shrink(squares, bound)
    assert f * f * squares <= bound < 16 * f * f * squares


@pytest.mark.parametrize(
    "matrix",
    [
        SquareMatrix(fmpq(-7, 3)),
        SquareMatrix(left=fmpq_mat(2, 1, [fmpq(1, 3), 2]), right=fmpq_mat(2, 1, [fmpq(-4), fmpq(2, 7)])),
        SquareMatrix(fmpq(5), fmpq_mat(2, 1, [1, 2]), fmpq_mat(2, 1, [3, 4])),
        SquareMatrix(fmpq(-1, 1000), fmpq_mat(2, 1, [1, 2]), fmpq_mat(2, 1, [3, 400])),
        SquareMatrix(dense=fmpq_mat(2, 2, [1, 2, fmpq(-1, 3), 4])),
        SquareMatrix(fmpq(2), fmpq_mat(2, 1, [0, 0]), fmpq_mat(2, 1, [3, 4])),
    ],
)
def test_a_freely_shrunk_matrix_is_a_positive_multiple(matrix):
    before, after = (m.to_dense(2).entries() for m in (matrix, shrink_freely(matrix, 2)))
    factor = next(y / x for x, y in zip(before, after, strict=True) if x != 0)
    assert factor > 0
    assert after == [factor * x for x in before]
    assert square_sum(after) <= FREE


def test_dead_weights_go():
    W, U = fmpq_mat([[1, 0, 2, 3]] * 2), fmpq_mat([[1, 1], [1, 0], [0, 0], [0, 0]])
    layer = FeedForward(fmpq(1), W, U, fmpq_mat([[0], [5], [-1], [2]]))
    block = prune(Block(layer, SelfAttention(A=SquareMatrix(fmpq(9)))), 2)
    assert block.feed_forward.U.tolist() == [[1, 1], [0, 0]]  # a unit that reads, and a constant
    assert block.feed_forward.b.entries() == [0, 2]
    assert block.attention == SelfAttention()


def test_scales_are_the_optimum_of_a_block():
    # eta^2 a^2 + 2 |w| a sqrt(|u|^2 + b^2) + rho^2 / a^2, one scale a between the two layers
    eta, w, u, b, rho = fmpq(3), fmpq(2), fmpq(5), fmpq(7), fmpq(100)
    layer = FeedForward(eta, fmpq_mat([[w], [0]]), fmpq_mat([[u, 0]]), fmpq_mat([[b]]))
    blocks = rescale([Block(layer, SelfAttention(rho))], 2, True)
    found = sum_blocks(blocks, 2).total

    def value(a):
        return 9 * a**2 + 4 * a * math.sqrt(74) + 10**4 / a**2

    best = min(value(math.exp(t / 1000)) for t in range(-3000, 5000))
    assert float(found.p) / float(found.q) == pytest.approx(best, rel=0.01)
    assert float(found.p) / float(found.q) >= best * (1 - 1e-9)


def test_scales_of_huge_and_empty_chains():
    assert find_scales(Terms(), 4) == [1] * 5
    terms = Terms()
    for layer in range(1, 5):
        terms.add_monomial(layer, 0.0, -2, 2)
    terms.add_unit(2, 900.0, 900.0, 1800.0)  # |w| = |u| = e^450, |b| = e^900
    terms.add_unit(3, -900.0, 0.0, -math.inf)
    scales = find_scales(terms, 4)
    assert scales[0] == scales[-1] == 1
    assert all(s > 0 and int(s.p).bit_length() + int(s.q).bit_length() < 2000 for s in scales)
    assert scales[2] < fmpq(1, 10**100)


def test_rescaling_again_gains_nothing_much():
    ledger = run_construction(HARDMAX, TWO, 0, {})
    once = rescale(ledger.blocks, 2, False)
    again = rescale(once, 2, False)
    assert sum_blocks(once, 2).total * fmpq(98, 100) <= sum_blocks(again, 2).total <= sum_blocks(once, 2).total
    assert sum_blocks(once, 2).total < sum_blocks(ledger.blocks, 2).total / 10
