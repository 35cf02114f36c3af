"""Untrusted. The float check: runs in floats beside the exact run, decision by decision, and what is proved of formats.

A decision is the sign of a pre-activation that is not 0, or at temperature 0 the set of tokens that a query chooses. No
decision: a pre-activation that is exactly 0 (relu gives 0 up to the error on either side), attention with A = 0, a
choice among equal tokens, and every choice at a positive temperature, where weights are continuous. In a run, a value
that is infinite or no number has decided nothing: it counts as wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from flint import fmpq

from interp.datasets.npz import dyadic_row
from interp.export.rounding import FloatFormat
from interp.precision.bounds import Doubt, ErrorBounds, Layer
from interp.precision.formats import RUNNABLE
from interp.precision.reference import Activations, Floats, Reference, Scores
from interp.precision.runs import FloatRun
from proofs.kernel.boxes import Undecided
from proofs.kernel.check import squared_hausdorff
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.model import Block, Transformer
from proofs.kernel.rational import Row, coordinates_of, rational_text, short_decimal
from proofs.kernel.statement import Dataset
from proofs.robustness import require_plain

Progress = Callable[[int, int], None]
HARDMAX, NEAR = fmpq(0), fmpq(1, 1000)
LONG = 60  # characters from which an exact value is shown by its leading digits


@dataclass(frozen=True)
class Difference:
    """A decision that a run takes otherwise: ``unit`` None for a choice of attention; what was exact, what float."""

    block: int
    pair: int
    token: int
    unit: int | None
    exact: str
    approx: str


@dataclass
class RunReport:
    """One run: the first difference of every block that has one, differences in all, and where it ends."""

    differences: list[Difference] = field(default_factory=list)
    num_wrong: int = 0
    num_decisions: int = 0
    wrong_tokens: int = 0  # final tokens farther than the distance asked for from every target of their pair
    num_tokens: int = 0
    worst_pair: int = 0
    worst_square: fmpq | None = fmpq(0)  # the largest squared Hausdorff distance of a pair; None: not a number
    fault: str = ""  # why there was no run


@dataclass(frozen=True)
class FormatReport:
    """What is known of one format: "agrees" (proved), "differs" (a run shows it) or "undecided"."""

    target: FloatFormat
    answer: str
    tightest: Doubt | None
    doubts: list[Doubt]
    range_fault: str
    final_error: float  # a bound of the Euclidean distance of every final token from that of the exact run
    run: RunReport | None
    locate: Callable[[int], tuple[int, int]]  # pair and place of a token

    @property
    def agreed(self) -> bool:
        """Whether it is proved to agree."""
        return self.answer == "agrees"


@dataclass(frozen=True)
class FloatReport:
    """All formats by precision, and why the exact run stopped, if it did."""

    formats: list[FormatReport]
    exact_fault: str

    @property
    def smallest(self) -> FormatReport | None:
        """The format of least precision that is proved to agree."""
        return next((report for report in self.formats if report.answer == "agrees"), None)

    @property
    def estimated_bits(self) -> int | None:
        """A precision that should do: bounds shrink like 2^-p, read off the widest format. An estimate, not a proof."""
        widest = max(self.formats, key=lambda report: report.target.precision)
        if widest.tightest is None or not 0 < widest.tightest.ratio < math.inf:
            return None
        return max(2, math.ceil(widest.target.precision - math.log2(widest.tightest.ratio)))


def check_floats(
    dataset: Dataset,
    transformer: Transformer,
    formats: Sequence[FloatFormat],
    runs: Sequence[str] = (*RUNNABLE,),
    backend: str = "numpy",
    temperature: fmpq = HARDMAX,
    distance: fmpq = NEAR,
    progress: Progress | None = None,
) -> FloatReport:
    """Every format against the exact run at one temperature, with a run of those named in ``runs``.

    Raises: MalformedInput when the dimensions differ, UsageError for a transformer with masks or several heads.
    """
    if transformer.dimension != dataset.dimension:
        raise MalformedInput(f"the transformer has dimension {transformer.dimension}, the dataset {dataset.dimension}")
    if temperature < 0:
        raise UsageError("a negative temperature", "--temperature")
    require_plain(transformer)
    reference = Reference(dataset, temperature)
    bounds = [ErrorBounds(target, reference) for target in formats]
    watched = {
        target.name: _start(dataset, transformer, target, backend, temperature)
        for target in formats
        if target.name in runs
    }
    fault = ""
    with np.errstate(all="ignore"):
        for k, block in enumerate(transformer.blocks):
            try:
                pass_block(k, block, reference, bounds, list(watched.values()))
            except Undecided as reason:
                pair, token = reference.locate(reason.token)
                fault = f"block {k + 1}, pair {pair}, token {token}: {reason.detail}"
                break
            if progress is not None:
                progress(k + 1, len(transformer.blocks))
        reports = [
            _conclude(dataset, reference, bound, watched.get(bound.target.name), distance, fault) for bound in bounds
        ]
    return FloatReport(sorted(reports, key=lambda report: report.target.precision), fault)


@dataclass
class Watched:
    """A run and what was found about it; None: it could not start."""

    run: FloatRun | None
    report: RunReport


def _start(dataset: Dataset, transformer: Transformer, target: FloatFormat, backend: str, temperature: fmpq) -> Watched:
    try:
        return Watched(FloatRun(dataset, transformer, target, backend, temperature), RunReport())
    except UsageError as error:
        if "overflows" not in error.message:
            raise
        return Watched(None, RunReport(fault=str(error)))


def pass_block(
    index: int, block: Block, reference: Reference, bounds: list[ErrorBounds], watched: list[Watched]
) -> None:
    """One block on the reference, the bounds and the runs. Raises: Undecided."""
    layer, attention = block.feed_forward, block.attention
    if not layer.is_identity():
        prepared, found = Layer(layer), reference.activate(layer)
        for bound in bounds:
            bound.feed_forward(index + 1, prepared, reference, found)
        for item in watched:
            if item.run is not None:
                _compare_signs(index, block, reference, found, item.run.feed_forward(index), item.report)
        reference.feed_forward(layer, found)
    else:
        for item in watched:
            if item.run is not None:
                item.run.feed_forward(index)
    d = reference.tokens.shape[1]
    acts = not attention.V.is_zero(d) and not attention.A.is_zero(d)
    scores = list(reference.score(attention)) if acts else None
    for bound in bounds:
        bound.attention(index + 1, attention, reference, scores)
    for item in watched:
        if item.run is not None:
            choices = item.run.attention(index)
            if scores is not None and choices is not None:
                for table, (chosen, values) in zip(scores, choices, strict=True):
                    _compare_choices(index, reference, table, chosen, values, item.report)
    reference.attention(attention)


def _compare_signs(
    index: int, block: Block, reference: Reference, found: Activations, heights: Floats | None, report: RunReport
) -> None:
    if heights is None:
        return
    wrong = (found.signs != 0) & (((heights > 0) != (found.signs > 0)) | ~np.isfinite(heights))
    report.num_decisions += int((found.signs != 0).sum())
    places = np.argwhere(wrong)
    report.num_wrong += len(places)
    if len(places):
        i, k = places[0].tolist()
        layer, x = block.feed_forward, coordinates_of(reference.boxes[i].center)
        exact = sum((u * c for u, c in zip(layer.U.tolist()[k], x, strict=True)), layer.b.entries()[k])
        pair, token = reference.locate(i)
        text = rational_text(exact)
        shown = text if len(text) <= LONG else f"{short_decimal(exact)} (a rational of {len(text)} characters)"
        report.differences.append(Difference(index + 1, pair, token, k, shown, repr(float(heights[i, k]))))


def _compare_choices(
    index: int,
    reference: Reference,
    table: Scores,
    chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    values: Floats,
    report: RunReport,
) -> None:
    rows = reference.rows[table.first : table.last]
    noted = bool(report.differences) and report.differences[-1].block == index + 1
    for i, (right, found) in enumerate(zip(table.chosen, chosen, strict=True)):
        report.num_decisions += 1
        several = {rows[l] for l in np.flatnonzero(right | found)}
        finite = bool(np.isfinite(values[i]).all())
        if finite and (bool((right == found).all()) or len(several) == 1):
            continue
        report.num_wrong += 1
        if not noted:
            noted = True
            pair, token = reference.locate(table.first + i)
            exact, approx = (str(np.flatnonzero(x).tolist()) for x in (right, found))
            shown = f"tokens {approx}" if finite else "no number"
            report.differences.append(Difference(index + 1, pair, token, None, f"tokens {exact}", shown))


def _conclude(
    dataset: Dataset, reference: Reference, bound: ErrorBounds, item: Watched | None, distance: fmpq, fault: str
) -> FormatReport:
    report = None if item is None else item.report
    if item is not None and item.run is not None and not fault:
        _measure(dataset, item.run, item.report, distance)
    if report is not None and report.num_wrong:
        answer = "differs"
    else:
        answer = "agrees" if bound.agrees and not fault else "undecided"
    reach = bound.errors + reference.radii
    final = float(np.sqrt((reach * reach).sum(axis=1)).max() * (1 + 2.0**-40)) if not fault else math.inf
    return FormatReport(
        bound.target, answer, bound.tightest, bound.doubts, bound.range_fault, final, report, reference.locate
    )


def _measure(dataset: Dataset, run: FloatRun, report: RunReport, distance: fmpq) -> None:
    """Where the run ends, exactly: floats are dyadics."""
    tokens, limit = run.to_numpy(), distance * distance
    report.num_tokens = len(tokens)
    for j, pair in enumerate(dataset.pairs):
        rows = tokens[run.starts[j] : run.starts[j + 1]]
        finite = np.isfinite(rows).all(axis=1)
        exact = [dyadic_row(row) for row in rows[finite].tolist()]
        nearest = {row: _square_to_nearest(row, pair.output) for row in set(exact)}
        report.wrong_tokens += sum(nearest[row] > limit for row in exact) + int((~finite).sum())
        if report.worst_square is None:
            continue
        square = squared_hausdorff(set(exact), set(pair.output)) if finite.all() else None
        if square is None or square > report.worst_square:
            report.worst_pair, report.worst_square = j, square


def _square_to_nearest(row: Row, targets: Sequence[Row]) -> fmpq:
    x = coordinates_of(row)
    squares = [sum(((a - b) ** 2 for a, b in zip(x, coordinates_of(y), strict=True)), fmpq(0)) for y in set(targets)]
    nearest: fmpq = min(squares)
    return nearest
