"""Float weights of other programs: every float is the rational that it is, and everything else is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.export.files import encode_npz, export_floats
from interp.export.rounding import FORMATS, round_state
from interp.export.safetensors_file import encode_safetensors
from interp.export.state import encode_state
from interp.imports.transformer import HeaderOptions, import_transformer
from interp.imports.weights import decode_npz, decode_safetensors
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.rational import DEFAULT_LIMITS
from tests.export.cases import need

INT, ONE = np.array(2), np.array(1.0)
BLOCK = {"dimension": INT, "blocks.0.feed_forward.eta": ONE, "blocks.0.attention.rho": ONE}


def from_npz(arrays):
    return decode_npz(encode_npz(arrays), DEFAULT_LIMITS)


def from_safetensors(arrays):
    need("safetensors")
    return decode_safetensors(encode_safetensors(arrays))


READERS = pytest.mark.parametrize("read", [from_npz, from_safetensors])
KINDS = pytest.mark.parametrize("kind", ["float64", "float32", "float16"])


@READERS
@KINDS
def test_every_float_is_the_rational_that_it_is(read, kind):
    @given(st.lists(st.integers(0, 2 ** (8 * np.dtype(kind).itemsize) - 1), min_size=1, max_size=5))
    def agree(patterns):
        floats = np.array(patterns, f"uint{8 * np.dtype(kind).itemsize}").view(kind)
        floats = floats[np.isfinite(floats)]
        (tensor,) = read({"b": floats}).values()
        assert [Fraction(int(x.p), int(x.q)) for x in tensor.values] == [Fraction(float(x)) for x in floats]

    agree()


def test_bfloat16_is_the_upper_half_of_a_float32():
    need("safetensors")
    content = encode_safetensors({"b": np.array([0x3F80, 0xC040, 0x0001], "<u2")}).replace(b'"U16"', b'"BF16"')
    content = _fix_header(content)
    assert list(decode_safetensors(content)["b"].values) == [1, -3, fmpq(1, 2**133)]
    with pytest.raises(MalformedInput, match=r"b\[0\]: inf is not a number"):
        decode_safetensors(
            _fix_header(encode_safetensors({"b": np.array([0x7F80], "<u2")}).replace(b'"U16"', b'"BF16"'))
        )


def _fix_header(content: bytes) -> bytes:
    """The header has become a byte longer: one of its filling spaces goes."""
    end = content.index(b"}}") + 2
    if content[end : end + 1] == b" ":
        return content[:end] + content[end + 1 :]
    size = int.from_bytes(content[:8], "little") + 1
    return size.to_bytes(8, "little") + content[8:]


@READERS
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused_with_its_place(read, value):
    arrays = BLOCK | {"blocks.0.attention.A.dense": np.array([[0, 1], [value, 2]])}
    with pytest.raises(MalformedInput, match=r"blocks\.0\.attention\.A\.dense\[1,0\]: -?(nan|inf) is not a number"):
        read(arrays)


@READERS
def test_other_types_are_refused(read):
    with pytest.raises(MalformedInput, match=r"type .* is not read"):
        read({"b": np.array([True])})


def test_objects_and_duplicates_in_archives_are_refused(tmp_path):
    np.savez(tmp_path / "o.npz", b=np.array([{}], dtype=object))
    with pytest.raises(MalformedInput, match="an array of type object is not read"):
        decode_npz((tmp_path / "o.npz").read_bytes(), DEFAULT_LIMITS)
    for content in (b"", b"PK\x03\x04", encode_npz({"b": ONE})[:-9]):
        with pytest.raises(MalformedInput, match=r"not a readable \.npz archive"):
            decode_npz(content, DEFAULT_LIMITS)


def test_an_archive_of_numpy_is_sent_to_the_other_command():
    need("safetensors")
    with pytest.raises(MalformedInput, match="interp import numpy"):
        decode_safetensors(encode_npz(BLOCK))


def test_pickles_are_never_opened():
    need("safetensors")
    for content in (b"PK\x03\x04archive/data.pkl", b"\x80\x02}q\x00."):
        with pytest.raises(MalformedInput, match=r"pickle of torch\.save.*safetensors\.torch\.save_file"):
            decode_safetensors(content)


def test_a_real_file_of_torch_save_is_refused(tmp_path):
    need("torch", "safetensors")
    import torch

    torch.save({"b": torch.zeros(2)}, tmp_path / "m.pt")
    with pytest.raises(MalformedInput, match=r"pickle of torch\.save"):
        decode_safetensors((tmp_path / "m.pt").read_bytes())


# ------------------------------------------------------------------------------------------------------ whole models


@st.composite
def float_states(draw: st.DrawFn, kind: str) -> dict[str, np.ndarray]:
    """Weights of some transformer with d = 2, any finite floats but -0 (which is 0 as a rational) and no zero scale."""

    def array(*shape: int) -> np.ndarray:
        floats = st.floats(width=int(kind[-2:]), allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)
        size = int(np.prod(shape, dtype=int))
        return np.array(draw(st.lists(floats, min_size=size, max_size=size)), kind).reshape(shape)

    state = {}
    for k in range(draw(st.integers(1, 3))):
        prefix = f"blocks.{k}."
        state[prefix + "feed_forward.eta"] = array()
        if w := draw(st.integers(0, 2)):
            state |= {f"{prefix}feed_forward.{n}": array(*s) for n, s in (("W", (2, w)), ("U", (w, 2)), ("b", (w,)))}
        state[prefix + "attention.rho"] = array()
        if draw(st.booleans()):
            state[prefix + "attention.causal"] = np.array(1, kind)
        for name in "AV":
            form = draw(st.integers(0, 3))
            place = f"{prefix}attention.{name}."
            if form == 1:
                state[place + "dense"] = array(2, 2)
            if form == 2:
                state[place + "scale"] = np.where(scale := array(), scale, 1).astype(kind)
            if form in (2, 3):
                state |= {place + "left": array(2), place + "right": array(2)}
    return state


@pytest.mark.parametrize("kind", ["float64", "float32"])
@READERS
def test_weights_come_back_bit_for_bit(read, kind):
    @settings(max_examples=50)
    @given(float_states(kind))
    def agree(state):
        transformer = import_transformer(read({"dimension": INT} | state))
        arrays, report = round_state(encode_state(transformer), FORMATS[kind])
        assert report.rounded == 0
        assert arrays.keys() == state.keys()
        assert all(arrays[name].tobytes() == state[name].tobytes() for name in state)

    agree()


def test_the_files_come_back_byte_for_byte():
    need("safetensors")
    state = BLOCK | {"temperature": np.array(0.25), "blocks.0.attention.V.scale": np.array(0.1)}
    for ending, beside, read in ((".py", ".npz", from_npz), (".safetensors", "", from_safetensors)):
        transformer = import_transformer(read(state))
        kind = "numpy" if beside else "torch"
        output = Path("t.py")
        first = export_floats(transformer, b"", kind, output, "float64", fmpq(1, 4)).contents
        weights = first[output.with_suffix(beside or ending)]
        again = import_transformer(decode_npz(weights, DEFAULT_LIMITS) if beside else decode_safetensors(weights))
        assert again == transformer
        assert export_floats(again, b"", kind, output, "float64", fmpq(1, 4)).contents == first


@pytest.mark.parametrize(
    ("stored", "options", "expected"),
    [
        (None, {}, ("hardmax", "0")),
        (0.0, {}, ("hardmax", "0")),
        (0.5, {}, ("softmax", "1/2")),
        (0.5, {"attention": "hardmax"}, ("hardmax", "0")),
        (0.0, {"attention": "softmax"}, ("softmax", "(0, 1]")),
        (0.5, {"attention": "softmax"}, ("softmax", "1/2")),
        (0.5, {"temperatures": "[0,2]"}, ("softmax", "[0, 2]")),
    ],
)
def test_the_header_says_what_was_asked(stored, options, expected):
    arrays = BLOCK | ({} if stored is None else {"temperature": np.array(stored)})
    header = import_transformer(from_npz(arrays), HeaderOptions(**options)).header
    assert (header["attention"], header["temperatures"]) == expected


@pytest.mark.parametrize(
    "options",
    [
        {"attention": "hardmax", "temperatures": "1"},
        {"attention": "softmax", "temperatures": "0"},
        {"temperatures": "-1"},
    ],
)
def test_options_that_contradict_each_other(options):
    with pytest.raises(UsageError):
        import_transformer(from_npz(BLOCK), HeaderOptions(**options))
