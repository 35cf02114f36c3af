"""Trusted. The encoder's value on one string, enclosed by Arb balls (python-flint) at a given precision."""

from __future__ import annotations

from typing import Any

from flint import arb, arb_mat, ctx, fmpq_mat

from proofs.boolean.model import Block, Encoder, Norm

Balls = list[Any]  # of arb


class UndefinedValueError(Exception):
    """A variance is exactly 0 and epsilon is 0: the encoder has no value here."""


class BallEncoder:
    """An encoder for N bits at one precision, its weights converted once."""

    def __init__(self, encoder: Encoder, bits: int, precision: int) -> None:
        self.encoder, self.bits, self.precision = encoder, bits, precision
        with ctx.workprec(precision):
            self.epsilon = arb(encoder.epsilon)
            self.tokens = [[list(map(arb, token)) for token in options] for options in encoder.tokens(bits)]
            self.blocks = [(block, _convert(block)) for block in encoder.blocks]

    def run(self, string: int) -> arb:
        """T on one string. Raises: UndefinedValueError."""
        with ctx.workprec(self.precision):
            bits = [string >> (self.bits - 1 - i) & 1 for i in range(self.bits)]
            tokens = [options[x] for options, x in zip(self.tokens, [*bits, 0], strict=True)]
            for k, (block, matrices) in enumerate(self.blocks, 1):
                tokens = self.apply(block, matrices, tokens, last=k >= self.encoder.num_reading)
            return sum((arb(a) * b for a, b in zip(self.encoder.w, tokens[-1], strict=True)), arb(self.encoder.omega))

    def apply(self, block: Block, matrices: dict[str, Any], tokens: list[Balls], last: bool) -> list[Balls]:
        """One block; of the ``last`` that has heads and those after it only the end token."""
        asking = tokens[-1:] if last else tokens
        Y, X = (arb_mat(len(rows), len(rows[0]), [x for row in rows for x in row]) for rows in (tokens, asking))
        result = X
        for h, head in enumerate(block.heads):
            queries, keys, values = X * matrices[f"Q{h}"], Y * matrices[f"K{h}"], Y * matrices[f"V{h}"]
            table = (queries * keys.transpose()).tolist()
            scale = arb(head.scale_squared).sqrt()
            weights = [x for row in table for x in _softmax([scale * s for s in row])]
            result = result + arb_mat(len(asking), len(tokens), weights) * values
        rows = self.norm(result.tolist(), block.attention_norm)
        if block.mlp is not None:
            mlp, activate = block.mlp, _relu if block.mlp.activation == "relu" else _tanh
            X = arb_mat(len(rows), len(rows[0]), [x for row in rows for x in row])
            hidden = [
                activate(x + b) for row in (X * matrices["W1"]).tolist() for x, b in zip(row, mlp.b1, strict=True)
            ]
            image = (arb_mat(len(rows), len(mlp.b1), hidden) * matrices["W2"]).tolist()
            image = [[x + b for x, b in zip(row, mlp.b2, strict=True)] for row in image]
            if mlp.residual:
                image = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(rows, image, strict=True)]
            rows = image
        return self.norm(rows, block.norm)

    def norm(self, rows: list[Balls], norm: Norm | None) -> list[Balls]:
        """Layer norm of every row, from D y - sum y: exact, hence seen to be 0, for short dyadic numbers."""
        if norm is None:
            return rows
        result = []
        for row in rows:
            D, total = len(row), sum(row, arb(0))
            deviations = [D * x - total for x in row]
            if self.encoder.epsilon == 0 and all(x.is_zero() for x in deviations):
                raise UndefinedValueError
            square = sum((x * x for x in deviations), arb(0)) / D + D * D * self.epsilon
            root = square.sqrt()  # NaN if the ball reaches below 0
            parts = zip(deviations, norm.gain, norm.bias, strict=True)
            result.append([x / root * arb(gain) + arb(bias) for x, gain, bias in parts])
        return result


def _convert(block: Block) -> dict[str, Any]:
    """The transposed matrices of a block: tokens are rows."""
    named: dict[str, fmpq_mat] = {}
    for h, head in enumerate(block.heads):
        named |= {f"Q{h}": head.Q, f"K{h}": head.K, f"V{h}": head.V}
    if block.mlp is not None:
        named |= {"W1": block.mlp.W1, "W2": block.mlp.W2}
    return {name: arb_mat(matrix.transpose()) for name, matrix in named.items()}


def _softmax(row: Balls) -> Balls:
    shift = max((x.mid() for x in row), key=float)  # any number would do
    weights = [(x - shift).exp() for x in row]
    total = sum(weights, arb(0))
    return [weight / total for weight in weights]


def _relu(x: arb) -> arb:
    return x if x > 0 else arb(0) if x <= 0 else x.max(arb(0))  # comparisons are true only if certain


def _tanh(x: arb) -> arb:
    return x.tanh()
