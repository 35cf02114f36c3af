"""Untrusted. Closed bounds for the blocks of our constructions (docs/explanation/compact.md, frontier.md).

N sequences, M = sum of m_j, N_2 = #{j : m_j >= 2}, N_c = #{j : m_j < n_j}, M' different targets, k kinks of the
signature (at most N - 1), K binary digits of the lift. n_j and m_j count different tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from flint import fmpq

from interp.stages.codes import count_code_blocks
from interp.stages.hat import count_layers
from interp.stages.prefixes import mark_prefixes
from interp.stages.tokens import power_of_two_above
from proofs.kernel.statement import Dataset


def count_line_bound(num_outputs: int, num_kinks: int = 0) -> int:
    """A1: all m_j = 1, or all m_j = n_j."""
    signature = 1 if num_kinks <= 3 else count_layers(num_kinks + 2)
    return signature + count_layers(num_outputs)


def count_caps_bound(num_outputs: int, num_lifted: int, num_kinks: int = 0) -> int:
    """A2: any dataset; num_lifted = N_2."""
    return _count_shifted_signature(num_kinks) + count_layers(num_lifted) + count_layers(num_outputs + 1)


def count_digits_bound(num_outputs: int, num_digits: int, num_kinks: int = 0) -> int:
    """A3: any dataset with d >= 3; num_digits = K of ``count_digits``."""
    return _count_shifted_signature(num_kinks) + -(-num_digits // 2) + count_layers(num_outputs + 1)


def count_key_bound(num_pairs: int, num_outputs: int, num_collapsed: int, num_targets: int, num_kinks: int = 0) -> int:
    """No rank-one V: any dataset; num_collapsed = N_c, num_targets = M'."""
    signature = max(1, count_layers(num_kinks)) if num_pairs > 1 else 0
    return signature + count_layers(num_outputs + num_collapsed) + count_layers(num_targets)


def count_peeling_bound(peeled: Sequence[int], num_kinks: int = 0, heads: int = 1) -> int:
    """B: peeled[j] = min(m, n_j), m = max m_j; if m_j = peeled[j] for all j, m + 1 + ceil(M / 4) for k <= 3."""
    signature = 1 if num_kinks <= 3 else count_layers(num_kinks + 2)
    return signature + 1 - (1 - max(peeled)) // heads + count_layers(sum(peeled))


def count_peeling_bound_of(dataset: Dataset) -> int:
    """What ``build_peeling`` never exceeds, from sizes alone: k = N - 1 kinks at worst."""
    sizes = [(len(set(pair.input)), len(set(pair.output))) for pair in dataset.pairs]
    most = max(m for _, m in sizes)
    if most == 1:
        return count_line_bound(len(sizes), len(sizes) - 1)
    return count_peeling_bound([min(most, n) for n, _ in sizes], len(sizes) - 1)


def count_causal_bound(dataset: Dataset, num_kinks: int | None = None) -> int:
    """F: causal mask, read-out at the last tokens; one kink less than tokens or marked prefixes at worst."""
    marked = len(mark_prefixes(dataset).places)
    tokens = len({row for pair in dataset.pairs for row in pair.input})
    kinks = min(tokens, marked) - 1 if num_kinks is None else num_kinks
    signature = 1 if kinks <= 3 else count_layers(kinks + 2)
    return signature + 1 + count_layers(marked)


def count_resnet_bound(num_tokens: int) -> int:
    """One hat for each token, no attention; num_tokens = sum of n_j."""
    return num_tokens


def count_digits(means: Sequence[fmpq]) -> int:
    """K: the least K >= 1 with 2^-K <= gap / (2 H), H the least power of two above the range of the g_j."""
    ordered = sorted(means)
    if len(ordered) == 1:
        return 1
    gap = min(b - a for a, b in pairwise(ordered))
    width, digits = power_of_two_above(ordered[-1] - ordered[0]), 1
    while gap * 2**digits < 2 * width:
        digits += 1
    return digits


def count_corrections_bound(num_classes: int) -> int:
    """C: blocks after the stops, at most; R bits with ceil(log2 C) <= R <= min(4, C - 1) correct C - 1 - R classes."""
    fewest = max(1, (num_classes - 1).bit_length())
    return max((count_code_blocks(num_classes, r) - 2 for r in range(fewest, min(4, num_classes - 1) + 1)), default=0)


def count_compact_bound(dataset: Dataset, num_kinks: int | None = None, rank_one_v: bool = True) -> int:
    """What ``build_compact`` never exceeds, from sizes alone; num_kinks is N - 1 unless the signature is known."""
    sizes = [(len(set(pair.input)), len(set(pair.output))) for pair in dataset.pairs]
    pairs, outputs = len(sizes), sum(m for _, m in sizes)
    kinks = pairs - 1 if num_kinks is None else num_kinks
    if all(m == 1 for _, m in sizes) or all(m == n for n, m in sizes):
        return count_line_bound(outputs, kinks)
    if rank_one_v:
        return count_caps_bound(outputs, sum(m >= 2 for _, m in sizes), kinks)
    targets = len({row for pair in dataset.pairs for row in pair.output})
    return count_key_bound(pairs, outputs, sum(m < n for n, m in sizes), targets, kinks)


def _count_shifted_signature(num_kinks: int) -> int:
    return 1 if num_kinks <= 2 else count_layers(num_kinks + 3)
