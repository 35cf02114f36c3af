"""Trusted. Obligations derived from the statement, each answered, and the verdict made of them.

Verified means: every obligation was checked and holds. There is no other way to that verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import fmpq

from proofs.kernel.counts import Counts, count_transformer
from proofs.kernel.errors import Status
from proofs.kernel.hardmax import apply_block
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, Row, coordinates_of
from proofs.kernel.statement import Claim, Dataset

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A pair whose image is not its target set: the tokens that lack, those too many, and the squared Hausdorff distance."""

    pair: int  # from 0
    missing: tuple[Row, ...]
    surplus: tuple[Row, ...]
    squared_distance: fmpq


@dataclass(frozen=True, slots=True)
class Obligation:
    """One thing that had to hold, and what was found."""

    name: str
    status: Status
    detail: str
    mismatch: Mismatch | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer, with the whole claim it answers, the obligations behind it and the parts of the checker used."""

    status: Status
    claim: Claim
    obligations: tuple[Obligation, ...]
    counts: Counts
    dataset_digest: str
    transformer_digest: str
    parts: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def failed(self) -> tuple[Obligation, ...]:
        """The obligations that do not hold or could not be decided."""
        return tuple(item for item in self.obligations if item.status is not Status.VERIFIED)


def check(
    dataset: Dataset, transformer: Transformer, claim: Claim, limits: Limits = DEFAULT_LIMITS, progress: Progress | None = None
) -> Verdict:
    """Does the transformer interpolate the dataset at the claimed temperatures within the claimed budgets?

    Exactness: integers and rationals only. Raises: LimitReached.
    """
    counts = count_transformer(transformer)
    obligations = [
        _budget("width", counts.width, claim.max_width),
        _budget("blocks", counts.blocks, claim.max_blocks),
        _budget("parameters", counts.parameters, claim.max_parameters),
    ]
    parts = ["kernel"]
    if transformer.dimension != dataset.dimension:
        detail = f"dimension {transformer.dimension}, the dataset has {dataset.dimension}"
        obligations.append(Obligation("dimension", Status.REFUTED, detail))
    else:
        if claim.temperatures.zero:
            obligations.append(_check_hardmax(dataset, transformer, limits, progress))
            parts.append("kernel/hardmax")
        if claim.temperatures.positive:
            obligations.append(Obligation("softmax", Status.UNDECIDED, "no softmax forward pass"))
    return Verdict(
        _overall(obligations),
        claim,
        tuple(obligations),
        counts,
        dataset.digest,
        transformer.digest,
        tuple(parts),
        tuple(_notes(dataset, transformer, claim)),
    )


def _overall(obligations: list[Obligation]) -> Status:
    statuses = {item.status for item in obligations}
    if Status.REFUTED in statuses:
        return Status.REFUTED
    return Status.VERIFIED if statuses == {Status.VERIFIED} else Status.UNDECIDED


def _budget(name: str, found: int, allowed: int) -> Obligation:
    status = Status.VERIFIED if found <= allowed else Status.REFUTED
    return Obligation(name, status, f"{found} {'<=' if found <= allowed else '>'} {allowed}")


def _check_hardmax(dataset: Dataset, transformer: Transformer, limits: Limits, progress: Progress | None) -> Obligation:
    sequences: list[list[Row]] = [list(pair.input) for pair in dataset.pairs]
    for k, block in enumerate(transformer.blocks, 1):
        sequences = apply_block(block, sequences, limits)
        if progress is not None:
            progress(k)
    return compare(dataset, sequences, "hardmax")


def compare(dataset: Dataset, sequences: list[list[Row]], name: str) -> Obligation:
    """Whether the set of tokens of each final sequence is exactly its target set."""
    wrong = [j for j, pair in enumerate(dataset.pairs) if set(sequences[j]) != set(pair.output)]
    if len(sequences) != len(dataset.pairs):
        return Obligation(name, Status.REFUTED, "not every pair was answered")
    if not wrong:
        return Obligation(name, Status.VERIFIED, f"{len(dataset.pairs)} of {len(dataset.pairs)} pairs exact")
    j = wrong[0]
    found, wanted = set(sequences[j]), set(dataset.pairs[j].output)
    mismatch = Mismatch(j, tuple(sorted(wanted - found)), tuple(sorted(found - wanted)), squared_hausdorff(found, wanted))
    detail = f"{len(wrong)} of {len(dataset.pairs)} pairs are wrong, the first is pair {j}"
    return Obligation(name, Status.REFUTED, detail, mismatch)


def squared_hausdorff(left: set[Row], right: set[Row]) -> fmpq:
    """The square of the Hausdorff distance of two non-empty finite sets."""
    a, b = ([coordinates_of(row) for row in sorted(side)] for side in (left, right))
    table = [[sum(((s - t) ** 2 for s, t in zip(x, y, strict=True)), fmpq(0)) for y in b] for x in a]
    return max(max(min(row) for row in table), max(min(column) for column in zip(*table, strict=True)))


def _notes(dataset: Dataset, transformer: Transformer, claim: Claim) -> list[str]:
    """Differences between what the header says and what was checked: told, never decisive."""
    header, notes = transformer.header, []
    if "dataset" in header and header["dataset"] != dataset.digest:
        notes.append(f"the header names another dataset ({header['dataset']}); the verdict is about the one given")
    if "temperatures" in header and header["temperatures"] != str(claim.temperatures):
        notes.append(f"the header claims temperature {header['temperatures']}; checked was {claim.temperatures}")
    return notes
