"""Whether the engine and the kernel's dense pass leave the same tokens."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest

from proofs.engine.packed import program_of
from proofs.engine.passes import apply_step, last_block
from proofs.engine.program import Attention
from proofs.engine.state import State
from proofs.engine.statement import state_of
from proofs.kernel.decode import decode_transformer
from proofs.kernel.hardmax import apply_block
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Row
from tests.engine.cases import Case
from tests.strategies import to_row, transformer_bytes

Sequences = list[list[Row]]


def counted(state: State) -> list[Counter[Row]]:
    """The tokens of every sequence with their copies."""
    result = []
    for j in range(len(state.starts) - 1):
        found: Counter[Row] = Counter()
        weights = state.weights[state.starts[j] : state.starts[j + 1]].tolist()
        for row, weight in zip(state.rows(j), weights, strict=True):
            found[row] += weight
        result.append(found)
    return result


def prepare(case: Case) -> tuple[Sequences, Transformer]:
    """Kernel rows and transformer of a case."""
    d, sequences, blocks = case
    return [[to_row(token) for token in tokens] for tokens in sequences], decode_transformer(
        transformer_bytes(d, blocks)
    )


def disagreement(sequences: Sequences, transformer: Transformer) -> str | None:
    """The first place where the two differ, at the end of every block that ends a step; None if they never do.

    Raises: Handover when the engine does not answer.
    """
    state = state_of([tuple(tokens) for tokens in sequences], DEFAULT_LIMITS)
    before = state.numerators.tolist()
    start = state.numerators
    done = 0
    steps = program_of(transformer)
    for step, following in zip_longest(steps, steps[1:]):
        apply_step(state, step)
        if start.tolist() != before:
            return f"step {step} wrote to what it was given"
        if isinstance(following, Attention) and following.block == last_block(step):
            continue
        for block in transformer.blocks[done : last_block(step)]:
            sequences = apply_block(block, sequences)
        done = last_block(step)
        if counted(state) != [Counter(tokens) for tokens in sequences]:
            return f"after block {done}"
    for block in transformer.blocks[done:]:
        sequences = apply_block(block, sequences)
    return None if counted(state) == [Counter(tokens) for tokens in sequences] else "at the end"
