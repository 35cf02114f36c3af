"""Untrusted. A transformer as an ONNX graph: batched, any length, hardmax with ties averaged or softmax.

Inputs ``tokens`` (N, n, d) of floats and ``mask`` (N, n) of bool, false for padding; output ``outputs`` (N, n, d), 0 in
the padding. Hardmax is ReduceMax, Equal and Div: the operators Hardmax and ArgMax take the first or last of equal
scores, which is another transformer. A sequence without a token has no mean and ends as NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from interp.export.rounding import Array
from interp.optional import load_optional
from proofs.kernel.errors import LimitReached

OPSET = 18
IR_VERSION = 8  # the one that goes with this opset
MAX_BYTES = 2**31 - 1  # of a protocol buffer


def encode_onnx(arrays: dict[str, Array], dimension: int, num_blocks: int, temperature: float, dtype: Any) -> bytes:
    """The checked model file, the same bytes for the same input. ``arrays``: the rounded state of the transformer.

    Raises: UsageError without onnx, LimitReached.
    """
    onnx = load_optional("onnx")
    if sum(array.nbytes for array in arrays.values()) > MAX_BYTES:
        raise LimitReached(f"more than {MAX_BYTES} bytes do not fit into one ONNX file", hint="export safetensors")
    graph = _Graph(onnx, arrays, dtype)
    x = "tokens"
    for k in range(num_blocks):
        x = graph.block(x, f"blocks.{k}.", temperature)
    graph.add("Where", ["inside", x, graph.constant("zero", 0)], "outputs")
    model = graph.finish(dimension)
    onnx.checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


class _Graph:
    """Nodes and constants in the order in which they are made; every value is named after the block it belongs to."""

    def __init__(self, onnx: Any, arrays: dict[str, Array], dtype: Any) -> None:
        self.onnx, self.arrays, self.dtype = onnx, arrays, np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.shared: set[str] = set()
        self.add("Unsqueeze", ["mask", self.axis(2)], "inside")
        self.add("Unsqueeze", ["mask", self.axis(1)], "keys")
        self.add("Cast", ["keys"], "key_weights", to=self.float_type)

    @property
    def float_type(self) -> int:
        """The code of the element type."""
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(self.dtype))

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """A node with one output; returns its name."""
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def weight(self, name: str, transpose: bool = False) -> str:
        """The name of the constant that holds a weight."""
        array = self.arrays[name]
        return self._store(name, array.T if transpose else array)

    def constant(self, name: str, value: float) -> str:
        """A scalar of the element type."""
        return self._store(name, np.array(value, self.dtype))

    def axis(self, axis: int) -> str:
        """The axis as a tensor, which is how operators take it."""
        return self._store(f"axis_{axis}", np.array([axis], np.int64))

    def _store(self, name: str, array: Any) -> str:
        if name not in self.constants:
            self.constants[name] = self.onnx.numpy_helper.from_array(
                np.ascontiguousarray(array).reshape(array.shape), name
            )
        return name

    def sum(self, terms: list[str], output: str) -> str:
        """The sum of one or two values."""
        return terms[0] if len(terms) == 1 else self.add("Add", terms, output)

    def block(self, x: str, prefix: str, temperature: float) -> str:
        """Feed-forward layer, padding set to 0, attention; as in ``torch_module``."""
        x = self._feed_forward(x, prefix + "feed_forward.")
        x = self.add("Where", ["inside", x, self.constant("zero", 0)], prefix + "x")
        prefix += "attention."
        kept = self.add("Mul", [self.weight(prefix + "rho"), x], prefix + "kept")
        if not self._has(prefix + "V."):
            return kept
        shares = self._shares(x, prefix, temperature)
        self.add("MatMul", [shares, x], prefix + "sums")
        self.add("ReduceSum", [shares, self.axis(2)], prefix + "total", keepdims=1)
        mean = self.add("Div", [prefix + "sums", prefix + "total"], prefix + "mean")
        return self.add("Add", [kept, self._multiply(mean, prefix + "V.")], prefix + "result")

    def _feed_forward(self, x: str, prefix: str) -> str:
        kept = self.add("Mul", [self.weight(prefix + "eta"), x], prefix + "kept")
        if prefix + "W" not in self.arrays:
            return kept
        self.add("MatMul", [x, self.weight(prefix + "U", transpose=True)], prefix + "products")
        self.add("Add", [prefix + "products", self.weight(prefix + "b")], prefix + "values")
        self.add("Relu", [prefix + "values"], prefix + "units")
        moved = self.add("MatMul", [prefix + "units", self.weight(prefix + "W", transpose=True)], prefix + "moved")
        return self.add("Add", [kept, moved], prefix + "result")

    def _shares(self, x: str, prefix: str, temperature: float) -> str:
        """Weights before they are divided by their sum."""
        causal = prefix + "causal" in self.arrays
        keys = self._visible() if causal else "keys"
        if not self._has(prefix + "A."):
            return self._once("Cast", [keys], "visible_weights", to=self.float_type) if causal else "key_weights"
        scores = self._scores(x, prefix + "A.")
        lowest = self.constant("lowest", -np.inf)
        scores = self.add("Where", [keys, scores, lowest], prefix + "scores")
        best = self.add("ReduceMax", [scores, self.axis(2)], prefix + "best", keepdims=1)
        if temperature == 0:
            self.add("Equal", [scores, best], prefix + "equal")
            self.add("And", [prefix + "equal", keys], prefix + "chosen")
            return self.add("Cast", [prefix + "chosen"], prefix + "shares", to=self.float_type)
        self.add("Sub", [scores, best], prefix + "below")
        self.add("Div", [prefix + "below", self.constant("temperature", temperature)], prefix + "exponents")
        return self.add("Exp", [prefix + "exponents"], prefix + "shares")

    def _visible(self) -> str:
        """Whether token i attends to token l, (N, n, n): l <= i under a causal mask; padding looks at all tokens."""
        self._once("Shape", ["mask"], "length", start=1, end=2)
        self._once("Squeeze", ["length"], "count")
        first, step = (self._store(name, np.array(k, np.int64)) for name, k in (("first", 0), ("step", 1)))
        self._once("Range", [first, "count", step], "places")
        self._once("Unsqueeze", ["places", self.axis(1)], "query_places")
        self._once("LessOrEqual", ["places", "query_places"], "earlier")
        self._once("Not", ["inside"], "outside")
        self._once("Or", ["earlier", "outside"], "allowed")
        return self._once("And", ["keys", "allowed"], "visible")

    def _once(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """A node that all blocks share."""
        if output in self.shared:
            return output
        self.shared.add(output)
        return self.add(operator, inputs, output, **attributes)

    def _scores(self, x: str, prefix: str) -> str:
        self.add("Transpose", [x], prefix + "columns", perm=[0, 2, 1])
        if prefix + "dense" in self.arrays:
            queries = self.add("MatMul", [x, self.weight(prefix + "dense", transpose=True)], prefix + "queries")
            return self.add("MatMul", [queries, prefix + "columns"], prefix + "products")
        terms = []
        if prefix + "scale" in self.arrays:
            products = self.add("MatMul", [x, prefix + "columns"], prefix + "products")
            terms.append(self.add("Mul", [self.weight(prefix + "scale"), products], prefix + "scaled"))
        if prefix + "left" in self.arrays:
            rows = self._product(x, prefix + "right", prefix + "row_factors")
            columns = self._product(x, prefix + "left", prefix + "column_factors")
            self.add("Unsqueeze", [rows, self.axis(2)], prefix + "rows")
            self.add("Unsqueeze", [columns, self.axis(1)], prefix + "row")
            terms.append(self.add("Mul", [prefix + "rows", prefix + "row"], prefix + "rank_one"))
        return self.sum(terms, prefix + "sum")

    def _multiply(self, x: str, prefix: str) -> str:
        if prefix + "dense" in self.arrays:
            return self.add("MatMul", [x, self.weight(prefix + "dense", transpose=True)], prefix + "product")
        terms = []
        if prefix + "scale" in self.arrays:
            terms.append(self.add("Mul", [self.weight(prefix + "scale"), x], prefix + "scaled"))
        if prefix + "left" in self.arrays:
            factors = self._product(x, prefix + "right", prefix + "factors")
            self.add("Unsqueeze", [factors, self.axis(2)], prefix + "columns")
            terms.append(self.add("Mul", [prefix + "columns", self.weight(prefix + "left")], prefix + "rank_one"))
        return self.sum(terms, prefix + "sum")

    def _product(self, x: str, vector: str, output: str) -> str:
        """<vector, x> for every token, (N, n)."""
        return self.add("MatMul", [x, self.weight(vector)], output)

    def _has(self, prefix: str) -> bool:
        return any(prefix + part in self.arrays for part in ("scale", "left", "dense"))

    def finish(self, dimension: int) -> Any:
        """The model."""
        helper, boolean = self.onnx.helper, self.onnx.TensorProto.BOOL
        shape = ["N", "n", dimension]
        graph = helper.make_graph(
            self.nodes,
            "transformer",
            [
                helper.make_tensor_value_info("tokens", self.float_type, shape),
                helper.make_tensor_value_info("mask", boolean, ["N", "n"]),
            ],
            [helper.make_tensor_value_info("outputs", self.float_type, shape)],
            list(self.constants.values()),
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="exact-interp",
        )
