"""Error bounds hold for every order of summation, and what they certify happens."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.export.rounding import FloatFormat
from interp.precision.bounds import ErrorBounds, Layer
from interp.precision.check import check_floats, pass_block
from interp.precision.formats import BFLOAT16, RUNNABLE, gamma, is_power_of_two, is_representable
from interp.precision.reference import Reference
from proofs.kernel.decode import decode_transformer
from proofs.kernel.hardmax import apply_block, apply_feed_forward
from proofs.kernel.rational import coordinates_of
from tests.precision.simulation import Simulation
from tests.strategies import datasets, make_dataset, to_fractions, transformer_bytes, transformers

FORMATS = [FloatFormat(f"{p} bits", p, -126, 127) for p in (4, 8, 12, 24, 40)]


def run_beside(dataset, model, target, seed):
    """Every block: the exact pre-activations and the simulated ones, the bounds and the distances."""
    with np.errstate(all="ignore"):
        reference = Reference(dataset, fmpq(0))
        bounds = ErrorBounds(target, reference)
        simulation = Simulation(target, random.Random(seed))
        sequences = simulation.start(dataset)
        wrong = 0
        for k, block in enumerate(model.blocks):
            exact_units = []
            for box in reference.boxes:
                x = coordinates_of(box.center)
                rows = zip(block.feed_forward.U.tolist(), block.feed_forward.b.entries(), strict=True)
                exact_units.append([sum((u * c for u, c in zip(row, x, strict=True)), b) for row, b in rows])
            units = [simulation.units(block.feed_forward, x) for tokens in sequences for x in tokens]
            wrong += sum(
                (h > 0) != (f > 0)
                for e, s in zip(exact_units, units, strict=True)
                for h, f in zip(e, s, strict=True)
                if h
            )
            moved = [[simulation.feed_forward(block.feed_forward, x) for x in tokens] for tokens in sequences]
            if not block.attention.V.is_zero(reference.tokens.shape[1]):
                rows = apply_feed_forward(block.feed_forward, reference.rows)
                for (first, last), tokens in zip(reference.sequences(), moved, strict=True):
                    wrong += count_wrong_choices(block.attention, rows[first:last], tokens, simulation)
            pass_block(k, block, reference, [bounds], [])
            sequences = [simulation.attention(block.attention, tokens) for tokens in moved]
    return reference, bounds, [x for tokens in sequences for x in tokens], wrong


def count_wrong_choices(layer, rows, tokens, simulation):
    """Queries that choose other tokens than in the exact run, equal ones counting as one."""
    A = layer.A.to_dense(len(rows[0]) - 1).tolist()
    exact = [coordinates_of(row) for row in rows]
    wrong = 0
    for x, found in zip(exact, simulation.choices(layer, tokens), strict=True):
        query = [sum((a * c for a, c in zip(row, x, strict=True)), fmpq(0)) for row in A]
        scores = [sum((q * c for q, c in zip(query, z, strict=True)), fmpq(0)) for z in exact]
        wrong += {rows[l] for l in found} != {rows[l] for l, score in enumerate(scores) if score == max(scores)}
    return wrong


@settings(max_examples=60)
@given(st.data())
def test_every_order_of_summation_stays_within_the_bounds(data):
    dataset = data.draw(datasets(largest=5))
    model = decode_transformer(data.draw(transformers(dataset.dimension, max_blocks=3)))
    target = data.draw(st.sampled_from(FORMATS))
    try:
        reference, bounds, found, wrong = run_beside(dataset, model, target, data.draw(st.integers(0, 9)))
    except OverflowError:  # a number leaves the range of the format: then nothing may be claimed
        with np.errstate(all="ignore"):
            reference = Reference(dataset, fmpq(0))
            bounds = ErrorBounds(target, reference)
            for k, block in enumerate(model.blocks):
                pass_block(k, block, reference, [bounds], [])
        assert bounds.range_fault
        return
    if bounds.range_fault:
        return
    for box, x, limit in zip(reference.boxes, found, bounds.errors.tolist(), strict=True):
        for exact, approx, most in zip(coordinates_of(box.center), x, limit, strict=True):
            assert not most < float("inf") or abs(exact - approx) <= fmpq(*most.as_integer_ratio())
    if bounds.agrees:
        assert wrong == 0


def draw_case(rng):
    """A dataset and a transformer made to be hard: biases that cancel, at or close to 0, and scores that nearly tie."""
    d, n = rng.choice([(2, 1), (2, 3), (5, 2)])

    def number():
        return rng.choice([Fraction(rng.randint(-40, 40)), Fraction(rng.randint(-99, 99), 7), Fraction(1, 3)])

    dataset = make_dataset(([[number() for _ in range(d)] for _ in range(n)], [[0] * d]))
    tokens, blocks = list(dataset.pairs[0].input), []
    for _ in range(rng.randint(1, 3)):
        U = [[rng.choice([0, 1, 1, -1, 17, Fraction(5, 3)]) for _ in range(d)] for _ in range(rng.randint(0, 3))]
        near = rng.choice([Fraction(0), Fraction(1, 2 ** rng.randint(1, 14)), number()])
        x = to_fractions(rng.choice(tokens))
        b = [near - sum(u * c for u, c in zip(row, x, strict=True)) for row in U]
        W = [[rng.choice([1, -1, 3, Fraction(1, 7)]) for _ in U] for _ in range(d)]
        block = {"ff": {"eta": rng.choice(["0", "1", "1", "5/7"]), "U": text(U), "W": text(W), "b": text([b])[0]}}
        if not U:
            block = {"ff": {"eta": rng.choice(["1", "3/5"])}}
        if rng.random() < 0.5:
            A = rng.choice([{}, {"A": {"alpha": "1/3"}}, {"A": {"p": text([x])[0], "q": ["1"] * d}}])
            block["sa"] = {"rho": rng.choice(["0", "1"]), "V": {"beta": rng.choice(["1", "-2/3"])}} | A
        blocks.append(block)
        (made,) = decode_transformer(transformer_bytes(d, [block])).blocks
        (tokens,) = apply_block(made, [tokens])
    return dataset, decode_transformer(transformer_bytes(d, blocks))


def text(rows):
    return [[str(x) for x in row] for row in rows]


def test_hard_cases_stay_within_the_bounds_too():
    certified = tight = 0
    for seed in range(250):
        rng = random.Random(seed)
        dataset, model = draw_case(rng)
        target = FloatFormat("", rng.choice([4, 7, 11]), -126, 127)
        for order in range(2):
            reference, bounds, found, wrong = run_beside(dataset, model, target, order)
            assert not bounds.range_fault
            for box, x, limit in zip(reference.boxes, found, bounds.errors.tolist(), strict=True):
                for exact, approx, most in zip(coordinates_of(box.center), x, limit, strict=True):
                    error = abs(exact - approx)
                    assert not most < float("inf") or error <= fmpq(*most.as_integer_ratio()), seed
                    tight += bool(most < float("inf") and error * 4 > fmpq(*most.as_integer_ratio()) > 0)
            assert not (bounds.agrees and wrong), seed
            certified += bounds.agrees
    assert certified > 50
    assert tight > 100  # bounds that could not be four times smaller


def unit(U, b=0, W=(1, 0), eta="0"):
    """A layer whose every unit writes to the first coordinate."""
    return {"ff": {"eta": eta, "U": U, "b": [str(b)] * len(U), "W": [[str(w)] * len(U) for w in W]}}


SUMS = {
    "the sum of a pre-activation rounds": ([8, "9/8", "9/8", "9/8"], [unit([[1, 1, 1, 1]], W=(1, 0, 0, 0))]),
    "so does that of the units": ([8, "9/8"], [unit([[0, 1]] * 3, eta="1")]),
    "17 takes more than four bits": ([15, 2], [unit([[1, 1]])]),
    "a weight takes more than four bits": ([1, 0], [unit([[17, 0]])]),
    "a layer multiplies what errors there are": (["2000/3", "1001/3"], [unit([[1, 1]], -900), unit([[64, 0]])]),
}


@pytest.mark.parametrize("name", SUMS)
def test_an_error_that_there_is_is_in_the_bound(name):
    token, blocks = SUMS[name]
    dataset = make_dataset(([token], [token]))
    model = decode_transformer(transformer_bytes(len(token), blocks))
    worst = fmpq(0)
    for order in range(12):
        reference, bounds, found, _ = run_beside(dataset, model, FORMATS[2 if len(blocks) > 1 else 0], order)
        exact = coordinates_of(reference.boxes[0].center)
        error = max(abs(a - b) for a, b in zip(exact, found[0], strict=True))
        assert error <= fmpq(*float(bounds.errors.max()).as_integer_ratio())
        worst = max(worst, error)
    assert worst > 0


def test_a_lead_below_the_error_is_not_certified():
    sa = {"rho": 0, "A": {"p": [1, 0], "q": [0, 1]}, "V": {"beta": 1}}
    model = decode_transformer(transformer_bytes(2, [{"sa": sa}]))
    third = Fraction(1, 3)
    close = make_dataset(([(third, 1), (third + Fraction(1, 4096), 1)], [(1, 1)]))
    clear = make_dataset(([(third, 1), (third + Fraction(1, 2), 1)], [(1, 1)]))
    answers = [check_floats(data, model, [BFLOAT16], runs=[]).formats[0].answer for data in (close, clear)]
    assert answers == ["undecided", "agrees"]


def test_what_fits_the_grid_has_no_error():
    """Integers of few bits: ties are exact, so the choice of both tokens is certified."""
    dataset = make_dataset(([(1, 2), (2, 1), (0, 0)], [(1, 1)]))
    sa = {"rho": 0, "A": {"p": [1, 1], "q": [1, 1]}, "V": {"beta": 1}}
    model = decode_transformer(transformer_bytes(2, [{"sa": sa}]))
    assert check_floats(dataset, model, [BFLOAT16]).formats[0].answer == "agrees"
    inexact = make_dataset(([("1/3", "2/3"), ("2/3", "1/3"), (0, 0)], [(1, 1)]))
    assert check_floats(inexact, model, [BFLOAT16]).formats[0].answer != "agrees"


def test_a_wrong_sign_is_found_and_never_certified():
    """relu(x - 1/3 - 2^-30) at x = 1/3 + 2^-29: on in float64, off in float32."""
    x = fmpq(1, 3) + fmpq(1, 1 << 29)
    b = -(fmpq(1, 3) + fmpq(1, 1 << 30))
    dataset = make_dataset(([(str(x), 0)], [(1, 1)]))
    ff = {"eta": 0, "W": [[1], [0]], "U": [[1, 0]], "b": [str(b)]}
    model = decode_transformer(transformer_bytes(2, [{"ff": ff}]))
    report = check_floats(dataset, model, list(RUNNABLE.values()))
    answers = {item.target.name: item.answer for item in report.formats}
    assert answers == {"bfloat16": "differs", "float32": "differs", "float64": "agrees"}
    assert report.smallest.target.name == "float64"
    first = report.formats[1].run.differences[0]
    assert (first.block, first.pair, first.token, first.unit) == (1, 0, 0, 0)
    assert first.exact == "1/1073741824"


def test_zero_is_no_decision():
    ff = {"eta": 1, "W": [[1], [0]], "U": [[3, 0]], "b": [-1]}
    model = decode_transformer(transformer_bytes(2, [{"ff": ff}]))
    dataset = make_dataset(([("1/3", 0)], [("1/3", 0)]))
    report = check_floats(dataset, model, [RUNNABLE["float32"]]).formats[0]
    assert report.answer == "agrees"
    assert report.run.num_decisions == 0
    assert 0 < report.final_error < 1e-6


def test_overflow_is_never_certified():
    ff = {"eta": 1, "W": [[1], [0]], "U": [[10**30, 0]], "b": [10**30]}
    model = decode_transformer(transformer_bytes(2, [{"ff": ff}, {"ff": ff}]))
    dataset = make_dataset(([(1, 0)], [(1, 0)]))
    reports = check_floats(dataset, model, list(RUNNABLE.values())).formats
    assert [item.answer for item in reports] == ["differs", "differs", "agrees"]


def test_softmax_is_compared_with_the_boxes_of_its_temperature():
    """A clear winner: float64 agrees; the final error covers the run."""
    dataset = make_dataset(([(3, 1), (1, "1/3")], [(3, 1)]))
    sa = {"rho": 0, "A": {"alpha": 100}, "V": {"beta": 1}}
    model = decode_transformer(transformer_bytes(2, [{"sa": sa}]))
    report = check_floats(dataset, model, [RUNNABLE["float64"]], temperature=fmpq(1)).formats[0]
    assert report.answer == "agrees"
    assert report.final_error < 1e-12
    assert report.run.worst_square < fmpq(1, 10**24)
    soft = decode_transformer(transformer_bytes(2, [{"sa": sa | {"A": {"alpha": "1/10"}}}]))
    report = check_floats(dataset, soft, [RUNNABLE["float64"]], temperature=fmpq(1)).formats[0]
    assert report.final_error < 1e-12


@given(st.integers(-(2**40), 2**40), st.integers(-60, 60), st.sampled_from(FORMATS))
def test_representable_means_that_rounding_changes_nothing(p, exponent, target):
    value = fmpq(p) * fmpq(2) ** exponent
    assert is_representable(value, target) == (Simulation(target, random.Random(0)).round(value) == value)


def test_formats():
    assert gamma(0, BFLOAT16) == 0
    assert gamma(4, BFLOAT16) >= 4 / 256 / (1 - 4 / 256)
    assert gamma(128, BFLOAT16) == float("inf")
    assert is_power_of_two(fmpq(-1, 8))
    assert not is_power_of_two(fmpq(3))
    assert not is_power_of_two(fmpq(0))
    assert not is_representable(fmpq(1, 3), BFLOAT16)
    with pytest.raises(IndexError):
        Layer(decode_transformer(transformer_bytes(2, [{}])).blocks[0].feed_forward).modulus((True,))
