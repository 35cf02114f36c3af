"""Layers: shapes are checked when a transformer is made, whoever makes it."""

from __future__ import annotations

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from proofs.kernel.errors import MalformedInput
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix, Transformer, identity_feed_forward


def zeros(rows, columns):
    return fmpq_mat(rows, columns)


def layer(W=(2, 1), U=(1, 2), b=(1, 1)):
    return FeedForward(fmpq(1), zeros(*W), zeros(*U), zeros(*b))


@pytest.mark.parametrize(
    "block",
    [
        Block(layer(W=(3, 1))),
        Block(layer(W=(2, 2))),
        Block(layer(W=(1, 2))),
        Block(layer(U=(1, 3))),
        Block(layer(U=(2, 2))),
        Block(layer(b=(2, 1))),
        Block(layer(b=(1, 2))),
        Block(identity_feed_forward(3)),
        Block(layer(), SelfAttention(A=SquareMatrix(dense=zeros(2, 3)))),
        Block(layer(), SelfAttention(V=SquareMatrix(dense=zeros(3, 3)))),
        Block(layer(), SelfAttention(A=SquareMatrix(left=zeros(2, 1), right=zeros(3, 1)))),
        Block(layer(), SelfAttention(A=SquareMatrix(left=zeros(1, 2), right=zeros(1, 2)))),
        Block(layer(), SelfAttention(V=SquareMatrix(left=zeros(2, 1)))),
        Block(layer(), SelfAttention(V=SquareMatrix(right=zeros(2, 1)))),
        Block(layer(), SelfAttention(A=SquareMatrix(left=zeros(2, 1), dense=zeros(2, 2)))),
        Block(layer(), SelfAttention(A=SquareMatrix(right=zeros(2, 1), dense=zeros(2, 2)))),
        Block(layer(), SelfAttention(A=SquareMatrix(scale=fmpq(1), dense=zeros(2, 2)))),
        Block(layer(), SelfAttention(A=SquareMatrix(left=zeros(2, 1), right=zeros(2, 1), dense=zeros(2, 2)))),
    ],
)
def test_wrong_shapes_and_ambiguous_matrices_are_refused(block):
    good = Block(layer())
    assert Transformer(2, (good, good))
    with pytest.raises(MalformedInput):
        Transformer(2, (good, block))


def test_the_shape_fault_names_the_block():
    with pytest.raises(MalformedInput, match="block 2: U"):
        Transformer(2, (Block(layer()), Block(layer(U=(1, 3)))))


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (Block(layer(W=(3, 1))), "W has shape 3 x 1, expected 2 x 1"),
        (Block(layer(b=(2, 1))), "b has shape 2 x 1, expected 1 x 1"),
        (Block(layer(), SelfAttention(A=SquareMatrix(dense=zeros(2, 3)))), "A has shape 2 x 3, expected 2 x 2"),
        (
            Block(layer(), SelfAttention(V=SquareMatrix(left=zeros(3, 1), right=zeros(2, 1)))),
            "V has shape 3 x 1, expected 2 x 1",
        ),
        (
            Block(layer(), SelfAttention(V=SquareMatrix(left=zeros(2, 1), right=zeros(2, 2)))),
            "V has shape 2 x 2, expected 2 x 1",
        ),
    ],
)
def test_the_shape_fault_names_the_matrix(block, words):
    with pytest.raises(MalformedInput, match=f"^block 2: {words}$"):
        Transformer(2, (Block(layer()), block))


@pytest.mark.parametrize(
    ("matrix", "zero"),
    [
        (SquareMatrix(), True),
        (SquareMatrix(fmpq(1)), False),
        (SquareMatrix(left=zeros(2, 1), right=fmpq_mat(2, 1, [1, 1])), True),
        (SquareMatrix(left=fmpq_mat(2, 1, [0, 1]), right=fmpq_mat(2, 1, [1, 0])), False),
        (SquareMatrix(fmpq(1), fmpq_mat(2, 1, [-1, 0]), fmpq_mat(2, 1, [1, 0])), False),
        (SquareMatrix(dense=zeros(2, 2)), True),
        (SquareMatrix(dense=fmpq_mat(2, 2, [0, 0, 0, 1])), False),
    ],
)
def test_a_matrix_is_zero_when_its_entries_are(matrix, zero):
    assert matrix.is_zero(2) is zero


entries = st.fractions(max_denominator=5, min_value=-3, max_value=3)
three = st.lists(entries, min_size=3, max_size=3)


@given(entries, three, three)
def test_the_dense_form_is_scale_plus_outer_product(scale, left, right):
    def q(x):
        return fmpq(x.numerator, x.denominator)

    column, row = (fmpq_mat(3, 1, list(map(q, side))) for side in (left, right))
    dense = SquareMatrix(q(scale), column, row).to_dense(3)
    for i in range(3):
        for j in range(3):
            assert dense[i, j] == q(scale * (i == j) + left[i] * right[j])


def test_only_no_units_and_eta_one_is_the_identity():
    assert identity_feed_forward(2).is_identity()
    assert not layer().is_identity()
    assert not FeedForward(fmpq(2), zeros(2, 0), zeros(0, 2), zeros(0, 1)).is_identity()


def test_layers_cannot_be_changed():
    block = Block(layer())
    with pytest.raises(AttributeError):
        block.attention = SelfAttention(rho=fmpq(0))
    with pytest.raises(AttributeError):
        block.attention.rho = fmpq(0)


def test_joined_heads_see_all_tokens_unless_a_mask_is_asked_for():
    heads = [(SquareMatrix(), SquareMatrix(fmpq(1))), (SquareMatrix(fmpq(2)), SquareMatrix(fmpq(3)))]
    joined = SelfAttention.join(fmpq(5), heads)
    assert (joined.rho, [(head.A, head.V) for head in joined.heads], joined.causal) == (5, heads, False)
    assert SelfAttention.join(fmpq(5), heads, causal=True).causal
