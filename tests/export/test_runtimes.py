"""Every float export runs in its own program and gives what exact arithmetic gives, ties and padding included."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings

from interp.execution.approximate import approx_run, find_arithmetic
from interp.export.files import ENDINGS, export_floats
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import UsageError
from tests.export.cases import KINDS, NEEDS, as_fractions, need, run_floats, small_sequences, small_transformers
from tests.reference import evaluator
from tests.strategies import transformer_bytes

ROOT = Path(__file__).parents[2]
MEAN = {"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}


@pytest.fixture(params=KINDS)
def kind(request):
    need(*NEEDS[request.param])
    if "torch" in NEEDS[request.param]:
        sys.modules["torch"].set_num_threads(1)  # no threads that a later fork would leave behind
    return request.param


@pytest.mark.parametrize(("dtype", "blocks"), [("float64", 2), ("float32", 1)])
def test_exports_are_exact_where_floats_are(kind, dtype, blocks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")

    @settings(max_examples=40)
    @given(small_transformers(blocks), small_sequences())
    def agree(data, sequences):
        *_, expected = evaluator.run(data, sequences)
        assert as_fractions(run_floats(kind, data, sequences, folder, dtype)) == expected

    agree()


def test_masked_exports_are_exact_where_floats_are(kind, tmp_path_factory):
    # at most two tokens: means over 1 or 2
    folder = tmp_path_factory.mktemp("export")

    @settings(max_examples=60)
    @given(small_transformers(2, causal=True), small_sequences().map(lambda pools: [pool[:2] for pool in pools]))
    def agree(data, sequences):
        *_, expected = evaluator.run(data, sequences)
        assert as_fractions(run_floats(kind, data, sequences, folder)) == expected

    agree()


CHOICE = {"p": [1, 0], "q": [1, 0]}
TIED = [(Fraction(4), Fraction(c)) for c in (0, 8, 16, 8)]


@pytest.mark.parametrize("padding", [0, 3])
@pytest.mark.parametrize(
    ("A", "tokens", "seconds"),
    [
        # ties among those seen so far are averaged, none of those to come counts
        (CHOICE, TIED, [0, 4, 8, 8]),
        # the largest comes last: nobody before sees it
        (CHOICE, [(Fraction(k), Fraction(8 * k)) for k in (1, 3, 2, 5)], [8, 24, 24, 40]),
        ({}, [(Fraction(1), Fraction(c)) for c in (2, 4, 6, 0)], [2, 3, 4, 3]),
    ],
)
def test_token_i_attends_to_tokens_up_to_i(kind, A, tokens, seconds, padding, tmp_path):
    sa = {"rho": 0, "V": {"beta": 1}, "mask": "causal"} | ({"A": A} if A else {})
    data = transformer_bytes(2, [{"sa": sa}])
    longer = [(Fraction(100), Fraction(64))] * (len(tokens) + padding)  # pads the others where there are batches
    result, *_ = as_fractions(run_floats(kind, data, [tokens, longer], tmp_path))
    assert [second for _, second in result] == seconds
    *_, expected = evaluator.run(data, [tokens])
    assert [result] == expected


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("A", [{}, CHOICE, {"alpha": 1}, {"alpha": -1}, {"dense": [[0, 1], [1, 0]]}])
def test_a_grid_full_of_ties_under_a_mask(kind, A, dtype, tmp_path):
    # multiples of 12: means over 1, 2, 3 and 4 tokens are integers; in one batch, so most sequences are padded
    tokens = [(Fraction(12 * a), Fraction(12 * b)) for a, b in ((-1, 1), (0, -1), (1, 1))]
    sequences = [list(chosen) for n in (1, 2, 3, 4) for chosen in itertools.product(tokens, repeat=n)]
    data = transformer_bytes(2, [{"sa": {"rho": 2, "A": A, "V": {"beta": 1}, "mask": "causal"}}])
    *_, expected = evaluator.run(data, sequences)
    assert as_fractions(run_floats(kind, data, sequences, tmp_path, dtype)) == expected


@pytest.mark.parametrize("temperature", ["1", "1/4"])
def test_masked_softmax_is_close_to_high_precision(kind, temperature, tmp_path_factory):
    folder, tau = tmp_path_factory.mktemp("export"), fmpq(*map(int, (temperature + "/1").split("/")[:2]))

    @settings(max_examples=15)
    @given(small_transformers(1, causal=True), small_sequences())
    def agree(data, sequences):
        _compare_with_high_precision(run_floats(kind, data, sequences, folder, temperature=tau), data, sequences, tau)

    agree()


def test_ties_are_averaged_over_all_places(kind, tmp_path):
    # first and last of the tied tokens differ, so neither "first" nor "last index" gives the mean
    data = transformer_bytes(2, [{"sa": {"rho": 0, "A": {"p": [1, 0], "q": [1, 0]}, "V": {"beta": 1}}}])
    tokens = [(Fraction(4), Fraction(c)) for c in (0, 8, 16, 32)] + [(Fraction(1), Fraction(1000))] * 3
    (result,) = as_fractions(run_floats(kind, data, [tokens], tmp_path))
    assert result == [(4, 14)] * 7


def test_negative_and_zero_queries_choose_lowest_and_all(kind, tmp_path):
    data = transformer_bytes(2, [{"sa": {"rho": 0, "A": {"p": [1, 0], "q": [0, 1]}, "V": {"beta": 1}}}])
    tokens = [
        (Fraction(1), Fraction(-1)),
        (Fraction(3), Fraction(0)),
        (Fraction(5), Fraction(1)),
        (Fraction(7), Fraction(8)),
    ]
    (result,) = as_fractions(run_floats(kind, data, [tokens], tmp_path))
    assert result == [(1, -1), (4, 2), (7, 8), (7, 8)]


@pytest.mark.parametrize("temperature", ["1", "1/4", "100"])
def test_softmax_is_close_to_high_precision(kind, temperature, tmp_path_factory):
    folder, tau = tmp_path_factory.mktemp("export"), fmpq(*map(int, (temperature + "/1").split("/")[:2]))

    @settings(max_examples=15)
    @given(small_transformers(1), small_sequences())
    def agree(data, sequences):
        _compare_with_high_precision(run_floats(kind, data, sequences, folder, temperature=tau), data, sequences, tau)

    agree()


def _compare_with_high_precision(results, data, sequences, tau):
    for result, tokens in zip(results, sequences, strict=True):
        start = [[fmpq(x.numerator, x.denominator) for x in token] for token in tokens]
        *_, last = approx_run(decode_transformer(data), start, find_arithmetic("mpmath:60"), tau)
        # Scores of one block are exact. A weight exp(-x) is off by about x exp(-x) 2^-53 < 2^-54, numbers are below
        # 2^10, and there are a few dozen of operations.
        np.testing.assert_allclose(result, np.array(last, dtype=float), rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", ["torch", "onnx"])
@pytest.mark.parametrize("temperature", [0, 1])
@pytest.mark.parametrize("extra", [{}, {"mask": "causal"}], ids=["plain", "causal"])
def test_what_stands_in_the_padding_does_not_matter(kind, temperature, extra, tmp_path):
    need(*NEEDS[kind])
    ff = {"eta": 1, "W": [[1], [2]], "U": [[1, 1]], "b": [1]}
    mean, plain = {"sa": MEAN["sa"] | extra}, {"sa": {"rho": 1, "V": {"beta": 1}} | extra}
    data = transformer_bytes(2, [{"ff": ff, **mean}, plain, mean])
    output = tmp_path / f"t{ENDINGS[kind][0]}"
    for path, content in export_floats(
        decode_transformer(data), data, kind, output, "float64", fmpq(temperature)
    ).contents.items():
        path.write_bytes(content)
    mask = np.array([[True, False, True], [False, True, True]])
    clean = np.where(mask[:, :, None], np.arange(12.0).reshape(2, 3, 2), 0)
    dirty = np.where(mask[:, :, None], clean, np.nan)
    outputs = [_run_masked(kind, output, tokens, mask) for tokens in (clean, dirty)]
    assert np.array_equal(*outputs)
    assert np.array_equal(outputs[0][~mask], np.zeros((2, 2)))
    alone = _run_masked(kind, output, clean[:1, [0, 2]], np.ones((1, 2), bool))
    assert np.array_equal(outputs[0][0, [0, 2]], alone[0])


def _run_masked(kind, path, tokens, mask):
    if kind == "onnx":
        import onnxruntime

        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return session.run(None, {"tokens": tokens, "mask": mask})[0]
    import torch

    from interp.export.torch_module import load

    with torch.inference_mode():
        return load(path.with_suffix(".safetensors"))(torch.from_numpy(tokens), torch.from_numpy(mask)).numpy()


def test_the_onnx_graph_has_no_operator_that_breaks_ties():
    need("onnx")
    import onnx

    data = transformer_bytes(2, [MEAN])
    export = export_floats(decode_transformer(data), data, "onnx", Path("t.onnx"), "float64", fmpq(0))
    model = onnx.load_from_string(export.contents[Path("t.onnx")])
    operators = {node.op_type for node in model.graph.node}
    assert not operators & {"Hardmax", "ArgMax", "TopK", "Softmax"}
    assert {"ReduceMax", "Equal", "Div"} <= operators
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 18)]


SCRIPT = """
import hashlib, sys
from pathlib import Path
from flint import fmpq
from interp.export.files import ENDINGS, export_floats
from proofs.kernel.decode import decode_transformer
data = sys.stdin.buffer.read()
for kind in sys.argv[1:]:
    output = Path("t" + ENDINGS[kind][0])
    contents = export_floats(decode_transformer(data), data, kind, output, "float32", fmpq(1, 3)).contents
    for path, content in contents.items():
        print(kind, path, hashlib.sha256(content).hexdigest())
