"""Untrusted. The exact run that floats are compared with: every pre-activation and score, as float64 with a bound.

Temperature 0: the kernel's hardmax pass. A positive temperature: its boxes with the mean enclosed by balls; then all
that is said holds for every point of the boxes. Shapes: K tokens of all sequences, d dimension, w units, n tokens of a
sequence.

Signs are exact: float64 decides where its error bound allows it, integers elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpq_mat, fmpz_mat

from interp.precision.formats import LEAST_EXPONENT
from proofs.balls.attention import mean_at
from proofs.kernel.boxes import Undecided, apply_feed_forward_boxes, point
from proofs.kernel.errors import LimitReached
from proofs.kernel.hardmax import apply_attention, apply_feed_forward, integer_affine, integer_matrix
from proofs.kernel.model import FeedForward, SelfAttention
from proofs.kernel.rational import Row, coordinates_of
from proofs.kernel.softmax import ScoreTable, apply_attention_boxes
from proofs.kernel.statement import Dataset

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

LEAST = math.ldexp(1.0, LEAST_EXPONENT)
NO_GRID = 1 << 40  # exponent of a token that is not dyadic
DOUBT = 1024.0  # pre-activations below so many error bounds are evaluated exactly: their bounds should be sharp
BALL_BITS = 256


def raise_up(values: Floats, operations: int) -> Floats:
    """At least the true value of nonnegative terms, each after at most so many float64 operations; 0 stays 0.

    Every factor is 0 or at least 2^-240 by ``magnitude``, and at most four are multiplied: nothing underflows.
    """
    return values * (1 + (operations + 8) * 2.0**-52)


def magnitude(values: Floats) -> Floats:
    """Upper bounds of |values| that came from rounding once, 0 or at least 2^-240."""
    return np.where(values != 0, np.maximum(np.abs(values) * (1 + 2.0**-50), LEAST), 0.0)


def to_float(value: fmpq) -> float:
    """The nearest float64; not 0 unless the value is. Raises: LimitReached."""
    return _quotient(int(value.p), int(value.q))


def _quotient(numerator: int, denominator: int) -> float:
    try:
        value = numerator / denominator
    except OverflowError as error:
        raise LimitReached("a number beyond the range of float64 arose", hint="float-check cannot bound it") from error
    return value if value or not numerator else math.copysign(5e-324, numerator)


def float_matrix(matrix: fmpq_mat) -> Floats:
    """All entries as float64."""
    shape = (int(matrix.nrows()), int(matrix.ncols()))
    return np.array([to_float(x) for x in matrix.entries()], dtype=np.float64).reshape(shape)


def grid_exponent(denominator: int) -> int:
    """g where the denominator is 2^g, else ``NO_GRID``."""
    return NO_GRID if denominator & (denominator - 1) else denominator.bit_length() - 1


@dataclass(frozen=True)
class Activations:
    """Pre-activations of one layer: |values - h| <= slack for every exact h (K, w); ``signs`` of h: -1, 0, 1."""

    values: Floats
    slack: Floats
    signs: npt.NDArray[np.int8]

    @property
    def low(self) -> Floats:
        """Lower bounds of |h|."""
        return np.maximum(np.abs(self.values) - self.slack, 0.0) * (1 - 2.0**-50)


@dataclass(frozen=True)
class Scores:
    """One sequence whose scores decide: ``chosen[i, l]`` (temperature 0) and by how much l is behind, at least."""

    first: int
    last: int
    chosen: Bools
    gaps: Floats  # (n, n): lower bounds of best score - score, 0 where nothing is known
    reach: Floats  # (n, n): upper bounds of |best score - score|


class Reference:
    """Where the tokens are, exactly or as boxes, block after block."""

    def __init__(self, dataset: Dataset, temperature: fmpq) -> None:
        self.temperature = temperature
        self.boxes = [point(row) for pair in dataset.pairs for row in pair.input]
        self.starts: Ints = np.array([*accumulate((len(pair.input) for pair in dataset.pairs), initial=0)])
        shape = (len(self.boxes), dataset.dimension)
        self.tokens: Floats = np.zeros(shape)  # nearest float64 of the centers
        self.radii: Floats = np.zeros(shape)  # upper bounds
        self.grid: Ints = np.zeros(len(self.boxes), dtype=np.int64)  # a token is a multiple of 2^-grid
        self._refresh(range(len(self.boxes)))

    @property
    def rows(self) -> list[Row]:
        """The centers."""
        return [box.center for box in self.boxes]

    @property
    def sizes(self) -> Floats:
        """Upper bounds of |x| (K, d)."""
        return raise_up(magnitude(self.tokens) + self.radii, 1)

    def sequences(self) -> Iterator[tuple[int, int]]:
        """First token and end of every sequence."""
        return pairwise(self.starts.tolist())

    def locate(self, token: int) -> tuple[int, int]:
        """Pair and place of a token."""
        pair = int(np.searchsorted(self.starts, token, side="right")) - 1
        return pair, token - int(self.starts[pair])

    def _refresh(self, index: range | list[int]) -> None:
        for i in index:
            box = self.boxes[i]
            *numerators, denominator = box.center
            self.tokens[i] = [_quotient(x, denominator) for x in numerators]
            if box.is_point:
                self.radii[i] = 0
                self.grid[i] = grid_exponent(denominator)
            else:
                self.radii[i] = magnitude(np.array([to_float(r) for r in coordinates_of(box.radius)]))
                self.grid[i] = NO_GRID

    def activate(self, layer: FeedForward) -> Activations:
        """The pre-activations of a layer."""
        U, b = float_matrix(layer.U), float_matrix(layer.b)[:, 0]
        values = self.tokens @ U.T + b
        moduli, sizes = magnitude(U), magnitude(self.tokens)
        total = raise_up(sizes @ moduli.T + magnitude(b), U.shape[1] + 2)
        # a coordinate, a weight, their product and at most d + 1 sums: d + 4 roundings of 2^-53 each
        slack = total * ((U.shape[1] + 6) * 2.0**-52)
        signs = np.sign(values).astype(np.int8)
        G, g = integer_affine(layer)
        weights = [[int(x) for x in row] for row in G.tolist()]
        for i, k in np.argwhere(~(np.abs(values) > DOUBT * slack)).tolist():
            row = self.boxes[i].center
            exact = sum(u * x for u, x in zip(weights[k], row, strict=True) if u)
            values[i, k] = _quotient(exact, g * row[-1])
            slack[i, k] = abs(values[i, k]) * 2.0**-52
            signs[i, k] = (exact > 0) - (exact < 0)
        return Activations(values, raise_up(slack + self.radii @ moduli.T, U.shape[1] + 1), signs)

    def feed_forward(self, layer: FeedForward, found: Activations) -> None:
        """The layer on all tokens, only those that it moves. Raises: Undecided (its token is of all tokens)."""
        if layer.is_identity():
            return
        codes = (found.signs > 0) @ (1 << np.arange(layer.width)) if layer.width else np.zeros(len(self.boxes), int)
        # of a box, the kernel certifies the signs first
        fixed = {int(c) for c in np.unique(codes) if self.temperature == 0 and _is_fixed(layer, int(c))}
        moved = [i for i, code in enumerate(codes.tolist()) if code not in fixed]
        if not moved:
            return
        if self.temperature == 0:
            after = [point(row) for row in apply_feed_forward(layer, [self.boxes[i].center for i in moved])]
        else:
            try:
                after = apply_feed_forward_boxes(layer, [self.boxes[i] for i in moved])
            except Undecided as reason:
                raise Undecided(moved[reason.token], reason.detail) from reason
        for i, box in zip(moved, after, strict=True):
            self.boxes[i] = box
        self._refresh(moved)

    def score(self, layer: SelfAttention) -> Iterator[Scores]:
        """The scores of every sequence of a layer with A != 0 and V != 0."""
        for first, last in self.sequences():
            boxes = self.boxes[first:last]
            if self.temperature == 0:
                yield Scores(first, last, *_score_points(layer, [box.center for box in boxes]))
                continue
            table = ScoreTable(layer.A, boxes)
            gaps, reach = [], []
            for i in range(last - first):
                _, differences, errors = table.differences(i)
                gaps.append([max(to_float(d - e), 0.0) for d, e in zip(differences, errors, strict=True)])
                reach.append([to_float(d + e) for d, e in zip(differences, errors, strict=True)])
            lower = np.array(gaps) * (1 - 2.0**-50)
            yield Scores(first, last, lower == 0, lower, np.array(reach) * (1 + 2.0**-50))

    def attention(self, layer: SelfAttention) -> None:
        """The layer on all sequences."""
        if layer == SelfAttention():
            return
        mean = None if self.temperature == 0 else mean_at(self.temperature, BALL_BITS)
        for first, last in self.sequences():
            boxes = self.boxes[first:last]
            if mean is None:
                self.boxes[first:last] = [point(row) for row in apply_attention(layer, [x.center for x in boxes])]
            else:
                self.boxes[first:last] = apply_attention_boxes(layer, boxes, mean)
        self._refresh(range(len(self.boxes)))


def _is_fixed(layer: FeedForward, code: int) -> bool:
    """Whether a token whose active units are the bits of ``code`` stays: eta I + W D U = I and W D b = 0."""
    if code == 0:
        return bool(layer.eta == 1)
    width, dimension = layer.width, int(layer.W.nrows())
    D = fmpq_mat(width, width)
    for k in range(width):
        D[k, k] = fmpq(code >> k & 1)
    matrix = layer.W * D * layer.U
    for c in range(dimension):
        matrix[c, c] += layer.eta - 1
    return not any(x != 0 for x in [*matrix.entries(), *(layer.W * D * layer.b).entries()])


def _score_points(layer: SelfAttention, rows: list[Row]) -> tuple[Bools, Floats, Floats]:
    """Exact argmax sets, and the gaps."""
    dimension, count = len(rows[0]) - 1, len(rows)
    D = math.lcm(*(row[-1] for row in rows))
    X = fmpz_mat(count, dimension, [x * (D // row[-1]) for row in rows for x in row[:-1]])
    A, a = integer_matrix(layer.A.to_dense(dimension))
    scores = [[int(x) for x in row] for row in (X * A.transpose() * X.transpose()).tolist()]
    denominator = a * D * D
    gaps = [[_quotient(max(row) - x, denominator) for x in row] for row in scores]
    lower: Floats = np.array(gaps, dtype=np.float64)
    return lower == 0, lower * (1 - 2.0**-50), lower * (1 + 2.0**-50)
