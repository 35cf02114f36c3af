"""Untrusted. The closed formulas side by side."""

from __future__ import annotations

from dataclasses import dataclass

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
    hardmax, softmax, ours = count_hardmax_bound(N, M), count_softmax_bound(N, M), 2 * M + N - 1
    return [
        Bound("hardmax", hardmax, count_parameter_bound(d, hardmax), f"theorem 1.6 of {PAPER}: 2M + 2N + 1"),
        Bound("hardmax (built)", ours, count_parameter_bound(d, ours), "this construction: 2M + N - 1"),
        Bound("softmax", softmax, count_parameter_bound(d, softmax), f"theorem 1.8 of {PAPER}: 2M + 3N"),
        Bound("resnet", num_tokens, (8 * d + 5) * num_tokens, "no attention: one hat a token, O(d N n) parameters"),
    ]
