"""Untrusted. What differs between two transformers: blocks aligned, layers compared as exact maps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from interp.audit.audit import audit_transformer
from interp.audit.baseline import Change, list_changes, make_record
from proofs.kernel.model import Block, Transformer
from proofs.kernel.rational import rational_text

UNITS = ("W", "U", "b")
Layers = dict[str, tuple[str, ...]]  # part of a block -> its entries


@dataclass(frozen=True, slots=True)
class BlockChange:
    """A block of one side against one of the other; None where a side has none. ``parts``: entries that differ."""

    old: int | None  # from 1
    new: int | None
    parts: dict[str, int]

    def __str__(self) -> str:
        if self.old is None:
            return f"block {self.new}: only in the second"
        if self.new is None:
            return f"block {self.old}: only in the first"
        place = f"block {self.old}" if self.old == self.new else f"block {self.old} -> {self.new}"
        parts = ", ".join(
            f"{name} ({count} {'entry' if count == 1 else 'entries'})" for name, count in self.parts.items()
        )
        return f"{place}: {parts}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Blocks, and what headers and counts say. ``same``: every block is the same map, in whatever form it is stored."""

    same: bool
    blocks: tuple[BlockChange, ...]
    counts: tuple[Change, ...]
    header: tuple[Change, ...]


def diff_transformers(first: Transformer, second: Transformer) -> Difference:
    """The difference of two transformers; a header says nothing about whether they are the same."""
    old, new = ([_layers(block, side.dimension) for block in side.blocks] for side in (first, second))
    blocks: list[BlockChange] = []
    fits = first.dimension == second.dimension
    if not fits:
        blocks = [BlockChange(k, None, {}) for k in range(1, len(old) + 1)]
        blocks += [BlockChange(None, k, {}) for k in range(1, len(new) + 1)]
    else:
        for tag, a, b, c, d in _align(old, new):
            if tag != "equal":
                blocks += _pair_up(old, new, range(a, b), range(c, d))
    before, after = (make_record(audit_transformer(side), None, None, None, []) for side in (first, second))
    counts = list_changes(before, after, ("counts", "max_rank", "rank_one_v"))
    if not fits:
        counts.insert(0, Change("dimension", first.dimension, second.dimension))
    return Difference(
        fits and not blocks, tuple(blocks), tuple(counts), tuple(_diff_headers(first.header, second.header))
    )


def _align(old: list[Layers], new: list[Layers]) -> Iterable[tuple[str, int, int, int, int]]:
    """Runs of equal blocks, and what lies between them."""
    a, b = ([tuple(layers.items()) for layers in side] for side in (old, new))
    return SequenceMatcher(None, a, b, autojunk=False).get_opcodes()


def _pair_up(old: list[Layers], new: list[Layers], left: range, right: range) -> list[BlockChange]:
    """Blocks one against one, those that are left over alone."""
    common = min(len(left), len(right))
    changes = [BlockChange(i + 1, j + 1, _count(old[i], new[j])) for i, j in zip(left, right, strict=False)]
    changes += [BlockChange(i + 1, None, {}) for i in left[common:]]
    return changes + [BlockChange(None, j + 1, {}) for j in right[common:]]


def _layers(block: Block, dimension: int) -> Layers:
    """Every scalar of a block as text, A and V as all their entries."""
    layer, attention = block.feed_forward, block.attention
    parts = {"eta": [layer.eta], "rho": [attention.rho]}
    parts |= {name: getattr(layer, name).entries() for name in UNITS}
    matrices = [[getattr(head, name).to_dense(dimension).entries() for head in attention.heads] for name in ("A", "V")]
    parts |= {name: [x for entries in heads for x in entries] for name, heads in zip("AV", matrices, strict=True)}
    texts = {name: tuple(map(rational_text, entries)) for name, entries in parts.items()}
    return texts | {"mask": ("causal" if attention.causal else "none",)}


def _count(old: Layers, new: Layers) -> dict[str, int]:
    """The parts that differ with the number of entries that do; all of them where the widths differ."""
    found = {}
    for name, entries in old.items():
        others = new[name]
        if entries != others:
            alike = len(entries) == len(others)
            found[name] = (
                sum(1 for x, y in zip(entries, others, strict=True) if x != y)
                if alike
                else max(len(entries), len(others))
            )
    return found


def _diff_headers(first: dict[str, Any], second: dict[str, Any]) -> list[Change]:
    """Keys whose values differ, the ledger by the blocks of each phase."""
    changes = []
    for key in dict.fromkeys([*first, *second]):
        old, new = first.get(key), second.get(key)
        if old != new and key not in ("dimension", "blocks"):
            changes.append(Change(ascii(key)[1:-1], *(_shown(key, value) for value in (old, new))))
    return changes


def _shown(key: str, value: Any) -> str:
    """Header text that fits a line; a ledger as its phases with their blocks."""
    if key == "phases" and isinstance(value, list):
        spans = [f"{p.get('name')} {p.get('first')}-{p.get('last')}" for p in value if isinstance(p, dict)]
        return ascii(", ".join(spans))[1:-1]
    text = ascii(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
