"""Trusted. For epsilon > 0: a bound on |T(x) - T(x with one bit flipped)|, from norms of the weights.

Let |.| be the Euclidean norm and the spectral norm, n = N + 1, and let R bound the tokens that enter a block. Along the
segment between the tokens of the two strings all tokens stay within R. For one head with v = |V|, q = sqrt(
scale_squared) |Q^T K|, scores lie in [-q R^2, q R^2], so alpha_ij <= e^(2 q R^2) / n, and with d_i = |dy_i|

* through query i: sum_j alpha_ij <.., y_j - mean> V y_j, at most v q R^2 d_i; we take 2 v q R^2;
* through key and value j: alpha_ij (V dy_j + s'_ij V (y_j - mean)), at most v alpha_ij (1 + 2 q R^2) d_j.

So attention with its residual is dominated by the matrix a I + (b / n) J on (d_1 .. d_n), J all ones, a = 1 + 2 R^2 sum
v q, b = sum v e^(2 q R^2) (1 + 2 q R^2). What follows acts on each token alone, with a Lipschitz constant: layer norm
max|gain| / sqrt epsilon (z -> z / sqrt(|z|^2 / D + epsilon) after a projection), the MLP |W2| |W1| (+ 1 with
residual). As J^2 = n J, the product over the blocks has off-diagonal entries (prod(a + b) - prod a) / n times the
constants. One flipped bit changes one token by |e_1 - e_0|, and T reads token n, which is another one:

    |T(x) - T(x')| <= |w| |e_1 - e_0| / n * prod(lipschitz) * (prod(a + b) - prod a).

R is max |e + p| at first, and max|gain| sqrt D + |bias| after a layer norm, so every block must end with one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import prod

from flint import arb, arb_mat, ctx, fmpq_mat

from proofs.boolean.model import Block, Encoder, Norm, Vector

PRECISION = 128
SQUARINGS = 6  # the spectral norm is overestimated by a factor of at most D^(1 / 2^7)


def enclose_influence(encoder: Encoder, bits: int) -> arb | None:
    """A ball whose upper end bounds the influence of one flip; None if epsilon = 0 or a block has no last norm."""
    if encoder.epsilon == 0 or any(block.norm is None for block in encoder.blocks):
        return None
    with ctx.workprec(PRECISION):
        zero, one, _ = encoder.embeddings
        R = largest(length(token) for options in encoder.tokens(bits) for token in options)
        lipschitz, a, b = arb(1), [], []
        for block in encoder.blocks:
            heads = [
                (norm_above(h.V), norm_above(h.Q.transpose() * h.K) * arb(h.scale_squared).sqrt()) for h in block.heads
            ]
            a.append(1 + 2 * R * R * sum((v * q for v, q in heads), arb(0)))
            b.append(sum((v * (2 * q * R * R).exp() * (1 + 2 * q * R * R) for v, q in heads), arb(0)))
            lipschitz *= lipschitz_above(block, arb(encoder.epsilon))
            if block.norm is not None:
                D = arb(encoder.dimension)
                R = largest(map(abs, map(arb, block.norm.gain))) * D.sqrt() + length(block.norm.bias)
        growth = prod((x + y for x, y in zip(a, b, strict=True)), start=arb(1)) - prod(a, start=arb(1))
        step = length(tuple(y - x for x, y in zip(zero, one, strict=True)))
        return length(encoder.w) * step / (bits + 1) * lipschitz * growth


def lipschitz_above(block: Block, epsilon: arb) -> arb:
    """Lipschitz constant of what a block does to a token after attention."""
    constant = arb(1)
    if block.attention_norm is not None:
        constant *= norm_lipschitz(block.attention_norm, epsilon)
    if block.mlp is not None:
        constant *= norm_above(block.mlp.W1) * norm_above(block.mlp.W2) + int(block.mlp.residual)
    return constant if block.norm is None else constant * norm_lipschitz(block.norm, epsilon)


def norm_lipschitz(norm: Norm, epsilon: arb) -> arb:
    """Lipschitz constant of a layer norm."""
    return largest(map(abs, map(arb, norm.gain))) / epsilon.sqrt()


def length(vector: Vector) -> arb:
    """The Euclidean norm."""
    return arb(sum(x * x for x in vector)).sqrt()


def largest(values: Iterable[arb]) -> arb:
    """The largest of some numbers >= 0."""
    return reduce(arb.max, values, arb(0))


def norm_above(matrix: fmpq_mat) -> arb:
    """A ball above the spectral norm: trace((A^T A)^p)^(1 / 2p) is an l^2p norm of the singular values."""
    gram = arb_mat(matrix.transpose() * matrix)
    for _ in range(SQUARINGS):
        gram = gram * gram
    root = gram.trace()
    for _ in range(SQUARINGS + 1):
        root = root.upper().sqrt()  # a trace of squares is >= 0
    return root
