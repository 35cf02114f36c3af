"""Verdicts: what is undecided stays undecided, claims are compared string by string, jobs change nothing."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

from interp.boolean.constructions import build_first, build_majority, build_parity
from interp.boolean.initialise import draw_encoder
from proofs.boolean import check, signs
from proofs.boolean.check import Claim, check_encoder, pack_table, unpack_table
from proofs.boolean.functions import parse_function
from proofs.boolean.model import Block, Encoder, Head
from proofs.boolean.profile import compute_profile
from proofs.boolean.running import Running
from proofs.boolean.signs import NEGATIVE, POSITIVE, UNDECIDED, UNDEFINED, find_signs, float_above, float_below
from proofs.kernel.errors import LimitReached, MalformedInput, Status, UsageError
from tests.boolean.encoders import linear_encoder

THIRD = fmpq(1, 3)


def statuses(verdict) -> dict[str, Status]:
    return {item.name: item.status for item in verdict.obligations}


def signs_of(encoder, bits, precision=4096, jobs=1):
    return find_signs(encoder, bits, fmpq(0), precision, jobs)


def test_a_linear_threshold_function_with_known_values():
    weights, omega, bits = (3, -2, 5, 1), fmpq(-11, 10), 4
    encoder = linear_encoder(weights, omega, bits)
    found = signs_of(encoder, bits)
    for t in range(1 << bits):
        x = [t >> (bits - 1 - i) & 1 for i in range(bits)]
        true = omega + fmpq(sum(a * b for a, b in zip(weights, x, strict=True)), bits + 1)
        assert found.sign[t] == (POSITIVE if true > 0 else NEGATIVE)
        assert found.low[t] <= abs(int(true.p) / int(true.q)) <= found.high[t]


def test_a_value_of_exactly_zero_has_no_sign():
    verdict = check_encoder(linear_encoder((1, 0), 0, 2), Claim(2))
    assert statuses(verdict)["signs"] is Status.REFUTED  # 0 and 01 give exactly 0
    assert "profile" not in verdict.facts
    verdict = check_encoder(linear_encoder((1, 0), 0, 2), Claim(2, "first"))
    assert statuses(verdict)["function"] is Status.REFUTED
    found = signs_of(linear_encoder((1, 0), 0, 2), 2)
    assert found.sign.tolist() == [UNDEFINED, UNDEFINED, POSITIVE, POSITIVE]


def test_a_value_near_zero_needs_more_bits_and_is_never_guessed():
    tiny = fmpq(1, 2**500)
    encoder = linear_encoder((0,), 1, 1)
    encoder = replace(encoder, w=(fmpq(1), fmpq(0)), omega=-fmpq(1, 2) + tiny)  # x / 2 - 1 / 2 + 2^-500
    verdict = check_encoder(encoder, Claim(1, "first"))
    assert verdict.status is Status.VERIFIED
    assert "balls 1" in verdict.facts["decided by"]
    for precision in (64, 128, 256):
        verdict = check_encoder(encoder, Claim(1, "first", max_precision=precision))
        assert verdict.status is Status.UNDECIDED
        assert "profile" not in verdict.facts
        assert statuses(verdict)["function"] is Status.UNDECIDED
    found = signs_of(encoder, 1)
    assert found.low[1] <= 2.0**-500 <= found.high[1]
    below = replace(encoder, omega=-fmpq(1, 2) - tiny)
    assert check_encoder(below, Claim(1, "first")).status is Status.REFUTED


@pytest.mark.parametrize("w", [fmpq(1), fmpq(-1)])
def test_a_share_with_an_exponent_beyond_all_rationals_has_a_sign(w):
    zero, score, read = (fmpq(0), fmpq(0)), fmpq_mat([[0, 1]]), fmpq_mat([[1, 0], [0, 0]])
    positions = {1: ((fmpq(1), -(fmpq(10) ** 30)), (fmpq(0), fmpq(1)))}
    head = Head(score, score, read, fmpq(1))  # T is w times a share e^-10^30
    encoder = Encoder(2, fmpq(0), (zero, zero, zero), positions, (Block((head,)),), (w, fmpq(0)), fmpq(0))
    found = signs_of(encoder, 1)
    assert (found.sign == int(w.p)).all()
    assert (found.low == 0).all()
    assert (found.high > 0).all()


def test_a_zero_that_balls_do_not_see_is_undecided():
    # x / 3 - 1 / 3 with weights that are no dyadics: mathematically 0 at 1, an open ball at any precision
    encoder = replace(linear_encoder((1, 0), -THIRD, 2), w=(fmpq(1), fmpq(0), fmpq(0)))
    found = signs_of(encoder, 2, precision=256)
    assert found.sign.tolist() == [NEGATIVE, NEGATIVE, UNDECIDED, UNDECIDED]
    assert check_encoder(encoder, Claim(2, max_precision=256)).status is Status.UNDECIDED


def test_one_open_string_is_enough_for_undecided(monkeypatch):
    right = signs.find_signs

    def one_open(*arguments, **named):
        found = right(*arguments, **named)
        found.sign[5] = UNDECIDED
        return found

    monkeypatch.setattr(check, "find_signs", one_open)
    verdict = check_encoder(build_parity([3]), Claim(3, "parity"))
    assert verdict.status is Status.UNDECIDED
    assert "101" in verdict.obligations[1].detail
    assert "profile" not in verdict.facts


@pytest.mark.parametrize(("value", "error"), [(np.nan, 0.0), (1.0, np.nan), (np.inf, 0.0), (1.0, np.inf), (1.0, 1.0)])
def test_no_float_decides_without_a_bound_below_its_size(monkeypatch, value, error):
    encoder = build_parity([2])
    finder = signs.SignFinder(encoder, 2, fmpq(0), 32)  # balls are never asked: the cap is below the first precision
    monkeypatch.setattr(finder.floats, "run", lambda s: Running(np.full(len(s), value), np.full(len(s), error)))
    assert (finder.treat(0, 4).sign == UNDECIDED).all()


@pytest.mark.parametrize("string", range(8))
def test_a_function_that_differs_in_one_string_is_refuted(string):
    table = parse_function("parity", 3) ^ 1 << string
    text = "truth:" + "".join(str(table >> t & 1) for t in range(8))
    verdict = check_encoder(build_parity([3]), Claim(3, text))
    assert statuses(verdict) == {"shape": Status.VERIFIED, "signs": Status.VERIFIED, "function": Status.REFUTED}
    assert format(string, "03b") in verdict.obligations[-1].detail


def test_margins_are_compared_exactly():
    # majority without norm: |T| >= 1 / (N + 1), attained
    encoder = build_majority([3])
    assert check_encoder(encoder, Claim(3, "majority", fmpq(1, 4))).status is Status.VERIFIED
    above = check_encoder(encoder, Claim(3, "majority", fmpq(1, 4) + fmpq(1, 10**40)))
    assert statuses(above)["margin"] is Status.REFUTED
    assert statuses(above)["function"] is Status.VERIFIED
    # |T| = sqrt 6, from both sides
    encoder = build_first([3], norm=True)
    root = fmpq(24494897427831780981972840747058913919, 10**37)
    assert check_encoder(encoder, Claim(3, "first", root)).status is Status.VERIFIED
    assert check_encoder(encoder, Claim(3, "first", root + fmpq(1, 10**37))).status is Status.REFUTED
    open_ = check_encoder(encoder, Claim(3, "first", root, max_precision=64))
    assert open_.status is Status.UNDECIDED


def test_a_missing_number_of_bits_is_refuted_and_nothing_is_computed():
    verdict = check_encoder(build_parity([3]), Claim(4, "parity"))
    assert statuses(verdict) == {"shape": Status.REFUTED}


@pytest.mark.parametrize("jobs", [2, 3])
def test_jobs_change_nothing(monkeypatch, jobs):
    encoder = draw_encoder("gaussian", [6], 1, 4, "jobs")
    monkeypatch.setattr(signs, "WORK", 7 * 4 * 5)  # several chunks
    alone, together = signs_of(encoder, 6), signs_of(encoder, 6, jobs=jobs)
    for name in ("sign", "reach", "low", "high", "by_balls"):
        assert (getattr(alone, name) == getattr(together, name)).all()
    assert len(alone.sign) == 64


def test_balls_and_floats_give_the_same_profile(monkeypatch):
    encoder = draw_encoder("uniform", [4], 2, 4, "both")
    by_floats = signs_of(encoder, 4)
    assert not by_floats.by_balls.any()
    nothing = lambda self, s: Running(np.zeros(len(s)), np.full(len(s), np.inf))  # noqa: E731
    monkeypatch.setattr("proofs.boolean.forward.FloatEncoder.run", nothing)
    by_balls = signs_of(encoder, 4)
    assert by_balls.by_balls.all()
    assert (by_floats.sign == by_balls.sign).all()
    assert ((by_floats.low <= by_balls.high) & (by_balls.low <= by_floats.high)).all()


def test_tables_are_packed_in_the_order_of_strings():
    values = np.array([0, 0, 0, 1, 1, 0, 1, 1], dtype=bool)
    assert pack_table(values) == 0b11011000
    assert (unpack_table(0b11011000, 3) == values).all()
    assert (unpack_table(parse_function("x1", 3), 3) == [t >= 4 for t in range(8)]).all()
    assert (unpack_table(parse_function("x1", 1), 1) == [False, True]).all()


def test_the_profile_in_the_facts_is_that_of_the_signs():
    verdict = check_encoder(build_majority([5]), Claim(5))
    profile = compute_profile(parse_function("majority", 5), 5)
    assert verdict.facts["profile"] == ", ".join(f"K_{n} = {k}" for n, k in enumerate(profile) if k)
    assert verdict.facts["average"] == "sensitivity 15/8"


@pytest.mark.parametrize("number", [fmpq(0), THIRD, -THIRD, fmpq(10) ** 400, -(fmpq(10) ** 400), 1 / fmpq(10) ** 400])
def test_float_neighbours(number):
    low, high = float_below(number), float_above(number)
    assert low <= high
    assert low == -np.inf or fmpq(*low.as_integer_ratio()) <= number
    assert high == np.inf or fmpq(*high.as_integer_ratio()) >= number


@pytest.mark.parametrize(
    "fields",
    [
        {"bits": 0},
        {"bits": 25},
        {"margin": fmpq(-1)},
        {"influence": True},
        {"influence": True, "margin": fmpq(1), "function": "parity"},
    ],
)
def test_options_that_make_no_claim(fields):
    with pytest.raises(UsageError):
        Claim(**({"bits": 3} | fields))
    with pytest.raises(MalformedInput):
        Claim(3, "x4")


def test_a_process_that_dies_is_no_verdict(monkeypatch):
    encoder = draw_encoder("gaussian", [6], 1, 4, "dies")
    monkeypatch.setattr(signs, "WORK", 7 * 4 * 5)
    monkeypatch.setattr(signs.SignFinder, "treat", lambda self, start, stop: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(LimitReached):
        signs_of(encoder, 6, jobs=2)
