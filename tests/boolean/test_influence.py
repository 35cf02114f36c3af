"""The bound on the influence of one flip: above every influence that is there, and honest about what it needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import arb, fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from interp.boolean.constructions import build_parity
from interp.boolean.theory import Family, lipschitz_constant
from proofs.boolean import influence
from proofs.boolean.check import Claim, check_encoder
from proofs.boolean.enclosure import BallEncoder
from proofs.boolean.influence import enclose_influence, norm_above
from proofs.boolean.model import MLP, Block, Encoder, Head, Norm
from proofs.kernel.errors import Status
from tests.boolean.encoders import random_encoder

BITS = 3


def scaled(encoder: Encoder, factor) -> Encoder:
    """All weights but the norms' multiplied: bounds become small enough to be of use."""
    blocks = []
    for block in encoder.blocks:
        heads = tuple(replace(h, Q=h.Q * factor, K=h.K * factor, V=h.V * factor) for h in block.heads)
        mlp = block.mlp and replace(block.mlp, W1=block.mlp.W1 * factor, W2=block.mlp.W2 * factor)
        blocks.append(replace(block, heads=heads, mlp=mlp))
    return replace(encoder, blocks=tuple(blocks))


def largest_influence(encoder: Encoder, bits: int) -> float:
    values = [float(BallEncoder(encoder, bits, 128).run(t).mid()) for t in range(1 << bits)]
    return max(abs(values[t] - values[t ^ 1 << k]) for t in range(1 << bits) for k in range(bits))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("factor", [fmpq(1), fmpq(1, 10)])
def test_the_bound_is_above_every_influence(seed, factor):
    encoder = scaled(random_encoder(seed, fmpq(1)), factor)
    bound = float(enclose_influence(encoder, BITS).upper())
    assert 0 < largest_influence(encoder, BITS) <= bound


def small_encoder() -> Encoder:
    """Uniform attention, tokens far below sqrt epsilon: the norm is nearly a projection, and T nearly linear."""
    t, zero = fmpq(1, 100), (fmpq(0), fmpq(0))
    head = Head(fmpq_mat(1, 2), fmpq_mat(1, 2), fmpq_mat([[1, 0], [0, 1]]), fmpq(1))
    norm = Norm((fmpq(1), fmpq(1)), zero)
    positions = {BITS: (zero,) * (BITS + 1)}
    blocks = (Block((head,), None, None, norm),)
    return Encoder(2, fmpq(1), (zero, (t, -t), zero), positions, blocks, (fmpq(1), fmpq(-1)), fmpq(1, 10))


def test_the_bound_is_sharp_for_a_nearly_linear_encoder():
    bound = float(enclose_influence(small_encoder(), BITS).upper())
    assert bound < 1.05 * largest_influence(small_encoder(), BITS)


@pytest.mark.parametrize("dropped", ["attention", "lipschitz"])
def test_a_bound_without_one_of_its_factors_is_too_small_somewhere(monkeypatch, dropped):
    if dropped == "attention":
        monkeypatch.setattr(influence, "norm_above", lambda matrix: arb(0))
    else:
        monkeypatch.setattr(influence, "lipschitz_above", lambda block, epsilon: arb(fmpq(1, 1000)))
    cases = [scaled(random_encoder(seed, fmpq(1), depth=1), fmpq(1, 10)) for seed in range(8)]
    assert any(largest_influence(e, BITS) > float(enclose_influence(e, BITS).upper()) for e in cases)


def test_the_claim_that_only_constants_have_a_margin():
    encoder = small_encoder()
    bound = float(enclose_influence(encoder, BITS).upper())
    above, below = fmpq(int(bound * 2**40) + 1, 2**41), fmpq(int(bound * 2**40) - 1, 2**41)
    assert check_encoder(encoder, Claim(BITS, margin=above, influence=True)).status is Status.VERIFIED
    assert check_encoder(encoder, Claim(BITS, margin=below, influence=True)).status is Status.UNDECIDED


