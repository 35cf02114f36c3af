"""Witnesses from bytes: cut, patched, mixed up or ambiguous files are refused, with the place of the fault."""

from __future__ import annotations

import copy
import hashlib
import json

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.model import SelfAttention, SquareMatrix
from proofs.kernel.rational import Limits
from tests.strategies import sign, transformer_bytes, transformers

FULL = {
    "ff": {"eta": 1, "W": [[1, 2], ["1/2", 0]], "U": {"outer": [[1, -1], [2, "3/4"]]}, "b": [0, 1]},
    "sa": {"rho": 0, "A": {"alpha": 1, "p": [1, 0], "q": [0, 1]}, "V": {"beta": 2}},
}
PLAIN = {
    "ff": {"eta": 2},
    "sa": {"rho": 1, "A": {"dense": [[1, 0], [0, 1]]}, "V": {"beta": 1, "r": [1, 0], "t": [0, 1]}},
}
WITNESS = transformer_bytes(2, [FULL, PLAIN, {}])


def altered(*path_and_value):
    """The witness with one value of its first block replaced, added or (...) removed, counts and digest consistent."""
    *path, key, value = path_and_value
    block = copy.deepcopy(FULL)
    place = block
    for step in path:
        place = place[step]
    if value is ...:
        del place[key]
    else:
        place[key] = value
    return transformer_bytes(2, [block, PLAIN, {}])


def lines_of(data=WITNESS):
    return data.decode().splitlines()


# ------------------------------------------------------------------------------------------------- what is read


def test_a_witness_is_read_exactly():
    transformer = decode_transformer(WITNESS)
    first, second, third = transformer.blocks
    assert transformer.dimension == 2
    assert transformer.digest == "sha256:" + hashlib.sha256(WITNESS).hexdigest()
    assert fmpq_mat(2, 2, [1, 2, fmpq(1, 2), 0]) == first.feed_forward.W
    assert fmpq_mat(2, 2, [2, fmpq(3, 4), -2, fmpq(-3, 4)]) == first.feed_forward.U
    assert first.feed_forward.b == fmpq_mat(2, 1, [0, 1])
    assert first.feed_forward.eta == 1
    assert first.attention.rho == 0
    assert SquareMatrix(fmpq(1), fmpq_mat(2, 1, [1, 0]), fmpq_mat(2, 1, [0, 1])) == first.attention.A
    assert first.attention.A.to_dense(2) == fmpq_mat(2, 2, [1, 1, 0, 1])
    assert SquareMatrix(fmpq(2)) == first.attention.V
    assert second.feed_forward.width == 0
    assert second.feed_forward.eta == 2
    assert second.attention.A.to_dense(2) == fmpq_mat(2, 2, [1, 0, 0, 1])
    assert second.attention.V.to_dense(2) == fmpq_mat(2, 2, [1, 1, 0, 1])
    assert third.feed_forward.is_identity()
    assert third.attention == SelfAttention()


def test_no_blocks_is_the_identity():
    assert decode_transformer(transformer_bytes(3, [])).blocks == ()


def test_width_zero_may_be_written_out():
    block = decode_transformer(transformer_bytes(2, [{"ff": {"eta": 1, "W": [[], []], "U": [], "b": []}}])).blocks[0]
    assert block.feed_forward.is_identity()


def test_the_header_is_kept_but_counts_come_from_the_blocks():
    transformer = decode_transformer(transformer_bytes(2, [{}], temperatures="(0, oo)", comment="x"))
    assert transformer.header["temperatures"] == "(0, oo)"
    assert len(transformer.blocks) == 1


# ------------------------------------------------------------------------------------------------- cut and patched


def test_a_witness_cut_anywhere_is_refused():
    for end in range(len(WITNESS)):
        with pytest.raises(MalformedInput):
            decode_transformer(WITNESS[:end])


def test_a_witness_cut_at_a_line_end_is_refused():
    lines = WITNESS.splitlines(keepends=True)
    for count in range(len(lines)):
        with pytest.raises(MalformedInput):
            decode_transformer(b"".join(lines[:count]))


