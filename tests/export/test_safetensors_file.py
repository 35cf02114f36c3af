"""Safetensors with the exact numbers inside: lossless, and useless once floats and numbers differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from interp.export.files import export_floats
from interp.export.safetensors_file import decode_exact
from proofs.kernel.decode import TRANSFORMER_FORMAT, decode_transformer
from proofs.kernel.errors import MalformedInput
from proofs.kernel.rational import DEFAULT_LIMITS
from tests.export.cases import need
from tests.strategies import transformer_bytes, transformers

OUTPUT = Path("t.safetensors")


@pytest.fixture(autouse=True)
def _library():
    need("safetensors")


def export(data: bytes, dtype: str = "float64") -> bytes:
    return export_floats(decode_transformer(data), data, "safetensors", OUTPUT, dtype, fmpq(0)).contents[OUTPUT]


def with_metadata(content: bytes, metadata: dict[str, str]) -> bytes:
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"] = metadata
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


@given(st.integers(2, 3).flatmap(transformers), st.sampled_from(["float64", "float32"]))
def test_the_file_that_was_exported_comes_back_byte_for_byte(data, dtype):
    assert decode_exact(export(data, dtype), DEFAULT_LIMITS) == data


EXAMPLE = transformer_bytes(2, [{"ff": {"eta": "1/3", "W": [[1], [2]], "U": [[1, 1]], "b": [1]}, "sa": {"rho": 1}}])


def test_every_changed_byte_of_the_floats_is_found():
    content = export(EXAMPLE)
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    described = {"dimension", "temperature"}  # the model's own, beside the weights
    for name, entry in header.items():
        if name in described | {"__metadata__"}:
            continue
        for place in range(*entry["data_offsets"]):
            changed = bytearray(content)
            changed[start + place] ^= 1
            with pytest.raises(MalformedInput, match="not the roundings") as caught:
                decode_exact(bytes(changed), DEFAULT_LIMITS)
            assert caught.value.path == name


def test_numbers_of_another_transformer_are_found():
    other = transformer_bytes(2, [{"ff": {"eta": "1/5", "W": [[1], [2]], "U": [[1, 1]], "b": [1]}, "sa": {"rho": 1}}])
    for exact, message in (
        (other, "not the roundings"),
        (transformer_bytes(2, []), "does not have|do not have"),
        (transformer_bytes(2, [{"ff": {"eta": "1/3"}}] * 2), "does not go with"),
    ):
        with pytest.raises(MalformedInput, match=message):
            decode_exact(with_metadata(export(EXAMPLE), {TRANSFORMER_FORMAT: exact.decode()}), DEFAULT_LIMITS)


def test_a_file_without_exact_numbers_is_told_apart():
    with pytest.raises(MalformedInput, match="no exact numbers"):
        decode_exact(with_metadata(export(EXAMPLE), {}), DEFAULT_LIMITS)


@pytest.mark.parametrize("content", [b"", b"\x00" * 7, b"\xff" * 64, b"{}" * 40])
def test_what_is_no_safetensors_file_is_refused(content):
    with pytest.raises(MalformedInput, match="not a readable safetensors file"):
        decode_exact(content, DEFAULT_LIMITS)
