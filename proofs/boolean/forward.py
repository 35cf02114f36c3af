"""Trusted. The encoder's value on many strings at once, in float64 with running error bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from proofs.boolean.model import Block, Encoder, Norm
from proofs.boolean.running import (
    Array,
    Running,
    add,
    attend,
    exact_vector,
    multiply,
    nearest,
    nearest_array,
    nearest_matrix,
    normalise,
    relu,
    scores,
    tanh,
)


class FloatBlock:
    """Nearest doubles of a block's weights, made once."""

    def __init__(self, block: Block, epsilon: float) -> None:
        self.epsilon, self.mlp = epsilon, block.mlp
        self.heads = [([nearest_matrix(M) for M in (h.Q, h.K, h.V)], h.scale_squared) for h in block.heads]
        self.norms = [_float_norm(norm) for norm in (block.attention_norm, block.norm)]
        if block.mlp is not None:
            self.W1, self.W2 = nearest_matrix(block.mlp.W1), nearest_matrix(block.mlp.W2)
            self.b1, self.b2 = nearest_array(block.mlp.b1), nearest_array(block.mlp.b2)

    def apply(self, y: Running, last: bool) -> Running:
        """One block; of the ``last`` that has heads and those after it only the end token, ... x 1 x D."""
        asking = y[..., -1:, :] if last else y
        result = asking
        for (Q, K, V), scale_squared in self.heads:
            result = add(result, attend(scores(multiply(asking, Q), multiply(y, K), scale_squared), multiply(y, V)))
        result = self.norm(result, 0)
        if self.mlp is not None:
            hidden = multiply(result, self.W1, self.b1)
            hidden = relu(hidden) if self.mlp.activation == "relu" else tanh(hidden)
            image = multiply(hidden, self.W2, self.b2)
            result = add(result, image) if self.mlp.residual else image
        return self.norm(result, 1)

    def norm(self, y: Running, which: int) -> Running:
        """The layer norm at one of the two places, if there is one."""
        norm = self.norms[which]
        return y if norm is None else normalise(y, self.epsilon, *norm)


def _float_norm(norm: Norm | None) -> tuple[Array, Array] | None:
    return None if norm is None else (nearest_array(norm.gain), nearest_array(norm.bias))


class FloatEncoder:
    """An encoder for N bits."""

    def __init__(self, encoder: Encoder, bits: int) -> None:
        self.bits, self.num_reading = bits, encoder.num_reading
        epsilon = nearest(encoder.epsilon)
        self.blocks = [FloatBlock(block, epsilon) for block in encoder.blocks]
        self.tokens = [[exact_vector(token) for token in options] for options in encoder.tokens(bits)]
        self.w, self.omega = nearest_array(encoder.w)[None, :], nearest_array((encoder.omega,))

    def run(self, strings: NDArray[np.int64]) -> Running:
        """T on the strings with these numbers: values and errors, of their shape."""
        with np.errstate(all="ignore"):
            columns = []
            for i, options in enumerate(self.tokens):
                chosen = strings >> (self.bits - 1 - i) & 1 if len(options) == 2 else np.zeros_like(strings)
                columns.append([np.stack([getattr(o, part) for o in options])[chosen] for part in ("value", "error")])
            y = Running(*(np.stack(parts, axis=1) for parts in zip(*columns, strict=True)))
            for k, block in enumerate(self.blocks, 1):
                y = block.apply(y, last=k >= self.num_reading)
            return multiply(y[:, -1, :], self.w, self.omega)[:, 0]
