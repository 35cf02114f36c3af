"""The same forward pass by other means: fractions, rational matrices of sympy, float64 PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from proofs.kernel.model import SquareMatrix, Transformer
from tests.bench.cases import Prepared
from tests.bench.measure import best
from tests.reference import evaluator
from tests.strategies import fractions_of

BLOCKS, SEQUENCES = 2, 10  # slow evaluators run so many; the rest is extrapolated in proportion


def extrapolate(seconds: float, case: Prepared, sequences: int) -> float:
    """Seconds for all blocks on all tokens."""
    share = sum(len(pair.input) for pair in case.dataset.pairs[:sequences]) / case.dataset.num_tokens
    return seconds / share * len(case.transformer.blocks) / BLOCKS


def time_fractions(case: Prepared) -> float:
    """Seconds of the plain evaluator, extrapolated."""
    lines = case.witness.read_bytes().splitlines(keepends=True)
    some = b"".join(lines[: 1 + BLOCKS]) + lines[-1]
    tokens = fractions_of([pair.input for pair in case.dataset.pairs[:SEQUENCES]])
    return extrapolate(best(lambda: list(evaluator.run(some, tokens)), 1), case, SEQUENCES)


def time_domain_matrices(case: Prepared) -> float | None:
    """Seconds of sympy's DomainMatrix over QQ (dense, with python-flint where sympy uses it), extrapolated."""
    try:
        from sympy import QQ
        from sympy.polys.matrices import DomainMatrix
    except ImportError:
        return None

    def matrix(rows: Any, shape: tuple[int, int]) -> Any:
        return DomainMatrix([[QQ(int(x.p), int(x.q)) for x in row] for row in rows], shape, QQ)

    def square(value: SquareMatrix, d: int) -> Any:
        return matrix(value.to_dense(d).tolist(), (d, d))

    def load(transformer: Transformer) -> list[Any]:
        d, loaded = transformer.dimension, []
        for block in transformer.blocks[:BLOCKS]:
            layer, attention = block.feed_forward, block.attention
            w = layer.width
            U, W = matrix(layer.U.tolist(), (w, d)).transpose(), matrix(layer.W.tolist(), (d, w)).transpose()
            b = [QQ(int(x.p), int(x.q)) for x in layer.b.entries()]
            V = None if attention.V.is_zero(d) else square(attention.V, d).transpose()
            A = None if V is None else square(attention.A, d).transpose()
            scalars = (QQ(int(x.p), int(x.q)) for x in (layer.eta, attention.rho))
            loaded.append((U, W, b, *scalars, A, V))
        return loaded

    blocks = load(case.transformer)
    d = case.transformer.dimension
    inputs = [
        DomainMatrix([[QQ(x, row[-1]) for x in row[:-1]] for row in pair.input], (len(pair.input), d), QQ)
        for pair in case.dataset.pairs[:SEQUENCES]
    ]

    def run() -> None:
        for X in inputs:
            for U, W, b, eta, rho, A, V in blocks:
                values = (X * U).to_list()
                hidden = [[max(x + c, QQ(0)) for x, c in zip(row, b, strict=True)] for row in values]
                X = X * eta + DomainMatrix(hidden, (len(values), len(b)), QQ) * W
                if V is None:
                    X = X * rho
                    continue
                rows = []
                for scores in (X * A * X.transpose()).to_list():
                    ties = [l for l, score in enumerate(scores) if score == max(scores)]
                    rows.append([QQ(int(l in ties), len(ties)) for l in range(len(scores))])
                X = X * rho + DomainMatrix(rows, (len(rows), len(rows)), QQ) * X * V

    return extrapolate(best(run, 1), case, SEQUENCES)


def time_torch(case: Prepared) -> float | None:
    """Seconds of the forward pass alone in float64, tensors made before; None without torch."""
    try:
        import torch

        from tests.bench import torch_forward
    except ImportError:
        return None
    torch.set_num_threads(1)
    with np.load(case.data) as arrays:
        inputs = arrays["inputs"].astype(np.float64)
        if "input_denominators" in arrays:
            inputs /= arrays["input_denominators"][:, None]
        tokens, mask = torch_forward.pad(inputs, arrays["input_lengths"])
    blocks = torch_forward.read_transformer(case.witness.read_bytes())
    return best(lambda: torch_forward.forward(blocks, tokens, mask), 1 if len(blocks) > 1000 else 3)
