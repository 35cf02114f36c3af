"""Trusted. The forward passes that a check may run instead of the kernel's, and the comparison with the targets."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from proofs.engine.attention import apply_attention
from proofs.engine.boxes import check_softmax
from proofs.engine.integers import Array, multiply
from proofs.engine.layers import apply_dense
from proofs.engine.packed import count_packed, program_of
from proofs.engine.program import Dense, Run, Step
from proofs.engine.runs import apply_run
from proofs.engine.state import Handover, State
from proofs.engine.statement import input_state, output_state
from proofs.kernel.check import DENSE, Obligation, Passes, Progress, answer_hardmax
from proofs.kernel.errors import InternalFault, Status
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Dataset

PARTS = ("engine/hardmax",)


def apply_step(state: State, step: Step) -> None:
    """One step on all tokens."""
    if isinstance(step, Run):
        apply_run(state, step)
    elif isinstance(step, Dense):
        apply_dense(state, step.layer)
    else:
        apply_attention(state, step.layer)


def last_block(step: Step) -> int:
    """The number of the last block of a step."""
    return int(step.lines.blocks[-1]) if isinstance(step, Run) else step.block


def run_hardmax(dataset: Dataset, transformer: Transformer, limits: Limits, progress: Progress | None = None) -> State:
    """Where the tokens of all sequences end at temperature 0. Raises: Handover."""
    state = input_state(dataset, limits)
    for step in program_of(transformer):
        apply_step(state, step)
        if progress is not None:
            progress(last_block(step), len(transformer.blocks))
    return state


def find_wrong(dataset: Dataset, state: State, limits: Limits) -> list[int]:
    """The pairs whose set of tokens is not their set of targets, as sets of equal rows over one denominator."""
    targets = output_state(dataset, limits)
    found = _keys(multiply(state.numerators, targets.denominator), state.starts)
    wanted = _keys(multiply(targets.numerators, state.denominator), targets.starts)
    if len(found) != len(dataset.pairs) or len(wanted) != len(dataset.pairs):
        raise InternalFault("not every pair was answered")
    return [j for j, (left, right) in enumerate(zip(found, wanted, strict=True)) if left != right]


def _keys(numerators: Array, starts: Array) -> list[frozenset[tuple[int, ...]]]:
    rows = list(map(tuple, numerators.tolist()))
    cuts = starts.tolist()
    return [frozenset(rows[first:last]) for first, last in pairwise(cuts)]


def check_hardmax(
    dataset: Dataset, transformer: Transformer, limits: Limits, progress: Progress | None = None
) -> tuple[Obligation, tuple[str, ...]]:
    """The obligation of temperature 0. A pair that is wrong is run again by the kernel, which says what is wrong."""
    try:
        state = run_hardmax(dataset, transformer, limits, progress)
        wrong = find_wrong(dataset, state, limits)
    except Handover:
        return DENSE.hardmax(dataset, transformer, limits, progress)
    if not wrong:
        return answer_hardmax(dataset, [], set()), PARTS
    alone = Dataset(dataset.dimension, (dataset.pairs[wrong[0]],))
    again, _ = DENSE.hardmax(alone, transformer, limits, None)
    if again.status is not Status.REFUTED or again.mismatch is None:
        raise InternalFault(f"engine and kernel disagree about pair {wrong[0]}", hint="please report it")
    answer = answer_hardmax(dataset, wrong, set(state.rows(wrong[0])))
    if answer.mismatch != replace(again.mismatch, pair=wrong[0]):
        raise InternalFault(f"engine and kernel differ in pair {wrong[0]}", hint="please report it")
    return answer, PARTS


ENGINE = Passes(check_hardmax, check_softmax, count_packed)
