"""Untrusted. The pairs of a dataset that refute a transformer. ``proofs`` says of each part whether it is refuted.

The image of a pair does not depend on the others, so a smallest refuted part is one pair, found by halving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from proofs.kernel.check import Verdict
from proofs.kernel.errors import InternalFault, Status
from proofs.kernel.statement import Dataset

BUDGETS = frozenset({"width", "blocks", "parameters", "dimension"})  # obligations that are not about pairs


def take_pairs(dataset: Dataset, indices: list[int]) -> Dataset:
    """The dataset of these pairs."""
    return Dataset(dataset.dimension, tuple(dataset.pairs[j] for j in indices))


def is_refuted(verdict: Verdict) -> bool:
    """Whether the image of some pair is wrong."""
    return any(item.status is Status.REFUTED and item.name not in BUDGETS for item in verdict.obligations)


def find_refuted_pairs(dataset: Dataset, ask: Callable[[Dataset], Verdict]) -> Iterator[int]:
    """The pairs that are refuted each alone, in order; the first costs about as much as two checks of the dataset.

    The whole dataset must be refuted. Raises: InternalFault when a part is refuted and no half of it is.
    """
    stack = [list(range(len(dataset.pairs)))]
    while stack:
        part = stack.pop()
        if len(part) == 1:
            yield part[0]
            continue
        halves = [part[: len(part) // 2], part[len(part) // 2 :]]
        refuted = [half for half in halves if is_refuted(ask(take_pairs(dataset, half)))]
        if not refuted:
            raise InternalFault(f"pairs {part[0]} to {part[-1]} are refuted together and in no half")
        stack.extend(reversed(refuted))
