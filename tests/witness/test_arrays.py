"""The binary form: it says what the JSON lines say, with the same digest, and nothing else is accepted."""

from __future__ import annotations

import hashlib
import random
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.api import build
from interp.transformers.encode import encode_transformer
from interp.transformers.files import convert_transformer
from proofs.__main__ import read_transformer
from proofs.kernel.counts import count_transformer
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import InterpError, LimitReached, MalformedInput
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.witness.arrays import read_arrays
from tests.reference.arrays import json_lines
from tests.strategies import make_dataset, sign, transformer_bytes, transformers
from tests.witness.archives import archive_of, archive_of_lines, arrays_of, pack, resign

RECORDS = [
    {"ff": {"eta": 1, "W": [["1/2", -3], [4, 5]], "U": [[1, 2], [3, 4]], "b": [0, "-7/3"]}},
    {},
    {"ff": {"eta": "2/3"}, "sa": {"rho": 0, "A": {"alpha": 1, "p": [1, 2], "q": [3, 4]}, "V": {"beta": -1}}},
    {"sa": {"rho": 1, "A": {"dense": [[1, 2], [3, 5]]}, "V": {"r": [1, 0], "t": ["1/9", 2]}}},
    {"ff": {"eta": 1, "W": [[10**400], [1]], "U": [[2**63, f"1/{10**30}"]], "b": [-(2**63)]}},
]
GOOD = archive_of_lines(transformer_bytes(2, RECORDS, comment={"n": 1.5, "é": [None, True]}, seed=7))


def read(data, tmp_path, limits=DEFAULT_LIMITS):
    path = tmp_path / "T.npz"
    path.write_bytes(data)
    return read_arrays(path, limits)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4).flatmap(transformers))
def test_both_forms_say_the_same_with_the_same_digest(tmp_path_factory, data):
    transformer = decode_transformer(data)
    lines, archive = encode_transformer(transformer), archive_of(transformer)
    again = read(archive, tmp_path_factory.getbasetemp())
    assert again.blocks == transformer.blocks
    assert again.digest == "sha256:" + hashlib.sha256(lines).hexdigest()
    assert again.header == decode_transformer(lines).header
    assert encode_transformer(again) == lines
    assert json_lines(archive) == lines


@pytest.mark.parametrize("construction", ["hardmax", "softmax", "compact", "peeling"])
def test_every_construction_survives_conversion_both_ways_byte_for_byte(construction, tmp_path):
    dataset = make_dataset(([[0, 0], [1, 2]], [[5, 5]]), ([[0, 0], [3, 1]], [[1, 0]]))
    first, second, third = (tmp_path / name for name in ("T.jsonl", "T.npz", "back.jsonl"))
    first.write_bytes(encode_transformer(build(dataset, construction)))
    assert convert_transformer(first, second)[1] == convert_transformer(second, third)[1]
    assert first.read_bytes() == third.read_bytes()
    assert read_transformer(second, DEFAULT_LIMITS).digest == read_transformer(first, DEFAULT_LIMITS).digest


def test_giants_and_headers_are_kept(tmp_path):
    found = read(GOOD, tmp_path)
    assert found.blocks[4].feed_forward.W[0, 0] == 10**400
    assert found.header["seed"] == "7"
    assert found.header["comment"] == {"n": "1.5", "é": [None, True]}
    assert b'"comment":{"n":1.5,' in json_lines(GOOD)


def test_the_same_transformer_gives_the_same_bytes():
    assert archive_of_lines(json_lines(GOOD)) == GOOD


def test_chunks_follow_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr("interp.transformers.arrays.MAX_BLOCKS", 2)
    archive = archive_of_lines(json_lines(GOOD))
    assert "3/structure" in arrays_of(archive)
    assert json_lines(archive) == json_lines(GOOD)
    found, whole = read(archive, tmp_path), decode_transformer(json_lines(GOOD))
    assert found.digest == whole.digest
    assert found.blocks == whole.blocks
    assert [found.blocks[k] for k in (4, 0, -1, 2)] == [whole.blocks[k] for k in (4, 0, -1, 2)]
    assert found.blocks[1:4] == whole.blocks[1:4]


