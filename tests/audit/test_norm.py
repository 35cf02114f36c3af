"""The parameter norm is exact and counts every stored scalar."""

from __future__ import annotations

from flint import fmpq

from interp.audit.norm import sum_squares
from proofs.kernel.decode import decode_transformer
from tests.strategies import transformer_bytes


def test_by_hand():
    block = {
        "ff": {"eta": 2, "W": [[1], ["1/2"]], "U": [[3, 0]], "b": [-1]},
        "sa": {"rho": 0, "A": {"alpha": 1, "p": [1, 0], "q": [0, 2]}, "V": {"beta": "1/3"}},
    }
    transformer = decode_transformer(transformer_bytes(2, [block, {}]))
    first = 4 + 1 + fmpq(1, 4) + 9 + 1 + 0 + 1 + 1 + 4 + fmpq(1, 9)
    assert sum_squares(transformer) == first + 1 + 1  # eta = rho = 1 in the identity block
