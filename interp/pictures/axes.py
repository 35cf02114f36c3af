"""Untrusted, approximate. Linear functions to draw tokens by: coordinates, directions of blocks, main directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interp.pictures.motion import Motion
from proofs.engine.program import find_line
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Row

MAX_COORDINATES = 12
MAX_DIRECTIONS = 3
LARGEST = 1e37  # room for sums in single precision


@dataclass(frozen=True)
class Axis:
    """Values of all tokens in all frames, and of all targets."""

    name: str
    frames: list[list[float]]
    targets: list[float]


def make_axes(motion: Motion, transformer: Transformer) -> list[Axis]:
    """The coordinates, two main directions for d > 2, and the directions that most blocks read."""
    d = transformer.dimension
    axes = [_axis(f"x{i + 1}", motion, _unit(i, d)) for i in range(min(d, MAX_COORDINATES))]
    if d > 2 and motion.frames:
        for i, vector in enumerate(_main_directions(motion), 1):
            axes.append(_axis(f"PCA {i}", motion, vector))
    return axes + [_axis(name, motion, u) for name, u in list_directions(transformer)]


def bound_axes(transformer: Transformer) -> int:
    """At least the number of axes."""
    d = transformer.dimension
    return min(d, MAX_COORDINATES) + (2 if d > 2 else 0) + MAX_DIRECTIONS


def list_directions(transformer: Transformer) -> list[tuple[str, tuple[int, ...]]]:
    """The directions u that most blocks read, with a name; coordinates are left out."""
    read: Counter[tuple[int, ...]] = Counter()
    blocks: dict[tuple[int, ...], list[int]] = {}
    for k, block in enumerate(transformer.blocks, 1):
        line = find_line(block.feed_forward)
        if line is None or line.direction is None or sum(map(bool, line.direction)) < 2:
            continue
        read[line.direction] += 1
        blocks.setdefault(line.direction, []).append(k)
    found = sorted(read, key=lambda u: (-read[u], blocks[u][0]))[:MAX_DIRECTIONS]
    return [(_direction_name(blocks[u]), u) for u in sorted(found, key=lambda u: blocks[u][0])]


def _direction_name(blocks: Sequence[int]) -> str:
    if len(blocks) == 1:
        return f"u·x of block {blocks[0]}"
    joined = blocks[-1] - blocks[0] + 1 == len(blocks)
    return (
        f"u·x of blocks {blocks[0]}-{blocks[-1]}" if joined else f"u·x of block {blocks[0]} and {len(blocks) - 1} more"
    )


def _unit(i: int, dimension: int) -> tuple[int, ...]:
    return tuple(int(i == j) for j in range(dimension))


def _axis(name: str, motion: Motion, vector: Sequence[int]) -> Axis:
    used = [(i, u) for i, u in enumerate(vector) if u]
    scale = max(map(abs, vector))
    frames = [[_value(row, used, scale) for row in frame.tokens] for frame in motion.frames]
    return Axis(name, frames, [_value(row, used, scale) for _, row in motion.targets])


def _value(row: Row, used: list[tuple[int, int]], scale: int) -> float:
    """<u, x> / max |u_i|, rounded once."""
    numerator, denominator = sum(u * row[i] for i, u in used), scale * row[-1]
    if abs(numerator) >= int(LARGEST) * denominator:
        return LARGEST if numerator > 0 else -LARGEST
    return numerator / denominator


def _main_directions(motion: Motion) -> list[tuple[int, ...]]:
    """Two orthogonal directions of largest spread over all frames, each scaled to spread 1; rounded to integers."""
    total = np.zeros((len(motion.frames[0].tokens[0]) - 1,) * 2)
    for frame in motion.frames:
        used = [[(i, 1)] for i in range(total.shape[0])]
        points = np.array([[_value(row, u, 1) for u in used] for row in frame.tokens])
        points /= max(1.0, float(np.abs(points).max()))  # no overflow below
        points -= points.mean(axis=0)
        if (size := float((points**2).sum())) > 0:
            total += points.T @ points / size
    vectors = np.linalg.eigh(total)[1][:, ::-1][:, :2].T
    signs = np.sign(vectors[np.arange(2), np.abs(vectors).argmax(axis=1)])
    return [tuple(int(x) for x in np.rint(vector * sign * 2**20)) for vector, sign in zip(vectors, signs, strict=True)]
