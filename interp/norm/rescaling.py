"""Untrusted. Rescalings that leave T(X) as it is, exactly, and make |theta|^2 small.

* **Unit**: w relu(<u, x> + b) = (c w) relu(<u / c, x> + b / c) for c > 0. The best c has c^2 = |(u, b)| / |w| and
  leaves 2 |w| |(u, b)|; in the same way p q^T = (c p)(q / c)^T and r t^T.
* **Stream**: tokens multiplied by s_i > 0 behind layer i, s = 1 at both ends. Feed-forward from s to s': eta becomes
  eta s' / s, W becomes s' W, U becomes U / s. Attention: rho and V are multiplied by s' / s, and A is divided by s^2,
  which leaves the scores as they are.
* **Temperature 0**: A may be multiplied by any positive factor. The infimum 0 of |A|^2 is not attained; a power of two
  brings it below 2^-20 (``FREE``), and primitive integers replace the entries of p and q. Not so if a positive
  temperature is claimed: there the size of A is part of the function.
* **Dead weights**: a unit with w = 0, or with u = 0 and b <= 0, does nothing, and neither does A if V = 0.

Every irrational optimum is replaced by a simple dyadic near it. Whether something is gained is then decided exactly:
the blocks with the smallest sum of squares among the given, the balanced and the scaled ones are the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import gcd, lcm

from flint import fmpq, fmpq_mat

from interp.norm.scales import Terms, approx_log, find_scales
from interp.norm.squares import Form, matrix_squares, square_sum, sum_blocks
from interp.stages.dyadic import find_simple_dyadic
from interp.transformers.ledger import Ledger
from proofs.kernel.model import Block, FeedForward, Head, SelfAttention, SquareMatrix

NEAR = fmpq(1, 64)  # relative distance of a balancing factor from its optimum: costs at most 2 / 64^2 of the sum
FREE = fmpq(1, 1 << 20)  # |A|^2 where only the direction of A matters


def rescale_ledger(ledger: Ledger, positive: bool, form: Form = "stored") -> Ledger:
    """The same phases with the blocks of ``rescale``."""
    result = Ledger(ledger.dimension)
    blocks = rescale(ledger.blocks, ledger.dimension, positive, form)
    for phase in ledger.phases:
        if phase.shared:
            result.add_shared(phase.name, phase.lemma)
        else:
            result.add(phase.name, phase.lemma, blocks[phase.first - 1 : phase.last])
    return result


def rescale(blocks: Sequence[Block], dimension: int, positive: bool, form: Form = "stored") -> tuple[Block, ...]:
    """Blocks that compute the same function with the smallest sum of squares found, never a larger one.

    ``positive``: whether a positive temperature is claimed, which fixes the size of A. Exactness: rationals; the
    function is the same at every temperature if ``positive``, at temperature 0 otherwise.
    """
    pruned = [prune(block, dimension) for block in blocks]
    scales = find_scales(collect_terms(pruned, dimension, positive, form), 2 * len(pruned))
    unscaled = tuple(balance(block, dimension, positive) for block in pruned)
    scaled = tuple(balance(block, dimension, positive) for block in scale_stream(pruned, scales))
    return min((tuple(blocks), unscaled, scaled), key=lambda found: sum_blocks(found, dimension, form).total)


def prune(block: Block, dimension: int) -> Block:
    """The block without the units and scores that do nothing."""
    layer, attention = block.feed_forward, block.attention
    W, U, b = layer.W.transpose().tolist(), layer.U.tolist(), layer.b.entries()
    live = [k for k in range(layer.width) if any(x != 0 for x in W[k]) and (any(x != 0 for x in U[k]) or b[k] > 0)]
    layer = _layer(layer.eta, dimension, [(W[k], U[k], b[k]) for k in live])
    if not attention.find_acting(dimension):
        attention = SelfAttention(attention.rho)
    return Block(layer, attention)


Unit = tuple[list[fmpq], list[fmpq], fmpq]  # w, u, b


def _layer(eta: fmpq, dimension: int, units: Sequence[Unit]) -> FeedForward:
    width = len(units)
    W = fmpq_mat(width, dimension, [x for w, _, _ in units for x in w]).transpose()
    U = fmpq_mat(width, dimension, [x for _, u, _ in units for x in u])
    return FeedForward(eta, W, U, fmpq_mat(width, 1, [b for _, _, b in units]))


def _units(layer: FeedForward) -> list[Unit]:
    return list(zip(layer.W.transpose().tolist(), layer.U.tolist(), layer.b.entries(), strict=True))


def collect_terms(blocks: Sequence[Block], dimension: int, positive: bool, form: Form) -> Terms:
    """The balanced sum of squares as a function of the scales of the stream (``scales``)."""
    terms = Terms()
    for k, block in enumerate(blocks):
        layer, attention = block.feed_forward, block.attention
        terms.add_monomial(2 * k + 1, approx_log(layer.eta**2), -2, 2)
        for w, u, b in _units(layer):
            terms.add_unit(2 * k + 1, *map(approx_log, (square_sum(w), square_sum(u), b * b)))
        terms.add_monomial(2 * k + 2, approx_log(attention.rho**2), -2, 2)
        for head in attention.heads:
            _add_matrix(terms, 2 * k + 2, head.V, dimension, form, -1, 1)
            if positive:
                _add_matrix(terms, 2 * k + 2, head.A, dimension, form, -2, 0)
    return terms


def _add_matrix(terms: Terms, layer: int, matrix: SquareMatrix, dimension: int, form: Form, p: int, q: int) -> None:
    """A matrix that is multiplied by e^(p x + q z); stored factors l, r of it leave 2 |l| |r| when balanced."""
    if form == "dense" or matrix.dense is not None:
        terms.add_monomial(layer, approx_log(matrix_squares(matrix, dimension, form)), 2 * p, 2 * q)
        return
    terms.add_monomial(layer, approx_log(matrix.scale**2), 2 * p, 2 * q)
    if matrix.left is not None and matrix.right is not None:
        l, r = (approx_log(square_sum(part.entries())) for part in (matrix.left, matrix.right))
        terms.add_monomial(layer, math.log(2) + (l + r) / 2, p, q)


def scale_stream(blocks: Sequence[Block], scales: Sequence[fmpq]) -> list[Block]:
    """Tokens multiplied by scales[i] > 0 behind layer i, of which a block has two."""
    result = []
    for k, block in enumerate(blocks):
        layer, attention = block.feed_forward, block.attention
        s, inner, t = scales[2 * k : 2 * k + 3]
        heads = [Head(_multiply(h.A, 1 / (inner * inner)), _multiply(h.V, t / inner)) for h in attention.heads]
        result.append(
            Block(
                FeedForward(layer.eta * inner / s, layer.W * inner, layer.U / s, layer.b),
                _with_heads(attention, attention.rho * t / inner, heads),
            )
        )
    return result


def _multiply(matrix: SquareMatrix, factor: fmpq) -> SquareMatrix:
    left, dense = (None if part is None else part * factor for part in (matrix.left, matrix.dense))
    return SquareMatrix(matrix.scale * factor, left, matrix.right, dense)


def balance(block: Block, dimension: int, positive: bool) -> Block:
    """Every unit and every rank-one matrix with factors of about equal norm; at temperature 0 alone a small A."""
    layer, attention = block.feed_forward, block.attention
    units = []
    for w, u, b in _units(layer):
        c = find_balance(square_sum(w), square_sum([*u, b]))
        units.append(([x * c for x in w], [x / c for x in u], b / c))
    heads = [
        Head(_balance_factors(h.A) if positive else shrink_freely(h.A, dimension), _balance_factors(h.V))
        for h in attention.heads
    ]
    return Block(_layer(layer.eta, dimension, units), _with_heads(attention, attention.rho, heads))


def _with_heads(attention: SelfAttention, rho: fmpq, heads: Sequence[Head]) -> SelfAttention:
    """The layer with another rho and other heads, its mask kept."""
    return SelfAttention.join(rho, ((head.A, head.V) for head in heads), attention.causal)


def find_balance(left: fmpq, right: fmpq) -> fmpq:
    """A simple c > 0 with c^2 left + right / c^2 near its minimum 2 sqrt(left right), and never above left + right.

    Exactness: c is found in floating point and used only if it gains exactly; else it is 1. For |c / c* - 1| <= e the
    sum is at most (1 + 2 e^2 + O(e^3)) times the minimum.
    """
    if left == 0 or right == 0:
        return fmpq(1)
    exponent = (approx_log(right) - approx_log(left)) / (4 * math.log(2))
    whole = math.floor(exponent)
    center = fmpq(round(2.0 ** (exponent - whole) * (1 << 30)), 1 << 30)
    c = find_simple_dyadic(center * (1 - NEAR), center * (1 + NEAR), True, True) * fmpq(2) ** whole
    return c if c * c * left + right / (c * c) < left + right else fmpq(1)


def _balance_factors(matrix: SquareMatrix) -> SquareMatrix:
    if matrix.left is None or matrix.right is None:
        return matrix
    left, right = (square_sum(part.entries()) for part in (matrix.left, matrix.right))
    if left == 0 or right == 0:
        return SquareMatrix(matrix.scale)
    c = find_balance(left, right)
    return SquareMatrix(matrix.scale, matrix.left * c, matrix.right / c)


def shrink_freely(matrix: SquareMatrix, dimension: int) -> SquareMatrix:
    """A positive multiple of the matrix with |A|^2 <= ``FREE`` as it is stored, of few bits.

    alpha I becomes a power of two with its sign, p and q (or all entries) primitive integers times a power of two; a
    sum of both keeps its ratio and is multiplied by one power of four.
    """
    if matrix.dense is not None:
        return SquareMatrix(dense=_shrink(_primitive(matrix.dense), FREE))
    balanced = _balance_factors(matrix)
    alpha, left, right = balanced.scale, balanced.left, balanced.right
    if left is None or right is None:
        sign = (alpha > 0) - (alpha < 0)
        return SquareMatrix(sign * find_shrink(fmpq(dimension), FREE))
    if alpha == 0:
        left, right = (_shrink(_primitive(part), FREE / 2) for part in (left, right))
        return SquareMatrix(left=left, right=right)
    size = alpha * alpha + square_sum(left.entries()) + square_sum(right.entries())
    root = min(fmpq(1), find_shrink(size, FREE))  # <= 1: alpha^2 root^4 <= alpha^2 root^2
    return SquareMatrix(alpha * root * root, left * root, right * root)


def _shrink(matrix: fmpq_mat, bound: fmpq) -> fmpq_mat:
    return matrix * find_shrink(square_sum(matrix.entries()), bound)


def find_shrink(squares: fmpq, bound: fmpq) -> fmpq:
    """A power of two f, the largest or half of it, with f^2 squares <= bound; 1 for squares = 0."""
    if squares == 0:
        return fmpq(1)
    f = fmpq(2) ** round((approx_log(bound) - approx_log(squares)) / (2 * math.log(2)))
    while f * f * squares > bound:
        f /= 2
    return f


def _primitive(matrix: fmpq_mat) -> fmpq_mat:
    """The integer matrix without common factor that is a positive multiple of it."""
    entries = matrix.entries()
    denominator = lcm(*(int(x.q) for x in entries))
    divisor = gcd(*(int(x.p) * (denominator // int(x.q)) for x in entries)) or 1
    return matrix * fmpq(denominator, divisor)
