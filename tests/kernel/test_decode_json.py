"""Strict JSON: what a lenient reader would let through is refused, with its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.kernel.decode import decode_json
from proofs.kernel.errors import MalformedInput


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1, "a": 1}',
        b'{"a": 1, "a": 2}',
        b'{"x": [{"a": 1, "b": 2, "a": 3}]}',
        b'{"a": 1, "\\u0061": 2}',  # the same key, written in two ways
        b'{"": 1, "": 2}',
        b'{"a": 1, "a": {"a": 1, "a": 1}}',
    ],
)
def test_a_repeated_key_is_refused(data):
    with pytest.raises(MalformedInput, match="given twice"):
        decode_json(data, "$")


def test_the_repeated_key_is_named():
    with pytest.raises(MalformedInput, match="'b'"):
        decode_json(b'{"a": 1, "b": 1, "c": 1, "b": 1}')


def test_a_repeated_key_among_many_is_found_without_comparing_all_pairs():
    keys = [*(f"k{i}" for i in range(200_000)), "k199999"]
    data = "{" + ",".join(f'"{key}":0' for key in keys) + "}"
    with pytest.raises(MalformedInput, match="'k199999'"):
        decode_json(data.encode())


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("template", ["%s", "[%s]", '{"comment": %s}', '{"a": [[%s]]}'])
def test_constants_that_are_no_numbers_are_refused_wherever_they_stand(name, template):
    with pytest.raises(MalformedInput, match="is not a number"):
        decode_json((template % name).encode(), "$")


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf{}",  # byte order mark
        '{"a": 1}'.encode("utf-16"),
        '{"a": 1}'.encode("utf-32"),
        b"\xff\xfe",
        b'{"a": "\xff"}',
        b'{"a": "\xc0\x80"}',  # an overlong zero
        b'{"a": "\xed\xa0\x80"}',  # half a surrogate pair
        b"{}\x00",
        b"\x00{}",
        b'{"a\x00": 1}',
        b'{"a": "\x01"}',
        b'{"a": "line\nbreak"}',
    ],
)
def test_bytes_that_are_no_utf_8_or_control_characters_are_refused(data):
    with pytest.raises(MalformedInput):
        decode_json(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"\n",
        b"{",
        b"[1,2",
        b"[1,]",
        b'{"a":1,}',
        b'{"a"}',
        b"{a: 1}",
        b"{'a': 1}",
        b"[1] [2]",
        b"{}{}",
        b"{} x",
        b"// comment\n{}",
        b"[1 2]",
        b"[01]",
        b"[+1]",
        b"[.5]",
        b"[1.]",
        b"[0x1]",
        b"[1_0]",
        b"True",
        b"nan",
        b"undefined",
        "[１]".encode(),  # noqa: RUF001
        b"\x0b[]",
        "\u00a0[1]".encode(),
    ],
)
def test_what_is_not_json_is_refused(data):
    with pytest.raises(MalformedInput, match="not JSON"):
        decode_json(data, "line 3")


@pytest.mark.parametrize(
    "data", [b"[" * 200_000, b'{"a":' * 200_000, b"[" * 200_000 + b"]" * 200_000, b'[{"a":' * 100_000]
)
def test_deep_nesting_is_refused_and_does_not_end_the_process(data):
    with pytest.raises(MalformedInput, match="nested too deeply"):
        decode_json(data)


def test_the_place_is_told():
    for data in (b'{"a":1,"a":1}', b"NaN", b"{", b"\xff", b"[" * 200_000):
        with pytest.raises(MalformedInput) as fault:
            decode_json(data, "line 7")
        assert fault.value.path == "line 7"


@pytest.mark.parametrize(
    "text", ["1", "-0", "1e400", "0.1", "1" + "0" * 6000, "123456789012345678901234567890.5", "1E-9999"]
)
def test_numbers_stay_as_they_are_written(text):
    value = decode_json(text.encode())
    assert value == text


def test_a_number_and_a_text_that_looks_like_it_can_be_told_apart():
    number, text = decode_json(b'[5, "5"]')
    assert type(number) is not type(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_documents_without_numbers_come_back_unchanged(document):
    assert decode_json(json.dumps(document).encode()) == document
