"""Running error bounds: each operation against exact or high-precision values, and what NaN may do."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.boolean import running
from proofs.boolean.running import Running

points = st.floats(-720, 0) | st.floats(-1, 0) | st.floats(-1e-300, 0)
numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
fractions = st.fractions(-1000, 1000, max_denominator=999).map(lambda x: fmpq(x.numerator, x.denominator))


def rational(x: float) -> fmpq:
    return fmpq(*float(x).as_integer_ratio())


def worst_exp_error(values) -> float:
    """The largest relative error of approx_exp, as a part of the proved one."""
    worst = 0.0
    with ctx.workprec(150):
        for x, found in zip(values, running.approx_exp(np.array(values)), strict=True):
            true = arb(rational(max(x, running.CUT))).exp()
            worst = max(worst, float(abs(arb(rational(found)) / true - 1).upper()) / running.EXP_ERROR)
    return worst


def test_exp_on_a_grid_of_all_reductions():
    grid = [-k * 0.34657359 for k in range(2021)] + [-k / 64 - 1e-9 for k in range(300)]
    assert 0.1 <= worst_exp_error(grid) <= 1  # the proved bound is no exaggeration either


@given(st.lists(points, min_size=1, max_size=20))
def test_exp(values):
    assert worst_exp_error(values) <= 1


def test_a_wrong_coefficient_is_seen(monkeypatch):
    broken = list(running.EXP_COEFFICIENTS)
    broken[6] *= 1 + 1e-4
    monkeypatch.setattr(running, "EXP_COEFFICIENTS", tuple(broken))
    assert worst_exp_error([-0.3, -5.2]) > 1


def test_a_wrong_logarithm_is_seen(monkeypatch):
    monkeypatch.setattr(running, "LN2_LOW", 0.0)
    assert worst_exp_error([-0.3, -500.2]) > 1


def test_constants():
    with ctx.workprec(200):
        two = arb(2).log()
        assert abs(two - arb(rational(running.LN2_HIGH)) - arb(rational(running.LN2_LOW))) < arb(fmpq(1, 2**85))
    assert (int(running.LN2_HIGH * 2**33)).bit_length() <= 33
    assert (running.LN2_HIGH * 2**33).is_integer()


@given(st.lists(st.floats(-400, 400) | st.floats(-1e-3, 1e-3), min_size=1, max_size=20), st.floats(0, 1e-3))
def test_tanh(values, error):
    found = running.tanh(Running(np.array(values), np.full(len(values), error)))
    with ctx.workprec(120):
        for x, value, bound in zip(values, found.value, found.error, strict=True):
            for moved in (rational(x), rational(x) + rational(error), rational(x) - rational(error)):
                assert abs(arb(moved).tanh() - arb(rational(value))) <= arb(rational(bound))


@given(st.lists(st.tuples(fractions, numbers, st.floats(0, 1)), min_size=1, max_size=8), fractions)
def test_products(rows, b):
    W = fmpq_mat(1, len(rows), [weight for weight, _, _ in rows])
    x = Running(np.array([v for _, v, _ in rows]), np.array([e for _, _, e in rows]))
    found = running.multiply(x, running.nearest_matrix(W), running.nearest_array((b,)))
    for sign in (-1, 0, 1):
        moved = [rational(v) + sign * (1 if w > 0 else -1) * rational(e) for w, v, e in rows]
        true = sum((w * m for (w, _, _), m in zip(rows, moved, strict=True)), b)
        assert abs(true - rational(found.value[0])) <= rational(found.error[0])


@given(
    st.lists(st.floats(-30, 30), min_size=2, max_size=6),
    st.lists(numbers, min_size=6, max_size=6),
    st.floats(0, 1e-4),
    st.lists(st.sampled_from([-1, 1]), min_size=6, max_size=6),
)
def test_attention(scores, values, error, directions):
    n = len(scores)
    s = Running(np.array([scores]), np.full((1, n), error))
    v = Running(np.array(values[:n])[:, None], np.full((n, 1), error))
    found = running.attend(s, v)
    with ctx.workprec(200):
        moved = [arb(rational(x) + d * rational(error)) for x, d in zip(scores, directions, strict=False)]
        shifted = [arb(rational(x) - d * rational(error)) for x, d in zip(values, directions, strict=False)][:n]
        weights = [x.exp() for x in moved]
        true = sum((w * x for w, x in zip(weights, shifted, strict=True)), arb(0)) / sum(weights, arb(0))
        assert abs(true - arb(rational(found.value[0, 0]))) <= arb(rational(found.error[0, 0]))


def test_scores_that_underflow_before_a_large_scale():
    tiny, scale_squared = Running(np.array([[2.0**-600]]), np.array([[running.TINY]])), fmpq(2) ** 890
    found = running.scores(tiny, tiny, scale_squared)
    assert found.value[0, 0] == 0
    assert fmpq(2) ** (445 - 1200) <= rational(found.error[0, 0])


def test_the_error_of_a_key_counts():
    exact, wide = Running(np.array([[1.0]]), np.zeros((1, 1))), Running(np.array([[1.0]]), np.array([[0.25]]))
    for q, k in ((exact, wide), (wide, exact)):
        assert running.scores(q, k, fmpq(4)).error[0, 0] >= 0.5


def test_a_token_that_is_no_double_has_an_error():
    found = running.exact_vector((fmpq(1, 3),))
    assert abs(fmpq(1, 3) - rational(found.value[0])) <= rational(found.error[0])


def test_the_rounding_of_a_bias_adds_to_that_of_the_sum():
    b, x = 1 + fmpq(1, 2**53) - fmpq(1, 2**100), 2.0**-53 - 2.0**-90  # both are lost: the value is 1
    found = running.multiply(Running(np.array([x]), np.zeros(1)), np.ones((1, 1)), running.nearest_array((b,)))
    assert abs(b + rational(x) - rational(found.value[0])) <= rational(found.error[0])


def test_the_rounding_of_a_difference_of_scores():
    high = 0.999 * 2.0**-45  # -400 - high is rounded to -400
    s = Running(np.array([[high, -400.0]]), np.zeros((1, 2)))
    found = running.attend(s, Running(np.array([[0.0], [2.0**600]]), np.zeros((2, 1))))
    with ctx.workprec(200):
        true = (arb(-400) - arb(rational(high))).exp() * arb(2) ** 600
        assert abs(true - arb(rational(found.value[0, 0]))) <= arb(rational(found.error[0, 0]))


def test_a_deviation_that_may_be_zero_has_no_norm():
    with np.errstate(all="ignore"):
        found = running.normalise(Running(np.array([1.0, 2.0]), np.full(2, 10.0)), 0.0, np.ones(2), np.zeros(2))
    assert not np.isfinite(found.error).any()


def test_attention_to_remote_scores():
    s = Running(np.array([[0.0, -5000.0]]), np.zeros((1, 2)))
    found = running.attend(s, Running(np.array([[0.0], [1e270]]), np.zeros((2, 1))))
    assert 0 < found.value[0, 0] <= found.error[0, 0]  # the true value is below 10^-1900
    s = Running(np.array([[0.0, -5000.0]]), np.zeros((1, 2)))
    found = running.attend(s, Running(np.array([[1.0], [1e200]]), np.zeros((2, 1))))
    assert abs(found.value[0, 0] - 1) <= found.error[0, 0]


@given(
    st.lists(st.floats(-100, 100), min_size=2, max_size=6),
    st.floats(0, 1e-6),
    st.lists(st.sampled_from([-1, 1]), min_size=6, max_size=6),
    st.sampled_from([fmpq(0), fmpq(1, 1000), fmpq(3)]),
    st.sampled_from([1.0, 1000.0]),
)
@settings(max_examples=200)
def test_layer_norm(values, error, directions, epsilon, gain):
    D = len(values)
    gains, zeros = np.full(D, gain), np.zeros(D)
    with np.errstate(all="ignore"):
        found = running.normalise(Running(np.array(values), np.full(D, error)), running.nearest(epsilon), gains, zeros)
    if not np.isfinite(found.error).all():
        return
    moved = [rational(x) + d * rational(error) for x, d in zip(values, directions, strict=False)]
    mean = sum(moved, fmpq(0)) / D
    variance = sum(((x - mean) ** 2 for x in moved), fmpq(0)) / D + epsilon
    with ctx.workprec(200):
        for x, value, bound in zip(moved, found.value, found.error, strict=True):
            assert abs(arb(x - mean) / arb(variance).sqrt() * arb(gain) - arb(rational(value))) <= arb(rational(bound))


def test_layer_norm_of_equal_numbers_is_nan():
    with np.errstate(all="ignore"):
        found = running.normalise(Running(np.full(4, 0.1), np.zeros(4)), 0.0, np.ones(4), np.zeros(4))
    assert not np.isfinite(found.error).any()


@pytest.mark.parametrize("number", [fmpq(2) ** 1000, fmpq(1, 1) / fmpq(2) ** 1000, -(fmpq(10) ** 400)])
def test_a_weight_that_is_no_comfortable_double_is_nan(number):
    assert np.isnan(running.nearest(number))
    assert running.nearest(fmpq(0)) == 0


def test_more_terms_than_the_bounds_are_made_for_give_nan():
    assert np.isnan(running.gamma(1 << 21))
    assert running.gamma(100) > 100 * running.UNIT


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["value", "error"])
def test_nan_and_infinity_never_disappear(bad, where):
    def spoiled(shape):
        arrays = {"value": np.ones(shape), "error": np.zeros(shape)}
        arrays[where][..., 0] = bad
        return Running(**arrays)

    with np.errstate(all="ignore"):
        good = Running(np.arange(4.0), np.zeros(4))
        results = [
            running.add(spoiled(4), good)[0:1],
            running.multiply(spoiled(4), np.zeros((1, 4))),
            running.relu(spoiled(4))[0:1] if where == "error" or np.isnan(bad) else None,
            running.tanh(spoiled(4))[0:1] if where == "error" or np.isnan(bad) else None,
            running.normalise(spoiled(4), 1.0, np.ones(4), np.zeros(4)),
            running.attend(spoiled((1, 4)), Running(np.ones((4, 1)), np.zeros((4, 1)))),
            running.scores(spoiled((1, 4)), Running(np.zeros((1, 4)), np.zeros((1, 4))), fmpq(1)),
        ]
    for result in results:
        assert result is None or not (np.isfinite(result.value) & np.isfinite(result.error)).any()
