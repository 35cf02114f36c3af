"""Long JSON lines, window by window: the same transformer, the same faults, the same answers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.api import build
from interp.transformers.encode import encode_transformer
from proofs import __main__ as proofs_main
from proofs.engine.packed import count_packed, program_of
from proofs.engine.passes import ENGINE
from proofs.kernel.check import DENSE, check
from proofs.kernel.counts import count_transformer
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import InterpError, MalformedInput
from proofs.kernel.rational import DEFAULT_LIMITS
from proofs.kernel.statement import make_claim
from proofs.witness import lines as lines_module
from proofs.witness.lines import read_lines
from tests.strategies import make_dataset, sign, transformer_bytes, transformers

IDENTITY = {"ff": {"eta": 1}}
DATASET = make_dataset(([[0, 0], [1, 2]], [[5, 5]]), ([[0, 0], [3, 1]], [[1, 0]]), ([[4, 4], [3, 1]], [[1, 0]]))


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    monkeypatch.setattr(lines_module, "WINDOW", 2)
    monkeypatch.setattr(proofs_main, "DECODED_AT_ONCE", 0)


def read(data, folder):
    path = folder / "T.jsonl"
    path.write_bytes(data)
    return read_lines(path, DEFAULT_LIMITS)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3).flatmap(lambda d: transformers(d, 7)))
def test_it_is_the_transformer_that_the_kernel_decodes(tmp_path_factory, data):
    found, whole = read(data, tmp_path_factory.getbasetemp()), decode_transformer(data)
    assert (found.dimension, found.header, found.digest) == (whole.dimension, whole.header, whole.digest)
    assert found.blocks == whole.blocks
    assert list(reversed(found.blocks)) == list(reversed(whole.blocks))
    assert found.blocks[1:-1:2] == whole.blocks[1:-1:2]
    assert count_packed(found) == count_transformer(found) == count_transformer(whole)


def fault_of(action):
    try:
        action()
    except InterpError as error:
        return type(error), error.message, error.path
    return None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_file_has_the_fault_that_the_kernel_finds(tmp_path_factory, data):
    good = transformer_bytes(2, [IDENTITY, {"sa": {"rho": "1/2"}}, {}, {"ff": {"eta": 3}}, IDENTITY])
    place = data.draw(st.integers(0, len(good) - 1))
    damaged = data.draw(
        st.sampled_from([good[:place], good[:place] + b"\n" + good[place:], good[:place] + b"0" + good[place + 1 :]])
    )
    folder = tmp_path_factory.getbasetemp()
    assert fault_of(lambda: list(read(damaged, folder).blocks)) == fault_of(lambda: decode_transformer(damaged))


def test_a_bad_block_is_found_with_file_and_line_when_a_pass_comes_to_it(tmp_path):
    data = transformer_bytes(2, [IDENTITY, IDENTITY, IDENTITY, {"ff": {"eta": "x"}}, IDENTITY])
    found = read(data, tmp_path)
    assert found.blocks[1].feed_forward.eta == 1
    for action in (lambda: found.blocks[3], lambda: count_packed(found), lambda: list(program_of(found))):
        with pytest.raises(MalformedInput) as fault:
            action()
        assert fault.value.path == "line 5: $.ff.eta"
        assert fault.value.file.endswith("T.jsonl")


def test_a_file_that_changes_between_two_passes_is_noticed(tmp_path):
    found = read(transformer_bytes(2, [IDENTITY] * 6), tmp_path)
    (tmp_path / "T.jsonl").write_bytes(transformer_bytes(2, [IDENTITY] * 5 + [{"ff": {"eta": 2}}]))
    assert found.blocks[0].feed_forward.eta == 1
    with pytest.raises(MalformedInput, match="changed while it was read"):
        list(found.blocks)


@pytest.mark.parametrize(
    ("construction", "temperatures"), [("hardmax", "0"), ("softmax", "(0,1]"), ("compact", "[0,oo)")]
)
@pytest.mark.parametrize("passes", [ENGINE, DENSE], ids=["engine", "dense"])
def test_the_verdict_is_the_one_of_the_whole_file(construction, temperatures, passes, tmp_path):
    data = encode_transformer(build(DATASET, construction))
    claim = make_claim(DATASET, temperatures=temperatures, max_blocks=100, max_parameters=10**4)
    verdicts = [
        check(DATASET, transformer, claim, passes=passes)
        for transformer in (read(data, tmp_path), decode_transformer(data))
    ]
    assert verdicts[0] == verdicts[1]
    assert verdicts[0].status.label == "verified"


def test_the_end_record_counts_the_blocks(tmp_path):
    header = '{"format":"interp-transformer/1","dimension":2,"blocks":1}'
    (tmp_path / "T.jsonl").write_bytes(sign([header, '{"block":1}'], blocks=2))
    with pytest.raises(MalformedInput, match="1 blocks where the end record says 2"):
        read_lines(tmp_path / "T.jsonl", DEFAULT_LIMITS)
