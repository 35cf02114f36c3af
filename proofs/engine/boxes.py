"""Trusted. All temperatures in (0, tau] at once: boxes as in ``proofs.kernel.boxes``, fewer and found with less work.

A pair is *doubtful* unless the boxes here prove it exact: then the kernel's pass is run on that pair alone, and the
answer is put together as the kernel would. So nothing here has to be sharp, only right:

* While all tokens are points, feed-forward layers and attention with A = 0 (equal weights at every temperature) or
  V = 0 do what they do at temperature 0.
* At the first other attention, consider the queries of a sequence that have the same tokens of largest score (exact
  ties), all other scores being at least g below, e = min(floor(g / tau), 512) >= 1. As in the kernel each of the other
  n - ties weights is at most 2^-e. So all these queries get the mean of the ties up to (n - ties) 2^-e (extent of the
  sequence): one box for all. A pair with a query where e = 0 is doubtful; a further such layer is left to the kernel.
* A hat without shift leaves every box alone that lies outside of its support: no unit changes its sign there, so the
  layer is the identity. The kernel's layer decides about all other boxes; where it cannot, the pair is doubtful.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from flint import fmpq

from proofs.engine.attention import apply_attention, transform
from proofs.engine.integers import Array, bound_of, integer_array, multiply, product, room
from proofs.engine.layers import apply_dense
from proofs.engine.packed import program_of
from proofs.engine.program import Dense, Run
from proofs.engine.runs import Frame, apply_run, find_first
from proofs.engine.state import Handover, State
from proofs.engine.statement import input_state, outputs_of
from proofs.kernel.boxes import RADIUS_BITS, Box, Undecided, apply_feed_forward_boxes, point
from proofs.kernel.check import DENSE, Obligation, Progress, compare_boxes
from proofs.kernel.errors import Status
from proofs.kernel.hardmax import integer_matrix
from proofs.kernel.model import FeedForward, SelfAttention, SquareMatrix, Transformer
from proofs.kernel.rational import Limits, Row, primitive_row
from proofs.kernel.softmax import MAX_EXPONENT, Mean, apply_block_boxes, mean_up_to
from proofs.kernel.statement import Dataset, Temperatures

PARTS = ("engine/softmax",)


@dataclass
class BoxState:
    """Boxes with the pair of each; together the boxes of a pair hold all its tokens. Doubtful pairs have none."""

    boxes: list[Box]
    pairs: list[int]
    doubtful: set[int] = field(default_factory=set)

    def drop_doubtful(self) -> None:
        """Forgets the boxes of doubtful pairs."""
        kept = [(box, j) for box, j in zip(self.boxes, self.pairs, strict=True) if j not in self.doubtful]
        self.boxes, self.pairs = [box for box, _ in kept], [j for _, j in kept]


def check_softmax(
    dataset: Dataset, transformer: Transformer, claimed: Temperatures, limits: Limits, progress: Progress | None = None
) -> tuple[Obligation, tuple[str, ...]]:
    """The obligation of an interval of temperatures; one given temperature is left to the kernel."""
    if claimed.single is not None:
        return DENSE.softmax(dataset, transformer, claimed, limits, progress)
    try:
        state = run_steps(dataset, transformer, claimed.upper, limits, progress)
        doubtful = sorted(state.doubtful | find_inexact(dataset, state))
    except Handover:
        return DENSE.softmax(dataset, transformer, claimed, limits, progress)
    total = dataset.num_listed
    exact = Obligation("softmax", Status.VERIFIED, f"{total} of {total} pairs exact")
    if not doubtful:
        return exact, PARTS
    mean = mean_up_to(claimed.upper)
    answers = [answer_alone(dataset, j, transformer, mean, limits) for j in doubtful]
    stopped = [(block, j, answer) for j, (block, answer) in zip(doubtful, answers, strict=True) if block is not None]
    parts = (*PARTS, "kernel/softmax")
    if stopped:  # the kernel stops at the first such block, at the first token there
        return min(stopped, key=lambda entry: entry[:2])[2], parts
    for status in (Status.REFUTED, Status.UNDECIDED):
        for _, answer in answers:
            if answer.status is status:
                return answer, parts
    return exact, parts


def answer_alone(
    dataset: Dataset, pair: int, transformer: Transformer, mean: Mean, limits: Limits
) -> tuple[int | None, Obligation]:
    """The kernel's answer for one pair, and the block where a sign stayed open, if one did."""
    alone = Dataset(dataset.dimension, (dataset.pairs[pair],))
    sequences = [[point(row) for row in alone.pairs[0].input]]
    for k, block in enumerate(transformer.blocks, 1):
        try:
            sequences = apply_block_boxes(block, sequences, mean, limits)
        except Undecided as reason:
            detail = f"block {k}, pair {pair}, token {reason.token}: {reason.detail}"
            return k, Obligation("softmax", Status.UNDECIDED, detail)
    answer = compare_boxes(alone, sequences)
    mismatch = None if answer.mismatch is None else replace(answer.mismatch, pair=pair)
    return None, replace(answer, detail=answer.detail.replace("pair 0", f"pair {pair}", 1), mismatch=mismatch)