"""


def test_the_same_input_gives_the_same_bytes_in_every_process():
    data = transformer_bytes(2, [{"ff": {"eta": "1/3", "W": [[1], [2]], "U": [[1, 1]], "b": [1]}, **MEAN}] * 3)
    kinds = [kind for kind in KINDS if all(map(importlib.util.find_spec, {*NEEDS[kind]} - {"torch", "onnxruntime"}))]
    found = []
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", SCRIPT, *kinds]
        found.append(subprocess.run(command, input=data, env=environment, check=True, capture_output=True).stdout)
    assert found[0] == found[1]
    assert len(found[0].splitlines()) == sum(1 + bool(ENDINGS[kind][1]) for kind in kinds)


@pytest.mark.parametrize(("kind", "packages"), [("torch", {"torch", "safetensors"}), ("numpy", {"numpy"})])
def test_an_exported_module_needs_nothing_of_this_project(kind, packages):
    data = transformer_bytes(2, [MEAN])
    if kind == "torch":
        need("safetensors")
    export = export_floats(decode_transformer(data), data, kind, Path("t.py"), "float64", fmpq(0))
    tree = ast.parse(export.contents[Path("t.py")])
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {module.partition(".")[0] for module in modules} - {*sys.stdlib_module_names} == packages


def test_runners_refuse_what_they_cannot_run():
    from interp.export import numpy_module

    weights = {"dimension": np.array(2), "temperature": np.array(0.0)}
    for tokens in ([[1, 2, 3]], np.zeros((0, 2)), [1, 2]):
        with pytest.raises(ValueError, match="expected"):
            numpy_module.run(weights, tokens)


def test_padding_before_a_masked_sequence_leaves_gradients_finite():
    need("torch", "safetensors")
    import torch

    from interp.export.torch_module import Block, FeedForward, SelfAttention, SquareMatrix, Transformer

    one, causal = torch.ones((), dtype=torch.float64), torch.ones(())
    for temperature in (0.0, 1.0):
        attention = SelfAttention(one, SquareMatrix(one), SquareMatrix(one), causal)
        model = Transformer(2, [Block(FeedForward(one), attention)] * 2, temperature)
        assert "blocks.0.attention.causal" not in dict(model.named_parameters())
        assert "blocks.0.attention.causal" in model.state_dict()
        model(torch.rand(1, 3, 2, dtype=torch.float64), torch.tensor([[False, True, True]])).sum().backward()
        grads = [weight.grad for weight in model.parameters()]
        assert all(grad is None or bool(grad.isfinite().all()) for grad in grads)
        assert sum(grad is not None for grad in grads) >= 3


def test_the_torch_module_refuses_what_it_cannot_run():
    need("torch", "safetensors")
    import torch

    from interp.export.torch_module import FeedForward, SelfAttention, SquareMatrix, Transformer

    model, one = Transformer(2, []), torch.ones(2)
    with pytest.raises(ValueError, match="no token"):
        model(torch.zeros(1, 1, 2), torch.tensor([[False]]))
    with pytest.raises(ValueError, match="tokens have shape"):
        model(torch.zeros(1, 2))
    with pytest.raises(ValueError, match="mask has shape"):
        model(torch.zeros(1, 1, 2), torch.ones(1, 1))
    with pytest.raises(ValueError, match="temperature"):
        Transformer(2, [], float("nan"))
    with pytest.raises(ValueError, match="together"):
        SquareMatrix(left=one)
    with pytest.raises(ValueError, match="no other part"):
        SquareMatrix(scale=one, dense=torch.eye(2))
    for causal in (torch.tensor(0.5), torch.ones(1)):
        with pytest.raises(ValueError, match="causal is 0 or 1"):
            SelfAttention(one, causal=causal)
    with pytest.raises(ValueError, match="together"):
        FeedForward(one, W=torch.eye(2))


def test_a_wrong_ending_is_refused(tmp_path):
    data = transformer_bytes(2, [])
    with pytest.raises(UsageError, match=r"ends in \.py"):
        export_floats(decode_transformer(data), data, "torch", tmp_path / "t.pt", "float64", fmpq(0))


@pytest.mark.parametrize("temperature", [fmpq(1, 10**60), fmpq(10) ** 60])
def test_a_temperature_that_is_no_float_is_refused(temperature, tmp_path):
    data = transformer_bytes(2, [])
    with pytest.raises(UsageError, match="temperature"):
        export_floats(decode_transformer(data), data, "numpy", tmp_path / "t.py", "float32", temperature)