def test_any_line_left_out_doubled_or_swapped_is_refused():
    lines = WITNESS.splitlines(keepends=True)
    for k in range(len(lines)):
        for other in (lines[:k] + lines[k + 1 :], [*lines[:k], lines[k], *lines[k:]]):
            with pytest.raises(MalformedInput):
                decode_transformer(b"".join(other))
        if k:
            with pytest.raises(MalformedInput):
                decode_transformer(b"".join([*lines[: k - 1], lines[k], lines[k - 1], *lines[k + 1 :]]))


def test_any_single_byte_changed_is_refused():
    for place in range(len(WITNESS)):
        for byte in {WITNESS[place] ^ 1, WITNESS[place] ^ 16, 0x20, 0x30} - {WITNESS[place]}:
            changed = WITNESS[:place] + bytes([byte]) + WITNESS[place + 1 :]
            with pytest.raises(MalformedInput):
                decode_transformer(changed)


def test_anything_after_the_end_record_is_refused():
    for tail in (b"\n", b" \n", b"{}\n", b"\x00", WITNESS, WITNESS.splitlines(keepends=True)[-1], b'{"block": 4}\n'):
        with pytest.raises(MalformedInput):
            decode_transformer(WITNESS + tail)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"\n\n", b"{}", b"{}\n", b"\x00", b"\xff\n", b"[" * 100_000 + b"\n", b"null\n"]
)
def test_no_witness_at_all_is_refused(data):
    with pytest.raises(MalformedInput):
        decode_transformer(data)


def test_an_end_record_alone_is_refused():
    end = json.dumps({"end": {"blocks": 0, "sha256": hashlib.sha256(b"").hexdigest()}}) + "\n"
    with pytest.raises(MalformedInput, match="missing"):
        decode_transformer(end.encode())


def end_record(**changes):
    body = "".join(line + "\n" for line in lines_of()[:-1])
    end = {"blocks": 3, "sha256": hashlib.sha256(body.encode()).hexdigest()} | changes
    return (body + json.dumps({"end": {k: v for k, v in end.items() if v is not ...}}) + "\n").encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (end_record(sha256="0" * 64), "digest"),
        (end_record(sha256=None), "digest"),
        (end_record(sha256=""), "digest"),
        (end_record(sha256=hashlib.sha256(b"".join(WITNESS.splitlines()[:-1])).hexdigest()), "digest"),
        (end_record(sha256=json.loads(lines_of()[-1])["end"]["sha256"].upper()), "digest"),
        (end_record(sha256=...), "'sha256' is missing"),
        (end_record(blocks=...), "'blocks' is missing"),
        (end_record(blocks=2), "3 blocks where the end record says 2"),
        (end_record(blocks=4), "3 blocks where the end record says 4"),
        (end_record(blocks="3"), "expected a count"),
        (end_record(blocks=3.0), "expected a count"),
        (end_record(signature="x"), "unknown key 'signature'"),
        (end_record().replace(b'{"end":', b'{"END":'), "end record is missing"),
        (end_record().replace(b'{"end":', b'{"block": 4, "end":'), "end record is missing"),
        (end_record().replace(b'"blocks": 3, "sha256"', b'"blocks": 3, "blocks": 3, "sha256"'), "given twice"),
        (end_record().rstrip(b"\n") + b" \r", "no newline"),
    ],
)
def test_a_wrong_end_record_is_refused(data, reason):
    with pytest.raises(MalformedInput, match=reason):
        decode_transformer(data)


# ---------------------------------------------------------------------------- consistent files with one wrong thing


