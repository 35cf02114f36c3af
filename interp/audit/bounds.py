"""Untrusted. The closed formulas side by side."""

from __future__ import annotations

from dataclasses import dataclass

from interp.constructions.bounds import count_caps_bound, count_line_bound
from interp.constructions.catalogue import PAPER
from proofs.kernel.statement import count_hardmax_bound, count_parameter_bound, count_softmax_bound


@dataclass(frozen=True)
class Bound:
    """A construction's bound for given sizes."""

    name: str
    blocks: int
    parameters: int
    source: str


def list_bounds(num_pairs: int, num_outputs: int, dimension: int, num_tokens: int) -> list[Bound]:
    """Block and parameter bounds for N pairs, M targets, dimension d and K input tokens in all."""
    N, M, d = num_pairs, num_outputs, dimension
    line, caps = count_line_bound(M), count_caps_bound(M, min(N, M // 2))
    hardmax, softmax, ours = count_hardmax_bound(N, M), count_softmax_bound(N, M), 2 * M + N - 1
    return [
        Bound("hardmax", hardmax, count_parameter_bound(d, hardmax), f"theorem 1.6 of {PAPER}: 2M + 2N + 1"),
        Bound("hardmax (built)", ours, count_parameter_bound(d, ours), "this construction: 2M + N - 1"),
        Bound("softmax", softmax, count_parameter_bound(d, softmax), f"theorem 1.8 of {PAPER}: 2M + 3N"),
        Bound("compact", line, (12 * d + 8) * line, "theorem A1: 1 + ceil(M/4), all m_j = 1 or n_j, k <= 3 kinks"),
        Bound("compact (any)", caps, (12 * d + 8) * caps, "theorem A2: any dataset, k <= 2 kinks, N_2 <= N"),
        Bound("resnet", num_tokens, (8 * d + 5) * num_tokens, "no attention: one hat a token, O(d N n) parameters"),
    ]
