"""Untrusted, approximate. A transformer run in floats, layer by layer, on all sequences, decisions laid open."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpq

from interp.export.rounding import FloatFormat, round_nearest, round_state
from interp.export.state import encode_state
from interp.precision.arithmetic import make_arithmetic
from interp.precision.reference import Bools, Floats
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import coordinates_of
from proofs.kernel.statement import Dataset


class FloatRun:
    """All tokens (K, d) of a dataset on their way through a transformer whose weights are rounded to the nearest."""

    def __init__(
        self, dataset: Dataset, transformer: Transformer, target: FloatFormat, backend: str, temperature: fmpq
    ) -> None:
        """Raises: UsageError when a number overflows, or for a backend that is missing."""
        self.target, self.dimension = target, transformer.dimension
        self.arithmetic = make_arithmetic(target.name, backend)
        carrier = replace(target, name="float32") if target.name == "bfloat16" else target
        arrays, _ = round_state(encode_state(transformer), carrier)
        self.weights = {name: self.arithmetic.array(np.asarray(x, dtype=np.float64)) for name, x in arrays.items()}
        self.starts = np.cumsum([0, *(len(pair.input) for pair in dataset.pairs)])
        try:
            rows = [row for pair in dataset.pairs for row in pair.input]
            tokens = [[round_nearest(x, target) for x in coordinates_of(row)] for row in rows]
            self.temperature = round_nearest(temperature, target)
        except OverflowError as error:
            raise UsageError(f"a token of the dataset overflows {target.name}", "--dtype", "use float64") from error
        self.tokens: Any = self.arithmetic.array(np.array(tokens, dtype=np.float64))

    def to_numpy(self) -> Floats:
        """The tokens as float64, exactly."""
        return self.arithmetic.to_numpy(self.tokens)

    def feed_forward(self, index: int) -> Floats | None:
        """The layer of block ``index`` (from 0); its pre-activations (K, w), None if it has no units."""
        ops, prefix = self.arithmetic, f"blocks.{index}.feed_forward."
        result = ops.multiply(self.weights[prefix + "eta"], self.tokens)
        heights = None
        if prefix + "W" in self.weights:
            U, W, b = (self.weights[prefix + name] for name in ("U", "W", "b"))
            units = ops.add(ops.matmul(self.tokens, U.T), b)
            heights = ops.to_numpy(units)
            result = ops.add(result, ops.matmul(ops.relu(units), W.T))
        self.tokens = result
        return heights

    def attention(self, index: int) -> list[tuple[Bools, Floats]] | None:
        """The attention of block ``index``; for every sequence who is chosen at temperature 0 and the scores (n, n).

        None if nothing is chosen: V = 0, A = 0 or a positive temperature.
        """
        ops, prefix = self.arithmetic, f"blocks.{index}.attention."
        A, V = self._square(prefix + "A."), self._square(prefix + "V.")
        rho = self.weights[prefix + "rho"]
        if not V:
            self.tokens = ops.multiply(rho, self.tokens)
            return None
        parts, choices = [], []
        for first, last in pairwise(self.starts.tolist()):
            x = self.tokens[first:last]
            if A:
                scores = self._score(A, x)
                values = ops.to_numpy(scores)
                best = values.max(axis=1, keepdims=True)
                chosen = values == best
                choices.append((chosen, values))
                if self.temperature == 0:
                    share = ops.array(chosen.astype(np.float64))
                else:
                    below = ops.add(scores, ops.array(-best))
                    share = ops.exp(ops.divide(below, ops.array(np.array([[self.temperature]]))))
                mean = ops.divide(ops.matmul(share, x), ops.sum_last(share))
            else:
                total = ops.sum_last(x.T).T
                mean = ops.divide(total, ops.array(np.array([[float(last - first)]])))
            parts.append(ops.add(ops.multiply(rho, x), self._multiply(V, mean)))
        self.tokens = ops.concatenate(parts)
        return choices if A and self.temperature == 0 else None

    def _square(self, prefix: str) -> dict[str, Any]:
        names = ("scale", "left", "right", "dense")
        return {name: self.weights[prefix + name] for name in names if prefix + name in self.weights}

    def _multiply(self, matrix: dict[str, Any], x: Any) -> Any:
        """M x for every token."""
        ops, parts = self.arithmetic, []
        if "dense" in matrix:
            parts.append(ops.matmul(x, matrix["dense"].T))
        if "scale" in matrix:
            parts.append(ops.multiply(matrix["scale"], x))
        if "left" in matrix:
            parts.append(ops.multiply(ops.matmul(x, matrix["right"][:, None]), matrix["left"][None, :]))
        return parts[0] if len(parts) == 1 else ops.add(parts[0], parts[1])

    def _score(self, matrix: dict[str, Any], x: Any) -> Any:
        """<A x_i, x_l> for all i and l."""
        ops, parts = self.arithmetic, []
        if "dense" in matrix:
            parts.append(ops.matmul(ops.matmul(x, matrix["dense"].T), x.T))
        if "scale" in matrix:
            parts.append(ops.multiply(matrix["scale"], ops.matmul(x, x.T)))
        if "left" in matrix:
            queries, keys = (ops.matmul(x, matrix[name][:, None]) for name in ("right", "left"))
            parts.append(ops.multiply(queries, keys.T))
        return parts[0] if len(parts) == 1 else ops.add(parts[0], parts[1])
