"""Untrusted, approximate. Figures for a paper, drawn with matplotlib: PDF, SVG or PNG, the same bytes every time.

Fonts are in the file (PDF: TrueType, SVG: outlines), no date is, and colours and markers are told apart in print too.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from interp.constructions.catalogue import CONSTRUCTIONS, HARDMAX, SOFTMAX, Construction, run_construction
from interp.optional import load_matplotlib, make_figure
from interp.pictures.axes import Axis, make_axes
from interp.pictures.colours import BLUE, GREY, PALETTE, PINK, RED
from interp.pictures.motion import Motion, follow, spread
from interp.transformers.ledger import Phase, decode_phases, printable
from proofs.kernel.check import Progress
from proofs.kernel.counts import count_block
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Dataset, Temperatures, count_hardmax_bound, count_softmax_bound

FORMATS = {".pdf": "pdf", ".svg": "svg", ".png": "png"}
STYLE = {
    "svg.hashsalt": "interp", "svg.fonttype": "path", "pdf.fonttype": 42, "font.family": "DejaVu Sans", "font.size": 8,
    "axes.titlesize": 8, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "savefig.dpi": 300,
}  # fmt: skip
METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": "interp plot"},
    "svg": {"Date": None, "Creator": "interp plot"},
    "png": {"Software": "interp plot"},
}
MARKERS = "os^Dv<>p"
MAX_TOKENS = 150  # in a panel
MAX_PANELS = 6
SIZES = 8  # points of a curve of counts
WIDTH = 7.0  # inches, that of a page


@dataclass(frozen=True)
class Task:
    """What to draw, and who is told of the progress."""

    transformer: Transformer
    dataset: Dataset
    temperatures: Temperatures
    limits: Limits
    progress: Progress | None

    def follow(self) -> Motion:
        """A sample of tokens through all blocks."""
        phases = decode_phases(self.transformer.header)
        return follow(
            self.dataset, self.transformer, self.temperatures, phases, None, MAX_TOKENS, self.limits, self.progress
        )


Drawn = tuple[Any, list[str]]  # a matplotlib figure, and notes


@dataclass(frozen=True)
class Drawing:
    """A figure and what its caption has to say."""

    content: bytes
    notes: tuple[str, ...]


def find_format(suffix: str) -> str:
    """The format of a file name's suffix. Raises: UsageError."""
    if suffix.lower() not in FORMATS:
        raise UsageError(f"no figure format for {suffix!r}", "--output", f"write {', '.join(FORMATS)}")
    return FORMATS[suffix.lower()]


def draw(
    kind: str,
    transformer: Transformer,
    dataset: Dataset,
    temperatures: Temperatures,
    form: str = "pdf",
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress | None = None,
) -> Drawing:
    """A figure of one of ``KINDS`` in one of the formats. Raises: UsageError, MalformedInput, LimitReached."""
    task = Task(transformer, dataset, temperatures, limits, progress)
    with load_matplotlib().rc_context(STYLE):
        figure, notes = _DRAWERS[kind](task)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=form, metadata=METADATA[form])
    return Drawing(buffer.getvalue(), tuple(notes))


def draw_stages(task: Task) -> Drawn:
    """Where tokens stand at the end of each phase of the ledger. Raises: UsageError, MalformedInput."""
    motion = task.follow()
    panels = list_panels(motion, decode_phases(task.transformer.header), len(task.transformer.blocks))
    axes = make_axes(motion, task.transformer)
    if not panels or len(axes) < 2:
        raise UsageError("there is nothing to draw", hint=" ".join(motion.notes))
    names = [axis.name for axis in axes]
    first = names.index("PCA 1") if "PCA 1" in names else 0
    figure, subplots = _subplots(len(panels))
    for subplot, (title, frame) in zip(subplots, panels, strict=True):
        _draw_panel(subplot, motion, axes[first], axes[first + 1], frame)
        subplot.set_title(title, parse_math=False)
    left = subplots[0]
    left.set_xlabel(axes[first].name)
    left.set_ylabel(axes[first + 1].name)
    skipped = "Positions are shown after"  # of no weight here: the ends of phases are what is drawn
    return figure, [note for note in motion.notes if not note.startswith(skipped)]


def list_panels(motion: Motion, phases: Sequence[Phase], num_blocks: int) -> list[tuple[str, int]]:
    """Title and number of the frame of each panel: the input, and the end of each phase that has an own end."""
    frames = {(frame.block, frame.layer): k for k, frame in enumerate(motion.frames)}
    shared = {phase.last for phase in phases if phase.shared}
    found = [("input", 0)] if motion.frames else []
    for phase in phases:
        layer = "feed-forward" if phase.last in shared and not phase.shared else "block"
        frame = frames.get((phase.last, layer), frames.get((phase.last, "block")))
        if frame is not None and (phase.num_blocks > 0 or phase.shared):
            found.append((printable(phase.name, 30), frame))
    last = frames.get((num_blocks, "block"))
    if last is not None and last not in {frame for _, frame in found}:
        found.append((f"after block {num_blocks}", last))
    return spread(found, MAX_PANELS)


