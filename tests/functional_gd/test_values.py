"""The worked examples, with their exact values."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx, fmpq

from interp.functional_gd.build import build_descent
from proofs.functional_gd.descent import kernel_table, run_descent
from proofs.functional_gd.forward import run_forward
from proofs.kernel.errors import Status
from tests.functional_gd import reference
from tests.functional_gd.contexts import EIGENVALUES, RELU, THREE, TWO, claim_of, number, vector, verdict_of

EXACT = {
    ("linear", "1/2,1/3,1/4"): (0, 2, "9/4", "449/192"),
    ("polynomial:2", "1/8,1/10,1/12"): (0, "33/16", "5941/2560", "1178699/491520"),
    ("linear[1]+1/2*polynomial:2[2]", "1/4,1/5,1/6"): (0, "13/8", "79/40", "1343/640"),
}


@pytest.mark.parametrize(("kernel", "steps"), EXACT)
def test_predictions_of_both_sides(kernel, steps):
    claim = claim_of(TWO, kernel, steps)
    states = list(run_forward(build_descent(TWO, claim), TWO, fmpq))
    expected = list(vector(*EXACT[kernel, steps]))
    assert [-Z[-1][-1] for Z in states] == expected
    descent = run_descent(kernel_table(claim.kernel, TWO, balls=False), TWO, claim)
    assert [state.prediction for state in descent] == expected
    assert verdict_of(TWO, kernel, steps).status is Status.VERIFIED


def test_residuals():
    claim = claim_of(TWO, "linear", "1/2,1/3,1/4")
    *_, last = run_forward(build_descent(TWO, claim), TWO, fmpq)
    assert last[-1][:2] == list(vector("-19/192", "27/128"))
    assert [row[:] for row in last[:2]] == [list(vector(1, "1/2", 1)), list(vector(0, 1, 1))]


def test_one_layer_for_each_eigenvalue_is_exact():
    claim = claim_of(EIGENVALUES, "linear", "1,1/3")
    *_, last = run_forward(build_descent(EIGENVALUES, claim), EIGENVALUES, fmpq)
    assert -last[-1][-1] == number("10/3")
    assert last[-1][:2] == [0, 0]


def test_the_mask_takes_the_whole_row_of_the_query_away():
    claim = claim_of(RELU, "relu", "1/3", 3)
    transformer = build_descent(RELU, claim)
    *_, last = run_forward(transformer, RELU, fmpq)
    assert last[-1][2] == number("-29/27")
    right, leaky, blind = (reference.forward(transformer, RELU, kind)[-1][-1] for kind in ("keys", "corner", "queries"))
    assert right == [reference.fraction(x) for x in last[-1]]
    assert right[2] == Fraction(-29, 27)
    assert leaky[2] == Fraction(-31, 27)
    assert blind[:3] == right[:3]
    assert blind[3] == 0 != right[3]


@pytest.mark.parametrize(("layers", "error"), [(5, "0.27981509"), (40, "2.1856859e-4")])
def test_exp(layers, error):
    claim = claim_of(THREE, "exp", "1/8", layers)
    with ctx.workprec(300):
        *_, last = run_forward(build_descent(THREE, claim), THREE, arb)
        found = number("2.88053964454") + last[-1][-1]
        assert abs(found - number(error)) < fmpq(1, 10**8)
    assert verdict_of(THREE, "exp", "1/8", layers).status is Status.VERIFIED


def test_softmax_step_is_smoothing():
    claim = claim_of(THREE, "softmax", "1", 1)
    with ctx.workprec(200):
        *_, last = run_forward(build_descent(THREE, claim), THREE, arb)
        for j, z in enumerate((*THREE.points, THREE.query)):
            weights = [arb(sum(a * b for a, b in zip(x, z, strict=True))).exp() for x in THREE.points]
            mean = sum(w * y for w, y in zip(weights, THREE.labels, strict=True)) / sum(weights)
            before = THREE.labels[j] if j < 3 else fmpq(0)
            assert abs(last[-1][j] - (before - mean)) < fmpq(1, 2**180)


def test_four_hundred_softmax_layers_need_the_precision_rule():
    # at 160 bits naive balls end with a radius of 1e73 or so
    claim = claim_of(THREE, "softmax", "1", 400)
    with ctx.workprec(160):
        *_, last = run_forward(build_descent(THREE, claim), THREE, arb)
        assert last[-1][-1].rad() > 1
    verdict = verdict_of(THREE, "softmax", "1", 400)
    assert verdict.status is Status.VERIFIED


@pytest.mark.parametrize(("loss", "factor"), [("half-sum", 1), ("sum", 2), ("mean", fmpq(2, 3))])
@pytest.mark.parametrize("kernel", ["linear", "exp"])
def test_the_loss_convention_scales_the_step(loss, factor, kernel):
    claim = claim_of(THREE, kernel, "1/7", 2, loss=loss)
    (head,), _ = build_descent(THREE, claim).layers
    assert head.rho == -factor * fmpq(1, 7)
    assert verdict_of(THREE, kernel, "1/7", 2, loss=loss).status is Status.VERIFIED
