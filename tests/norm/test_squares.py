"""The parameter norm is exact and counts every stored scalar."""

from __future__ import annotations

from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from interp.norm.squares import block_squares, sum_squares
from proofs.kernel.counts import list_scalars
from proofs.kernel.decode import decode_transformer
from tests.strategies import transformer_bytes, transformers


def test_by_hand():
    block = {
        "ff": {"eta": 2, "W": [[1], ["1/2"]], "U": [[3, 0]], "b": [-1]},
        "sa": {"rho": 0, "A": {"alpha": 1, "p": [1, 0], "q": [0, 2]}, "V": {"beta": "1/3"}},
    }
    transformer = decode_transformer(transformer_bytes(2, [block, {}]))
    first = 4 + 1 + fmpq(1, 4) + 9 + 1 + 0 + 1 + 1 + 4 + fmpq(1, 9)
    assert sum_squares(transformer) == first + 1 + 1  # eta = rho = 1 in the identity block


@given(st.data())
def test_forms_agree_with_the_entries(data):
    d = data.draw(st.integers(2, 4))
    transformer = decode_transformer(data.draw(transformers(d)))
    stored = dense = fmpq(0)
    for block in transformer.blocks:
        layer, attention = block.feed_forward, block.attention
        entries = [layer.eta, attention.rho, *layer.W.entries(), *layer.U.entries(), *layer.b.entries()]
        dense += sum((x * x for x in entries), fmpq(0))
        for matrix in (attention.A, attention.V):
            dense += sum((x * x for x in matrix.to_dense(d).entries()), fmpq(0))
        stored += sum((x * x for x in list_scalars(block)), fmpq(0))
    assert sum_squares(transformer, "dense") == dense
    assert sum_squares(transformer) == stored
    by_block = [block_squares(block, d) for block in transformer.blocks]
    assert sum((squares.total for squares in by_block), fmpq(0)) == stored
