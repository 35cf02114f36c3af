"""An independent evaluation of encoders with mpmath, written from the format alone: plain lists, 60 digits."""

from __future__ import annotations

from mpmath import mp, mpf

from proofs.boolean.model import Encoder

DIGITS = 60


def number(x):
    return mpf(int(x.p)) / mpf(int(x.q))


def times(matrix, vector):
    return [sum((number(a) * x for a, x in zip(row, vector, strict=True)), mpf(0)) for row in matrix.tolist()]


def layer_norm(y, norm, epsilon):
    if norm is None:
        return y
    mean = sum(y) / len(y)
    variance = sum((x - mean) ** 2 for x in y) / len(y)
    root = mp.sqrt(variance + number(epsilon))
    return [(x - mean) / root * number(g) + number(b) for x, g, b in zip(y, norm.gain, norm.bias, strict=True)]


def value(encoder: Encoder, bits: str):
    """T on a string such as "0110"; raises ZeroDivisionError where a variance is 0."""
    with mp.workdps(DIGITS):
        zero, one, end = encoder.embeddings
        words = [*({"0": zero, "1": one}[x] for x in bits), end]
        y = [
            [number(a) + number(b) for a, b in zip(e, p, strict=True)]
            for e, p in zip(words, encoder.positions[len(bits)], strict=True)
        ]
        for block in encoder.blocks:
            after = [list(token) for token in y]
            for head in block.heads:
                scale = mp.sqrt(number(head.scale_squared))
                for i, token in enumerate(y):
                    q = times(head.Q, token)
                    scores = [scale * sum(a * b for a, b in zip(q, times(head.K, t), strict=True)) for t in y]
                    weights = [mp.exp(s) for s in scores]
                    for weight, t in zip(weights, y, strict=True):
                        for c, x in enumerate(times(head.V, t)):
                            after[i][c] += weight / sum(weights) * x
            y = [layer_norm(token, block.attention_norm, encoder.epsilon) for token in after]
            if block.mlp is not None:
                mlp = block.mlp
                act = mp.tanh if mlp.activation == "tanh" else (lambda x: max(x, mpf(0)))
                for i, token in enumerate(y):
                    hidden = [act(x + number(b)) for x, b in zip(times(mlp.W1, token), mlp.b1, strict=True)]
                    image = [x + number(b) for x, b in zip(times(mlp.W2, hidden), mlp.b2, strict=True)]
                    y[i] = [a + b for a, b in zip(token, image, strict=True)] if mlp.residual else image
            y = [layer_norm(token, block.norm, encoder.epsilon) for token in y]
        return sum((number(a) * x for a, x in zip(encoder.w, y[-1], strict=True)), number(encoder.omega))


def naive_profile(values: list[bool], bits: int) -> tuple[int, ...]:
    """K_0 .. K_N, string by string."""
    found = [0] * (bits + 1)
    for t in range(1 << bits):
        found[sum(values[t] != values[t ^ (1 << k)] for k in range(bits))] += 1
    return tuple(found)