@pytest.mark.parametrize(
    ("data", "path", "reason"),
    [
        # header
        (transformer_bytes(2, [{}], blocks=2), "$.blocks", "1 blocks where the header says 2"),
        (transformer_bytes(2, [{}], blocks=0), "$.blocks", "1 blocks where the header says 0"),
        (transformer_bytes(2, [{}], blocks="1"), "line 1: $.blocks", "expected a count"),
        (transformer_bytes(2, [{}], blocks=None), "line 1: $.blocks", "expected a count"),
        (transformer_bytes(2, [{}], dimension="2"), "line 1: $.dimension", "expected a count"),
        (transformer_bytes(2, [{}], dimension=-2), "line 1: $.dimension", "expected a count"),
        (transformer_bytes(2, [{}], format="interp-transformer/2"), "line 1: $.format", "expected"),
        (transformer_bytes(2, [{}], format=1), "line 1: $.format", "expected"),
        (transformer_bytes(2, [{}], max_blocks=99), "line 1", "unknown key 'max_blocks'"),
        (transformer_bytes(2, [{}], max_width=99), "line 1", "unknown key 'max_width'"),
        (transformer_bytes(2, [{}], claim={}), "line 1", "unknown key 'claim'"),
        (transformer_bytes(2, [{}], comment=float("nan")), "line 1", "NaN"),
        (sign(["[]", '{"block": 1}']), "line 1", "expected an object"),
        (sign(['{"format": "interp-transformer/1", "blocks": 0}']), "line 1", "'dimension' is missing"),
        # which block
        (sign([lines_of()[0], *lines_of()[2:4], lines_of()[1]]), "line 2: $.block", "block 2 where block 1 belongs"),
        (sign([lines_of()[0], *[lines_of()[1]] * 3]), "line 3: $.block", "block 1 where block 2 belongs"),
        (transformer_bytes(2, [{"block": 0}]), "line 2: $.block", "block 0 where block 1 belongs"),
        (transformer_bytes(2, [{"block": "1"}]), "line 2: $.block", "expected a count"),
        (transformer_bytes(2, [{"block": None}]), "line 2: $.block", "expected a count"),
        (sign([lines_of(transformer_bytes(2, [{}]))[0], "{}"]), "line 2: $", "'block' is missing"),
        (sign([lines_of(transformer_bytes(2, [{}]))[0], ""]), "line 2", "not JSON"),
        (sign([lines_of(transformer_bytes(2, [{}]))[0], "[]"]), "line 2: $", "expected an object"),
        (sign([lines_of(transformer_bytes(2, [{}]))[0], '{"block": 1, "block": 1}']), "line 2", "given twice"),
        (sign([lines_of(transformer_bytes(2, [{}]))[0], '{"block": 1}{"block": 2}']), "line 2", "not JSON"),
        # keys
        (altered("repeat", 2), "line 2: $", "unknown key 'repeat'"),
        (altered("FF", {"eta": 1}), "line 2: $", "unknown key 'FF'"),
        (altered("end", {}), "line 2: $", "unknown key 'end'"),
        (altered("ff", None), "line 2: $.ff", "expected an object"),
        (altered("ff", []), "line 2: $.ff", "expected an object"),
        (altered("ff", {}), "line 2: $.ff", "'eta' is missing"),
        (altered("ff", "c", [1]), "line 2: $.ff", "unknown key 'c'"),
        (altered("ff", "eta", ...), "line 2: $.ff", "'eta' is missing"),
        (altered("ff", "eta", None), "line 2: $.ff.eta", "expected a number"),
        (altered("ff", "eta", True), "line 2: $.ff.eta", "expected a number"),
        (altered("ff", "eta", "1/0"), "line 2: $.ff.eta", "is not a number"),
        (altered("ff", "eta", [1]), "line 2: $.ff.eta", "expected a number"),
        (altered("sa", None), "line 2: $.sa", "expected an object"),
        (altered("sa", {}), "line 2: $.sa", "'rho' is missing"),
        (altered("sa", "rho", None), "line 2: $.sa.rho", "expected a number"),
        (altered("sa", "tau", 1), "line 2: $.sa", "unknown key 'tau'"),
        (altered("sa", "A", "beta", 1), "line 2: $.sa.A", "unknown key 'beta'"),
        (altered("sa", "V", "alpha", 1), "line 2: $.sa.V", "unknown key 'alpha'"),
        (altered("sa", "V", "p", [1, 0]), "line 2: $.sa.V", "unknown key 'p'"),
        (altered("sa", "A", []), "line 2: $.sa.A", "expected an object"),
        (altered("sa", "A", 1), "line 2: $.sa.A", "expected an object"),
        # parts without their companions
        (altered("ff", "W", ...), "line 2: $.ff", "come together"),
        (altered("ff", "U", ...), "line 2: $.ff", "come together"),
        (altered("ff", "b", ...), "line 2: $.ff", "come together"),
        (altered("ff", {"eta": 1, "b": []}), "line 2: $.ff", "come together"),
        (altered("sa", "A", {"p": [1, 0]}), "line 2: $.sa.A", "p and q come together"),
        (altered("sa", "A", {"alpha": 1, "q": [1, 0]}), "line 2: $.sa.A", "p and q come together"),
        (altered("sa", "V", {"t": [1, 0]}), "line 2: $.sa.V", "r and t come together"),
        (altered("sa", "A", {"dense": [[1, 0], [0, 1]], "alpha": 1}), "line 2: $.sa.A", "unknown key 'alpha'"),
        (altered("sa", "A", {"dense": [[1, 0], [0, 1]], "alpha": 0}), "line 2: $.sa.A", "unknown key 'alpha'"),
        (
            altered("sa", "A", {"dense": [[1, 0], [0, 1]], "p": [1, 0], "q": [1, 0]}),
            "line 2: $.sa.A",
            "unknown key 'p'",
        ),
        # shapes
        (altered("ff", "b", [0]), "line 2: $.ff.W[0]", "2 entries, expected 1"),
        (altered("ff", "b", [0, 0, 0]), "line 2: $.ff.W[0]", "2 entries, expected 3"),
        (altered("ff", "b", [[0], [1]]), "line 2: $.ff.b[0]", "expected a number"),
        (altered("ff", "b", "01"), "line 2: $.ff.b", "expected a list"),
        (altered("ff", "b", {"0": 1}), "line 2: $.ff.b", "expected a list"),
        (altered("ff", "W", [[1, 2]]), "line 2: $.ff.W", "shape 1 x 2, expected 2 x 2"),
        (altered("ff", "W", [[1, 2], [3, 4], [5, 6]]), "line 2: $.ff.W", "shape 3 x 2, expected 2 x 2"),
        (altered("ff", "W", [[1, 2], [3]]), "line 2: $.ff.W[1]", "1 entries, expected 2"),
        (altered("ff", "W", [[1, 2, 3], [4]]), "line 2: $.ff.W[0]", "3 entries, expected 2"),
        (altered("ff", "W", []), "line 2: $.ff.W", "shape 0 x 2"),
        (altered("ff", "W", [1, 2]), "line 2: $.ff.W[0]", "expected a list"),
        (altered("ff", "W", None), "line 2: $.ff.W", "expected a list"),
        (altered("ff", "W", 1, 1, None), "line 2: $.ff.W[1][1]", "expected a number"),
        (altered("ff", "U", [[1, 2, 3], [4, 5, 6]]), "line 2: $.ff.U[0]", "3 entries, expected 2"),
        (altered("ff", "U", [[1, 2]]), "line 2: $.ff.U", "shape 1 x 2, expected 2 x 2"),
        (altered("ff", "U", {"outer": [[1, 2]]}), "line 2: $.ff.U.outer", "a column and a row"),
        (altered("ff", "U", {"outer": [[1, 2], [1, 2], [1, 2]]}), "line 2: $.ff.U.outer", "a column and a row"),
        (altered("ff", "U", {"outer": [[1, 2, 3], [1, 2]]}), "line 2: $.ff.U", "shape 3 x 2, expected 2 x 2"),
        (altered("ff", "U", {"outer": [[1, 2], [1]]}), "line 2: $.ff.U", "shape 2 x 1, expected 2 x 2"),
        (altered("ff", "U", {"outer": [[], []]}), "line 2: $.ff.U", "shape 0 x 0, expected 2 x 2"),
        (altered("ff", "U", {"outer": [[1, "x"], [1, 2]]}), "line 2: $.ff.U.outer[0][1]", "is not a number"),
        (altered("ff", "U", {}), "line 2: $.ff.U", "'outer' is missing"),
        (altered("ff", "U", {"outer": 1}), "line 2: $.ff.U.outer", "expected a list"),
        (altered("ff", "U", {"outer": [[1, 2], [1, 2]], "scale": 2}), "line 2: $.ff.U", "unknown key 'scale'"),
        (altered("sa", "A", "p", [1]), "line 2: $.sa.A.p", "1 entries, expected 2"),
        (altered("sa", "A", "q", [1, 2, 3]), "line 2: $.sa.A.q", "3 entries, expected 2"),
        (altered("sa", "A", "q", []), "line 2: $.sa.A.q", "0 entries, expected 2"),
        (altered("sa", "A", "q", [1, "x"]), "line 2: $.sa.A.q[1]", "not a number"),
        (altered("sa", "A", "alpha", None), "line 2: $.sa.A.alpha", "expected a number"),
        (altered("sa", "A", {"dense": [[1, 0]]}), "line 2: $.sa.A.dense", "shape 1 x 2, expected 2 x 2"),
        (altered("sa", "V", {"dense": [[1], [0]]}), "line 2: $.sa.V.dense[0]", "1 entries, expected 2"),
        (altered("sa", "V", {"dense": []}), "line 2: $.sa.V.dense", "shape 0 x 2"),
    ],
)
def test_one_wrong_thing_is_refused_with_its_place(data, path, reason):
    with pytest.raises(MalformedInput) as fault:
        decode_transformer(data)
    assert fault.value.path == path
    assert reason in str(fault.value)


