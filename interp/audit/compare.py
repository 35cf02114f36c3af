"""Untrusted. Every construction on one dataset, side by side; and the best of them by one measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from flint import fmpq

from interp.constructions.catalogue import CONSTRUCTIONS, Construction, run_construction
from interp.norm.rescaling import rescale_ledger
from interp.norm.squares import sum_blocks, sum_squares
from interp.transformers.ledger import Ledger
from proofs.kernel.counts import Counts, count_transformer
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Dataset, parse_temperatures

MEASURES: dict[str, Callable[[Counts, fmpq], Any]] = {
    "blocks": lambda counts, norm: counts.blocks,
    "parameters": lambda counts, norm: counts.parameters,
    "bits": lambda counts, norm: counts.max_bits,
    "norm": lambda counts, norm: norm,
}


@dataclass(frozen=True)
class Built:
    """What a construction made of a dataset, or why it does not apply."""

    construction: Construction
    ledger: Ledger | None
    counts: Counts | None
    norm: fmpq  # exact sum of squared parameters
    seconds: float
    refusal: str

    def measure(self, name: str) -> Any:
        """The number to be made small."""
        return MEASURES[name](self.counts, self.norm) if self.counts is not None else None


def rescale_for(construction: Construction, ledger: Ledger) -> Ledger:
    """The ledger rescaled to a small norm, the same function at every temperature that the construction claims."""
    return rescale_ledger(ledger, parse_temperatures(construction.temperatures).positive)


def build_all(dataset: Dataset, seed: int = 0, attention: str | None = None) -> Iterator[Built]:
    """Builds every construction, or those that hold for ``attention``. A refusal is a row of its own."""
    for construction in CONSTRUCTIONS.values():
        if attention is not None and construction.attention not in (attention, "any"):
            continue
        start = time.perf_counter()
        try:
            ledger = run_construction(construction, dataset, seed, {})
        except UsageError as refusal:
            yield Built(construction, None, None, fmpq(0), 0.0, refusal.message)
            continue
        seconds = time.perf_counter() - start
        transformer = Transformer(dataset.dimension, tuple(ledger.blocks))
        yield Built(construction, ledger, count_transformer(transformer), sum_squares(transformer), seconds, "")


def find_best(dataset: Dataset, seed: int, attention: str | None, measure: str) -> Built:
    """The construction with the smallest measure, the norm after rescaling; the first on a tie. Raises: UsageError."""
    if measure not in MEASURES:
        raise UsageError(f"measure {measure!r}", "--minimise", f"one of {', '.join(MEASURES)}")
    built = [item for item in build_all(dataset, seed, attention) if item.counts is not None]
    if measure == "norm":
        built = [_rescale(item) for item in built]
    return min(built, key=lambda item: item.measure(measure))


def _rescale(item: Built) -> Built:
    if item.ledger is None:
        return item
    ledger = rescale_for(item.construction, item.ledger)
    return replace(item, ledger=ledger, norm=sum_blocks(ledger.blocks, ledger.dimension).total)
