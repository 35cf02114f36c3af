"""Untrusted. Where a refuted transformer went wrong: the first phase of the ledger whose promise does not hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from interp.transformers.ledger import Phase, decode_phases
from proofs.kernel.check import Progress
from proofs.kernel.errors import InterpError
from proofs.kernel.hardmax import apply_block, apply_feed_forward
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, Row
from proofs.kernel.statement import Dataset
from proofs.lemmas import collapse, interpolation, leaders, separation

Sequences = list[list[Row]]
States = dict[int, Sequences]  # number of blocks done -> tokens


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of the promise of a phase."""

    phase: Phase
    broken: bool
    detail: str

    def __str__(self) -> str:
        if self.phase.num_blocks == 0 and not self.phase.shared:
            return f"{self.phase.name}: {self.detail}"
        return f"blocks {self.phase.first}-{self.phase.last} {self.phase.name}: {self.detail}"


def explain_hardmax(dataset: Dataset, transformer: Transformer, limits: Limits = DEFAULT_LIMITS) -> list[str]:
    """One line a phase of the ledger, up to the first whose promise is broken. Raises: MalformedInput, LimitReached."""
    findings = examine_phases(dataset, transformer, limits)
    return list(map(str, findings)) or ["the header has no phase ledger: nothing to explain by"]


def examine_phases(
    dataset: Dataset, transformer: Transformer, limits: Limits = DEFAULT_LIMITS, progress: Progress | None = None
) -> list[Finding]:
    """For each phase of the ledger: its promise kept, what first broke, or that it has no check at temperature 0.

    Raises: MalformedInput, LimitReached.
    """
    phases = decode_phases(transformer.header)
    if not phases:
        return []
    states: States = {0: [list(pair.input) for pair in dataset.pairs]}
    wanted = {k for phase in phases for k in (phase.first - 1, phase.last - 1, phase.last)}
    current = states[0]
    for k, block in enumerate(transformer.blocks, 1):
        current = apply_block(block, current, limits)
        if k in wanted:
            states[k] = current
        if progress is not None:
            progress(k, len(transformer.blocks))
    findings = []
    for phase in phases:
        if phase.num_blocks == 0 and not phase.shared:
            findings.append(Finding(phase, False, "no blocks"))
            continue
        if phase.name not in CHECKS:
            findings.append(Finding(phase, False, "its promise has no check here"))
            continue
        try:
            broken = CHECKS[phase.name](phase, dataset, transformer, states)
        except (KeyError, IndexError, InterpError) as error:
            broken = f"the ledger does not fit the blocks ({error})"
        findings.append(Finding(phase, broken is not None, broken or "promise kept"))
        if broken is not None:
            break
    return findings


def _check_separation(phase: Phase, dataset: Dataset, transformer: Transformer, states: States) -> str | None:
    return separation.check_promise(states[phase.first - 1], states[phase.last])


def _check_leaders(phase: Phase, dataset: Dataset, transformer: Transformer, states: States) -> str | None:
    """The promise holds before the attention of the last block, which belongs to the collapse."""
    last = transformer.blocks[phase.last - 1].feed_forward
    return leaders.check_promise([apply_feed_forward(last, rows) for rows in states[phase.last - 1]], _sizes(dataset))


def _check_collapse(phase: Phase, dataset: Dataset, transformer: Transformer, states: States) -> str | None:
    return collapse.check_promise(states[phase.last], _sizes(dataset))


def _check_interpolation(phase: Phase, dataset: Dataset, transformer: Transformer, states: States) -> str | None:
    return interpolation.check_promise(states[phase.last], [pair.output for pair in dataset.pairs])


CHECKS: dict[str, Callable[[Phase, Dataset, Transformer, States], str | None]] = {
    "separation": _check_separation,
    "leader selection": _check_leaders,
    "collapse": _check_collapse,
    "interpolation": _check_interpolation,
}


def _sizes(dataset: Dataset) -> list[int]:
    return [len(set(pair.output)) for pair in dataset.pairs]
