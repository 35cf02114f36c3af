"""Trusted. Obligations derived from the statement, each answered, and the verdict made of them.

Verified means: every obligation was checked and holds. There is no other way to that verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from flint import fmpq

from proofs.balls.attention import PRECISIONS, mean_at
from proofs.kernel.boxes import Box, Undecided, contains, point
from proofs.kernel.counts import Counts, count_transformer
from proofs.kernel.errors import InternalFault, Status
from proofs.kernel.hardmax import apply_block
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, Row, coordinates_of
from proofs.kernel.softmax import Mean, apply_block_boxes, mean_up_to
from proofs.kernel.statement import Claim, Dataset, Mask, Readout, Temperatures

Progress = Callable[[int, int], None]  # blocks done, blocks in all


# The answer about the hardmax or the softmax part of a claim, and the parts of the checker that gave it.
Found = tuple["Obligation", tuple[str, ...]]
HardmaxPass = Callable[[Dataset, Transformer, Readout, Limits, Progress | None], Found]
SoftmaxPass = Callable[[Dataset, Transformer, Temperatures, Readout, Limits, Progress | None], Found]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A pair whose image is not its target set: tokens that lack, tokens too many, the squared Hausdorff distance."""

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


@dataclass(frozen=True, slots=True)
class Passes:
    """The forward passes that a check uses, and what counts."""

    hardmax: HardmaxPass
    softmax: SoftmaxPass
    count: Callable[[Transformer], Counts] = count_transformer


def check(
    dataset: Dataset,
    transformer: Transformer,
    claim: Claim,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress | None = None,
    passes: Passes | None = None,
) -> Verdict:
    """Does the transformer interpolate the dataset at the claimed temperatures within the claimed budgets?

    ``passes`` are the dense ones of the kernel unless given. Exactness: integers and rationals only. Raises:
    LimitReached.
    """
    chosen = passes or DENSE
    counts = chosen.count(transformer)
    obligations = [
        _budget("width", counts.width, claim.max_width),
        _budget("blocks", counts.blocks, claim.max_blocks),
        _budget("parameters", counts.parameters, claim.max_parameters),
    ]
    if claim.mask is not Mask.NONE or counts.masked:
        obligations.append(_mask(counts, claim.mask))
    parts = ["kernel"]
    if transformer.dimension != dataset.dimension:
        detail = f"dimension {transformer.dimension}, the dataset has {dataset.dimension}"
        obligations.append(Obligation("dimension", Status.REFUTED, detail))
    else:
        if claim.temperatures.zero:
            obligation, used = chosen.hardmax(dataset, transformer, claim.readout, limits, progress)
            obligations.append(obligation)
            parts += used
        if claim.temperatures.positive:
            obligation, used = chosen.softmax(dataset, transformer, claim.temperatures, claim.readout, limits, progress)
            obligations.append(obligation)
            parts += used
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


def _mask(counts: Counts, claimed: Mask) -> Obligation:
    """Causal: no attention layer with V != 0 is without the mask. None: no layer has it."""
    wrong = counts.unmasked if claimed is Mask.CAUSAL else counts.masked
    said = "without a" if claimed is Mask.CAUSAL else "with a causal"
    return Obligation("mask", Status.REFUTED if wrong else Status.VERIFIED, f"{wrong} attention layers {said} mask")


def check_hardmax(
    dataset: Dataset, transformer: Transformer, readout: Readout, limits: Limits, progress: Progress | None = None
) -> Found:
    """The dense pass at temperature 0."""
    sequences: list[list[Row]] = [list(pair.input) for pair in dataset.pairs]
    for k, block in enumerate(transformer.blocks, 1):
        sequences = apply_block(block, sequences, limits)
        if progress is not None:
            progress(k, len(transformer.blocks))
    return compare(dataset, sequences, readout), ("kernel/hardmax",)


def check_softmax(
    dataset: Dataset,
    transformer: Transformer,
    claimed: Temperatures,
    readout: Readout,
    limits: Limits,
    progress: Progress | None = None,
) -> Found:
    """All temperatures of an interval by rational boxes; one given temperature by balls, at rising precision."""
    if claimed.single is None:
        mean = mean_up_to(claimed.upper)
        return run_boxes(dataset, transformer, mean, readout, limits, progress), ("kernel/softmax",)
    for bits in PRECISIONS:
        answer = run_boxes(dataset, transformer, mean_at(claimed.single, bits), readout, limits, progress)
        if answer.status is not Status.UNDECIDED:
            break
    return replace(answer, detail=f"{answer.detail} (balls of {bits} bits)"), ("kernel/softmax", "balls")


DENSE = Passes(check_hardmax, check_softmax)


def run_boxes(
    dataset: Dataset,
    transformer: Transformer,
    mean: Mean,
    readout: Readout,
    limits: Limits,
    progress: Progress | None = None,
    start: tuple[int, list[list[Box]]] | None = None,
) -> Obligation:
    """The forward pass in boxes, attention bounded by ``mean``, and the comparison with the targets.

    ``start`` resumes after that many blocks, in that state.
    """
    done, sequences = start or (0, [[point(row) for row in pair.input] for pair in dataset.pairs])
    for k, block in enumerate(transformer.blocks[done:], done + 1):
        try:
            sequences = apply_block_boxes(block, sequences, mean, limits)
        except Undecided as reason:
            j, i = _locate(dataset, reason.token)
            return Obligation("softmax", Status.UNDECIDED, f"block {k}, pair {j}, token {i}: {reason.detail}")
        if progress is not None:
            progress(k, len(transformer.blocks))
    return compare_boxes(dataset, sequences, readout)


