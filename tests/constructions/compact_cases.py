"""Datasets for the constructions of our own: random ones with shared tokens, and the worst cases of the bounds."""

from __future__ import annotations

import random
from itertools import combinations

from proofs.kernel.statement import Dataset
from tests.strategies import choose_dataset, make_dataset


def random_dataset(seed: int, largest: int = 12) -> Dataset:
    """A dataset of every family of ``choose_dataset``, from a seed."""
    return choose_dataset(random.Random(seed).randint, largest)


def fresh_targets(rng: random.Random, count: int, dimension: int, size: int = 9) -> list[list[int]]:
    """Different random targets."""
    found: dict[tuple[int, ...], None] = {}
    while len(found) < count:
        found[tuple(rng.randint(-size, size) for _ in range(dimension))] = None
    return [list(y) for y in found]


def all_subsets(num_tokens: int, dimension: int, largest_output: int, seed: int = 7) -> Dataset:
    """Every non-empty subset of some random tokens, with min(largest_output, n_j) targets."""
    rng = random.Random(seed)
    tokens = fresh_targets(rng, num_tokens, dimension)
    subsets = [s for size in range(1, num_tokens + 1) for s in combinations(tokens, size)]
    return make_dataset(*((list(s), fresh_targets(rng, min(len(s), largest_output), dimension)) for s in subsets))


def symmetric_subsets(num_tokens: int, num_outputs: int) -> Dataset:
    """All unions of pairs {x, -x} in the plane: every sequence has mean 0, so no direction tells two apart."""
    rng = random.Random(3)
    tokens = [[k * k + 1, (-2) ** k] for k in range(num_tokens)]
    subsets = [s for size in range(1, num_tokens + 1) for s in combinations(tokens, size)]
    inputs = [[*s, *([-x, -y] for x, y in s)] for s in subsets]
    return make_dataset(*((tokens, fresh_targets(rng, num_outputs, 2, 99)) for tokens in inputs))


def local_pairs(num_pairs: int, outputs: tuple[int, ...] = (1,)) -> Dataset:
    """Pairs of sequences that differ near +-100 i only, all with mean 0: every kink of the signature splits one pair."""
    rng = random.Random(5)
    inputs = []
    for i in range(num_pairs):
        inputs += [[[s * 100 * i + t * r, 0] for s in (-1, 1) for t in (-1, 1)] for r in (1, 2)]
    inputs = [[list(x) for x in dict.fromkeys(map(tuple, tokens))] for tokens in inputs]
    sizes = [min(outputs[k % len(outputs)], len(tokens)) for k, tokens in enumerate(inputs)]
    return make_dataset(
        *((tokens, fresh_targets(rng, size, 2, 99)) for tokens, size in zip(inputs, sizes, strict=True))
    )


def continuous(num_pairs: int, length: int, dimension: int, outputs: int, seed: int = 0) -> Dataset:
    """Random tokens with two decimals, none shared."""
    rng = random.Random(seed)
    return make_dataset(
        *(
            (
                [[f"{rng.randint(-999, 999)}/100" for _ in range(dimension)] for _ in range(length)],
                fresh_targets(rng, outputs, dimension),
            )
            for _ in range(num_pairs)
        )
    )
