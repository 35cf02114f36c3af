"""Small encoders for tests: every part of the format, with weights that are no dyadics."""

from __future__ import annotations

import random
from dataclasses import replace

from flint import fmpq, fmpq_mat

from proofs.boolean.model import MLP, Block, Encoder, Head, Norm

N = 3
THOUSANDTH = fmpq(1, 1000)


def random_encoder(seed: int, epsilon=THOUSANDTH, norms=True, depth=2, D=4, size=1) -> Encoder:
    """All parts in use: two heads, both norms with gain and bias, tanh and relu, with residual and without."""
    draw = random.Random(seed)

    def x():
        return fmpq(draw.randint(-size * 30, size * 30), draw.choice([7, 30, 64]))

    def vector(n):
        return tuple(x() for _ in range(n))

    def matrix(a, b):
        return fmpq_mat(a, b, [x() for _ in range(a * b)])

    def norm():
        return Norm(vector(D), vector(D)) if norms else None

    blocks = []
    for k in range(depth):
        heads = tuple(Head(matrix(2, D), matrix(2, D), matrix(D, D), fmpq(1, 3 + h)) for h in range(2))
        mlp = MLP(matrix(5, D), vector(5), matrix(D, 5), vector(D), ("tanh", "relu")[(k + seed) % 2], bool(k % 2))
        blocks.append(Block(heads, norm() if seed % 3 else None, mlp if seed % 4 else None, norm()))
    positions = {n: tuple(vector(D) for _ in range(n + 1)) for n in (1, N)}
    return Encoder(D, epsilon, (vector(D), vector(D), vector(D)), positions, tuple(blocks), vector(D), x())


def linear_encoder(weights: tuple, omega, bits: int) -> Encoder:
    """T = omega + sum of weights_i x_i / n by uniform attention: exact signs are known. D = bits + 1."""
    D = bits + 1
    unit = [tuple(fmpq(int(c == i)) for c in range(D)) for i in range(D)]
    zero = (fmpq(0),) * D
    # bit i writes x_i to coordinate i: its position selects, its embedding scales: product by a ReLU of the sum - 1
    one = (fmpq(1),) * D
    W1 = fmpq_mat([[fmpq(int(a == b)) for b in range(D)] for a in range(D)])
    select = MLP(W1, (fmpq(-1),) * D, W1, zero, "relu", False)
    average = Head(fmpq_mat(1, D), fmpq_mat(1, D), W1, fmpq(1))
    positions = {bits: (*unit[:bits], zero)}
    return Encoder(
        D,
        fmpq(0),
        (zero, one, zero),
        positions,
        (Block((), None, select), Block((average,))),
        (*map(fmpq, weights), fmpq(0)),
        fmpq(omega),
    )


def with_omega(encoder: Encoder, omega) -> Encoder:
    return replace(encoder, omega=omega)
