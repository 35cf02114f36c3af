"""The rank of A - alpha I over rational alpha."""

from __future__ import annotations

import pytest
from flint import fmpq, fmpq_mat

from interp.audit.rank import find_low_rank
from proofs.kernel.model import SquareMatrix


def dense(*rows):
    return SquareMatrix(dense=fmpq_mat(len(rows), len(rows), [x for row in rows for x in row]))


@pytest.mark.parametrize(
    ("matrix", "rank"),
    [
        (SquareMatrix(), 0),
        (SquareMatrix(scale=fmpq(1, 3)), 0),
        (SquareMatrix(fmpq(2), fmpq_mat(3, 1, [1, 0, 2]), fmpq_mat(3, 1, [0, 1, 1])), 1),
        (dense([2, 0, 0], [0, 2, 0], [0, 0, 5]), 1),
        (dense([0, 1, 0], [0, 0, 1], [0, 0, 0]), 2),
        (dense([0, 2, 0], [1, 0, 0], [0, 0, 7]), 2),  # eigenvalues +-sqrt 2 are not rational; 7 is
        (dense([0, 0, 2], [1, 0, 0], [0, 1, 0]), 3),  # x^3 = 2 has no rational root
        (dense([fmpq(1, 2), 1, 0], [0, fmpq(1, 2), 0], [0, 0, fmpq(1, 2)]), 1),
    ],
)
def test_rank_up_to_a_multiple_of_the_identity(matrix, rank):
    assert find_low_rank(matrix, 3) == rank
