"""Untrusted. The sizes of a dataset at a glance."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from proofs.kernel.rational import integer_text
from proofs.kernel.statement import Dataset


@dataclass(frozen=True, slots=True)
class Summary:
    """N, M, n, d and what else tells how hard a dataset is."""

    dimension: int  # d
    listed_pairs: int
    pairs: int  # N
    outputs: int  # M
    distinct_outputs: int
    tokens: int  # K
    max_length: int  # n
    shared_tokens: int  # distinct tokens that stand in more than one input sequence
    max_digits: int  # of a numerator, or of the common denominator of a token
    digest: str


def summarise(dataset: Dataset) -> Summary:
    """Counts over all pairs."""
    sequences = Counter(row for pair in dataset.pairs for row in set(pair.input))
    outputs = {row for pair in dataset.pairs for row in pair.output}
    largest = max(abs(x) for rows in (sequences, outputs) for row in rows for x in row)
    return Summary(
        dataset.dimension,
        len(dataset.pairs),
        dataset.num_pairs,
        dataset.num_outputs,
        len(outputs),
        dataset.num_tokens,
        dataset.max_length,
        sum(1 for count in sequences.values() if count > 1),
        len(integer_text(largest)),
        dataset.digest,
    )
