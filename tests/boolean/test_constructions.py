"""The known encoders: their functions on all strings, and their values."""

from __future__ import annotations

from math import exp, sqrt, tanh

import numpy as np
import pytest
from flint import fmpq

from interp.boolean.constructions import CONSTRUCTIONS, build_first, build_majority, build_parity
from proofs.boolean.check import Claim, check_encoder
from proofs.boolean.signs import find_signs
from proofs.kernel.errors import Status

LENGTHS = [2, 3, 4, 5, 6, 7]


def sizes(encoder, bits):
    """Bounds of |T| on every string."""
    found = find_signs(encoder, bits, fmpq(0), 4096)
    return found.low, found.high


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_they_compute_their_functions(name, norm):
    encoder = CONSTRUCTIONS[name]([*LENGTHS, 10], norm)
    for bits in [*LENGTHS, 10]:
        assert check_encoder(encoder, Claim(bits, name)).status is Status.VERIFIED
        others = [other for other in CONSTRUCTIONS if other != name]
        assert all(check_encoder(encoder, Claim(bits, other)).status is Status.REFUTED for other in others)


@pytest.mark.parametrize("bits", [1, 3, 5, 7])
def test_parity_without_norm_has_a_known_size_on_every_string(bits):
    low, high = sizes(build_parity([bits]), bits)
    wanted = 2 * tanh(1 / sqrt(5)) / (bits + 1) ** 2
    assert (low <= wanted).all()
    assert (high >= wanted).all()
    assert (high - low < 1e-10).all()


@pytest.mark.parametrize("bits", LENGTHS)
@pytest.mark.parametrize(("name", "wanted"), [("parity", sqrt(10)), ("first", sqrt(6)), ("majority", sqrt(2))])
def test_with_norm_all_sizes_are_equal(bits, name, wanted):
    low, high = sizes(CONSTRUCTIONS[name]([bits], True), bits)
    assert (np.abs(low - wanted) < 1e-6).all()
    assert (low <= wanted).all()
    assert (high >= wanted * (1 - 1e-15)).all()


@pytest.mark.parametrize("bits", LENGTHS)
def test_smallest_sizes_without_norm(bits):
    low, high = sizes(build_first([bits]), bits)
    c = 1 / sqrt(6)
    wanted = exp(c) / (2 * (exp(c) + bits))
    assert low.min() <= wanted <= high.min() < wanted + 1e-10
    low, high = sizes(build_majority([bits]), bits)
    assert low.min() <= 1 / (bits + 1) <= high.min() < 1 / (bits + 1) + 1e-10
