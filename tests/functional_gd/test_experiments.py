"""The experiments are reproducible, and their losses are those of the definition."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx, fmpq

from interp.functional_gd import experiments
from interp.functional_gd.build import build_descent
from interp.functional_gd.experiments import certify_loss, choose_steps, draw_tasks, find_winner, measure, measure_bayes
from proofs.functional_gd.check import check_descent
from proofs.functional_gd.decode import parse_kernel
from proofs.functional_gd.model import Claim
from proofs.kernel.errors import Status
from tests.functional_gd import reference

LINEAR = parse_kernel("linear", 5)


def test_tasks_are_dyadic_and_come_from_the_seed():
    first, again, other = (draw_tasks.__wrapped__("exp", 3, 2, seed) for seed in ("a", "a", "b"))
    assert first == again != other
    for task in first:
        assert all(2**8 % int(x.q) == 0 for point in task.context.points for x in point)
        assert all(abs(sum(x * x for x in point) - 1) < fmpq(1, 50) for point in task.context.points)
        assert 2**12 % int(task.target.q) == 0


def test_an_exact_loss_is_that_of_the_definition():
    tasks, steps = draw_tasks("linear", 3, 2, "t"), (fmpq(1, 4), fmpq(1, 8))
    total = Fraction(0)
    for task in tasks:
        *_, last = reference.forward(build_descent(task.context, Claim(LINEAR, steps)), task.context)
        total += (last[-1][-1] + reference.fraction(task.target)) ** 2
    assert reference.fraction(certify_loss(tasks, LINEAR, steps)) == total / 2


@pytest.mark.parametrize("name", experiments.ACTIVATIONS)
def test_the_measured_transformers_are_verified(name):
    kernel = parse_kernel(name, 5)
    task = draw_tasks("exp", 4, 1, "v")[0]
    claim = Claim(kernel, choose_steps(draw_tasks("exp", 4, 4, "w"), kernel, 2))
    assert check_descent(task.context, claim, build_descent(task.context, claim)).status is Status.VERIFIED


def test_balls_are_narrow():
    loss = certify_loss(draw_tasks("exp", 4, 2, "b"), parse_kernel("softmax", 5), (fmpq(1),) * 7)
    assert loss.rad() < fmpq(1, 2**100)


def test_matching_steps_are_close_to_the_limit():
    point = measure("exp", "exp", 2, 6, 4, "m")
    with ctx.workprec(100):
        assert abs(arb(1) * point.loss - measure_bayes("exp", 2, 4, "m")) < fmpq(1, 2)
    assert measure_bayes("linear", 6, 4, "m") is None  # six points of dimension five


def test_a_winner_is_certain():
    with ctx.workprec(64):
        assert find_winner({"a": fmpq(1), "b": arb(2, fmpq(1, 2))}) == "a"
        assert find_winner({"a": fmpq(1), "b": arb(1, 1)}) is None
