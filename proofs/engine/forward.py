"""Trusted. All steps on all pairs, and the comparison with the targets.

Sequences do not know of each other. So what does not fit into one state is done in halves, each over a denominator of
its own, down to single pairs, which are left to the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from proofs.engine.attention import Decay, apply_attention
from proofs.engine.integers import Array, multiply
from proofs.engine.layers import apply_dense
from proofs.engine.packed import program_of
from proofs.engine.program import SCALE_BITS, Attention, Dense, Run, Scale, Step
from proofs.engine.runs import apply_run
from proofs.engine.state import HANDOVER_BITS, Handover, KernelOnly, State
from proofs.engine.statement import input_state, output_state
from proofs.kernel.check import Progress
from proofs.kernel.errors import InternalFault
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Dataset
from proofs.planes.factored import Factored

SHORT_RUN = 16  # runs of fewer layers do not end a factored state


@dataclass(frozen=True)
class Part:
    """Some of the pairs, from number ``first`` on: where they end and which of them are wrong; None: not known."""

    first: int
    dataset: Dataset
    state: State | None
    wrong: list[int]  # counted from 0 in this part


def run_parts(
    dataset: Dataset,
    transformer: Transformer,
    limits: Limits,
    progress: Progress | None = None,
    decay: Decay | None = None,
    first: int = 0,
) -> Iterator[Part]:
    """All pairs, in order; those of which nothing is known alone. Raises: KernelOnly, at once.

    A float that is no number, which nothing here may make, hands over as well: it compares as false with everything.
    """
    try:
        with np.errstate(invalid="raise", divide="raise"):
            state = run_steps(dataset, transformer, limits, progress, decay)
            part = Part(first, dataset, state, find_wrong(dataset, state, limits))
    except KernelOnly:
        raise
    except (Handover, OverflowError, FloatingPointError):
        half = len(dataset.pairs) // 2
        if half == 0:
            yield Part(first, dataset, None, [])
            return
        for start, pairs in ((0, dataset.pairs[:half]), (half, dataset.pairs[half:])):
            some = Dataset(dataset.dimension, tuple(pairs))
            yield from run_parts(some, transformer, limits, None, decay, first + start)
    else:
        yield part


def run_steps(
    dataset: Dataset,
    transformer: Transformer,
    limits: Limits,
    progress: Progress | None = None,
    decay: Decay | None = None,
) -> State:
    """Where all tokens end: points, or centers of boxes for all temperatures of ``decay``. Raises: Handover."""
    state: State | Factored = input_state(dataset, limits)
    for step in program_of(transformer):
        state = apply_step(state, step, decay)
        if progress is not None:
            progress(last_block(step), len(transformer.blocks))
    return state.to_state() if isinstance(state, Factored) else state


def apply_step(state: State | Factored, step: Step, decay: Decay | None = None) -> State | Factored:
    """One step on all tokens. The state may change its form: a layer with eta = 0 leaves tokens in few dimensions."""
    if isinstance(step, Attention) and (step.layer.causal or step.layer.further):
        raise KernelOnly("an attention layer with a mask or several heads")
    if isinstance(step, Scale) and state.limits.max_height < HANDOVER_BITS + SCALE_BITS:
        raise KernelOnly("numbers that may be larger before they are divided by a scale")
    if isinstance(state, State) and isinstance(step, Dense) and step.layer.eta == 0 and state.radii is None:
        state = Factored(state)
    if isinstance(state, Factored):
        if isinstance(step, Attention):
            done = state.apply_mean(step.layer)
        else:
            layers = [step.layer] if isinstance(step, Dense) else step.layers
            done = len(layers) < SHORT_RUN and all(map(Factored.takes, layers))
            for layer in layers if done else ():
                state.apply_layer(layer)
        if done:
            return state
        state = state.to_state()
    if isinstance(step, Run):
        apply_run(state, step)
    elif isinstance(step, Dense):
        apply_dense(state, step.layer)
    else:
        apply_attention(state, step.layer, decay)
    return state


def last_block(step: Step) -> int:
    """The number of the last block of a step."""
    return int(step.lines.blocks[-1]) if isinstance(step, Run) else step.block


def find_wrong(dataset: Dataset, state: State, limits: Limits) -> list[int]:
    """The pairs whose set of tokens is not their set of targets, as sets of equal rows over one denominator."""
    targets = output_state(dataset, limits)
    sides = [multiply(state.numerators, targets.denominator), multiply(targets.numerators, state.denominator)]
    small = all(side.dtype == np.int64 for side in sides)
    found, wanted = (_keys(x, starts, small) for x, starts in zip(sides, (state.starts, targets.starts), strict=True))
    if len(found) != len(dataset.pairs) or len(wanted) != len(dataset.pairs):
        raise InternalFault("not every pair was answered")
    return [j for j, (left, right) in enumerate(zip(found, wanted, strict=True)) if left != right]


def _keys(numerators: Array, starts: Array, small: bool) -> list[frozenset[object]]:
    """The rows of every sequence; rows of int64 as their bytes."""
    if small:
        size = numerators.shape[1] * numerators.itemsize
        data = numerators.tobytes()
        rows: Sequence[object] = [data[place : place + size] for place in range(0, len(data), size)]
    else:
        rows = [tuple(row) for row in numerators.tolist()]
    cuts = starts.tolist()
    return [frozenset(rows[first:last]) for first, last in pairwise(cuts)]
