"""The encoder's value: float64 with bounds and balls against an independent mpmath evaluation; planted faults."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import arb, fmpq, fmpq_mat
from mpmath import mp, mpf

from interp.boolean.constructions import CONSTRUCTIONS
from proofs.boolean import enclosure, forward, running
from proofs.boolean.enclosure import BallEncoder, UndefinedValueError
from proofs.boolean.forward import FloatEncoder
from proofs.boolean.model import Block, Encoder, Head, Norm
from proofs.boolean.running import Running
from tests.boolean import reference
from tests.boolean.encoders import N, random_encoder

CASES = {
    **{f"random-{seed}": (random_encoder(seed), N) for seed in range(6)},
    **{f"epsilon-0-{seed}": (random_encoder(seed, fmpq(0)), N) for seed in range(6, 9)},
    "no-norm": (random_encoder(9, norms=False), N),
    "large": (random_encoder(1, size=3), N),
    "no-block": (random_encoder(1, depth=0), N),
    "one-bit": (random_encoder(5), 1),
    **{f"{name}-{norm}": (build([3], norm), 3) for name, build in CONSTRUCTIONS.items() for norm in (False, True)},
}
_VALUES: dict[str, list[mpf]] = {}


def true_values(case: str) -> list[mpf]:
    if case not in _VALUES:
        encoder, bits = CASES[case]
        _VALUES[case] = [reference.value(encoder, format(t, f"0{bits}b")) for t in range(1 << bits)]
    return _VALUES[case]


def float_misses(case: str) -> int:
    """How many strings have a true value outside of the float bounds."""
    encoder, bits = CASES[case]
    found = FloatEncoder(encoder, bits).run(np.arange(1 << bits, dtype=np.int64))
    with mp.workdps(60):
        triples = zip(true_values(case), found.value, found.error, strict=True)
        return sum(bool(np.isfinite(e)) and abs(t - mpf(float(v))) > mpf(float(e)) for t, v, e in triples)


def ball_misses(case: str, precision: int) -> int:
    """How many strings have a true value outside of the ball (up to the digits of the reference)."""
    encoder, bits = CASES[case]
    balls, misses = BallEncoder(encoder, bits, precision), 0
    with mp.workdps(60):
        for t, true in enumerate(true_values(case)):
            ball = balls.run(t)
            if ball.is_finite():
                middle, radius = (
                    mpf(int(m)) * mpf(2) ** int(e) for m, e in (ball.mid().man_exp(), ball.rad().man_exp())
                )
                misses += abs(true - middle) > radius + mpf(10) ** -50
    return misses


@pytest.mark.parametrize("case", CASES)
def test_the_true_value_is_within_the_float_bounds(case):
    assert float_misses(case) == 0


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("precision", [24, 64, 128])
def test_the_true_value_is_in_the_ball(case, precision):
    assert ball_misses(case, precision) == 0


def test_the_bounds_are_worth_something():
    for case in ("random-1", "no-norm", "parity-True"):
        encoder, bits = CASES[case]
        found = FloatEncoder(encoder, bits).run(np.arange(1 << bits, dtype=np.int64))
        assert (found.error < 1e-4 * np.abs(found.value)).any()
        assert all(BallEncoder(encoder, bits, 128).run(t).rel_accuracy_bits() > 60 for t in range(1 << bits))


# --------------------------------------------------------------------------------------------------- planted faults


def shifted(right, by=1e-9):
    return lambda *arguments: (lambda x: Running(x.value * (1 + by), x.error))(right(*arguments))


FAULTS = {
    "exp": (running, "approx_exp", lambda right: lambda x: right(x * (1 + 1e-8))),
    "tanh": (forward, "tanh", lambda right: shifted(right, 1e-4)),
    "relu": (forward, "relu", lambda right: lambda x: Running(np.abs(x.value), x.error)),
    "scores": (forward, "scores", shifted),
    "scale": (forward, "scores", lambda right: lambda q, k, s: right(q, k, s * s)),
    "attention": (forward, "attend", shifted),
    "norm": (forward, "normalise", shifted),
    "epsilon": (forward, "normalise", lambda right: lambda x, e, g, b: right(x, e + 1e-6, g, b)),
    "gain": (forward, "normalise", lambda right: lambda x, e, g, b: right(x, e, np.abs(g), b)),
    "products": (forward, "multiply", shifted),
    "bias": (forward, "multiply", lambda right: lambda x, W, b=None: right(x, W)),
    "residual": (forward, "add", lambda right: lambda x, y: right(y, y)),
    "embedding": (Encoder, "tokens", lambda right: lambda self, bits: right(self, bits)[1:] + right(self, bits)[:1]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_float_path_is_seen(monkeypatch, fault):
    place, name, spoil = FAULTS[fault]
    for case in CASES:
        true_values(case)
    if fault == "embedding":  # the end token in front is another kind of fault: the order of the bits
        monkeypatch.setattr(FloatEncoder, "run", lambda self, s, right=FloatEncoder.run: right(self, s ^ 1))
    else:
        monkeypatch.setattr(place, name, spoil(getattr(place, name)))
    assert sum(map(float_misses, CASES)) > 0


BALL_FAULTS = {
    "softmax": ("_softmax", lambda right: lambda row: [x * (1 + fmpq(1, 10**9)) for x in right(row)]),
    "relu": ("_relu", lambda right: lambda x: abs(x)),
    "tanh": ("_tanh", lambda right: lambda x: right(x) * (1 + fmpq(1, 10**9))),
}


@pytest.mark.parametrize("fault", BALL_FAULTS)
def test_a_fault_in_the_balls_is_seen(monkeypatch, fault):
    name, spoil = BALL_FAULTS[fault]
    monkeypatch.setattr(enclosure, name, spoil(getattr(enclosure, name)))
    assert sum(ball_misses(case, 100) for case in CASES) > 0


@pytest.mark.parametrize("part", ["embeddings", "w", "positions", "epsilon"])
def test_every_part_of_an_encoder_matters(part):
    encoder, bits = CASES["random-2"]
    changed = {
        "embeddings": tuple(tuple(x + fmpq(1, 1000) * c for c, x in enumerate(e)) for e in encoder.embeddings),
        "w": tuple(x + fmpq(1, 1000) for x in encoder.w),
        "positions": {
            bits: tuple(tuple(x + fmpq(i, 1000) for x in p[:1]) + p[1:] for i, p in enumerate(encoder.positions[bits]))
        },
        "epsilon": encoder.epsilon + fmpq(1, 1000),
    }
    other = replace(encoder, **{part: changed[part]})
    assert not BallEncoder(encoder, bits, 128).run(5).overlaps(BallEncoder(other, bits, 128).run(5))


# ------------------------------------------------------------------------------------------------------- undefined


def test_a_variance_of_zero_is_undefined_and_a_positive_epsilon_defines_it():
    encoder, bits = CASES["no-block"]
    same = tuple((fmpq(1, 4),) * encoder.dimension for _ in range(3))
    zero = (fmpq(0),) * encoder.dimension
    norm = Norm((fmpq(1),) * encoder.dimension, zero)
    block = replace(random_encoder(4).blocks[0], heads=(), attention_norm=None, mlp=None, norm=norm)
    flat = replace(encoder, embeddings=same, positions={bits: (zero,) * (bits + 1)}, blocks=(block,), epsilon=fmpq(0))
    with pytest.raises(UndefinedValueError):
        BallEncoder(flat, bits, 64).run(0)
    with pytest.raises(ZeroDivisionError):
        reference.value(flat, "0" * bits)
    found = FloatEncoder(flat, bits).run(np.arange(1 << bits, dtype=np.int64))
    assert not (np.isfinite(found.value) & np.isfinite(found.error)).any()
    assert BallEncoder(replace(flat, epsilon=fmpq(1)), bits, 64).run(0).is_finite()


@pytest.mark.parametrize("read", [False, True])
def test_a_token_may_be_undefined_only_if_no_later_block_reads_it(read):
    flat, end, ones = (fmpq(0), fmpq(0)), (fmpq(0), fmpq(2)), (fmpq(1), fmpq(1))
    normed = Block((), norm=Norm(ones, flat))  # the end token becomes (-1, 1), the others 0 / 0
    head = Head(fmpq_mat(1, 2), fmpq_mat(1, 2), fmpq_mat(2, 2), fmpq(1))  # reads, and adds nothing
    blocks = (normed, Block((head,) if read else ()))
    encoder = Encoder(2, fmpq(0), (flat, flat, end), {1: (flat, flat)}, blocks, (fmpq(0), fmpq(1)), fmpq(1))
    found = FloatEncoder(encoder, 1).run(np.arange(2, dtype=np.int64))
    assert (np.abs(found.value - 2) <= found.error).all() != read
    if read:
        with pytest.raises(UndefinedValueError):
            BallEncoder(encoder, 1, 64).run(0)
    else:
        assert BallEncoder(encoder, 1, 64).run(0) == 2


def test_a_unit_of_unknown_sign_takes_all_its_values():
    wide = enclosure._relu(arb(1, 3))
    assert wide.contains(0)
    assert wide.contains(4)
