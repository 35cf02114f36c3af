"""The verdict: both sides broken in turn, witnesses changed, claims changed, and what stays undecided."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flint import arb, fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.functional_gd.build import build_descent
from proofs.functional_gd import check, descent, forward
from proofs.functional_gd.check import Verdict, check_descent
from proofs.functional_gd.model import Transformer, parse_activation, scaled_identity
from proofs.kernel.errors import LimitReached, Status
from proofs.kernel.rational import Limits
from tests.functional_gd import reference
from tests.functional_gd.contexts import (
    BALL_KERNELS,
    RATIONAL_KERNELS,
    RELU,
    THREE,
    TWO,
    claim_of,
    contexts,
    make_context,
    small,
    verdict_of,
)

KERNELS = [*RATIONAL_KERNELS, *BALL_KERNELS]
NEARLY_ONE = 1 + fmpq(1, 10**9)


def changed(transformer: Transformer, layer: int, **fields) -> Transformer:
    """One head of one layer changed."""
    layers = list(transformer.layers)
    layers[layer] = (replace(layers[layer][0], **fields), *layers[layer][1:])
    return replace(transformer, layers=tuple(layers))


def statuses(verdict: Verdict) -> dict[str, Status]:
    return {item.name: item.status for item in verdict.obligations}


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_built_is_verified(kernel):
    verdict = verdict_of(THREE, kernel, "1/8,1/3,-1/5")
    assert verdict.status is Status.VERIFIED, verdict
    assert ("layers" in statuses(verdict)) == (kernel in BALL_KERNELS)


# ------------------------------------------------------------------------------------------------- one side broken


def leaky_layer(heads, Z, convert):
    """The mask of the corner entry only: the query becomes a key of the context."""
    right = forward_layer(heads, Z, convert)
    d, n = len(Z) - 1, len(Z[0]) - 1
    for head in heads:
        extended = [[*row, row[n]] for row in Z]  # the query as key n, then as the column that is never a key
        H = forward.attention(head, extended[:d], convert)
        for j in range(n):
            right[d][j] = right[d][j] + convert(head.rho) * Z[d][n] * H[n][j]
    return right


forward_layer = forward.apply_layer


@pytest.mark.parametrize("kernel", ["relu", "polynomial:2", "exp"])
def test_a_leaky_forward_pass_is_refuted(monkeypatch, kernel):
    monkeypatch.setattr(forward, "apply_layer", leaky_layer)
    assert verdict_of(RELU, kernel, "1/3", 3).status is Status.REFUTED


def test_the_leaky_forward_pass_gives_the_known_wrong_value(monkeypatch):
    monkeypatch.setattr(forward, "apply_layer", leaky_layer)
    transformer = build_descent(RELU, claim_of(RELU, "relu", "1/3", 3))
    *_, last = forward.run_forward(transformer, RELU, fmpq)
    assert last[-1][2] == fmpq(-31, 27)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_broken_descent_is_refuted(monkeypatch, kernel):
    right = descent._profile
    monkeypatch.setattr(descent, "_profile", lambda term, scores: [value * NEARLY_ONE for value in right(term, scores)])
    assert verdict_of(THREE, kernel, "1/8", 3).status is Status.REFUTED


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_broken_activation_is_refuted(monkeypatch, kernel):
    right = forward._activate

    def broken(activation, scores, convert):
        return [[value * NEARLY_ONE for value in row] for row in right(activation, scores, convert)]

    monkeypatch.setattr(forward, "_activate", broken)
    assert verdict_of(THREE, kernel, "1/8", 3).status is Status.REFUTED


def test_the_two_sides_share_no_code():
    for module, other in ((forward, "descent"), (descent, "forward")):
        assert other not in vars(module)
        names = {getattr(value, "__module__", "") for value in vars(module).values()}
        assert f"proofs.functional_gd.{other}" not in names


# ------------------------------------------------------------------------------------------------ changed witnesses


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "fields",
    [
        {"rho": fmpq(-1, 7)},
        {"rho": fmpq(0)},
        {"A": fmpq_mat([[fmpq(0), fmpq(1, 10**6)], [fmpq(0), fmpq(0)]])},
        {"B": fmpq_mat([[fmpq(1), fmpq(1, 1000)], [fmpq(0), fmpq(1)]])},
        {"activation": parse_activation("polynomial:5")},
    ],
    ids=["rho", "rho-zero", "A", "B", "h"],
)
def test_a_changed_head_is_refuted(kernel, fields):
    claim = claim_of(THREE, kernel, "1/8,1/3,1/5")
    transformer = build_descent(THREE, claim)
    if "B" in fields and transformer.layers[1][0].B.nrows() != 2:
        fields = {"C": 2 * transformer.layers[1][0].B}
    assert check_descent(THREE, claim, changed(transformer, 1, **fields)).status is Status.REFUTED


def test_the_number_of_layers_and_the_dimension_are_the_claims():
    claim = claim_of(TWO, "linear", "1/2,1/3")
    transformer = build_descent(TWO, claim)
    fewer = replace(transformer, layers=transformer.layers[:1])
    more = replace(transformer, layers=(*transformer.layers, ()))
    wider = replace(transformer, dimension=3)
    for wrong in (fewer, more, wider):
        verdict = check_descent(TWO, claim, wrong)
        assert statuses(verdict) == {"shape": Status.REFUTED}
    assert check_descent(TWO, claim_of(TWO, "linear", "1/2", 0), Transformer(2, ())).status is Status.VERIFIED


def test_other_heads_with_the_same_values_are_accepted():
    claim = claim_of(TWO, "linear", "1/2")
    (head,) = build_descent(TWO, claim).layers[0]
    scaled = replace(head, B=head.B * 2, C=head.C * fmpq(1, 2))
    halves = (replace(head, rho=head.rho * fmpq(1, 3)), replace(head, rho=head.rho * fmpq(2, 3)))
    for heads in ((scaled,), halves):
        assert check_descent(TWO, claim, Transformer(2, (heads,))).status is Status.VERIFIED
    claim = claim_of(TWO, "exp", "1/2")
    (head,) = build_descent(TWO, claim).layers[0]
    scaled = replace(head, B=head.B * 2, C=head.C * fmpq(1, 2))
    assert check_descent(TWO, claim, Transformer(2, ((scaled,),))).status is Status.VERIFIED


# --------------------------------------------------------------------------------------- identities of exponentials


def test_a_step_that_is_wrong_by_less_than_any_ball_is_refuted_by_the_identity():
    claim = claim_of(TWO, "exp", "1/8", 2, target_bits=20)
    transformer = build_descent(TWO, claim)
    wrong = changed(transformer, 1, rho=fmpq(-1, 8) + fmpq(1, 2**5000))
    assert statuses(check_descent(TWO, claim, wrong)) == {
        "shape": Status.VERIFIED,
        "layers": Status.REFUTED,
        "values": Status.VERIFIED,
    }


@pytest.mark.parametrize("kernel", ["exp", "softmax"])
def test_a_head_that_would_move_other_points_is_no_fault(kernel):
    context = make_context([(1, 1), (2, 2)], (1, 2), (3, 1))
    claim = claim_of(context, kernel, "1/8")
    transformer = build_descent(context, claim)
    still = changed(transformer, 0, A=fmpq_mat([[1, -1], [1, -1]]))  # A x_i = 0
    assert check_descent(context, claim, still).status is Status.VERIFIED
    moving = changed(transformer, 0, A=fmpq_mat([[0, fmpq(1, 2**5000)], [0, 0]]))  # by less than any ball
    status = Status.REFUTED if kernel == "exp" else Status.UNDECIDED
    assert statuses(check_descent(context, claim, moving))["layers"] is status


def test_updates_of_a_point_that_cancel_are_no_fault():
    context = make_context([(1, 0), (-1, 0)], (1, 2), (0, 1))
    claim = claim_of(context, "exp", "1/8")
    (head,) = build_descent(context, claim).layers[0]
    mover = replace(head, B=head.B * 0, A=scaled_identity(2, fmpq(1)), rho=fmpq(0))  # adds e^0 (x_1 + x_2) = 0
    assert check_descent(context, claim, Transformer(2, ((head, mover),))).status is Status.VERIFIED


def test_a_wrong_layer_that_shows_for_other_labels_only_or_at_the_query_only():
    context = make_context([(1, 0), (-1, 0)], (1, 1), (0, 1))
    claim = claim_of(context, "exp", "1/8")
    (head,) = build_descent(context, claim).layers[0]
    spare = replace(head, activation=parse_activation("linear"), rho=fmpq(1))  # adds sum_i y_i <x_i, z>, here 0
    at_query = replace(spare, C=fmpq_mat([[0, 1], [0, 0]]))
    for wrong, place in ((spare, "point 0"), (at_query, "the query")):
        verdict = check_descent(context, claim, Transformer(2, ((head, wrong),)))
        assert statuses(verdict) == {"shape": Status.VERIFIED, "layers": Status.REFUTED, "values": Status.VERIFIED}
        assert place in verdict.obligations[1].detail


def test_zero_labels_do_not_hide_a_wrong_layer():
    context = make_context([(1, 0), (0, 1)], (0, 0), (1, 1))
    claim = claim_of(context, "exp", "1/8")
    wrong = changed(build_descent(context, claim), 0, rho=fmpq(5))
    assert statuses(check_descent(context, claim, wrong))["layers"] is Status.REFUTED
    claim = claim_of(context, "linear", "1/8")  # a rational claim is about this context alone
    assert (
        check_descent(context, claim, changed(build_descent(context, claim), 0, rho=fmpq(5))).status is Status.VERIFIED
    )


def test_a_transcendental_head_for_a_rational_claim():
    claim = claim_of(TWO, "linear", "1/8")
    (head,) = build_descent(TWO, claim).layers[0]
    spare = replace(head, activation=parse_activation("exp"), rho=fmpq(1, 2**90))
    cancelled = (head, spare, replace(spare, rho=-spare.rho))
    assert check_descent(TWO, claim, Transformer(2, (cancelled,))).status is Status.VERIFIED
    assert check_descent(TWO, claim, Transformer(2, ((head, spare),))).status is Status.UNDECIDED
    exp = replace(head, activation=parse_activation("exp"))
    assert check_descent(TWO, claim, Transformer(2, ((exp,),))).status is Status.REFUTED


def test_an_unusual_softmax_identity_is_left_undecided():
    # one key: softmax is 1, which is also (1 + <0, 0>)^1; equal, but not seen to be equal
    context = make_context([(1, 0)], (1,), (1, 1))
    claim = claim_of(context, "softmax", "1/2")
    (head,) = build_descent(context, claim).layers[0]
    one = replace(head, activation=parse_activation("polynomial:1"), B=head.B * 0, C=head.C * 0)
    found = statuses(check_descent(context, claim, Transformer(2, ((one,),))))
    assert found == {"shape": Status.VERIFIED, "layers": Status.UNDECIDED, "values": Status.VERIFIED}


# ------------------------------------------------------------------------------------------------ verdicts and limits


def test_wide_balls_are_undecided_and_never_verified(monkeypatch):
    monkeypatch.setattr(check, "needed_bits", lambda *_: 10)
    verdict = verdict_of(THREE, "exp", "1/8", 40)
    assert verdict.status is Status.UNDECIDED
    assert statuses(verdict)["values"] is Status.UNDECIDED


def test_nan_is_undecided(monkeypatch):
    monkeypatch.setattr(forward, "_activate", lambda a, scores, c: [[arb("nan") for _ in row] for row in scores])
    assert statuses(verdict_of(TWO, "exp", "1/8"))["values"] is Status.UNDECIDED


def test_nothing_checked_is_no_verdict():
    assert Verdict("", (), {}).status is Status.FAULT


def test_limits():
    claim = claim_of(TWO, "linear", "1/3", 30)
    with pytest.raises(LimitReached):
        check_descent(TWO, claim, build_descent(TWO, claim), Limits(max_height=20))
    huge = make_context([(10**9, 0)], (1,), (10**9, 0))
    with pytest.raises(LimitReached):
        verdict_of(huge, "exp", "1", 3)


def test_the_precision_rule_grows_with_depth():
    with_bits = [
        check.needed_bits(
            THREE,
            claim_of(THREE, "exp", "1/8", n),
            descent.kernel_table(claim_of(THREE, "exp", "1").kernel, THREE, True),
        )
        for n in (1, 11)
    ]
    assert with_bits[1] >= with_bits[0] + 10


# ------------------------------------------------------------------------------------------------------- properties


@given(contexts(), st.sampled_from(RATIONAL_KERNELS), st.lists(small, min_size=1, max_size=3))
@settings(max_examples=60)
def test_both_sides_agree_exactly(context, kernel, steps):
    text = ",".join(f"{s.p}/{s.q}" for s in steps)
    verdict = verdict_of(context, kernel, text, loss="mean")
    assert verdict.status is Status.VERIFIED, verdict


@given(contexts(max_points=3), st.sampled_from(BALL_KERNELS), st.lists(small, min_size=1, max_size=3))
@settings(max_examples=40)
def test_both_sides_agree_in_balls(context, kernel, steps):
    text = ",".join(f"{s.p}/{s.q}" for s in steps)
    assert verdict_of(context, kernel, text).status is Status.VERIFIED


matrices = st.lists(st.lists(small, min_size=2, max_size=2), min_size=2, max_size=2).map(fmpq_mat)


@st.composite
def transformers(draw):
    """Arbitrary rational heads: nothing that a builder would write."""
    name = st.sampled_from(["linear", "relu", "polynomial:2"]).map(parse_activation)
    heads = st.lists(st.builds(forward.Head, name, matrices, matrices, matrices, small), max_size=2).map(tuple)
    return Transformer(2, tuple(draw(st.lists(heads, max_size=2))))


@given(contexts(max_points=3), transformers())
@settings(max_examples=60)
def test_the_forward_pass_is_the_definition(context, transformer):
    found = [
        [[reference.fraction(x) for x in row] for row in Z] for Z in forward.run_forward(transformer, context, fmpq)
    ]
    assert found == reference.forward(transformer, context)
