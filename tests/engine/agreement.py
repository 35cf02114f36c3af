"""Whether the engine and the kernel's dense pass leave the same tokens."""

from __future__ import annotations

import inspect
import textwrap
from collections import Counter
from collections.abc import Sequence
from types import ModuleType

import pytest

from proofs.engine import forward
from proofs.engine.forward import apply_step, last_block
from proofs.engine.packed import program_of
from proofs.engine.program import Attention, Scale
from proofs.engine.state import State
from proofs.engine.statement import state_of
from proofs.kernel.decode import decode_transformer
from proofs.kernel.hardmax import apply_block
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Row
from proofs.planes.factored import Factored
from tests.engine.cases import Case
from tests.strategies import to_row, transformer_bytes

Sequences = list[list[Row]]


def plant(
    monkeypatch: pytest.MonkeyPatch, users: Sequence[ModuleType], module: ModuleType, name: str, right: str, wrong: str
) -> None:
    """Changes a function or class of a module, in all these modules that use it."""
    source = textwrap.dedent(inspect.getsource(getattr(module, name)))
    assert right in source, "the fault must be planted somewhere"
    namespace = dict(vars(module))
    exec(compile(source.replace(right, wrong), str(module.__file__), "exec"), namespace)
    for user in [user for user in users if getattr(user, name, None) is getattr(module, name)]:
        monkeypatch.setattr(user, name, namespace[name])


def counted(state: State | Factored) -> list[Counter[Row]]:
    """The tokens of every sequence with their copies."""
    if not isinstance(state, State):
        state = state.to_state()
    result = []
    for j in range(len(state.starts) - 1):
        found: Counter[Row] = Counter()
        weights = state.weights[state.starts[j] : state.starts[j + 1]].tolist()
        if min(weights) < 1:
            raise ValueError("a row that stands for no token")
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


def disagreement(sequences: Sequences, transformer: Transformer, factored: bool = False) -> str | None:
    """The first place where the two differ, at the end of every block that ends a step; None if they never do.

    Nothing is compared between steps where tokens may be divided by a scale.

    ``factored``: the engine starts with tokens on a plane, of as many dimensions as there are.

    Raises: Handover when the engine does not answer.
    """
    state: State | Factored = state_of([tuple(tokens) for tokens in sequences], DEFAULT_LIMITS)
    start = state.numerators
    before = start.tolist()
    if factored:
        state = forward.Factored(state)
    done = 0
    steps = list(program_of(transformer))
    for place, step in enumerate(steps, 1):
        state = apply_step(state, step)
        if start.tolist() != before:
            return f"step {step} wrote to what it was given"
        if place < len(steps) and last_block(steps[place]) == last_block(step):
            continue
        if isinstance(next((s for s in steps[place:] if isinstance(s, Attention | Scale)), None), Scale):
            continue
        for block in transformer.blocks[done : last_block(step)]:
            sequences = apply_block(block, sequences)
        done = last_block(step)
        if counted(state) != [Counter(tokens) for tokens in sequences]:
            return f"after block {done}"
    for block in transformer.blocks[done:]:
        sequences = apply_block(block, sequences)
    return None if counted(state) == [Counter(tokens) for tokens in sequences] else "at the end"
