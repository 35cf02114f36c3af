"""Writing transformer files: what is written is what was meant, in one way only, all of it or nothing."""

from __future__ import annotations

import json
import os
import stat

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.files.write import write_file
from interp.transformers.encode import encode_transformer
from proofs.kernel.counts import count_transformer
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix, Transformer, identity_feed_forward
from tests.reference import evaluator
from tests.strategies import loose_sequences, transformer_bytes, transformers


@given(st.integers(1, 4).flatmap(transformers))
def test_what_is_written_reads_back_as_the_same_transformer(data):
    transformer = decode_transformer(data)
    written = encode_transformer(transformer)
    again = decode_transformer(written)
    assert again.blocks == transformer.blocks
    assert again.dimension == transformer.dimension
    assert count_transformer(again) == count_transformer(transformer)
    assert encode_transformer(Transformer(again.dimension, again.blocks)) == encode_transformer(
        Transformer(transformer.dimension, transformer.blocks)
    )


@settings(max_examples=60)
@given(st.integers(1, 3).flatmap(lambda d: st.tuples(transformers(d), loose_sequences(d))))
def test_what_is_written_computes_the_same_for_the_reference(case):
    data, sequences = case
    written = encode_transformer(decode_transformer(data))
    assert list(evaluator.run(written, sequences)) == list(evaluator.run(data, sequences))


def lines_of(data):
    return [json.loads(line) for line in data.splitlines()]


def test_identity_parts_are_not_written():
    blocks = (Block(identity_feed_forward(2)), Block(identity_feed_forward(2), SelfAttention(fmpq(2))))
    _, first, second, _ = lines_of(encode_transformer(Transformer(2, blocks)))
    assert first == {"block": 1}
    assert second == {"block": 2, "sa": {"rho": 2}}


def test_numbers_beyond_53_bits_are_written_as_text():
    attention = [SelfAttention(fmpq(x)) for x in (2**53 - 1, 2**53, -(2**53) + 1, -(2**53))]
    attention.append(SelfAttention(fmpq(1, 3)))
    blocks = tuple(Block(identity_feed_forward(2), layer) for layer in attention)
    records = lines_of(encode_transformer(Transformer(2, blocks)))[1:-1]
    assert [r["sa"]["rho"] for r in records] == [2**53 - 1, str(2**53), -(2**53) + 1, str(-(2**53)), "1/3"]


def test_rank_one_matrices_are_written_as_their_factors_when_that_is_shorter():
    W, U = fmpq_mat(3, 4, [r * c for r in (1, 0, -2) for c in (1, 2, 3, 0)]), fmpq_mat(4, 3, [1, 0, 0] * 4)
    layer = FeedForward(fmpq(1), W, U, fmpq_mat(4, 1, [0, 0, 0, 0]))
    data = encode_transformer(Transformer(3, (Block(layer),)))
    record = lines_of(data)[1]["ff"]
    assert set(record["W"]) == set(record["U"]) == {"outer"}
    assert decode_transformer(data).blocks[0].feed_forward == layer
    full = FeedForward(fmpq(1), fmpq_mat(2, 2, [1, 0, 0, 1]), fmpq_mat(2, 2, [1, 2, 2, 4]), fmpq_mat(2, 1, [0, 0]))
    record = lines_of(encode_transformer(Transformer(2, (Block(full),))))[1]["ff"]
    assert record["W"] == [[1, 0], [0, 1]]
    assert record["U"] == [[1, 2], [2, 4]]


def test_a_dense_square_stays_dense_so_that_its_count_does_not_change():
    dense = SquareMatrix(dense=fmpq_mat(2, 2, [0, 0, 0, 0]))
    transformer = Transformer(2, (Block(identity_feed_forward(2), SelfAttention(A=dense)),))
    assert decode_transformer(encode_transformer(transformer)).blocks == transformer.blocks


def test_header_keys_of_the_format_cannot_be_overridden():
    header = {"blocks": 99, "dimension": 7, "format": "other/1", "comment": "kept"}
    head = lines_of(encode_transformer(Transformer(2, (), header)))[0]
    assert head == {"format": "interp-transformer/1", "dimension": 2, "blocks": 0, "comment": "kept"}


def test_a_decoded_header_is_written_again_as_it_was():
    data = transformer_bytes(2, [{}], comment={"a": [True, "2"]})
    written = encode_transformer(decode_transformer(data))
    assert decode_transformer(written).header == decode_transformer(data).header


# --------------------------------------------------------------------------------------------------------- writing


def test_a_file_is_written_whole_with_the_usual_rights(tmp_path):
    path = tmp_path / "t.jsonl"
    write_file(path, b"one\n")
    assert path.read_bytes() == b"one\n"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    write_file(path, b"two\n")
    assert path.read_bytes() == b"two\n"
    assert os.listdir(tmp_path) == ["t.jsonl"]


def test_a_write_that_fails_leaves_the_old_file_and_no_rest(tmp_path, monkeypatch):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"old\n")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(UsageError, match="No space left"):
        write_file(path, b"new\n")
    assert path.read_bytes() == b"old\n"
    assert os.listdir(tmp_path) == ["t.jsonl"]


def test_a_place_that_does_not_exist_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError):
        write_file(tmp_path / "nowhere" / "t.jsonl", b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError):
        write_file(tmp_path / "folder", b"")
    assert os.listdir(tmp_path) == ["folder"]
