"""Files and options in: what is accepted, and one defect a file that is refused with its reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings

from interp.functional_gd.build import build_descent
from interp.functional_gd.encode import encode_context, encode_transformer
from proofs.functional_gd.answer import answer_verify
from proofs.functional_gd.decode import Options, decode_context, decode_transformer, parse_kernel
from proofs.functional_gd.model import Activation
from proofs.kernel.errors import LimitReached, MalformedInput, UsageError
from proofs.kernel.rational import Limits
from tests.functional_gd.contexts import BALL_KERNELS, RATIONAL_KERNELS, THREE, TWO, claim_of, contexts
from tests.functional_gd.test_check import transformers

GOLDEN = Path(__file__).parent / "golden"
ACCEPT = json.loads((GOLDEN / "accept" / "expected.json").read_text())
REJECT = json.loads((GOLDEN / "reject" / "expected.json").read_text())


@pytest.mark.parametrize("name", ACCEPT)
def test_accept(name):
    found = answer_verify(
        GOLDEN / "accept" / f"{name}.json", GOLDEN / "accept" / f"{name}.jsonl", Options(**ACCEPT[name])
    )
    assert found.text.startswith("VERIFIED ")
    assert found.record["exit_code"] == 0


@pytest.mark.parametrize("name", REJECT)
def test_reject(name):
    case = REJECT[name]
    files = {"context": GOLDEN / "accept" / "relu.json", "witness": GOLDEN / "accept" / "relu.jsonl"}
    files["context" if name.startswith("context-") else "witness"] = GOLDEN / "reject" / name
    options = Options(**(ACCEPT["relu"] | case.get("options", {})))
    found = answer_verify(files["context"], files["witness"], options)
    assert found.record["exit_code"] == case["exit_code"]
    assert case["reason"] in found.text
    assert "VERIFIED" not in found.text


def test_no_golden_file_is_left_out():
    assert {path.name for path in (GOLDEN / "reject").iterdir()} == {"expected.json", *REJECT}
    names = {f"{name}.{end}" for name in ACCEPT for end in ("json", "jsonl")}
    assert {path.name for path in (GOLDEN / "accept").iterdir()} == {"expected.json", *names}


@pytest.mark.parametrize("kernel", [*RATIONAL_KERNELS, *BALL_KERNELS])
def test_files_round_trip(kernel):
    transformer = build_descent(THREE, claim_of(THREE, kernel, "1/8,-2/3"))
    data = encode_transformer(transformer)
    assert decode_transformer(data).layers == transformer.layers
    assert encode_transformer(transformer) == data


@given(contexts(), transformers())
@settings(max_examples=40)
def test_everything_round_trips(context, transformer):
    found = decode_context(encode_context(context))
    assert (found.points, found.labels, found.query) == (context.points, context.labels, context.query)
    assert decode_transformer(encode_transformer(transformer)).layers == transformer.layers


def test_kernels():
    (first, second) = parse_kernel("linear[1] + 1/2*polynomial:2[3,2]", 3).terms
    assert (first.weight, first.activation, first.B) == (1, Activation("linear"), fmpq_mat([[1, 0, 0]]))
    assert second.weight == fmpq(1, 2)
    assert fmpq_mat([[0, 0, 1], [0, 1, 0]]) == second.B
    (dense,) = parse_kernel('-3*exp[["1/2",0.25]]', 2).terms
    assert (dense.weight, dense.B) == (-3, fmpq_mat([[fmpq(1, 2), fmpq(1, 4)]]))


@pytest.mark.parametrize(
    "text",
    ["", "cosine", "polynomial", "polynomial:0", "polynomial:101", "linear+", "+linear", "2**linear", "linear[0]", "linear[3]",
     "linear[]", "linear[1", "linear[[1]]", "linear[[1,2],[3]]", 'linear["1"]', "linear[1.5]", "linear[-1]", "x*linear",
     "linear*2", "linear[null]", "linear[{}]", "Linear", "linear\n", "1e99999999*linear"],
)  # fmt: skip
def test_kernels_refused(text):
    with pytest.raises((MalformedInput, LimitReached)):
        parse_kernel(text, 2)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"steps": ""}, MalformedInput),
        ({"steps": "1/0"}, MalformedInput),
        ({"steps": "1/2;1/3"}, MalformedInput),
        ({"steps": "1/2,1/3", "layers": 3}, UsageError),
        ({"steps": "1/2", "layers": -1}, UsageError),
        ({"steps": "1/2", "layers": 10**12}, UsageError),
        ({"loss": "median"}, UsageError),
        ({"target_bits": 0}, UsageError),
    ],
)
def test_claims_refused(options, error):
    with pytest.raises(error):
        Options(**({"kernel": "linear", "steps": "1/2"} | options)).claim(TWO)


def test_limits():
    data = encode_transformer(build_descent(TWO, claim_of(TWO, "linear", "1/2")))
    with pytest.raises(LimitReached):
        decode_transformer(data, Limits(max_bytes=10))
    with pytest.raises(LimitReached):
        decode_transformer(data, Limits(max_dimension=1))
    with pytest.raises(LimitReached):
        decode_context(encode_context(TWO), Limits(max_bytes=10))


def test_a_fault_names_the_file(tmp_path):
    found = answer_verify(tmp_path / "none.json", tmp_path / "none.jsonl", Options("linear", "1"))
    assert found.record["exit_code"] == 12
    assert found.record["file"].endswith("none.json")
