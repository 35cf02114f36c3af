"""Distances: exact at temperature 0, and enclosures that hold the value that high precision finds."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

import interp
from interp.execution.approximate import approx_run, find_arithmetic
from interp.execution.distance import Enclosure, enclose_distance, measure_distances, root_decimal
from proofs.kernel.boxes import Box, point
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import MalformedInput
from proofs.kernel.rational import DEFAULT_LIMITS
from proofs.kernel.statement import parse_temperatures
from tests.export.cases import small_sequences, small_transformers
from tests.reference import evaluator
from tests.strategies import datasets, make_dataset, pairs_of, to_row, transformer_bytes


def hausdorff(left, right):
    """The square, from the definition."""
    table = [[sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in right] for x in left]
    return max(*(min(row) for row in table), *(min(column) for column in zip(*table, strict=True)))


def measure(dataset, transformer, temperatures="0"):
    return measure_distances(dataset, transformer, parse_temperatures(temperatures), DEFAULT_LIMITS)


@given(small_transformers(2), small_sequences(), small_sequences())
def test_hardmax_distances_are_those_of_the_definition(data, sequences, others):
    outputs = [others[j % len(others)] for j in range(len(sequences))]
    dataset = make_dataset(*zip(sequences, outputs, strict=True))
    *_, last = evaluator.run(data, sequences)
    found = measure(dataset, decode_transformer(data))
    assert all(entry.is_exact for entry in found)
    assert [Fraction(int(e.upper.p), int(e.upper.q)) for e in found] == list(map(hausdorff, last, outputs))


@settings(max_examples=10)
@given(datasets(largest=3))
def test_a_verified_transformer_has_distance_zero(dataset):
    compact = interp.build(dataset, "compact")
    for temperatures in ("0", "1/3", "(0,1]", "[0,1]"):
        assert measure(dataset, compact, temperatures) == [Enclosure(fmpq(0), fmpq(0))] * len(dataset.pairs)


@settings(max_examples=30)
@given(small_transformers(2), small_sequences(), small_sequences(), st.sampled_from(["1", "1/3", "20"]))
def test_softmax_enclosures_hold_the_value(data, sequences, others, text):
    transformer, temperature = decode_transformer(data), fmpq(*map(int, (text + "/1").split("/")[:2]))
    dataset = make_dataset(*((x, others[j % len(others)]) for j, x in enumerate(sequences)))
    found, wide = measure(dataset, transformer, text), measure(dataset, transformer, f"(0,{text}]")
    if found is None:  # a unit whose sign is open at 2048 bits: its value is 0
        return
    with mpmath.workdps(120):
        for j, ((tokens, targets), entry) in enumerate(zip(pairs_of(dataset), found, strict=True)):
            start = [[fmpq(x.numerator, x.denominator) for x in token] for token in tokens]
            *_, last = approx_run(transformer, start, find_arithmetic("mpmath:120"), temperature)
            goals = [[mpmath.mpf(x.numerator) / x.denominator for x in target] for target in targets]
            value = hausdorff([[mpmath.mpf(x) for x in row] for row in last], goals)
            for enclosure in (entry, *([wide[j]] if wide else [])):
                lower, upper = (mpmath.mpf(int(x.p)) / int(x.q) for x in (enclosure.lower, enclosure.upper))
                slack = mpmath.mpf(10) ** -100
                assert lower - slack <= value <= upper + slack


def test_an_enclosure_is_narrow_where_the_value_is_irrational():
    data = transformer_bytes(2, [{"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}])
    (entry,) = measure(make_dataset(([[0, 1], [1, 0]], [[0, 0]])), decode_transformer(data), "1")
    assert 0 < entry.upper - entry.lower < fmpq(1, 2**50)


def test_boxes_are_looked_at_from_both_sides():
    box, other = Box(to_row([0, 0]), to_row([1, 0])), point(to_row([10, 0]))
    assert enclose_distance([box], [to_row([3, 0])]) == Enclosure(fmpq(4), fmpq(16))
    assert enclose_distance([box], [to_row([0, 0])]) == Enclosure(fmpq(0), fmpq(1))
    assert enclose_distance([box, other], [to_row([0, 0])]) == Enclosure(fmpq(100), fmpq(100))
    assert enclose_distance([other], [to_row([10, 0]), to_row([10, 7])]) == Enclosure(fmpq(49), fmpq(49))


def test_dimensions_must_agree():
    with pytest.raises(MalformedInput, match="dimension 3"):
        measure(make_dataset(([[0, 1]], [[1, 0]])), decode_transformer(transformer_bytes(3, [])))


@pytest.mark.parametrize(
    ("square", "text"),
    [
        ("0", "0"),
        ("4", "2.000e0"),
        ("2", "1.414e0"),
        ("1/9", "3.333e-1"),
        ("1/4" + "0" * 600, "5.000e-301"),
        ("4" + "0" * 400, "2.000e200"),
    ],
)
def test_decimals_of_roots(square, text):
    numerator, _, denominator = square.partition("/")
    assert root_decimal(fmpq(int(numerator), int(denominator or 1))) == text