def test_the_bound_is_that_of_the_formula():
    # matrices with one singular value, 2: spectral norms without loss
    D, zero = 4, (fmpq(0),) * 4
    E = fmpq_mat(D, D, [fmpq(2)] + [fmpq(0)] * 15)
    row = fmpq_mat(1, D, [fmpq(1, 2)] + [fmpq(0)] * 3)
    head, norm = Head(row, row, E, fmpq(1)), Norm((fmpq(3),) * D, (fmpq(1, 2), *zero[1:]))
    blocks = (Block((head,), None, None, norm), Block((head,), None, MLP(E, zero, E, zero, "relu", True), norm))
    e = tuple((x, *zero[1:]) for x in (fmpq(0), fmpq(1), fmpq(0)))
    encoder = Encoder(D, fmpq(1, 4), e, {BITS: (zero,) * (BITS + 1)}, blocks, e[1], fmpq(0))
    ab = [(1 + R * R, 2 * np.exp(R * R / 2) * (1 + R * R / 2)) for R in (1.0, 6.5)]  # v = 2, q = 1/4
    growth = np.prod([a + b for a, b in ab]) - np.prod([a for a, _ in ab])
    assert float(enclose_influence(encoder, BITS).upper()) == pytest.approx(growth / 4 * 6 * (6 * 5), rel=1e-9)


def test_a_bound_beyond_all_exponents_decides_nothing():
    small = small_encoder()
    (block,) = small.blocks
    head = replace(block.heads[0], Q=fmpq_mat(1, 2, [fmpq(10) ** 300] * 2), K=fmpq_mat(1, 2, [1, 1]))
    verdict = check_encoder(
        replace(small, blocks=(replace(block, heads=(head,)),)), Claim(BITS, margin=fmpq(1), influence=True)
    )
    assert verdict.status is Status.UNDECIDED


def test_what_the_bound_needs():
    assert enclose_influence(build_parity([3], norm=True), 3) is None  # epsilon = 0
    assert enclose_influence(random_encoder(1, norms=False), BITS) is None
    verdict = check_encoder(build_parity([3]), Claim(3, margin=fmpq(10**9), influence=True))
    assert verdict.status is Status.UNDECIDED


@given(st.integers(1, 4), st.integers(1, 4), st.lists(st.integers(-9, 9), min_size=16, max_size=16))
def test_spectral_norms(rows, columns, numbers):
    matrix = fmpq_mat(rows, columns, [fmpq(x, 7) for x in numbers[: rows * columns]])
    true = np.linalg.norm(np.array(numbers[: rows * columns]).reshape(rows, columns) / 7, 2)
    bound = float(norm_above(matrix).upper())
    assert true * (1 - 1e-9) <= bound <= true * 4 ** (1 / 128) * (1 + 1e-9) + 1e-12


def test_the_lipschitz_constant_is_above_difference_quotients():
    base = random_encoder(4 * 3 + 3, fmpq(1), depth=1)  # no attention norm, an MLP
    mlp = replace(base.blocks[0].mlp, activation="relu", residual=True)
    plain = replace(base.blocks[0].norm, gain=(fmpq(1),) * 4, bias=(fmpq(0),) * 4)
    heads = tuple(replace(h, scale_squared=fmpq(1, 2)) for h in base.blocks[0].heads)
    block = replace(base.blocks[0], heads=heads, mlp=mlp, norm=plain, attention_norm=None)
    constant = float(lipschitz_constant(Family(BITS, 1, 4, 2, 2, 5, fmpq(1), fmpq(30, 7))).upper())
    step = fmpq(1, 10**6)

    def value(encoder, t):
        return BallEncoder(encoder, BITS, 128).run(t)

    encoder = replace(base, blocks=(block,))
    V = block.heads[0].V + fmpq_mat(4, 4, [step] + [fmpq(0)] * 15)
    moved = [
        replace(encoder, w=(encoder.w[0] + step, *encoder.w[1:])),
        replace(encoder, embeddings=(tuple(x + step / 2 for x in encoder.embeddings[0]), *encoder.embeddings[1:])),
        replace(encoder, blocks=(replace(block, heads=(replace(heads[0], V=V), heads[1])),)),
    ]
    for other in moved:
        for t in range(1 << BITS):
            assert float((abs(value(other, t) - value(encoder, t)) / arb(step)).upper()) <= constant
