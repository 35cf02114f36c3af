"""Proposition 2: the limit, the identity, the bound, definiteness."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from flint import arb, ctx, fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.functional_gd import bayes
from proofs.functional_gd.bayes import (
    DEFINITE,
    INDEFINITE,
    SINGULAR,
    UNDECIDED,
    check_distance,
    classify,
    contracts,
    solve,
)
from proofs.functional_gd.descent import combine, kernel_table
from proofs.kernel.errors import LimitReached, Status, UsageError
from tests.functional_gd.contexts import (
    EIGENVALUES,
    OUTSIDE,
    THREE,
    TWO,
    claim_of,
    contexts,
    make_context,
    number,
    small,
)
from tests.functional_gd.contexts import (
    INDEFINITE as RELU_INDEFINITE,
)
from tests.functional_gd.contexts import SINGULAR as RANK_ONE


def statuses(verdict):
    return {item.name: item.status for item in verdict.obligations}


@pytest.mark.parametrize(
    ("context", "kernel", "steps", "limit"),
    [
        (TWO, "linear", "1/2,1/3,1/4", "5/2"),
        (TWO, "polynomial:2", "1/8,1/10,1/12", "611/243"),
        (EIGENVALUES, "linear", "1,1/3", "10/3"),
    ],
)
def test_limits(context, kernel, steps, limit):
    verdict = check_distance(context, claim_of(context, kernel, steps))
    assert verdict.facts["limit"] == limit
    assert verdict.status is Status.VERIFIED


def test_error_is_the_difference():
    facts = check_distance(TWO, claim_of(TWO, "linear", "1/2,1/3,1/4")).facts
    assert number(facts["limit"]) - number(facts["prediction"]) == number(facts["error"]) == number("31/192")
    assert check_distance(EIGENVALUES, claim_of(EIGENVALUES, "linear", "1,1/3")).facts["error"] == "0"


@pytest.mark.parametrize(("layers", "error"), [(5, "0.27981509"), (40, "2.1856859e-4")])
def test_exp(layers, error):
    claim = claim_of(THREE, "exp", "1/8", layers)
    least, most = number(error) - fmpq(1, 10**8), number(error) + fmpq(1, 10**8)
    assert check_distance(THREE, claim, within=most).status is Status.VERIFIED
    assert check_distance(THREE, claim, within=least).status is Status.REFUTED
    assert check_distance(THREE, claim).facts["limit"].startswith("[2.880539644")


@pytest.mark.parametrize("loss", ["half-sum", "sum", "mean"])
@pytest.mark.parametrize("kernel", ["linear", "polynomial:2", "exp", "softmax"])
def test_the_identity_holds_for_every_loss(kernel, loss):
    verdict = check_distance(TWO, claim_of(TWO, kernel, "1/16,1/8", loss=loss))
    assert statuses(verdict)["identity"] is Status.VERIFIED


def test_a_broken_identity_is_refuted(monkeypatch):
    right = bayes.run_descent
    monkeypatch.setattr(bayes, "run_descent", lambda table, context, claim: right(table, context, claim)[:-1])
    for kernel in ("linear", "exp"):
        assert statuses(check_distance(TWO, claim_of(TWO, kernel, "1/8", 3)))["identity"] is Status.REFUTED


def test_softmax_has_another_limit_than_exp():
    claim = claim_of(THREE, "softmax", "1", 400)
    verdict = check_distance(THREE, claim, within=fmpq(1, 10**9))
    assert verdict.status is Status.VERIFIED
    exp = check_distance(THREE, claim_of(THREE, "exp", "1", 1)).facts["limit"]
    assert verdict.facts["limit"][:8] != exp[:8]
    with ctx.workprec(200):  # nu^T E^-1 (D Y) / Z(x)
        table = kernel_table(claim_of(THREE, "exp", "1").kernel, THREE, True)
        weighted = [sum(column, arb(0)) * y for column, y in zip(table.columns, THREE.labels, strict=True)]
        limit = combine(solve(table.columns, weighted), table.nu) / sum(table.nu, arb(0))
        assert verdict.facts["limit"][1:12] == limit.str(20)[1:12]


# ------------------------------------------------------------------------------------------------------------ bounds


def test_the_bound_holds_and_needs_the_contraction():
    claim = claim_of(TWO, "linear", "1/2", 6)
    assert check_distance(TWO, claim, q=number("3/4")).status is Status.VERIFIED
    verdict = check_distance(TWO, claim, q=number("1/2"))
    assert statuses(verdict)["contraction"] is Status.REFUTED
    assert "bound" not in statuses(verdict)
    for q in ("1", "-1/2"):
        assert statuses(check_distance(TWO, claim, q=number(q)))["contraction"] is Status.REFUTED


@pytest.mark.parametrize(("kernel", "pseudo_inverse"), [("softmax", False), ("linear", True)])
def test_a_bound_that_does_not_exist_is_not_left_out_in_silence(kernel, pseudo_inverse):
    with pytest.raises(UsageError, match="no bound"):
        check_distance(TWO, claim_of(TWO, kernel, "1/2"), q=number("1/2"), pseudo_inverse=pseudo_inverse)


def test_one_wide_ball_among_narrow_ones_is_no_identity(monkeypatch):
    right = bayes.run_descent

    def widened(table, context, claim):
        states = right(table, context, claim)
        wide = [*states[-1].residuals[:-1], states[-1].residuals[-1] + arb(0, 1)]
        return [*states[:-1], replace(states[-1], residuals=wide)]

    monkeypatch.setattr(bayes, "run_descent", widened)
    assert statuses(check_distance(TWO, claim_of(TWO, "exp", "1/8", 3)))["identity"] is Status.UNDECIDED


def test_the_value_at_the_query_may_replace_the_quadratic_form_only_for_a_semidefinite_extended_matrix():
    claim = claim_of(OUTSIDE, "relu", "1/8", 0)
    verdict = check_distance(OUTSIDE, claim, q=number("99/100"))
    assert verdict.status is Status.VERIFIED
    assert verdict.facts["error"] == "3"
    assert verdict.obligations[-1].detail == "error^2 <= 9"
    assert INDEFINITE in verdict.facts["extended"]
    table = kernel_table(claim.kernel, OUTSIDE, False)
    labels = list(OUTSIDE.labels)
    assert table.own * combine(solve(table.columns, labels), labels) == 6  # would say 9 <= 6


def test_contraction_is_decided_exactly_at_its_edge():
    gram = [[fmpq(2), fmpq(1)], [fmpq(1), fmpq(2)]]  # eigenvalues 1 and 3
    half = fmpq(1, 2)
    assert contracts(gram, half, half) == SINGULAR
    assert contracts(gram, half, half - fmpq(1, 2**200)) == INDEFINITE
    assert contracts(gram, half, half + fmpq(1, 2**200)) == DEFINITE
    assert contracts([[arb(2), arb(1)], [arb(1), arb(2)]], half, half) == UNDECIDED


# ------------------------------------------------------------------------------------------------------ definiteness


def test_relu_is_refused_with_the_failing_minor():
    verdict = check_distance(RELU_INDEFINITE, claim_of(RELU_INDEFINITE, "relu", "1/8", 2))
    assert statuses(verdict) == {"definite": Status.REFUTED}
    assert "the minor of rows 1, 2, 3, 4 is -1" in verdict.obligations[0].detail
    again = check_distance(RELU_INDEFINITE, claim_of(RELU_INDEFINITE, "relu", "1/8", 2), pseudo_inverse=True)
    assert again.status is Status.REFUTED


def test_a_singular_gram_matrix_needs_the_pseudo_inverse():
    claim = claim_of(RANK_ONE, "linear", "1/5", 1)
    verdict = check_distance(RANK_ONE, claim)
    assert verdict.status is Status.REFUTED
    assert "pseudo-inverse" in verdict.obligations[0].detail
    verdict = check_distance(RANK_ONE, claim, pseudo_inverse=True)
    assert verdict.status is Status.VERIFIED
    assert verdict.facts["limit"] == "9/5"  # least squares: (1 + 8) / (1 + 4)
    assert verdict.facts["error"] == "0"


def test_solving_with_wide_balls_is_a_limit():
    wide = arb(0, 1)
    with pytest.raises(LimitReached):
        solve([[wide, wide], [wide, wide]], [arb(1), arb(1)])


def naive(matrix):
    """By all principal minors."""
    n = len(matrix)
    minors = [
        fmpq_mat([[matrix[i][j] for j in rows] for i in rows]).det()
        for k in range(1, n + 1)
        for rows in combinations(range(n), k)
    ]
    return DEFINITE if all(m > 0 for m in minors) else SINGULAR if all(m >= 0 for m in minors) else INDEFINITE


@st.composite
def symmetric(draw):
    n = draw(st.integers(1, 4))
    if draw(st.booleans()):  # a Gram matrix: semidefinite
        F = fmpq_mat(
            [
                draw(st.lists(st.integers(-1, 2).map(fmpq), min_size=n, max_size=n))
                for _ in range(draw(st.integers(1, 4)))
            ]
        )
        return (F.transpose() * F).tolist()
    entries = {(i, j): draw(st.integers(-1, 2)) for i in range(n) for j in range(i, n)}
    return [[fmpq(entries[min(i, j), max(i, j)]) for j in range(n)] for i in range(n)]


@given(symmetric())
@settings(max_examples=150)
def test_definiteness_is_that_of_all_principal_minors(matrix):
    kind, reason = classify(matrix)
    assert kind == naive(matrix)
    if kind != DEFINITE:  # the minor that is named is the minor
        rows = [int(k) - 1 for k in reason.split("rows ")[1].split(" is ")[0].split(", ")]
        assert fmpq_mat([[matrix[i][j] for j in rows] for i in rows]).det() == number(reason.split(" is ")[1])


@given(symmetric())
@settings(max_examples=60)
def test_balls_never_say_what_is_false(matrix):
    kind, _ = classify([[arb(x) for x in row] for row in matrix])
    assert kind in (UNDECIDED, naive(matrix))


@given(contexts(max_points=3), st.sampled_from(["linear", "polynomial:2", "relu"]), st.lists(small, max_size=3))
@settings(max_examples=60)
def test_the_identity_never_fails(context, kernel, steps):
    text = ",".join(f"{s.p}/{s.q}" for s in steps) or "0"
    for pseudo in (False, True):
        found = statuses(check_distance(context, claim_of(context, kernel, text), pseudo_inverse=pseudo))
        assert found.get("identity", Status.VERIFIED) is Status.VERIFIED


def test_a_query_that_makes_the_gram_matrix_indefinite_has_no_limit_on_request():
    context = make_context([(0,)], (1,), (1,))
    verdict = check_distance(context, claim_of(context, "-1*linear", "1/2"), pseudo_inverse=True)  # G = 0, K(x, x) = -1
    assert verdict.status is Status.REFUTED
