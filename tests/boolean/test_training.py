"""Training, where torch is installed: the weights that are read back make the encoder that was trained."""

from __future__ import annotations

import pytest
from flint import arb, fmpq

from interp.boolean.training import Settings, _initial_weights, approx_values, read_back, train_encoder
from interp.export.rounding import exact_rational
from proofs.boolean.check import Claim, check_encoder
from proofs.boolean.enclosure import BallEncoder
from proofs.kernel.errors import Status

SMALL = Settings(depth=2, dimension=8, updates=60, rate=1e-2)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed: training is optional", exc_type=ImportError)


def test_the_encoder_is_the_model(torch):
    weights = _initial_weights(torch, SMALL, 3, torch.Generator().manual_seed(1))
    strings = torch.tensor([[t >> (2 - i) & 1 for i in range(3)] for t in range(8)])
    values = approx_values(torch, weights, SMALL, strings).tolist()
    balls = BallEncoder(read_back(weights, SMALL, 3, ""), 3, 128)
    for t, value in enumerate(values):
        assert abs(balls.run(t) - arb(exact_rational(value))) < fmpq(1, 10**4)


def test_a_trained_encoder_is_certified(torch):
    trained = train_encoder("first", 3, SMALL)
    assert trained.accuracy == 1
    assert check_encoder(trained.encoder, Claim(3, "first")).status is Status.VERIFIED
    assert check_encoder(trained.encoder, Claim(3, "parity")).status is Status.REFUTED
    assert trained.encoder == train_encoder("first", 3, SMALL).encoder
