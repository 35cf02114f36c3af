"""Runs in floats: bfloat16 by its bits, and both backends against the exact run."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.api import build, verify
from interp.export.rounding import round_nearest
from interp.precision.arithmetic import make_arithmetic, round_bfloat16
from interp.precision.check import check_floats
from interp.precision.formats import BFLOAT16, RUNNABLE
from proofs.kernel.errors import UsageError
from tests.strategies import datasets, make_dataset

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
DATA = make_dataset(([(1, 2), (3, "1/3")], [(1, 0)]), ([(5, 1), (2, 2)], [(0, 1), (2, 1)]))


@given(FINITE)
def test_bfloat16_is_the_nearest(x):
    found = float(round_bfloat16(np.array([x], dtype=np.float32))[0])
    try:
        assert found == round_nearest(fmpq(*x.as_integer_ratio()), BFLOAT16)
    except OverflowError:
        assert np.isinf(found)


@given(FINITE, FINITE)
def test_bfloat16_operations_round_once(x, y):
    ops = make_arithmetic("bfloat16", "numpy")
    a, b = (round_bfloat16(np.array([v / 2**40], dtype=np.float32)) for v in (x, y))
    p, q = (fmpq(*float(v[0]).as_integer_ratio()) for v in (a, b))
    assert float(ops.add(a, b)[0]) == round_nearest(p + q, BFLOAT16)
    if fmpq(1, 1 << 100) < abs(p * q) < 1 << 120:  # in the normal range
        assert float(ops.multiply(a, b)[0]) == round_nearest(p * q, BFLOAT16)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("construction", ["hardmax", "softmax", "compact"])
def test_small_transformers_are_right_in_float64(construction, backend):
    if backend == "torch":
        pytest.importorskip("torch")
    temperature = fmpq(construction == "softmax")
    model = build(DATA, construction)
    report = check_floats(DATA, model, list(RUNNABLE.values()), backend=backend, temperature=temperature)
    double = report.formats[-1]
    assert double.answer == "agrees"
    assert double.run.wrong_tokens == 0
    bound = fmpq(*double.final_error.as_integer_ratio())
    assert double.run.worst_square <= bound * bound


@settings(max_examples=15)
@given(datasets(largest=4), st.sampled_from(["hardmax", "compact"]))
def test_a_run_ends_within_what_is_proved_for_its_format(dataset, construction):
    model = build(dataset, construction)
    for item in check_floats(dataset, model, list(RUNNABLE.values())).formats:
        assert item.answer in ("agrees", "differs", "undecided")
        if item.answer == "agrees":
            assert item.run.num_wrong == 0
            if item.final_error < 1e100:
                bound = fmpq(*item.final_error.as_integer_ratio())
                assert item.run.worst_square <= bound * bound


def test_gentle_variants_are_exact_too():
    for construction in ("hardmax", "softmax", "compact"):
        model = build(DATA, construction, gentle=True)
        attention = "softmax" if construction == "softmax" else "hardmax"
        assert verify(model, DATA, attention=attention).status.label == "verified"


def test_an_unknown_backend_is_refused():
    with pytest.raises(UsageError, match="backend"):
        make_arithmetic("float32", "abacus")