@pytest.mark.parametrize("name", ["A", "V"])
def test_a_matrix_given_as_null_is_refused(name):
    with pytest.raises(MalformedInput, match="expected an object"):
        decode_transformer(altered("sa", name, None))


def test_a_witness_of_another_dimension_than_its_matrices_is_refused():
    for dimension in (0, 1, 3):
        with pytest.raises(MalformedInput):
            decode_transformer(transformer_bytes(dimension, [FULL]))


def test_a_long_outer_product_is_refused_before_it_is_multiplied_out():
    # 3000 numbers would make a matrix of millions of entries; shape is checked on the factors
    with pytest.raises(MalformedInput, match="shape 3000 x 3000, expected 2 x 2"):
        decode_transformer(altered("sa", "A", {"dense": {"outer": [[1] * 3000, [1] * 3000]}}))


def test_a_dimension_that_no_dataset_has_is_a_limit():
    with pytest.raises(LimitReached, match="dimension"):
        decode_transformer(transformer_bytes(10**12, [{}]))


@pytest.mark.parametrize("value", ["1" * 20_000, "1e100000000"])
def test_limits_hold_in_witnesses_too(value):
    with pytest.raises(LimitReached) as fault:
        decode_transformer(altered("ff", "W", 0, 0, value))
    assert fault.value.path == "line 2: $.ff.W[0][0]"


