"""Untrusted. Data with a known exact interpolant: targets computed by one known block.

Source: the experiment of section 3.4 of arXiv 2502.02270: N = 10 sequences of n = 100 tokens in dimension d = 16, one
block with eta = 1, width 4, rho = 0, A = 0, V = I, entries uniform in [0, 1]. Here W, U, b and the tokens are uniform
on the multiples of 2^-10 in [0, 1], so that data and targets are short dyadics.
"""

from __future__ import annotations

import random

from flint import fmpq, fmpq_mat

from proofs.kernel.hardmax import apply_block
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix, Transformer
from proofs.kernel.rational import Row, row_of
from proofs.kernel.statement import Dataset, Pair

GRID = 1 << 10


def make_taught_dataset(
    num_pairs: int = 10, dimension: int = 16, length: int = 100, width: int = 4, seed: int = 0
) -> tuple[Dataset, Transformer]:
    """The dataset and the block that made its targets; Y_j is the one token onto which uniform attention maps X_j.

    As everything is non-negative every ReLU is active: T(X_j) = (I + W U) mean(X_j) + W b.
    """
    rng = random.Random(seed)

    def draw(rows: int, columns: int) -> fmpq_mat:
        return fmpq_mat(rows, columns, [fmpq(rng.randint(0, GRID), GRID) for _ in range(rows * columns)])

    layer = FeedForward(fmpq(1), draw(dimension, width), draw(width, dimension), draw(width, 1))
    block = Block(layer, SelfAttention(fmpq(0), SquareMatrix(), SquareMatrix(scale=fmpq(1))))
    inputs: list[list[Row]] = [[row_of(draw(1, dimension).entries()) for _ in range(length)] for _ in range(num_pairs)]
    outputs = apply_block(block, inputs)
    pairs = [Pair(tuple(x), tuple(dict.fromkeys(y))) for x, y in zip(inputs, outputs, strict=True)]
    return Dataset(dimension, tuple(pairs)), Transformer(dimension, (block,))
