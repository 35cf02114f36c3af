"""Untrusted. Where tokens stand after chosen layers: all of a small case, a sample of a large one, noted as such.

Positions are those of the kernel's own passes: exact tokens at temperature 0, else centers of boxes that hold the
tokens at every claimed temperature. Sequences do not know of each other: a sample of whole sequences moves as it does
among all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from interp.pictures.attention import AttentionHead, list_weights
from interp.transformers.ledger import Phase
from proofs.balls.attention import PRECISIONS, mean_at
from proofs.kernel.boxes import Box, Undecided, point
from proofs.kernel.check import Progress
from proofs.kernel.errors import LimitReached
from proofs.kernel.hardmax import apply_block
from proofs.kernel.model import Block, Transformer, identity_feed_forward
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, Row
from proofs.kernel.softmax import apply_block_boxes, mean_up_to
from proofs.kernel.statement import Dataset, Temperatures

MAX_BLOCKS = 100  # blocks after which positions are kept
MAX_LAYERS = 24  # attention layers whose weights are kept
MAX_TOKENS = 600
MAX_LENGTH = 1000  # of a sequence that is followed: attention costs its square
MAX_BITS = 50_000  # of a coordinate

T = TypeVar("T")
Points = list[list[Box]]


@dataclass(frozen=True, slots=True)
class Frame:
    """The state after a layer."""

    block: int  # 0: the input
    layer: str  # "block", or "feed-forward" for the state before the attention of that block
    tokens: tuple[Row, ...]  # of the chosen tokens
    num_places: int  # distinct tokens within sequences, over all that are followed
    num_reached: int  # targets that a token of their sequence equals
    bits: int  # of the largest numerator or denominator


@dataclass(slots=True)
class Motion:
    """The chosen tokens through the chosen layers."""

    pairs: list[int]  # numbers of the pairs that are followed
    tokens: list[tuple[int, int]]  # (index into pairs, place in the sequence) of the chosen tokens
    targets: list[tuple[int, Row]]  # (index into pairs, target)
    temperature: str
    frames: list[Frame] = field(default_factory=list)
    attention: list[AttentionHead] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def spread(items: Sequence[T], count: int) -> list[T]:
    """At most ``count`` >= 1 items, evenly, with the first and the last if there is room for both."""
    if len(items) <= count:
        return list(items)
    if count == 1:
        return [items[0]]
    return [items[i * (len(items) - 1) // (count - 1)] for i in range(count)]


def choose_blocks(num_blocks: int, marks: Iterable[int], most: int = MAX_BLOCKS) -> list[int]:
    """Numbers of 0 .. L, at most ``most``: all, or the marked ones first and the others evenly."""
    if num_blocks < most:
        return list(range(num_blocks + 1))
    wanted = {0, num_blocks, *spread(sorted({k for k in marks if 0 <= k <= num_blocks}), most // 2 - 2)}
    return sorted(wanted.union(spread(range(num_blocks + 1), most - len(wanted))))


def choose_pairs(sizes: Sequence[int], first: int | None, most: int) -> list[int]:
    """Pairs with at most ``most`` tokens in all, evenly; ``first`` is among them. A long one stands alone."""
    usable = [j for j, size in enumerate(sizes) if size <= MAX_LENGTH]
    if not usable:
        return []
    low, high = 1, len(usable)
    must = [first] if first in usable else []
    while low < high:  # the largest number that fits
        middle = (low + high + 1) // 2
        if sum(sizes[j] for j in {*spread(usable, middle), *must}) <= most:
            low = middle
        else:
            high = middle - 1
    chosen = sorted({*spread(usable, low), *must})
    return chosen if sum(sizes[j] for j in chosen) <= most else [*must, chosen[0]][:1]


def follow(
    dataset: Dataset,
    transformer: Transformer,
    temperatures: Temperatures,
    phases: Sequence[Phase] = (),
    wrong: int | None = None,
    max_tokens: int = MAX_TOKENS,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress | None = None,
) -> Motion:
    """Follows a sample through all blocks; the pair ``wrong`` is in it. What stops the passes becomes a note."""
    motion = _start(dataset, wrong, max_tokens, temperatures)
    d = transformer.dimension
    acting = [k for k, block in enumerate(transformer.blocks, 1) if block.attention.find_acting(d)]
    shown = spread(acting, MAX_LAYERS)
    marks = [k for phase in phases for k in (phase.first - 1, phase.last)]
    blocks = set(choose_blocks(len(transformer.blocks), [*marks, *shown]))
    if len(blocks) <= len(transformer.blocks):
        motion.notes.append(f"Positions are shown after {len(blocks) - 1} of {len(transformer.blocks)} blocks.")
    if len(shown) < len(acting):
        motion.notes.append(f"Attention is shown for {len(shown)} of the {len(acting)} layers that act.")
    if motion.pairs:
        try:
            _run(motion, dataset, transformer, temperatures, blocks, set(shown), limits, progress)
        except (LimitReached, Undecided) as reason:
            detail = reason.detail if isinstance(reason, Undecided) else reason.message
            motion.notes.append(f"The picture ends after block {motion.frames[-1].block}: {detail}.")
    return motion


def _start(dataset: Dataset, wrong: int | None, most: int, temperatures: Temperatures) -> Motion:
    sizes = [len(pair.input) for pair in dataset.pairs]
    pairs = choose_pairs(sizes, wrong, most)
    everything = [(s, i) for s, j in enumerate(pairs) for i in range(sizes[j])]
    targets = [(s, row) for s, j in enumerate(pairs) for row in dict.fromkeys(dataset.pairs[j].output)]
    shown = "0" if temperatures.zero else str(temperatures)
    motion = Motion(pairs, spread(everything, most), spread(targets, most), shown)
    if not pairs:
        motion.notes.append(f"Every sequence has more than {MAX_LENGTH} tokens: none is drawn.")
    elif len(pairs) < len(sizes):
        motion.notes.append(f"{len(pairs)} of {len(sizes)} sequences are drawn, evenly chosen.")
    if len(motion.tokens) < len(everything):
        motion.notes.append(f"{len(motion.tokens)} of the {len(everything)} tokens of these sequences are drawn.")
    if len(motion.targets) < len(targets):
        motion.notes.append(f"{len(motion.targets)} of the {len(targets)} targets of these sequences are drawn.")
    return motion


def _run(
    motion: Motion,
    dataset: Dataset,
    transformer: Transformer,
    temperatures: Temperatures,
    blocks: set[int],
    shown: set[int],
    limits: Limits,
    progress: Progress | None,
) -> None:
    limits = replace(limits, max_height=min(limits.max_height, MAX_BITS))
    step, centers, state = _stepper(dataset, motion, temperatures, limits)
    targets = [set(dataset.pairs[j].output) for j in motion.pairs]
    identity = identity_feed_forward(transformer.dimension)
    motion.frames.append(_frame(0, "block", centers(state), motion, targets))
    for k, block in enumerate(transformer.blocks, 1):
        if k in shown:
            if not block.feed_forward.is_identity():
                state = step(Block(block.feed_forward), state)
                motion.frames.append(_frame(k, "feed-forward", centers(state), motion, targets))
            motion.attention.extend(list_weights(k, block.attention, centers(state), temperatures))
            block = Block(identity, block.attention)
        state = step(block, state)
        if k in blocks:
            motion.frames.append(_frame(k, "block", centers(state), motion, targets))
        if progress is not None:
            progress(k, len(transformer.blocks))


def _stepper(
    dataset: Dataset, motion: Motion, temperatures: Temperatures, limits: Limits
) -> tuple[Callable[[Block, Any], Any], Callable[[Any], list[list[Row]]], Any]:
    """One block on a state, the positions in a state, and the first state."""
    inputs = [list(dataset.pairs[j].input) for j in motion.pairs]
    if temperatures.zero:
        return partial(apply_block, limits=limits), lambda state: state, inputs
    single = temperatures.single
    mean = mean_up_to(temperatures.upper) if single is None else mean_at(single, PRECISIONS[0])
    return (
        lambda block, state: apply_block_boxes(block, state, mean, limits),
        lambda state: [[box.center for box in boxes] for boxes in state],
        [[point(row) for row in rows] for rows in inputs],
    )


def _frame(block: int, layer: str, state: list[list[Row]], motion: Motion, targets: list[set[Row]]) -> Frame:
    places = [set(rows) for rows in state]
    return Frame(
        block,
        layer,
        tuple(state[s][i] for s, i in motion.tokens),
        sum(map(len, places)),
        sum(len(found & wanted) for found, wanted in zip(places, targets, strict=True)),
        max(x.bit_length() for rows in places for row in rows for x in row),
    )