def find_inexact(dataset: Dataset, state: BoxState) -> set[int]:
    """The pairs whose final boxes are not points, or not just their targets."""
    found: list[set[object]] = [set() for _ in range(dataset.num_listed)]
    for box, j in zip(state.boxes, state.pairs, strict=True):
        found[j].add(box.center if box.is_point else None)
    return {
        j for j, (points, wanted) in enumerate(zip(found, outputs_of(dataset), strict=True)) if points != set(wanted)
    }


def run_steps(
    dataset: Dataset, transformer: Transformer, tau: fmpq | None, limits: Limits, progress: Progress | None
) -> BoxState:
    """The boxes after all blocks. Raises: Handover."""
    points = input_state(dataset, limits)
    state: BoxState | None = None
    for step in program_of(transformer):
        block = int(step.lines.blocks[-1]) if isinstance(step, Run) else step.block
        if isinstance(step, Run):
            if state is None:
                apply_run(points, step)
            else:
                _apply_hats(state, step, transformer, limits)
        elif isinstance(step, Dense):
            if state is None:
                apply_dense(points, step.layer)
            else:
                _apply_layer(state, step.layer, limits)
        elif state is not None:
            raise Handover("attention on boxes")
        elif step.layer.V.is_zero(points.dimension) or step.layer.A.is_zero(points.dimension):
            apply_attention(points, step.layer)
        else:
            state = spread(points, step.layer, tau)
            _check_height(state, limits)
        if state is not None:
            state.drop_doubtful()
        if progress is not None:
            progress(block, len(transformer.blocks))
    if state is None:
        rows = (primitive_row(row, points.denominator) for row in points.numerators.tolist())
        state = BoxState([point(row) for row in rows], points.owner.tolist())
    return state


def spread(points: State, layer: SelfAttention, tau: fmpq | None) -> BoxState:
    """Points through an attention layer: boxes.

    Over D the score <A x_i, x_l> is an integer over a D^2 > 0, with A = M / a (for A = alpha I, M = sign(alpha) I and
    1 / a = |alpha|). So floor(g / tau) = floor(gap of integers * rate), rate = 1 / (tau a D^2).
    """
    A, D, d = layer.A, points.denominator, points.dimension
    if A.dense is None and A.left is None:
        asked, unit = multiply(points.numerators, -1 if A.scale < 0 else 1), 1 / abs(A.scale)
    else:
        asked, denominator = transform(points.numerators, A)
        unit = fmpq(denominator)
    rate = None if tau is None else 1 / (tau * unit * D * D)
    V, v = _integer_square(layer.V, d)
    modulus = abs(V) if isinstance(V, int) else [[abs(x) for x in row] for row in V]
    rho, rho_denominator = int(layer.rho.p), int(layer.rho.q)
    result = BoxState([], [])
    for j, (first, last) in enumerate(pairwise(points.starts.tolist())):
        X, weights = points.numerators[first:last], points.weights[first:last].tolist()
        groups: dict[tuple[int, ...], list[int]] = {}
        least: dict[tuple[int, ...], int | None] = {}
        for i, (held, gap) in enumerate(_find_gaps(product(asked[first:last], X.T))):
            groups.setdefault(held, []).append(i)
            known = least.setdefault(held, gap)
            least[held] = gap if known is None or (gap is not None and gap < known) else known
        rows = X.tolist()
        extent = [a - b for a, b in zip(X.max(axis=0).tolist(), X.min(axis=0).tolist(), strict=True)]
        for held, queries in groups.items():
            gap, ties = least[held], sum(weights[l] for l in held)
            exponent = MAX_EXPONENT
            if gap is not None:
                exponent = 0 if rate is None else min(int((gap * rate).floor()), MAX_EXPONENT)
            if exponent == 0:
                result.doubtful.add(j)
                break
            sums = [sum(weights[l] * rows[l][c] for l in held) for c in range(d)]
            added = _times(V, sums)
            spreads = [(sum(weights) - ties) * x for x in _times(modulus, extent)]
            radius = round_up_row(spreads, (v * D) << exponent)
            for row in [rows[i] for i in queries] if rho else [rows[0]]:
                center = [rho * v * ties * x + rho_denominator * y for x, y in zip(row, added, strict=True)]
                result.boxes.append(Box(primitive_row(center, rho_denominator * v * ties * D), radius))
                result.pairs.append(j)
    return result


