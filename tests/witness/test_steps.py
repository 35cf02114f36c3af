"""Counts and steps from arrays are those of the blocks."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.api import build
from interp.transformers.encode import encode_transformer
from proofs.engine.packed import count_packed, program_of
from proofs.engine.passes import ENGINE
from proofs.engine.program import Dense, Run, Scale, compile_program
from proofs.kernel.check import DENSE, check
from proofs.kernel.counts import count_transformer
from proofs.kernel.decode import decode_transformer
from proofs.kernel.model import SelfAttention
from proofs.kernel.rational import DEFAULT_LIMITS
from proofs.kernel.statement import make_claim
from proofs.witness.arrays import read_arrays
from proofs.witness.chunk import Chunk
from tests.engine.agreement import disagreement
from tests.strategies import make_dataset, numbers, to_row, transformer_bytes, transformers, vectors
from tests.witness.archives import archive_of, archive_of_lines

DATASET = make_dataset(([[0, 0], [1, 2]], [[5, 5]]), ([[0, 0], [3, 1]], [[1, 0]]), ([[4, 4], [3, 1]], [[1, 0]]))


def read(data, folder):
    path = folder / "T.npz"
    path.write_bytes(data)
    return read_arrays(path, DEFAULT_LIMITS)


@st.composite
def plain_blocks(draw, d, etas):
    """Layers in factors that read few directions: hats, steps and curves, with and without attention."""
    width = draw(st.integers(1, 4))
    row = draw(st.sampled_from([[1] * d, [2] * d, ["-1/3"] * d, [0] * d, [1, *range(2, d + 1)]]))
    column = draw(vectors(width))
    hat = draw(st.booleans()) and width >= 3
    ff = {
        "eta": draw(st.sampled_from(etas)),
        "W": {"outer": [draw(vectors(d)), [1, -2, 1, *[0] * (width - 3)] if hat else draw(vectors(width))]},
        "U": {"outer": [[1] * width if hat else column, row]},
        "b": [1, 0, -1, *[0] * (width - 3)] if hat else draw(vectors(width)),
    }
    block = {"ff": ff}
    if draw(st.integers(0, 4)) == 0:
        block["sa"] = {"rho": draw(numbers), "A": {"dense": {"outer": [draw(vectors(d)), draw(vectors(d))]}}}
    return block


@st.composite
def plain_transformers(draw):
    d, etas = draw(st.integers(2, 4)), draw(st.sampled_from([[1], [1, 0], [1, 1, 1, "1/2"]]))
    return transformer_bytes(d, draw(st.lists(plain_blocks(d, etas), max_size=8)))


def layers_of(steps):
    """Block number -> (U, b, W) of every layer as exact fractions times their units, for runs; dense layers as they are."""
    found = {}
    for step in steps:
        if isinstance(step, Run):
            lines = step.lines
            for l, block in enumerate(lines.blocks.tolist()):
                g, h = int(lines.g[l]), int(lines.h[l])
                units = [
                    (
                        tuple(int(c) * int(u) * 2**200 // g for u in lines.direction.tolist()),
                        int(b) * 2**200 // g,
                        tuple(int(x) * 2**200 // h for x in w),
                    )
                    for c, b, w in zip(lines.C[l].tolist(), lines.B[l].tolist(), lines.W[l].tolist(), strict=True)
                ]
                shift = tuple(int(x) * 2**200 // (g * h) for x in step.shift[l].tolist())
                found[block] = ("hat", [unit for unit in units if any(unit[0]) or unit[1]], shift)
        elif isinstance(step, Dense):
            found[step.block] = ("dense", step.layer)
    return found


@settings(max_examples=80, deadline=None)
@given(st.one_of(plain_transformers(), st.integers(1, 3).flatmap(transformers)))
def test_counts_and_steps_are_those_of_the_blocks(tmp_path_factory, data):
    whole, found = decode_transformer(data), read(archive_of_lines(data), tmp_path_factory.getbasetemp())
    assert count_packed(found) == count_transformer(whole)
    mine, theirs = list(program_of(found)), compile_program(whole)
    if any(isinstance(step, Scale) for step in mine):  # a chunk scales some layers more
        tokens = [[to_row([j - k] * whole.dimension) for k in range(5)] for j in range(3)]
        assert disagreement(tokens, found) is None
        return
    assert layers_of(mine) == layers_of(theirs)
    attention = [[(s.block, s.layer) for s in steps if not isinstance(s, Run | Dense)] for steps in (mine, theirs)]
    assert attention[0] == attention[1]


@pytest.mark.parametrize("chunk", [1, 3, 4096])
@pytest.mark.parametrize(
    ("construction", "temperatures"), [("hardmax", "0"), ("softmax", "(0,1]"), ("compact", "[0,oo)")]
)
def test_the_verdict_is_the_one_of_the_lines(construction, temperatures, chunk, tmp_path, monkeypatch):
    monkeypatch.setattr("interp.transformers.arrays.MAX_BLOCKS", chunk)
    transformer = decode_transformer(encode_transformer(build(DATASET, construction)))
    found = read(archive_of(transformer), tmp_path)
    claim = make_claim(DATASET, temperatures=temperatures, max_blocks=100, max_parameters=10**4)
    for passes in (ENGINE, DENSE):
        verdicts = [check(DATASET, each, claim, passes=passes) for each in (found, transformer)]
        assert [v.obligations for v in verdicts] == [verdicts[0].obligations] * 2
        assert verdicts[0].counts == verdicts[1].counts
        assert verdicts[0].status.label == "verified"


def test_blocks_are_made_only_where_they_have_attention(tmp_path, monkeypatch):
    """In small dimensions ``outer`` is not shorter, and all blocks are made."""
    pairs = [([[j, k, j + k, j * k, 1] for k in range(3)], [[j, 0, 0, 0, 1]]) for j in range(1, 6)]
    found = read(archive_of(decode_transformer(encode_transformer(build(make_dataset(*pairs))))), tmp_path)
    attention = [block.attention for block in found.blocks if block.attention != SelfAttention()]
    assert 0 < len(attention) < len(found.blocks)
    made, make = [], Chunk._block
    monkeypatch.setattr(Chunk, "_block", lambda *rest: made.append(make(*rest)) or made[-1])
    steps = list(program_of(found))
    assert sum(len(step.shift) for step in steps if isinstance(step, Run)) == len(found.blocks)
    assert [block.attention for block in made] == attention


def test_products_beyond_64_bits_are_counted_exactly(tmp_path):
    W = {"outer": [[1, 2**62, f"1/{2**62}"], [2**40, f"1/{2**62}", 5]]}
    block = {"ff": {"eta": 1, "W": W, "U": {"outer": [[1, f"1/{3**30}", 1], [3**30, 1, 2]]}, "b": [0, 0, 1]}}
    data = transformer_bytes(3, [block, block])
    assert count_packed(read(archive_of_lines(data), tmp_path)) == count_transformer(decode_transformer(data))
    assert np.load(io.BytesIO(archive_of_lines(data)))["1/W"].dtype == np.int64
