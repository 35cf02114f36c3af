"""Step sizes: found by search, certified by definiteness."""

from __future__ import annotations

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.functional_gd import advice
from interp.functional_gd.advice import advise, gram_rows
from proofs.functional_gd.bayes import DEFINITE, SINGULAR, check_distance, classify, contracts
from proofs.functional_gd.decode import parse_kernel
from proofs.kernel.errors import MalformedInput, Status
from tests.functional_gd.contexts import EIGENVALUES, INDEFINITE, THREE, TWO, claim_of, contexts
from tests.functional_gd.contexts import SINGULAR as RANK_ONE


def shifted(gram, factor, shift):
    return [[factor * x + (shift if i == j else 0) for j, x in enumerate(row)] for i, row in enumerate(gram)]


def test_eigenvalues_one_and_three():
    found = advise(EIGENVALUES, parse_kernel("linear", 3), "half-sum")
    assert found.exact == (1, fmpq(1, 3))
    assert found.best == fmpq(1, 2)  # 2 / (1 + 3)
    assert found.contraction == fmpq(1, 2)
    assert found.largest == fmpq(2**17 // 3, 2**16)  # the largest below 2/3


@pytest.mark.parametrize(("loss", "factor"), [("sum", fmpq(2)), ("mean", fmpq(1))])
def test_the_loss_convention(loss, factor):
    plain, other = (advise(EIGENVALUES, parse_kernel("linear", 3), name) for name in ("half-sum", loss))
    assert other.largest * factor == plain.largest
    claim = claim_of(EIGENVALUES, "linear", ",".join(f"{r.p}/{r.q}" for r in other.exact), loss=loss)
    assert check_distance(EIGENVALUES, claim).facts["error"] == "0"


@pytest.mark.parametrize("kernel", ["exp", "polynomial:2"])
def test_the_advice_is_certified(kernel):
    found = advise(THREE, parse_kernel(kernel, 2), "half-sum")
    gram = gram_rows(THREE, parse_kernel(kernel, 2))
    step = fmpq(1, 2**16)
    assert classify(shifted(gram, -found.largest, fmpq(2)))[0] == DEFINITE
    assert classify(shifted(gram, -found.largest - step, fmpq(2)))[0] != DEFINITE
    assert found.contraction < 1
    assert contracts(gram, found.best, found.contraction) in (DEFINITE, SINGULAR)
    assert contracts(gram, found.best, found.contraction - step) not in (DEFINITE, SINGULAR)
    assert found.exact == ()
    text = f"{found.best.p}/{found.best.q}"
    assert check_distance(THREE, claim_of(THREE, kernel, text, 8), q=found.contraction).status is Status.VERIFIED


def test_refusals():
    with pytest.raises(MalformedInput, match="minor of rows 1, 2, 3, 4 is -1"):
        advise(INDEFINITE, parse_kernel("relu", 2), "half-sum")
    with pytest.raises(MalformedInput, match="singular"):
        advise(RANK_ONE, parse_kernel("linear", 2), "half-sum")
    with pytest.raises(MalformedInput, match="softmax"):
        advise(TWO, parse_kernel("softmax", 2), "half-sum")


@given(contexts(max_points=3), st.sampled_from(["polynomial:2", "linear"]))
@settings(max_examples=40)
def test_exact_steps_reach_the_limit(context, kernel):
    gram = gram_rows(context, parse_kernel(kernel, 2))
    if classify(gram)[0] == DEFINITE and (rates := advice.find_exact_rates(gram)):
        claim = claim_of(context, kernel, ",".join(f"{r.p}/{r.q}" for r in rates))
        assert check_distance(context, claim).facts["error"] == "0"