def _draw_panel(subplot: Any, motion: Motion, across: Axis, up: Axis, frame: int) -> None:
    """Tokens filled, targets hollow; where several sequences meet, later ones are smaller."""
    places: dict[tuple[float, float], list[int]] = {}
    groups: dict[int, list[tuple[float, float]]] = {}
    for (s, _), x, y in zip(motion.tokens, across.frames[frame], up.frames[frame], strict=True):
        there = places.setdefault((x, y), [])
        if s not in there:
            there.append(s)
            groups.setdefault(s, []).append((x, y))
    base = 5.0 if len(motion.tokens) <= 40 else 3.0
    for s, points in groups.items():
        colour, marker = style_of(s)
        for x, y in points:
            there = places[x, y]
            size = base + 2.5 * min(3, len(there) - 1 - there.index(s))
            subplot.plot(x, y, marker, color=colour, ms=size, mec="white", mew=0.4, zorder=3 + there.index(s))
    for (s, _), x, y in zip(motion.targets, across.targets, up.targets, strict=True):
        colour, marker = style_of(s)
        subplot.plot(x, y, marker, mfc="none", mec=colour, ms=base + 5, mew=0.8, zorder=2)
    subplot.margins(0.12)
    subplot.locator_params(nbins=4)


def style_of(sequence: int) -> tuple[str, str]:
    """Colour and marker: neighbours differ in both."""
    return PALETTE[sequence % len(PALETTE)], MARKERS[sequence % len(MARKERS)]


def draw_counts(task: Task) -> Drawn:
    """Blocks for the first pairs of the dataset, as built, against the numbers of both theorems; the transformer."""
    transformer, dataset = task.transformer, task.dataset
    sizes = sorted({max(1, round(len(dataset.pairs) ** (k / (SIZES - 1)))) for k in range(SIZES)})
    parts = [Dataset(dataset.dimension, tuple(dataset.pairs[:size])) for size in sizes]
    own = CONSTRUCTIONS.get(str(transformer.header.get("construction")))
    constructions = list(dict.fromkeys([HARDMAX.name, SOFTMAX.name, *([own.name] if own else [])]))
    x = [part.num_outputs for part in parts]
    figure = make_figure(0.55 * WIDTH, 2.8)
    subplot = figure.subplots()
    lines: list[tuple[str, str, str, Callable[[Dataset], int]]] = [
        ("--", RED, "theorem 1.6: 2M + 2N + 1", lambda part: count_hardmax_bound(part.num_pairs, part.num_outputs)),
        (":", PINK, "theorem 1.8: 2M + 3N", lambda part: count_softmax_bound(part.num_pairs, part.num_outputs)),
    ]
    for form, colour, label, count in lines:
        subplot.plot(x, list(map(count, parts)), form, color=colour, label=label)
    done, total = 0, len(constructions) * len(parts)
    for name, (colour, marker) in zip(constructions, ((BLUE, "o"), (PALETTE[4], "^"), (PALETTE[2], "s")), strict=False):
        built = []
        for part in parts:
            built.append(_count_built(CONSTRUCTIONS[name], part))
            done += 1
            if task.progress is not None:
                task.progress(done, total)
        subplot.plot(x, built, f"{marker}-", color=colour, ms=3, lw=1, label=f"{name}, built")
    subplot.plot(dataset.num_outputs, len(transformer.blocks), "*", color="black", ms=9, label="this transformer")
    subplot.set(xlabel="M, outputs of the first pairs", ylabel="blocks")
    if max(x) > 20:
        subplot.set(xscale="log", yscale="log")
    else:
        subplot.locator_params(integer=True)
    subplot.legend(frameon=False, fontsize=7, loc="lower right" if max(x) > 20 else "upper left")
    return figure, [f"The first {', '.join(map(str, sizes))} pairs were built anew."]


def _count_built(construction: Construction, dataset: Dataset) -> int:
    return len(run_construction(construction, dataset, 0, {}).blocks)


def draw_bits(task: Task) -> Drawn:
    """Bits of the largest weight of each block, and of the largest number of a token after it; phases are shaded."""
    transformer = task.transformer
    phases = [phase for phase in decode_phases(transformer.header) if phase.num_blocks > 0]
    motion = task.follow()
    bits = [count_block(block, transformer.dimension).max_bits for block in transformer.blocks]
    if not bits:
        raise UsageError("there is nothing to draw", hint="the transformer has no blocks")
    figure = make_figure(WIDTH, 2.4)
    subplot = figure.subplots()
    subplot.bar(range(1, len(bits) + 1), bits, width=1.0, color=BLUE, label="largest weight of the block")
    frames = [frame for frame in motion.frames if frame.layer == "block"]
    marker = "s-" if len(frames) <= 60 else "-"
    places, values = [frame.block for frame in frames], [frame.bits for frame in frames]
    subplot.plot(places, values, marker, color=RED, ms=2.5, lw=1, label="largest number of a token")
    top = 1.3 * max([*bits, *values])
    for k, phase in enumerate(phases[:40]):
        first, last = max(phase.first, 1), min(phase.last, len(bits))
        if last < first:
            continue
        if k % 2:
            subplot.axvspan(first - 0.5, last + 0.5, color=GREY, alpha=0.15, lw=0, zorder=0)
        if last - first + 1 >= 0.06 * len(bits):
            middle, name = (first + last) / 2, printable(phase.name, 24)
            subplot.text(middle, 0.98 * top, name, ha="center", va="top", fontsize=7, parse_math=False)
    subplot.set(xlabel="block", ylabel="bits", xlim=(-0.5, len(bits) + 0.5), ylim=(0, top))
    subplot.legend(frameon=False, fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure, motion.notes


_DRAWERS: dict[str, Callable[[Task], Drawn]] = {"stages": draw_stages, "counts": draw_counts, "bits": draw_bits}
KINDS = tuple(_DRAWERS)


def _subplots(count: int) -> tuple[Any, list[Any]]:
    """Panels in rows of at most three."""
    columns = min(count, 3)
    rows = -(-count // columns)
    figure = make_figure(WIDTH * columns / 3, 2.3 * rows)
    return figure, [figure.add_subplot(rows, columns, k + 1) for k in range(count)]
