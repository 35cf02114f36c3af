"""Named tensors of rationals: nothing is lost on the way there and back, and what does not fit is refused."""

from __future__ import annotations

from functools import partial

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from interp.export.smt import encode_smt
from interp.export.state import DIMENSION, ExactTensor, decode_state, encode_state
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import LimitReached, MalformedInput, UsageError
from proofs.kernel.model import Block, SelfAttention, SquareMatrix, Transformer, identity_feed_forward
from tests.strategies import make_dataset, transformer_bytes, transformers

ONE = ExactTensor((), [fmpq(1)])
VECTOR = ExactTensor((2,), [fmpq(1), fmpq(2)])
MATRIX = ExactTensor((2, 2), [fmpq(x) for x in (1, 2, 3, 4)])
BLOCK = {"blocks.0.feed_forward.eta": ONE, "blocks.0.attention.rho": ONE}


@given(st.integers(2, 4).flatmap(transformers))
def test_there_and_back(data):
    transformer = decode_transformer(data)
    dimension = {DIMENSION: ExactTensor((), [fmpq(transformer.dimension)])}
    assert decode_state(encode_state(transformer) | dimension, transformer.header).blocks == transformer.blocks


def test_the_names_are_those_of_the_documentation():
    ff = {"eta": 1, "W": [[1], [2]], "U": [[1, 1]], "b": [1]}
    sa = {"rho": 1, "A": {"p": [1, 2], "q": [3, 4]}, "V": {"dense": [[1, 0], [0, 1]]}, "mask": "causal"}
    state = encode_state(decode_transformer(transformer_bytes(2, [{"ff": ff, "sa": sa}])))
    assert {name.removeprefix("blocks.0."): tensor.shape for name, tensor in state.items()} == {
        "feed_forward.eta": (),
        "feed_forward.W": (2, 1),
        "feed_forward.U": (1, 2),
        "feed_forward.b": (1,),
        "attention.rho": (),
        "attention.causal": (),
        "attention.A.left": (2,),
        "attention.A.right": (2,),
        "attention.V.dense": (2, 2),
    }
    # score_il = <q, x_i> <p, x_l>: left is p
    assert list(state["blocks.0.attention.A.left"].values) == [1, 2]


def test_the_dimension_may_be_left_out_where_a_weight_tells_it():
    assert (
        decode_state(BLOCK | {"blocks.0.attention.V.left": VECTOR, "blocks.0.attention.V.right": VECTOR}, {}).dimension
        == 2
    )
    with pytest.raises(MalformedInput, match="no weight tells the dimension"):
        decode_state(BLOCK, {})


def test_a_dimension_that_would_fill_the_memory_is_refused():
    with pytest.raises(LimitReached, match="dimension 1000000000000, more than 4000"):
        decode_state(BLOCK | {DIMENSION: ExactTensor((), [fmpq(10) ** 12])}, {})


@pytest.mark.parametrize(
    ("extra", "place", "message"),
    [
        ({"head.weight": ONE}, "head.weight", "no weight of this architecture"),
        ({"blocks.00.attention.rho": ONE}, "blocks.00", "no weight of this architecture"),
        ({"blocks.0.attention.rho\n": ONE}, "rho", "no weight of this architecture"),
        ({"blocks.0.attention.A.bias": ONE}, "A.bias", "no weight of this architecture"),
        ({"blocks.0.feed_forward.rho": ONE}, "rho", "no weight of this architecture"),
        ({"blocks.2.attention.rho": ONE}, "blocks.1", "no weight of block 1"),
        ({"blocks.1.attention.rho": ONE}, "blocks.1.feed_forward.eta", "missing"),
        ({"blocks.0.feed_forward.W": MATRIX}, "blocks.0.feed_forward.b", "missing"),
        ({"blocks.0.attention.A.left": VECTOR}, "blocks.0.attention.A", "left and right go together"),
        ({"blocks.0.attention.A.dense": MATRIX, "blocks.0.attention.A.scale": ONE}, "attention.A", "no other part"),
        ({"blocks.0.attention.V.dense": VECTOR}, "attention.V.dense", "shape (2,), expected (2, 2)"),
        ({"blocks.0.attention.V.scale": VECTOR}, "attention.V.scale", "shape (2,), expected ()"),
        ({"blocks.0.attention.causal": ExactTensor((), [fmpq(1, 2)])}, "attention.causal", "1/2 is no mask"),
        ({"blocks.0.attention.causal": VECTOR}, "attention.causal", "shape (2,), expected ()"),
        ({DIMENSION: ExactTensor((), [fmpq(5, 2)])}, DIMENSION, "5/2 is no dimension"),
        ({DIMENSION: ExactTensor((), [fmpq(0)])}, DIMENSION, "0 is no dimension"),
        ({"blocks.0.attention.V.scale": ExactTensor((), [])}, "V.scale", "0 entries in shape ()"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(extra, place, message):
    state = BLOCK | {DIMENSION: ExactTensor((), [fmpq(2)])}
    with pytest.raises(MalformedInput) as caught:
        decode_state(state | extra, {})
    assert place in caught.value.path
    assert message in caught.value.message


class Masked(SelfAttention):
    """Attention that is more than its rho, A and V."""


def test_a_mask_is_kept_there_and_back():
    one = SquareMatrix(scale=fmpq(1))
    layers = [SelfAttention(V=one, causal=True), SelfAttention(), SelfAttention(causal=True)]
    transformer = Transformer(2, tuple(Block(identity_feed_forward(2), layer) for layer in layers))
    state = encode_state(transformer)
    assert [f"blocks.{k}.attention.causal" in state for k in range(3)] == [True, False, True]
    dimension = {DIMENSION: ExactTensor((), [fmpq(2)])}
    assert decode_state(state | dimension, {}).blocks == transformer.blocks
    none = {"blocks.0.attention.causal": ExactTensor((), [fmpq(0)])}
    assert not decode_state(state | none | dimension, {}).blocks[0].attention.causal
    with pytest.raises(UsageError, match=r"blocks\.0\.attention: attention with several heads or a mask"):
        encode_smt(make_dataset(([[0, 1]], [[0, 1]])), transformer)


def test_several_heads_are_refused():
    one = SquareMatrix(scale=fmpq(1))
    layer = SelfAttention.join(fmpq(1), [(one, one), (one, one)], True)
    with pytest.raises(UsageError, match=r"blocks\.0\.attention: attention with several heads is not exported"):
        encode_state(Transformer(2, (Block(identity_feed_forward(2), layer),)))


def test_attention_that_is_more_than_rho_A_and_V_is_refused():
    # left out, it would be another transformer, and the question to a solver about another one
    block = Block(identity_feed_forward(2), Masked(fmpq(1)))
    transformer = Transformer(2, (Block(identity_feed_forward(2)), block))
    for export in (encode_state, partial(encode_smt, make_dataset(([[0, 1]], [[0, 1]])))):
        with pytest.raises(UsageError, match=r"blocks\.1\.attention: attention with several heads"):
            export(transformer)