def changed(**arrays):
    """The good archive with some arrays replaced, None leaving one out; ``__`` stands for the slash."""
    members = arrays_of(GOOD) | {name.lstrip("_").replace("__", "/"): value for name, value in arrays.items()}
    members["sha256"] = members.pop("sha256")
    return pack({name: value for name, value in members.items() if value is not None})


def edited(name, index, value):
    array = arrays_of(GOOD)[name].copy()
    array[index] = value
    return pack(arrays_of(GOOD) | {name: array})


def moved(name, place):
    members = list(arrays_of(GOOD).items())
    members.insert(place, members.pop([key for key, _ in members].index(name)))
    return pack(dict(members))


def with_gap():
    """One byte between the members and the directory, to which the end record points."""
    at = int.from_bytes(GOOD[-6:-2], "little")
    return GOOD[:at] + b"\0" + GOOD[at:-6] + (at + 1).to_bytes(4, "little") + GOOD[-2:]


TEXT = np.frombuffer(b"interp-transformer-npz/2", dtype=np.uint8)
FAULTS = {
    "format": (changed(format=TEXT), "format", "expected"),
    "no format": (changed(format=None), "", "not a transformer"),
    "no digest": (changed(sha256=None), "", "not a transformer"),
    "digest": (edited("sha256", 0, arrays_of(GOOD)["sha256"][0] ^ 1), "sha256", "digest"),
    "unknown array": (changed(_1__X=np.array([1])), "1/X", "no block needs"),
    "unknown in front": (moved("sha256", 0), "", "not a transformer"),
    "field not needed": (changed(_1__eta_denominators_sizes=np.array([1], dtype="i1")), "1/eta_denominators_sizes", ""),
    "missing field": (changed(_1__rho=None), "1/rho", "missing"),
    "missing structure": (changed(_1__structure=None), "1/structure", "missing"),
    "second chunk without a first": (changed(_3__structure=np.zeros((1, 7), dtype="i1")), "'3'", "belongs here"),
    "floats": (changed(_1__rho=np.array([0.0, 1.0])), "1/rho", "not an array of integers"),
    "nan": (changed(_1__rho=np.array([np.nan, 1.0])), "1/rho", "not an array of integers"),
    "unsigned": (changed(_1__rho=np.array([0, 1], dtype="u4")), "1/rho", "not an array of integers"),
    "big-endian": (changed(_1__rho=np.array([0, 1], dtype=">i4")), "1/rho", "not an array of integers"),
    "bytes for integers": (changed(_1__rho=np.array([0, 1], dtype="u1")), "1/rho", "an array of type"),
    "booleans": (changed(_1__rho=np.array([False, True])), "1/rho", "not an array of integers"),
    "objects": (changed(_1__rho=np.array([0, 10**30], dtype=object)), "1/rho", "not an array of integers"),
    "two dimensions": (changed(_1__rho=np.array([[0, 1]])), "1/rho", "shape"),
    "fortran order": (changed(_1__structure=np.zeros((5, 7), order="F", dtype="i1")), "1/structure", "not an array"),
    "too short": (changed(_1__rho=np.array([0])), "1/rho", "1 numbers, expected 2"),
    "too long": (changed(_1__rho=np.array([0, 1, 1])), "1/rho", "3 numbers, expected 2"),
    "no blocks in a chunk": (changed(_1__structure=np.zeros((0, 7), dtype="i1")), "1/structure", "0 blocks"),
    "row of six": (changed(_1__structure=np.zeros((5, 6), dtype="i1")), "1/structure", "missing"),
    "form nine": (edited("1/structure", (3, 5), 9), "1/structure[3]", "no block"),
    "negative form": (edited("1/structure", (3, 5), -1), "1/structure[3]", "no block"),
    "width without layer": (edited("1/structure", (1, 3), 1), "1/structure[1]", "no block"),
    "layer without width": (edited("1/structure", (0, 3), 0), "1/structure[0]", "no block"),
    "attention form without attention": (edited("1/structure", (1, 5), 1), "1/structure[1]", "no block"),
    "huge width": (
        changed(_1__structure=np.array([[2, 0, 0, 2**62, 0, 0, 0]] * 5, dtype="i8")), "1/structure[0]", "no block",
    ),
    "not lowest terms": (edited("1/V_denominators", 4, 4), "1/V[4]", "lowest terms"),
    "zero denominator": (edited("1/V_denominators", 0, 0), "1/V[0]", "lowest terms"),
    "negative denominator": (edited("1/V_denominators", 0, -1), "1/V[0]", "lowest terms"),
    "denominators all one": (changed(_1__rho_denominators=np.array([1, 1])), "1/rho_denominators", "left out"),
    "denominators too few": (changed(_1__rho_denominators=np.array([2])), "1/rho", "1 denominators"),
    "smallest of 64 bits": (changed(_1__rho=np.array([-(2**63), 1])), "1/rho", "sizes and bytes"),
    "sizes of nothing": (edited("1/W_sizes", 0, 0), "1/W_sizes", "size"),
    "sizes too many": (edited("1/W_sizes", 0, 3), "1/W_sizes", "add up"),
    "header of two lines": (
        changed(header=np.frombuffer(arrays_of(GOOD)["header"].tobytes() + b"\n", dtype=np.uint8)), "header", "one line",
    ),
    "compressed": (pack(arrays_of(GOOD), zipfile.ZIP_DEFLATED), "'format.npy'", "compressed"),
    "pickle": (changed(_1__rho=b"\x80\x04K\x01."), "1/rho", "not an array of integers"),
    "huge shape": (
        changed(_1__rho=b"\x93NUMPY\x01\x00\x46\x00{'descr': '<i8', 'fortran_order': False, 'shape': (999999999999,), }".ljust(79) + b"\n"),
        "1/rho",
        "",
    ),
    "trailing": (GOOD + b"\0", "", "end of the archive"),
    "in front": (b"PK\x03\x04" + GOOD, "", "directory"),
    "gap": (with_gap(), "", "between the members and the directory"),
    "twice": (changed(_1__RHO=arrays_of(GOOD)["1/rho"]).replace(b"1/RHO", b"1/rho"), "1/rho", "twice"),
    "cut": (GOOD[:-30], "", "end of the archive"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_one_fault_is_refused_with_its_place(name, tmp_path):
    data, place, reason = FAULTS[name]
    with pytest.raises(MalformedInput) as fault:
        read(data, tmp_path)
    assert place in fault.value.path
    assert reason in fault.value.message
    assert "Traceback" not in str(fault.value)


def test_sizes_and_bytes_are_for_giants_only_and_as_short_as_can_be(tmp_path):
    small = {"1/rho": None, "1/rho_sizes": np.array([1, 1], dtype="i1"), "1/rho_bytes": np.array([0, 1], dtype="u1")}
    members = {}
    for name, array in arrays_of(GOOD).items():
        members |= (
            {key: value for key, value in small.items() if value is not None} if name == "1/rho" else {name: array}
        )
    with pytest.raises(MalformedInput, match="as one array"):
        read(pack(members), tmp_path)
    members |= {"1/rho_sizes": np.array([9, 1], dtype="i1"), "1/rho_bytes": np.array([0] * 9 + [1], dtype="u1")}
    with pytest.raises(MalformedInput, match="more bytes"):
        read(pack(members), tmp_path)


def test_limits(tmp_path):
    for limits, option in (
        (Limits(max_digits=100), "--max-digits"),
        (Limits(max_digits=390), "--max-digits"),
        (Limits(max_dimension=1), "--max-dimension"),
        (Limits(max_depth=4), "--max-depth"),
    ):
        with pytest.raises(LimitReached) as fault:
            read(GOOD, tmp_path, limits)
        assert option in fault.value.hint
    assert read(GOOD, tmp_path, Limits(max_digits=401, max_depth=5)).dimension == 2


def test_a_file_cut_or_changed_anywhere_never_says_something_else(tmp_path):
    truth = read(GOOD, tmp_path).digest
    rng = random.Random(0)
    for end in range(0, len(GOOD), 97):
        with pytest.raises(MalformedInput):
            read(GOOD[:end], tmp_path)
    for _ in range(400):
        place = rng.randrange(len(GOOD))
        data = GOOD[:place] + bytes([GOOD[place] ^ (1 << rng.randrange(8))]) + GOOD[place + 1 :]
        with suppress(InterpError):
            assert read(data, tmp_path).digest == truth


def test_a_changed_array_says_what_an_independent_reader_says(tmp_path):
    """Every entry of every array up or down by one, signed again: both readers agree about blocks and digest."""
    agreed = 0
    for name, array in arrays_of(GOOD).items():
        if name in ("format", "header", "sha256"):
            continue
        for index in np.ndindex(array.shape):
            for step in (1, -1):
                new = array.astype(np.int64) if array.dtype != np.uint8 else array.copy()
                new[index] = (int(new[index]) + step) % 256 if array.dtype == np.uint8 else new[index] + step
                members = arrays_of(GOOD) | {name: new}
                try:
                    signed = resign(members)
                except (ValueError, IndexError, KeyError, ZeroDivisionError):
                    with pytest.raises(MalformedInput):
                        read(pack(members), tmp_path)
                    continue
                try:
                    found = read(signed, tmp_path)
                except MalformedInput:
                    continue
                wanted = decode_transformer(json_lines(signed))
                assert (found.digest, found.blocks == wanted.blocks) == (wanted.digest, True), (name, index)
                agreed += 1
    assert agreed > 100


def test_a_header_must_be_that_of_the_lines(tmp_path):
    for header in (b'{"format":"interp-transformer/1","dimension":2,"blocks":4}', b"{}", b"\xff", b"[" * 10_000):
        with pytest.raises(MalformedInput):
            read(resign_header(header), tmp_path)
    with pytest.raises(MalformedInput, match="5 blocks where the header says 4"):
        read(resign(arrays_of(resign_header(b'{"format":"interp-transformer/1","dimension":2,"blocks":4}'))), tmp_path)


def test_integers_from_2_to_the_53_on_are_text(tmp_path):
    numbers = [2**53 - 1, 2**53, 2**53 + 1, -(2**53), 2**54 - 1, 2**63 - 1]
    data = archive_of_lines(transformer_bytes(2, [{"ff": {"eta": str(x)}} for x in numbers]))
    assert read(data, tmp_path).digest == "sha256:" + hashlib.sha256(json_lines(data)).hexdigest()


@pytest.mark.parametrize("value", [{"r": [0, 0], "t": [1, 0]}, {"r": [1, 0], "t": [0, 0]}, {"dense": [[0, 0], [0, 0]]}])
def test_values_of_0_attend_to_nothing(value, tmp_path):
    data = transformer_bytes(2, [{"sa": {"rho": 1, "V": value}}])
    assert read(archive_of_lines(data), tmp_path).counts == count_transformer(decode_transformer(data))


def resign_header(header):
    members = arrays_of(GOOD) | {"header": np.frombuffer(header, dtype=np.uint8)}
    return pack(members)


def test_a_transformer_without_blocks_has_a_binary_form(tmp_path):
    lines = sign(['{"format":"interp-transformer/1","dimension":2,"blocks":0}'])
    found = read(archive_of_lines(lines), tmp_path)
    assert len(found.blocks) == 0
    assert list(found.program) == []


def test_a_file_that_changes_between_two_passes_is_noticed(tmp_path):
    found = read(GOOD, tmp_path)
    other = [*RECORDS[:1], {"ff": {"eta": 2}}, *RECORDS[2:]]
    (tmp_path / "T.npz").write_bytes(archive_of_lines(transformer_bytes(2, other, seed=7)))
    with pytest.raises(MalformedInput, match=r"changed|damaged"):
        list(found.blocks)