def test_a_witness_above_the_byte_limit_is_a_limit():
    with pytest.raises(LimitReached, match="bytes"):
        decode_transformer(WITNESS, Limits(max_bytes=len(WITNESS) - 1))


@given(st.binary(max_size=60), st.integers(0, len(WITNESS)), st.integers(0, 40))
def test_bytes_spliced_in_anywhere_never_crash_the_reader_and_never_pass(data, place, gap):
    changed = WITNESS[:place] + data + WITNESS[place + gap :]
    if changed != WITNESS:
        with pytest.raises((MalformedInput, LimitReached)):
            decode_transformer(changed)


JUNK = st.sampled_from(
    [None, True, [], {}, "", "x", -1, "1/0", [1], [[1]], [[1, 2], [3, 4]], {"outer": [[1], [1]]}, 10**30]
)


@given(st.sampled_from(["ff", "sa"]), st.sampled_from(["eta", "W", "U", "b", "rho", "A", "V", "dense"]), JUNK)
def test_junk_in_a_signed_block_is_refused_or_read_but_never_crashes(layer, key, junk):
    try:
        transformer = decode_transformer(altered(layer, key, junk))
    except (MalformedInput, LimitReached):
        return
    assert len(transformer.blocks) == 3


@given(st.integers(2, 4).flatmap(transformers))
def test_arbitrary_well_formed_witnesses_are_read(data):
    transformer = decode_transformer(data)
    assert len(transformer.blocks) == len(data.splitlines()) - 2


def test_blocks_are_limited_by_what_the_header_says():
    data = transformer_bytes(2, [{}] * 3)
    assert len(decode_transformer(data, Limits(max_depth=3)).blocks) == 3
    with pytest.raises(LimitReached, match="--max-depth"):
        decode_transformer(data, Limits(max_depth=2))