def _locate(dataset: Dataset, token: int) -> tuple[int, int]:
    """Pair and place of a token counted through all sequences."""
    for j, pair in enumerate(dataset.pairs):
        if token < len(pair.input):
            return j, token
        token -= len(pair.input)
    raise InternalFault(f"no token {token}")


def compare_boxes(dataset: Dataset, sequences: Sequence[Sequence[Box]], readout: Readout) -> Obligation:
    """Verified: every final box is a point, and the points are the target set. Refuted: a box without a target in it,
    or a target in no box. An enclosure that merely holds its target proves nothing: undecided."""
    undecided = None
    if len(sequences) != len(dataset.pairs):
        return Obligation("softmax", Status.REFUTED, "not every pair was answered")
    for j, (pair, final) in enumerate(zip(dataset.pairs, sequences, strict=True)):
        targets, boxes = set(pair.output), readout.take(pair, final)
        if all(box.is_point for box in boxes):
            if {box.center for box in boxes} != targets:
                mismatch = _mismatch(dataset, j, {box.center for box in boxes})
                return Obligation("softmax", Status.REFUTED, f"pair {j} is wrong at every temperature", mismatch)
            continue
        for i, box in enumerate(boxes, len(final) - len(boxes)):
            if not any(contains(box, row) for row in targets):
                return Obligation("softmax", Status.REFUTED, f"pair {j}, token {i} stays away from every target")
        if lost := [row for row in targets if not any(contains(box, row) for box in boxes)]:
            return Obligation("softmax", Status.REFUTED, f"pair {j}: {len(lost)} targets are never reached")
        if len(boxes) < len(targets):
            return Obligation("softmax", Status.REFUTED, f"pair {j}: fewer tokens than targets")
        undecided = undecided or f"pair {j}: a final token is known only up to a radius"
    if undecided:
        return Obligation("softmax", Status.UNDECIDED, undecided)
    return Obligation("softmax", Status.VERIFIED, f"{len(dataset.pairs)} of {len(dataset.pairs)} pairs exact")


def compare(dataset: Dataset, sequences: Sequence[Sequence[Row]], readout: Readout) -> Obligation:
    """Whether the set of those tokens of each final sequence that count is exactly its target set."""
    if len(sequences) != len(dataset.pairs):
        return Obligation("hardmax", Status.REFUTED, "not every pair was answered")
    found = [set(readout.take(pair, rows)) for pair, rows in zip(dataset.pairs, sequences, strict=True)]
    wrong = [j for j, pair in enumerate(dataset.pairs) if found[j] != set(pair.output)]
    return answer_hardmax(dataset, wrong, found[wrong[0]] if wrong else set())


def answer_hardmax(dataset: Dataset, wrong: list[int], found: set[Row]) -> Obligation:
    """The answer for the list of wrong pairs, the first of which has these tokens."""
    total = dataset.num_listed
    if not wrong:
        return Obligation("hardmax", Status.VERIFIED, f"{total} of {total} pairs exact")
    detail = f"{len(wrong)} of {total} pairs are wrong, the first is pair {wrong[0]}"
    return Obligation("hardmax", Status.REFUTED, detail, _mismatch(dataset, wrong[0], found))


def _mismatch(dataset: Dataset, pair: int, found: set[Row]) -> Mismatch:
    wanted = set(dataset.pairs[pair].output)
    distance = squared_hausdorff(found, wanted)
    return Mismatch(pair, tuple(sorted(wanted - found)), tuple(sorted(found - wanted)), distance)


def squared_hausdorff(left: set[Row], right: set[Row]) -> fmpq:
    """The square of the Hausdorff distance of two non-empty finite sets."""
    a, b = ([coordinates_of(row) for row in sorted(side)] for side in (left, right))
    table = [[sum(((s - t) ** 2 for s, t in zip(x, y, strict=True)), fmpq(0)) for y in b] for x in a]
    smallest = [min(row) for row in table] + [min(column) for column in zip(*table, strict=True)]
    distance: fmpq = max(smallest)
    return distance


def _notes(dataset: Dataset, transformer: Transformer, claim: Claim) -> list[str]:
    """Differences between what the header says and what was checked: told, never decisive."""
    header, notes = transformer.header, []
    if "dataset" in header and header["dataset"] != dataset.digest:
        said = _shown(header["dataset"])
        notes.append(f"the header names another dataset ({said}); the verdict is about the one given")
    if "temperatures" in header and header["temperatures"] != str(claim.temperatures):
        said = _shown(header["temperatures"])
        notes.append(f"the header claims temperature {said}; checked was {claim.temperatures}")
    return notes


def _shown(value: object) -> str:
    """Header text fit to print: a witness writes no lines and no control characters into a report."""
    return ascii(value[:100]) if isinstance(value, str) else "no text"
