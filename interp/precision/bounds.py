"""Untrusted. Running-error bounds: how far floats can be from the exact run, whatever the order of summation.

For one format, ``errors`` bounds |float - exact| of every coordinate of every token, for every order of summation, with
or without fused multiply-add, with accumulators of the format or wider (``formats`` has the model of arithmetic). With
x^ = x + delta, |delta| <= e, and n roundings a term (its weight, its product, its sums):

    pre-activation   |h^ - h| <= |U| e + r,   r = gamma_n (|U| (|x| + e) + |b|)
    feed-forward     |FF^ - FF| <= |M| e + |W| r + gamma_m (|eta| (|x| + e) + |W| relu^),   M = eta I + W D U,

D the units that are on in floats as in the exact run, since |h| > |h^ - h|. A unit that is not certified passes its
whole error on, |relu(h^) - relu(h)| <= |h^ - h|; a unit that is certified off is exactly 0 and takes part in no
rounding. Where all terms are multiples of 2^-g and their moduli add up to at most 2^(p - g), every partial sum is a
number of the format: nothing is rounded at all.

Shapes: K tokens, d dimension, w units. All bounds are float64 numbers rounded up (``reference.raise_up``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, ldexp

import numpy as np
from flint import fmpq

from interp.export.rounding import FloatFormat
from interp.precision.formats import (
    gamma,
    is_power_of_two,
    is_representable,
    smallest_error,
    unit_roundoff,
)
from interp.precision.reference import (
    NO_GRID,
    Activations,
    Bools,
    Floats,
    Ints,
    Reference,
    Scores,
    float_matrix,
    grid_exponent,
    magnitude,
    raise_up,
    to_float,
)
from proofs.kernel.model import FeedForward, SelfAttention, SquareMatrix
from proofs.kernel.rational import coordinates_of

EXP_ERROR = 4  # relative error of an exponential, in units of u
FAR = 10  # a token whose weight is below 2^-(p + FAR) is bounded by its weight, all others by the change of theirs


@dataclass(frozen=True)
class Doubt:
    """A decision that is not certified: ``token`` of all tokens, a unit or (None) the choice of attention."""

    block: int
    token: int
    unit: int | None
    value: float  # lower bound of what decides
    error: float  # bound of the floats' error of it

    @property
    def ratio(self) -> float:
        """Above 1 means certified."""
        return self.value / self.error if self.error else inf


class Layer:
    """What the bounds need of a feed-forward layer, for all formats: moduli, grids, kinds of weights."""

    def __init__(self, layer: FeedForward) -> None:
        self.source = layer
        self.U: Floats = magnitude(float_matrix(layer.U))
        self.b: Floats = magnitude(float_matrix(layer.b)[:, 0])
        self.W: Floats = magnitude(float_matrix(layer.W))
        self.eta = float(magnitude(np.array([to_float(layer.eta)]))[0])
        self.u_rows: list[list[fmpq]] = layer.U.tolist()
        self.w_rows: list[list[fmpq]] = layer.W.tolist()
        self.biases: list[fmpq] = layer.b.entries()
        self.unit_grid: Ints = np.array([_grid_of(row) for row in self.u_rows], dtype=np.int64)
        self.bias_grid: Ints = np.array([_grid_of([x]) for x in self.biases], dtype=np.int64)
        self.out_grid = _grid_of([*layer.W.entries(), layer.eta])
        self._moduli: dict[tuple[bool, ...], Floats] = {}

    @cached_property
    def unit_roundings(self) -> Ints:
        """Sums and products of each pre-activation that round (w,)."""
        counts = []
        for row, b in zip(self.u_rows, self.biases, strict=True):
            terms = [x for x in row if x != 0]
            sums = len(terms) - 1 + (b != 0) if terms else 0
            counts.append(sums + any(not is_power_of_two(x) for x in terms))
        return np.array(counts, dtype=np.int64)

    @cached_property
    def unit_products(self) -> Floats:
        """Products of each pre-activation that may underflow (w,)."""
        return np.array([sum(_may_underflow(x) for x in row) for row in self.u_rows], dtype=np.float64)

    def modulus(self, active: tuple[bool, ...]) -> Floats:
        """Upper bounds of |eta I + W D U| (d, d)."""
        if active not in self._moduli:
            layer = self.source
            dimension = int(layer.W.nrows())
            columns = layer.W.transpose().tolist()
            matrix = [[layer.eta if i == j else fmpq(0) for j in range(dimension)] for i in range(dimension)]
            for k in (k for k, on in enumerate(active) if on):
                for i, w in enumerate(columns[k]):
                    if w != 0:
                        matrix[i] = [x + w * u for x, u in zip(matrix[i], self.u_rows[k], strict=True)]
            self._moduli[active] = magnitude(np.array([[to_float(x) for x in row] for row in matrix]))
        return self._moduli[active]


def _grid_of(values: list[fmpq]) -> int:
    """The smallest g for which all values are multiples of 2^-g."""
    return max((grid_exponent(int(x.q)) for x in values), default=0)


def _may_underflow(weight: fmpq) -> bool:
    return bool(weight not in (0, 1, -1))


class ErrorBounds:
    """The bounds of one format along the exact run."""

    def __init__(self, target: FloatFormat, reference: Reference) -> None:
        self.target = target
        self.roundoff, self.tiny = unit_roundoff(target), smallest_error(target)
        self.top = ldexp(1.0, min(target.max_exponent, 1000))
        self.lowest = fmpq(2) ** target.min_exponent
        self.doubts: list[Doubt] = []  # the first of every block
        self.tightest: Doubt | None = None
        self.range_fault = ""  # the first number that may leave the range
        inexact = np.array([[not is_representable(x, target) for x in coordinates_of(r)] for r in reference.rows])
        sizes = reference.sizes
        self.errors: Floats = raise_up(np.where(inexact, self.roundoff * sizes + self.tiny, 0.0), 2)
        self._check_range(0, sizes)

    @property
    def agrees(self) -> bool:
        """Whether every decision is certified."""
        return not self.doubts and not self.range_fault

    def _check_range(self, block: int, values: Floats) -> None:
        if not self.range_fault and values.size and not bool((values < self.top / 4).all()):
            self.range_fault = f"block {block}: a number may overflow"

    def _check_weights(self, block: int, weights: list[fmpq]) -> None:
        """Rounding a weight costs one factor 1 + delta, if it is no subnormal number."""
        if not self.range_fault and any(x != 0 and abs(x) < self.lowest for x in weights):
            self.range_fault = f"block {block}: a weight is below the normal range"

    def _inexact(self, weights: list[fmpq]) -> bool:
        return any(not is_representable(x, self.target) for x in weights)

    def _gammas(self, counts: Ints) -> Floats:
        """gamma_n; with a wider accumulator, n roundings of u / 2 and one of u are at most max(n, 2) of u."""
        return np.array([gamma(max(int(n), 2), self.target) if n else 0.0 for n in counts])

    def _fits(self, grid: Ints, total: Floats) -> Bools:
        """Whether sums of this modulus of multiples of 2^-grid are numbers of the format in every order."""
        shift = np.clip(self.target.precision - grid, -900, 900)
        return (grid <= self.target.precision - 1 - self.target.min_exponent) & (total <= np.ldexp(1.0, shift))

    def feed_forward(self, block: int, layer: Layer, reference: Reference, found: Activations) -> None:
        """Bounds after a layer; its doubtful signs are noted. ``reference`` is still before the layer."""
        source = layer.source
        if source.is_identity():
            return
        errors, sizes = self.errors, reference.sizes
        flat = [x for row in layer.u_rows for x in row] + layer.biases + [*source.W.entries(), source.eta]
        self._check_weights(block, flat)
        rough = [self._inexact([*row, b]) for row, b in zip(layer.u_rows, layer.biases, strict=True)]
        d, width = sizes.shape[1], source.width
        reached = raise_up(sizes + errors, 1)
        total = raise_up(reached @ layer.U.T + layer.b, d + 2)
        self._check_range(block, total)
        rounding = total * self._gammas(layer.unit_roundings + rough) + layer.unit_products * self.tiny
        exact_tokens: Bools = (errors == 0).all(axis=1)
        grid = np.maximum(reference.grid[:, None] + layer.unit_grid, layer.bias_grid)
        exact: Bools = exact_tokens[:, None] & ~np.array(rough, dtype=bool) & self._fits(grid, total)
        rounding = np.where(exact, 0.0, raise_up(rounding, 3))
        spread = raise_up(errors @ layer.U.T + rounding, d + 1)
        low = found.low
        certified: Bools = np.asarray(low > spread)
        boundary = (found.signs == 0) & (found.slack == 0)
        self._note(block, found, certified | boundary, low, spread)
        linear = certified & (found.signs > 0)
        live = ~(certified & (found.signs < 0)) & ~(boundary & (spread == 0))
        heights = raise_up(np.abs(found.values) + found.slack + spread, 2)
        passed = np.where(linear, rounding, spread)
        weights = 1 << np.arange(width)
        codes = linear @ weights + (live @ weights << width)
        after = errors.copy()
        for code in np.unique(codes).tolist():
            on, alive = (tuple(bool(code >> k + s & 1) for k in range(width)) for s in (0, width))
            if source.eta == 1 and not any(alive):
                continue
            at = np.flatnonzero(codes == code)
            columns = layer.W * np.array(alive)
            total = raise_up(layer.eta * reached[at] + heights[at] @ columns.T, width + 2)
            self._check_range(block, total)
            roundings, products = self._count_output(layer, alive)
            result = errors[at] @ layer.modulus(on).T + passed[at] @ columns.T
            result = result + total * self._gammas(roundings) + products * self.tiny
            heights_grid = np.where(np.array(alive), grid[at], 0).max(axis=1, initial=0)
            out_grid = np.maximum(reference.grid[at], heights_grid) + layer.out_grid
            same: Bools = exact_tokens[at] & (np.where(alive, spread[at], 0.0) == 0).all(axis=1)
            smooth = not self._inexact([*source.W.entries(), source.eta])
            result = raise_up(result, d + width + 6)
            after[at] = np.where((same & smooth)[:, None] & self._fits(out_grid[:, None], total), 0.0, result)
        self.errors = np.where(after != 0, np.maximum(after, self.tiny), 0.0)

    def _count_output(self, layer: Layer, alive: tuple[bool, ...]) -> tuple[Ints, Floats]:
        """Roundings of a term, and products that may underflow, for each coordinate (d,)."""
        counts, products = [], []
        for row in layer.w_rows:
            terms = [x for x, on in zip(row, alive, strict=True) if on and x != 0]
            terms += [layer.source.eta] if layer.source.eta != 0 else []
            rounds = any(not is_power_of_two(x) for x in terms) + self._inexact(terms)
            counts.append(max(len(terms) - 1, 0) + rounds)
            products.append(sum(map(_may_underflow, terms)))
        return np.array(counts, dtype=np.int64), np.array(products, dtype=np.float64)

    def _note(self, block: int, found: Activations, decided: Bools, low: Floats, spread: Floats) -> None:
        """The first doubt of the block, and the tightest decision of all."""
        places = np.argwhere(~decided)
        if len(places):
            i, k = places[0].tolist()
            self.doubts.append(Doubt(block, i, k, float(low[i, k]), float(spread[i, k])))
        ratios = np.where((found.signs != 0) & (spread > 0), low / np.where(spread > 0, spread, 1.0), inf)
        if ratios.size:
            i, k = (int(x) for x in np.unravel_index(int(ratios.argmin()), ratios.shape))
            self._compare(Doubt(block, i, k, float(low[i, k]), float(spread[i, k])))

    def _compare(self, doubt: Doubt) -> None:
        if doubt.ratio < (inf if self.tightest is None else self.tightest.ratio):
            self.tightest = doubt

    def attention(self, block: int, layer: SelfAttention, reference: Reference, scores: list[Scores] | None) -> None:
        """Bounds after a layer; ``scores`` None: V = 0 or A = 0. ``reference`` is still before the layer."""
        d = reference.tokens.shape[1]
        errors, rho = self.errors, layer.rho
        reached = raise_up(reference.sizes + errors, 1)
        acts = not layer.V.is_zero(d)
        if rho == 1 and not acts:
            return
        modulus = float(magnitude(np.array([to_float(rho)]))[0])
        weights = [rho, *_weights(layer.V), *_weights(layer.A)] if acts else [rho]
        self._check_weights(block, weights)
        if acts:
            mean_errors, means = self._mean(block, layer, reference, reached, scores)
        else:
            mean_errors = means = np.zeros_like(errors)
        V = _modulus(layer.V, d)
        total = raise_up(modulus * reached + means @ V.T, d + 2)
        self._check_range(block, total)
        result = modulus * errors + mean_errors @ V.T
        result = result + total * self._gammas(np.array([self._count_value(layer, acts, d)]))
        if any(map(_may_underflow, weights)) or (acts and layer.V.left is not None):
            lost = (2 * d + 3) * self.tiny * (1 + _sum_of(_weights(layer.V)))
            result = result + np.where(total > 0, lost, 0.0)
        after = raise_up(result, d + 6)
        self.errors = np.where(after != 0, np.maximum(after, self.tiny), 0.0)

    def _count_value(self, layer: SelfAttention, acts: bool, d: int) -> int:
        """Roundings of a term of rho x + V m: at most d products, sums and weights, by either way to write V."""
        terms = [x for x in (layer.rho, layer.V.scale if acts else fmpq(0)) if x != 0]
        if acts and (layer.V.left is not None or layer.V.dense is not None):
            return d + 8
        return max(len(terms) - 1, 0) + any(not is_power_of_two(x) for x in terms) + self._inexact(terms)

    def _mean(
        self, block: int, layer: SelfAttention, reference: Reference, reached: Floats, scores: list[Scores] | None
    ) -> tuple[Floats, Floats]:
        """For every token the error of the mean it attends to, and its size (K, d)."""
        if scores is None:
            return self._uniform(reference, reached)
        mean_errors, means = np.zeros_like(reached), np.zeros_like(reached)
        A = _modulus(layer.A, reached.shape[1])
        # weight, product, sum and accumulator of each of two products of matrices, and the two parts of A
        scale = gamma(2 * reached.shape[1] + 8, self.target)
        grid = _grid_of(_weights(layer.A)) if not self._inexact(_weights(layer.A)) else NO_GRID
        for table in scores:
            at = slice(table.first, table.last)
            x, e = reached[at], self.errors[at]
            queries = raise_up(x @ A.T, x.shape[1])
            total = raise_up(queries @ x.T, 2 * x.shape[1])
            self._check_range(block, total)
            spread = queries @ e.T + raise_up(e @ A.T, x.shape[1]) @ x.T + scale * total
            lost = 2 * x.shape[1] ** 2 * self.tiny * (1 + x.max()) * (1 + _sum_of(_weights(layer.A)))
            spread = raise_up(spread + np.where(total > 0, lost, 0.0), 30)
            exact = ~e.any() & self._fits(2 * reference.grid[at].max(keepdims=True) + 2 * grid, total)
            spread = np.where(exact, 0.0, spread)
            if reference.temperature == 0:
                found = self._hardmax(block, table, reference, spread)
            else:
                found = self._softmax(block, table, reference, spread)
            mean_errors[at] = found
            means[at] = raise_up(x.max(axis=0) + found, 1)
        return mean_errors, means

    def _uniform(self, reference: Reference, reached: Floats) -> tuple[Floats, Floats]:
        """A = 0: n - 1 sums, and a division or a rounded weight and its product."""
        starts = reference.starts
        counts = np.diff(starts)
        sums = np.add.reduceat(reached, starts[:-1], axis=0)
        spread = np.add.reduceat(self.errors, starts[:-1], axis=0)
        slack = 1 + (counts[:, None] + 8) * 2.0**-52
        sums, spread = sums * slack, spread * slack
        self._check_range(0, sums)
        gammas = np.array([gamma(int(n) + 2, self.target) if n > 1 else 0.0 for n in counts])
        errors = (spread + gammas[:, None] * sums) / counts[:, None] + np.where(counts > 1, self.tiny, 0.0)[:, None]
        grid = np.maximum.reduceat(reference.grid, starts[:-1])
        exact = ~(spread != 0).any(axis=1) & ((counts & (counts - 1)) == 0)
        # the mean is a multiple of 2^-(grid + log2 n), with the bits of the sum
        fits = exact[:, None] & self._fits(grid[:, None], sums)
        fits &= self._fits((grid + np.log2(counts).astype(np.int64))[:, None], np.zeros_like(sums))
        errors = np.where(fits, 0.0, raise_up(errors, 8))
        owner = np.repeat(np.arange(len(counts)), counts)
        return errors[owner], raise_up(sums / counts[:, None] + errors, 4)[owner]

    def _hardmax(self, block: int, table: Scores, reference: Reference, spread: Floats) -> Floats:
        """The choice of every token of a sequence, and the error of the mean it makes."""
        rows = reference.rows[table.first : table.last]
        e = self.errors[table.first : table.last]
        result = np.zeros_like(e)
        for i, chosen in enumerate(table.chosen):
            members = np.flatnonzero(chosen)
            # some chosen token must certainly be ahead of every other one
            best = members[int(spread[i, members].argmin())]
            margin, error = table.gaps[i], raise_up(spread[i] + spread[i, best], 1)
            others = ~chosen
            doubtful = others & ~(margin > error)
            equal = len({rows[l] for l in members}) == 1
            tied = len(members) == 1 or bool((spread[i, members] == 0).all())
            if others.any():
                worst = int(np.where(others, margin / np.where(error > 0, error, 1e-300), inf).argmin())
                self._compare(Doubt(block, table.first + i, None, float(margin[worst]), float(error[worst])))
            if not doubtful.any() and (tied or equal):
                if tied and len(members) == 1:
                    result[i] = e[members[0]]
                    continue
                rounding = gamma(len(members) + 2, self.target)
                sizes = reference.sizes[table.first : table.last][members] + e[members]
                result[i] = raise_up(e[members].max(axis=0) + rounding * sizes.max(axis=0) + self.tiny, 4)
                continue
            at = int(np.flatnonzero(doubtful)[0]) if doubtful.any() else int(members[0])
            doubt = Doubt(block, table.first + i, None, float(margin[at]), float(error[at]))
            if not self.doubts or self.doubts[-1].block != block:
                self.doubts.append(doubt)
            possible = np.flatnonzero(doubtful | chosen)
            result[i] = self._change(reference, table, possible)
        return result

    def _change(self, reference: Reference, table: Scores, possible: Ints) -> Floats:
        """How far two means of these tokens can be apart, with the tokens' errors and the rounding of a mean."""
        at = table.first + possible
        high, low = (reference.tokens[at] + reference.radii[at]), (reference.tokens[at] - reference.radii[at])
        extent = magnitude(high.max(axis=0) - low.min(axis=0))
        sizes = reference.sizes[at] + self.errors[at]
        extent = extent + 2.0**-50 * sizes.max(axis=0)
        rounding = gamma(table.last - table.first + 3, self.target)
        return raise_up(extent + self.errors[at].max(axis=0) + rounding * sizes.max(axis=0) + self.tiny, 8)

    def _softmax(self, block: int, table: Scores, reference: Reference, spread: Floats) -> Floats:
        """The error of the mean of every token of a sequence.

        Let the float's weight be e^(t_l) times the exact one up to a common factor, |t_l| <= theta. Then the shares of
        the tokens change by at most (e^(2 theta) - 1) / 2 <= 2 theta in all (theta <= 1/2), and a mean by that much of
        the tokens' extent. Tokens whose weight is below 2^-(p + 10) both ways are bounded by their weight instead:
        exp(-g) <= 2^-floor(g).
        """
        tau = to_float(reference.temperature) * (1 - 2.0**-50)
        e = self.errors[table.first : table.last]
        result = np.zeros_like(e)
        for i, gaps in enumerate(table.gaps):
            best = int(gaps.argmin())
            error = raise_up(spread[i] + spread[i].max(), 1)
            error = raise_up(error + 4 * self.roundoff * (table.reach[i] + error), 4)
            behind = np.minimum(gaps, gaps - error) / tau * (1 - 8 * max(self.roundoff, 2.0**-50))
            far = behind >= self.target.precision + FAR
            near = np.flatnonzero(~far | (np.arange(len(gaps)) == best))
            mass = len(gaps) * 2.0 ** -(self.target.precision + FAR - 1)
            theta = raise_up(error[near].max(keepdims=True) / tau, 2)[0] + (EXP_ERROR + 2) * self.roundoff
            change = self._change(reference, table, near)
            sizes = reference.sizes[table.first : table.last] + e
            inner = raise_up(e[near].max(axis=0) + gamma(len(gaps) + 4, self.target) * sizes.max(axis=0), 4)
            share = 2 * theta if theta <= 0.5 else 1.0
            moved = np.minimum(share, 1.0) * change + inner
            result[i] = raise_up(moved + 4 * mass * sizes.max(axis=0) + 2 * self.tiny, 8)
        return result


def _weights(matrix: SquareMatrix) -> list[fmpq]:
    if matrix.dense is not None:
        return list(matrix.dense.entries())
    if matrix.left is None or matrix.right is None:
        return [matrix.scale]
    return [matrix.scale, *matrix.left.entries(), *matrix.right.entries()]


def _sum_of(weights: list[fmpq]) -> float:
    return float(magnitude(np.array([to_float(x) for x in weights])).sum()) * (1 + 2.0**-40)


def _modulus(matrix: SquareMatrix, dimension: int) -> Floats:
    """Upper bounds of |scale| I + |left| |right|^T, or of the entries (d, d): a bound however the matrix is applied."""
    if matrix.dense is not None:
        return magnitude(float_matrix(matrix.dense))
    result = np.eye(dimension) * magnitude(np.array([to_float(matrix.scale)]))
    if matrix.left is not None and matrix.right is not None:
        left, right = (magnitude(float_matrix(part)) for part in (matrix.left, matrix.right))
        result = raise_up(result + left @ right.T, 2)
    return result
