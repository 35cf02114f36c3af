"""Theorem 4.5 in integers, the packing bound, counts of functions, experiments."""

from __future__ import annotations

import pytest
from flint import fmpq

from interp.boolean.experiments import certify_profile, sample_encoders, sample_functions
from interp.boolean.initialise import SCHEMES
from interp.boolean.theory import (
    OUTCOMES,
    Family,
    compare_theorem,
    count_without_zero,
    first_fitting,
    packing_bits,
)
from proofs.boolean.profile import compute_profile
from proofs.kernel.errors import UsageError
from tests.boolean.encoders import linear_encoder


@pytest.mark.parametrize(
    ("depth", "dimension", "bits"), [(1, 16, 8), (2, 32, 9), (3, 64, 26), (2, 64, 65), (2, 128, 206), (12, 768, 208)]
)
def test_where_the_bound_fits(depth, dimension, bits):
    assert first_fitting(depth, dimension) == bits
    assert compare_theorem(1, bits - 1, depth, dimension).outcome == OUTCOMES[1]
    assert all(compare_theorem(1, n, depth, dimension).outcome != OUTCOMES[1] for n in range(bits, 3 * bits))


def test_the_four_outcomes():
    assert compare_theorem(0, 8, 2, 16).outcome == "exponent not positive"
    assert "does not hold" in compare_theorem(0, 8, 2, 16).text
    assert "K_0 >= 1 holds" in compare_theorem(1, 8, 2, 16).text
    assert compare_theorem(0, 7, 1, 16).outcome == "bound exceeds 2^N"
    assert 181**2 < 8**5 < 182**2
    assert compare_theorem(181, 8, 1, 16).outcome == "not met"
    assert compare_theorem(182, 8, 1, 16).outcome == "met"


def test_the_comparison_is_exact():
    assert compare_theorem(243, 9, 1, 16).outcome == "met"  # 9^(5/2) = 243
    assert compare_theorem(242, 9, 1, 16).outcome == "not met"
    assert first_fitting(2, 16) is None


def test_counts_of_functions_without_insensitive_strings():
    assert [count_without_zero(n) for n in (1, 2, 3, 4)] == [2, 6, 118, 29030]
    assert sum(compute_profile(table, 3)[0] == 0 for table in range(256)) == 118
    with pytest.raises(UsageError):
        count_without_zero(6)


@pytest.mark.slow
def test_count_for_five_bits():
    assert count_without_zero(5) == 1843434662


def test_packing_bound():
    family = Family(10, 1, 4, 2, 2, 8, fmpq(1), fmpq(1, 10))
    parameters = 3 * 4 + 11 * 4 + 2 * (2 * 2 * 4 + 16) + (2 * 8 * 4 + 8 + 4) + 4 + 1
    assert family.parameters == parameters
    bound = packing_bits(family, fmpq(1, 2))
    assert 0 < bound < 2**10
    assert packing_bits(family, fmpq(1)) < bound
    assert packing_bits(Family(10, 2, 4, 2, 2, 8, fmpq(1), fmpq(1, 10)), fmpq(1, 2)) > bound
    for bad in (fmpq(0), fmpq(-1)):
        with pytest.raises(UsageError):
            packing_bits(family, bad)
    with pytest.raises(UsageError):
        packing_bits(Family(10, 1, 4, 2, 2, 8, fmpq(0), fmpq(1)), fmpq(1))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_samples_are_certified(scheme):
    sample = sample_encoders(scheme, 4, 1, 4, 3, "test")
    assert len(sample.profiles) + sample.open == 3
    assert all(sum(profile) == 16 for profile in sample.profiles)
    assert sum(sample.mean_profile) == 1
    assert sample == sample_encoders(scheme, 4, 1, 4, 3, "test")


def test_what_is_not_certified_is_counted():
    open_ = linear_encoder((1, 0), -fmpq(1, 3), 2)  # exactly 0 at 10 and 11, which balls do not see
    assert certify_profile(open_, 2, max_precision=128) is None


def test_uniform_random_functions():
    sample = sample_functions(3, 4000, "test")
    assert abs(int(sample.no_zero.p) / int(sample.no_zero.q) - 118 / 256) < 0.03
    means = [float(int(x.p) / int(x.q)) for x in sample.mean_profile]
    assert all(abs(a - b) < 0.02 for a, b in zip(means, (1 / 8, 3 / 8, 3 / 8, 1 / 8), strict=True))
    assert sample.constant < fmpq(3, 100)


def test_shapes_that_make_no_encoder():
    with pytest.raises(UsageError):
        sample_encoders("uniform", 4, 1, 3, 1, "test")
    with pytest.raises(UsageError):
        sample_encoders("glorot", 4, 1, 4, 1, "test")