def _find_gaps(scores: Array) -> list[tuple[tuple[int, ...], int | None]]:
    """For every query (row) the tokens of largest score, and how far below the next one is (None: there is none)."""
    best = scores.max(axis=1)
    scores, best = room(bound_of(scores) + bound_of(best) + 1, scores, best)
    ties = scores == best[:, None]
    lowest = int(scores.min()) - 1
    second = np.where(ties, lowest, scores).max(axis=1)
    gaps = [None if low == lowest else top - low for top, low in zip(best.tolist(), second.tolist(), strict=True)]
    firsts, several = ties.argmax(axis=1).tolist(), (ties.sum(axis=1) > 1).tolist()
    held = [tuple(np.flatnonzero(ties[i]).tolist()) if more else (firsts[i],) for i, more in enumerate(several)]
    return list(zip(held, gaps, strict=True))


def _integer_square(matrix: SquareMatrix, dimension: int) -> tuple[int | list[list[int]], int]:
    """Rows, or one number for a multiple of the identity, over a positive denominator."""
    if matrix.dense is None and matrix.left is None:
        return int(matrix.scale.p), int(matrix.scale.q)
    numerators, denominator = integer_matrix(matrix.to_dense(dimension))
    return [[int(x) for x in row] for row in numerators.tolist()], denominator


def _times(matrix: int | list[list[int]], vector: list[int]) -> list[int]:
    """The product with a matrix or a multiple of the identity."""
    if isinstance(matrix, int):
        return [matrix * x for x in vector]
    return [sum(a * x for a, x in zip(row, vector, strict=True)) for row in matrix]


