"""Datasets and transformers that the tests write certificates of."""

from __future__ import annotations

from pathlib import Path

from flint import fmpq, fmpq_mat

from interp.constructions.hardmax import build_hardmax
from proofs.kernel.decode import decode_dataset, decode_transformer
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix, Transformer, identity_feed_forward
from proofs.kernel.statement import Dataset

DATA = Path(__file__).parent / "data"
HARDMAX_DATASET = b"""{"format":"interp-dataset/1","dimension":2,"pairs":[
{"input":[[0,"1/3"],[1,2],[-1,"-5/2"]],"output":[[2,-1]]},
{"input":[[1,2],[0,"1/3"],[3,0]],"output":[["1/2",0],[1,1]]}]}
"""


def hardmax_case() -> tuple[Dataset, Transformer]:
    """Two sequences that share tokens, built by the program."""
    dataset = decode_dataset(HARDMAX_DATASET)
    return dataset, Transformer(2, tuple(build_hardmax(dataset).blocks))


def file_case(name: str) -> tuple[Dataset, Transformer]:
    """A dataset and a transformer from tests/coq/data."""
    dataset = decode_dataset((DATA / f"{name}.dataset.json").read_bytes())
    return dataset, decode_transformer((DATA / f"{name}.transformer.jsonl").read_bytes())


def column(*values: int) -> fmpq_mat:
    """A d x 1 matrix."""
    return fmpq_mat(len(values), 1, [fmpq(x) for x in values])


def rank_one_value_case() -> tuple[Dataset, Transformer]:
    """x + (I + r t^T) mean(X) with r = (1, 2), t = (0, 1), by uniform attention: mean (1, 1), image x + (2, 3)."""
    dataset = decode_dataset(
        b'{"format":"interp-dataset/1","dimension":2,"pairs":[{"input":[[0,0],[2,2]],"output":[[4,5],[2,3]]}]}'
    )
    value = SquareMatrix(fmpq(1), column(1, 2), column(0, 1))
    block = Block(identity_feed_forward(2), SelfAttention(fmpq(1), SquareMatrix(), value))
    return dataset, Transformer(2, (block,))


def selecting_case() -> tuple[Dataset, Transformer]:
    """A = diag(100, 0) dense selects (9, 1); V = r t^T with r = (1, 1), t = (0, 1) and rho = 0 gives (1, 1).

    At temperature 1 the weights are not 0 or 1, but t only reads a coordinate that all tokens share.
    """
    dataset = decode_dataset(
        b'{"format":"interp-dataset/1","dimension":2,"pairs":[{"input":[[1,1],[9,1],[2,1]],"output":[[1,1]]}]}'
    )
    score = SquareMatrix(dense=fmpq_mat(2, 2, [100, 0, 0, 0]))
    value = SquareMatrix(fmpq(0), column(1, 1), column(0, 1))
    layer = FeedForward(fmpq(1), fmpq_mat(2, 0), fmpq_mat(0, 2), fmpq_mat(0, 1))
    return dataset, Transformer(2, (Block(layer, SelfAttention(fmpq(0), score, value)),))
