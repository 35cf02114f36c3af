"""Untrusted. The rank of A - alpha I: what "low rank plus a multiple of the identity" costs."""

from __future__ import annotations

from flint import fmpq, fmpq_mat

from proofs.kernel.model import SquareMatrix


def find_low_rank(matrix: SquareMatrix, dimension: int) -> int:
    """min over rational alpha of rank(A - alpha I); for scale I + left right^T this is at most 1.

    rank(A - alpha I) < d only if alpha is an eigenvalue, so the rational roots of the characteristic polynomial and
    any other alpha (rank d) are all cases.
    """
    dense = matrix.to_dense(dimension)
    ranks = [dimension]
    for alpha in _rational_eigenvalues(dense):
        shifted = fmpq_mat(dense)
        for i in range(dimension):
            shifted[i, i] -= alpha
        ranks.append(int(shifted.rank()))
    return min(ranks)


def _rational_eigenvalues(dense: fmpq_mat) -> list[fmpq]:
    _, factors = dense.charpoly().numer().factor()
    linear = [factor for factor, _ in factors if factor.degree() == 1]
    return [fmpq(-factor[0], factor[1]) for factor in linear]