def round_up_row(numerators: list[int], denominator: int) -> Row:
    """Dyadics at least numerators / denominator >= 0, the largest of about 32 bits; 0 stays 0."""
    shift = max(0, RADIUS_BITS + denominator.bit_length() - max(numerators).bit_length())
    return primitive_row([-(-(x << shift) // denominator) for x in numerators], 1 << shift)


def _apply_layer(state: BoxState, layer: FeedForward, limits: Limits) -> None:
    """A layer on all boxes, by the kernel. A pair is doubtful from the first box on which a sign is open."""
    try:
        state.boxes = apply_feed_forward_boxes(layer, state.boxes)
    except Undecided:
        for i, box in enumerate(state.boxes):
            try:
                [state.boxes[i]] = apply_feed_forward_boxes(layer, [box])
            except Undecided:
                state.doubtful.add(state.pairs[i])
    _check_height(state, limits)


def _check_height(state: BoxState, limits: Limits) -> None:
    if any(box.center[-1].bit_length() > limits.max_height for box in state.boxes):
        raise Handover("a center of too many bits")


def _apply_hats(state: BoxState, run: Run, transformer: Transformer, limits: Limits) -> None:
    """A run of hats on boxes, those with a shift on all boxes."""
    first = 0
    for l in [*run.shifted, len(run.shift)]:
        if l > first and state.boxes:
            _apply_unshifted(state, Run(run.lines.part(first, l), run.shift[first:l]))
            _check_height(state, limits)
        if l < len(run.shift):
            _apply_layer(state, transformer.blocks[int(run.lines.blocks[l]) - 1].feed_forward, limits)
        first = l + 1


def _apply_unshifted(state: BoxState, run: Run) -> None:
    """As ``apply_run``: each layer sees the boxes that may reach into its support.

    The interval of a box, times a whole number F, is widened to whole numbers low .. high. A box lies outside of an
    open support (a, b) if high <= floor(F a) or low >= ceil(F b). ``widest`` is at least every high - low, so that all
    others have low > floor(F a) - widest; what is found in vain the layer leaves alone.
    """
    direction = [int(u) for u in run.lines.direction.tolist()]
    F = 1 << max(0, 60 - max(max(map(abs, _span(direction, box, 1))) for box in state.boxes).bit_length())
    spans = [_span(direction, box, F) for box in state.boxes]
    low, widest = [a for a, _ in spans], max(b - a for a, b in spans)
    frame = Frame(run, F)
    base = frame.low.tolist()
    boxes, since = np.arange(len(spans)), np.zeros(len(spans), dtype=np.int64)
    while len(boxes):
        frame.low = integer_array([x - widest for x in base])
        found, hit, stop = find_first(integer_array([low[i] for i in boxes.tolist()]), since, frame)
        since = np.maximum(since, stop)
        since[found] = hit + 1
        for i, l in zip(boxes[found].tolist(), hit.tolist(), strict=True):
            new = apply_hat(run, l, direction, state.boxes[i])
            if new is None:
                state.doubtful.add(state.pairs[i])
            elif new is not state.boxes[i]:
                state.boxes[i] = new
                low[i], high = _span(direction, new, F)
                widest = max(widest, high - low[i])
        alive = since < len(run.shift)
        boxes, since = boxes[alive], since[alive]


def apply_hat(run: Run, l: int, direction: list[int], box: Box) -> Box | None:
    """Layer l, which has no shift, on a box; None where a sign is open. The rule is that of the kernel.

    With S = <u, X> over D and R = <|u|, r> over E, unit k is (C S + B D) / (g D) up to |C| R / (g E). Where all signs
    are certain the layer is x -> M x + const, M = I + v u^T with v = sum of W_k C_k / (g h) over the active units.
    """
    C, B, W = (array[l].tolist() for array in (run.lines.C, run.lines.B, run.lines.W))
    scale, D, E = int(run.scale[l]), box.center[-1], box.radius[-1]
    S = sum(u * x for u, x in zip(direction, box.center, strict=False))
    R = sum(abs(u) * r for u, r in zip(direction, box.radius, strict=False))
    units = [(c * S + b * D, c, w) for c, b, w in zip(C, B, W, strict=True)]
    if any(abs(value) * E < abs(c) * R * D for value, c, _ in units):
        return None
    active = [unit for unit in units if unit[0] > 0]
    if not active:
        return box
    center = [x * scale for x in box.center[:-1]]
    slope = [0] * len(direction)
    for value, c, w in active:
        center = [x + value * y for x, y in zip(center, w, strict=True)]
        slope = [v + c * y for v, y in zip(slope, w, strict=True)]
    radius = box.radius
    if any(slope):
        wide = [(j, u, r) for j, (u, r) in enumerate(zip(direction, box.radius, strict=False)) if r]
        sums = [sum(abs(scale * (i == j) + v * u) * r for j, u, r in wide) for i, v in enumerate(slope)]
        radius = round_up_row(sums, scale * E)
    return Box(primitive_row(center, scale * D), radius)


def _span(direction: list[int], box: Box, F: int) -> tuple[int, int]:
    """Whole numbers low <= F <u, x> <= high for every x of the box, as close as can be."""
    D, E = box.center[-1], box.radius[-1]
    middle = F * E * sum(u * x for u, x in zip(direction, box.center, strict=False))
    reach = F * D * sum(abs(u) * r for u, r in zip(direction, box.radius, strict=False))
    return (middle - reach) // (D * E), -(-(middle + reach) // (D * E))
