"""Untrusted. Where a refuted transformer went wrong: the first phase of the ledger whose promise does not hold."""

from __future__ import annotations

from interp.transformers.ledger import Phase, decode_phases
from proofs.kernel.errors import InterpError
from proofs.kernel.hardmax import apply_block, apply_feed_forward
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, Row
from proofs.kernel.statement import Dataset
from proofs.lemmas import collapse, interpolation, leaders, separation

Sequences = list[list[Row]]


def explain_hardmax(dataset: Dataset, transformer: Transformer, limits: Limits = DEFAULT_LIMITS) -> list[str]:
    """One line a phase of the ledger: its promise kept, or what first broke. Raises: MalformedInput."""
    phases = decode_phases(transformer.header)
    if not phases:
        return ["the header has no phase ledger: nothing to explain by"]
    states: dict[int, Sequences] = {0: [list(pair.input) for pair in dataset.pairs]}
    wanted = {phase.first - 1 for phase in phases} | {phase.last for phase in phases}
    current = states[0]
    for k, block in enumerate(transformer.blocks, 1):
        current = apply_block(block, current, limits)
        if k in wanted:
            states[k] = current
    lines = []
    for phase in phases:
        try:
            broken = _check(phase, dataset, transformer, states)
        except (KeyError, IndexError, InterpError) as error:
            broken = f"the ledger does not fit the blocks ({error})"
        lines.append(f"blocks {phase.first}-{phase.last} {phase.name}: {broken or 'promise kept'}")
        if broken:
            break
    return lines


def _check(phase: Phase, dataset: Dataset, transformer: Transformer, states: dict[int, Sequences]) -> str | None:
    before, after = states[phase.first - 1], states[phase.last]
    sizes = [len(set(pair.output)) for pair in dataset.pairs]
    if phase.name == "separation":
        return separation.check_promise(before, after) if phase.num_blocks else None
    if phase.name == "leader selection":
        last = transformer.blocks[phase.last - 1]
        if phase.num_blocks > 1:
            before = _run_between(transformer, states[phase.first - 1], phase.first - 1, phase.last - 1)
        return leaders.check_promise([apply_feed_forward(last.feed_forward, rows) for rows in before], sizes)
    if phase.name == "collapse":
        return collapse.check_promise(after, sizes)
    if phase.name == "interpolation":
        return interpolation.check_promise(after, [pair.output for pair in dataset.pairs])
    return None


def _run_between(transformer: Transformer, sequences: Sequences, start: int, stop: int) -> Sequences:
    for block in transformer.blocks[start:stop]:
        sequences = apply_block(block, sequences)
    return sequences
