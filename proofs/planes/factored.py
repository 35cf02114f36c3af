"""Trusted. Tokens in a plane of few dimensions: x_i = origin + sum_c factors_ic basis_c, and points apart from it.

A layer with eta = 0 leaves such tokens: a line after one unit, at most w dimensions after w. What a later layer does to
all of them alike it does to origin and basis, k + 1 vectors, and no token is touched: units that are active on all, or
on none, make the layer one affine map. A unit that is active on some splits the tokens into pieces, each with an affine
map of its own. The largest piece (with all pieces of the same map) stays. If the others are few, their tokens become
**loose** points, each over a denominator of its own; otherwise the values of the units that split become factors. Loose
points stay where they are as long as no unit is active anywhere in the smallest box that holds them all.

With one factor the tokens stand on a line, in the order of their factor t: a unit is active on one end of the line, and
a search finds where it begins.

Shapes: K tokens here, k factors, w units, d dimension. ``factors`` are integers, origin and basis rationals.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import lcm

import numpy as np
from flint import fmpq, fmpq_mat

from proofs.engine.integers import (
    Array,
    add,
    bound_of,
    common_divisor,
    expand,
    integer_array,
    multiply,
    narrow,
    product,
    room,
)
from proofs.engine.state import HANDOVER_BITS, Handover, State, find_common
from proofs.kernel.hardmax import apply_feed_forward, integer_matrix
from proofs.kernel.model import FeedForward, SelfAttention
from proofs.kernel.rational import Row, primitive_row

MAX_WIDTH = 8  # units of a layer; pieces are told apart by one bit a unit
MAX_FACTORS = 40
FEW = 64  # so many tokens, or an eighth of all, may come loose at once
FLOAT_BITS = 400  # larger numbers are not filtered
UNIT = float.fromhex("0x1p-52")

Piece = tuple[int, Array]  # the active units as bits, and the tokens


class Factored:
    """The tokens of all sequences: K on the plane with sequence and copies of each, and the loose ones with copies."""

    def __init__(self, state: State) -> None:
        d = state.dimension
        self.limits, self.num_sequences = state.limits, len(state.starts) - 1
        self.origin = fmpq_mat(1, d)
        self.basis = fmpq_mat(d, d, [fmpq(int(i == j), state.denominator) for i in range(d) for j in range(d)])
        self.factors, self.owner, self.weights = state.numerators.copy(), state.owner, state.weights.copy()
        self.loose: dict[tuple[int, Row], int] = {}
        self.low: list[fmpq] = []
        self.high: list[fmpq] = []
        self._bound = state.bound
        self._grouped = False  # the next three are of the present factors; tokens of a sequence stand together there
        self._starts = self._alive = np.zeros(0, dtype=np.int64)  # where sequences begin; their tokens that have weight
        self._sides: list[Array] = []  # smallest and largest factors of every sequence, if float64 may carry them

    @staticmethod
    def takes(layer: FeedForward) -> bool:
        """Whether the layer has few enough units."""
        return layer.width <= MAX_WIDTH

    # ------------------------------------------------------------------------------------------------ feed-forward

    def apply_layer(self, layer: FeedForward) -> None:
        """eta x + W relu(U x + b) on all tokens. Raises: Handover."""
        self._move_loose(layer)
        if not self.weights.any():
            return
        values = self.origin * layer.U.transpose() + layer.b.transpose()  # (1, w), at the origin
        slopes = self.basis * layer.U.transpose()  # (k, w)
        sizes, pieces = self._find_pieces(values, slopes)
        largest = max(sizes, key=lambda code: sizes[code])
        image = self._map(layer, values, slopes, largest)
        leaving = [tokens for _, tokens in pieces]
        if sum(map(len, leaving)) > FEW:
            leaving = [tokens for code, tokens in pieces if self._map(layer, values, slopes, code) != image]
        if sum(map(len, leaving)) > max(FEW, len(self.owner) // 8):
            self._add_factors(layer, values, slopes, list(sizes))
        else:
            if leaving:
                self._loosen(np.sort(np.concatenate(leaving)), layer)
            self.origin, self.basis = image
            self._reduce()
        self._check_height()

    def _map(self, layer: FeedForward, values: fmpq_mat, slopes: fmpq_mat, code: int) -> tuple[fmpq_mat, fmpq_mat]:
        """Origin and basis after the layer where just the units of ``code`` are active."""
        active = fmpq_mat(layer.width, layer.width)
        for k in range(layer.width):
            active[k, k] = fmpq(code >> k & 1)
        W = active * layer.W.transpose()
        return self.origin * layer.eta + values * W, self.basis * layer.eta + slopes * W

    def _find_pieces(self, values: fmpq_mat, slopes: fmpq_mat) -> tuple[dict[int, int], list[Piece]]:
        """How many tokens have the same active units, and all such tokens but those of the largest number."""
        K, width = len(self.owner), int(values.ncols())
        sizes: dict[int, int] = {}
        if slopes.nrows() == 1:
            ends = [self._find_end(values[0, k], slopes[0, k]) for k in range(width)]
            cuts = sorted({0, K, *(end for pair in ends for end in pair)})
            ranges = list(pairwise(cuts))
            bits = [sum(1 << k for k, (a, b) in enumerate(ends) if a <= i and j <= b) for i, j in ranges]
            for code, (i, j) in zip(bits, ranges, strict=True):
                sizes[code] = sizes.get(code, 0) + j - i
            largest = max(sizes, key=lambda code: sizes[code])
            found = zip(bits, ranges, strict=True)
            return sizes, [(code, np.arange(i, j)) for code, (i, j) in found if code != largest]
        A, S, _ = self._integers(values, slopes)
        group, certain = self._find_groups(A, S)
        lengths = np.diff(self._starts)
        _, rough = expand(self._starts[:-1][~certain], lengths[~certain])
        rough = rough[self.weights[rough] > 0]
        codes = pack(self._find_active(A, S, rough))
        counts = np.bincount(codes, minlength=1 << MAX_WIDTH)
        np.add.at(counts, group[certain], self._alive[certain])
        away = certain & (group != counts.argmax())
        _, moved = expand(self._starts[:-1][away], lengths[away])
        others = np.concatenate([moved, rough])
        codes = np.concatenate([np.repeat(group[away], lengths[away]), codes])
        there = self.weights[others] > 0
        sizes = {code: int(counts[code]) for code in np.flatnonzero(counts).tolist()}
        return sizes, [(code, others[there & (codes == code)]) for code in sizes if code != counts.argmax()]

    def _find_end(self, value: fmpq, slope: fmpq) -> tuple[int, int]:
        """First and last + 1 of the tokens of a line with value + slope t > 0."""
        t, K = self.factors[:, 0], len(self.factors)
        if slope == 0 or K == 0:
            return (0, K) if value > 0 else (0, 0)
        kink = -value / slope
        place = int(kink.floor()) if slope > 0 else int(kink.ceil())
        if place < t[0]:
            return (0, K) if slope > 0 else (0, 0)
        if place > t[-1]:
            return (K, K) if slope > 0 else (0, K)
        if slope > 0:
            return int(np.searchsorted(t, place, side="right")), K
        return 0, int(np.searchsorted(t, place, side="left"))

    def _find_groups(self, A: Array, S: Array) -> tuple[Array, Array]:
        """Where A_k + sum_c S_ck factor_ic > 0 for all tokens of a sequence alike: its active units as bits, and
        whether they are certain.

        The factors of a sequence lie in a box, so a unit lies between two sums over the ends of its sides. While all
        numbers have at most 400 bits, float64 carries them: conversions, products and sums in any order err by at most
        (k + 5) u B, u = 2^-53, B = |A| + sum_c |S_c| max |z_c|, as no number but 0 is below 1. What is farther from 0
        than that has the right sign.
        """
        if not self._grouped:
            firsts = np.flatnonzero(np.diff(self.owner, prepend=-1))
            self._starts, self._grouped = np.append(firsts, len(self.owner)), True
            self._alive = np.add.reduceat((self.weights > 0).astype(np.int64), firsts)
            self._sides = self._find_sides(self.factors) if fits(self.factors) else []
        if not self._sides or not fits(A, S):
            nothing = np.zeros(len(self._alive), dtype=np.uint8)
            return nothing, nothing > 0
        a, s, (low, high) = A.astype(np.float64), S.astype(np.float64), self._sides
        up, down = np.maximum(s, 0), np.minimum(s, 0)
        error = find_error(a, s, np.maximum(np.abs(low), np.abs(high)).max(axis=0))
        active = low @ up + high @ down + a > error
        return pack(active), np.asarray((active | (high @ up + low @ down + a < -error)).all(axis=1))

    def _find_sides(self, factors: Array) -> list[Array]:
        """The smallest and the largest of these factors in every sequence."""
        ends = (extreme.reduceat(factors, self._starts[:-1], axis=0) for extreme in (np.minimum, np.maximum))
        return [end.astype(np.float64) for end in ends]

    def _find_active(self, A: Array, S: Array, tokens: Array) -> Array:
        """Whether A_k + sum_c S_ck factor_ic > 0 for these tokens, (T, w): in float64 with the same bound, in integers
        where that does not decide."""
        Z = self.factors[tokens]
        if not fits(A, S, Z):
            return np.asarray(add(product(Z, S), A) > 0)
        a, s, z = (array.astype(np.float64) for array in (A, S, Z))
        result = z @ s + a
        error = find_error(a, s, np.abs(z).max(axis=0, initial=0))
        active = result > error
        doubtful = np.flatnonzero((np.abs(result) <= error).any(axis=1))
        if len(doubtful):
            active[doubtful] = add(product(Z[doubtful], S), A) > 0
        return np.asarray(active)

    def _integers(self, values: fmpq_mat, slopes: fmpq_mat) -> tuple[Array, Array, int]:
        """(1, w) and (k, w) as integers (w,) and (k, w) over one positive denominator."""
        (left, p), (right, q) = integer_matrix(values), integer_matrix(slopes)
        common, w = lcm(p, q), int(values.ncols())
        A = integer_array([int(x) * (common // p) for x in left.entries()])
        S = integer_array([int(x) * (common // q) for x in right.entries()]).reshape(int(slopes.nrows()), w)
        return A.reshape(w), S, common

    def _add_factors(
        self,
        layer: FeedForward,
        values: fmpq_mat,
        slopes: fmpq_mat,
        codes: list[int],
    ) -> None:
        """The units that are active on some tokens only become factors."""
        everywhere, anywhere = -1, 0
        for code in codes:
            everywhere, anywhere = everywhere & code, anywhere | code
        splits = [k for k in range(layer.width) if (anywhere & ~everywhere) >> k & 1]
        A, S, common = self._integers(values, slopes)
        read = np.flatnonzero((S[:, splits] != 0).any(axis=1))
        hidden = np.maximum(add(product(self.factors[:, read], S[read][:, splits]), A[splits]), 0)
        origin, basis = self._map(layer, values, slopes, everywhere)
        W = layer.W.transpose().tolist()
        rows = [*basis.tolist(), *([x / common for x in W[k]] for k in splits)]
        grouped, sides = self._grouped, self._sides
        self._set_factors(join(self.factors, hidden))
        if grouped and sides and fits(hidden):  # those of the other factors are known
            self._sides, self._grouped = list(map(join, sides, self._find_sides(hidden))), True
        self.origin, self.basis = origin, fmpq_mat(len(rows), int(origin.ncols()), [x for row in rows for x in row])
        if len(rows) > MAX_FACTORS:
            self._reduce()  # as a rule the first layer that splits no more does it, once for several layers

    # -------------------------------------------------------------------------------------------------- the factors

    def _set_factors(self, factors: Array) -> None:
        self.factors, self._bound, self._grouped = factors, bound_of(factors), False

    def _reduce(self, merge: bool = False) -> None:
        """As few factors as the basis has independent rows, without common divisor; then equal tokens are one.

        With R the reduced echelon form of the basis and C its columns at the pivots of R, the basis is C R.
        """
        k, before = int(self.basis.nrows()), self.factors.shape[1]
        echelon, rank = self.basis.rref()
        if rank == k and not merge:
            return
        self._forget_gone()
        rows = echelon.tolist()[:rank]
        pivots = [next(c for c, x in enumerate(row) if x != 0) for row in rows]
        entries = [self.basis[i, c] for i in range(k) for c in pivots]
        numerators, q = integer_matrix(fmpq_mat(k, rank, entries))
        C = integer_array([int(x) for x in numerators.entries()]).reshape(k, rank)
        factors = product(self.factors, C)
        if rank:
            middle = factors[0]  # one token becomes the origin: shorter numbers
            factors = add(factors, -middle)
            offset = fmpq_mat(1, rank, [fmpq(int(x), q) for x in middle])
            self.origin += offset * fmpq_mat(rank, int(self.basis.ncols()), [x for row in rows for x in row])
            divisors = [common_divisor(0, factors[:, c]) or 1 for c in range(rank)]
            divided, divisor = room(max(divisors), factors, integer_array(divisors))
            factors = narrow(divided // divisor)
            rows = [[x * g / q for x in row] for row, g in zip(rows, divisors, strict=True)]
            for c in range(rank - 1, 0, -1):
                ratio = find_ratio(factors[:, 0], factors[:, c])
                if ratio is not None:  # nothing but multiples of another factor
                    rows[0] = [x + ratio * y for x, y in zip(rows[0], rows.pop(c), strict=True)]
                    factors, rank = np.delete(factors, c, axis=1), rank - 1
        self.basis = fmpq_mat(rank, int(self.basis.ncols()), [x for row in rows for x in row])
        self._set_factors(factors)
        if rank < before or rank < 2 or merge:
            self._merge()

    def _merge(self) -> None:
        """Equal tokens of a sequence are kept once; sequence by sequence, or on a line in the order of t."""
        key = np.zeros(len(self.owner), dtype=np.int64)
        columns = (*self.factors.T, self.owner)  # each replaced by numbers below K, times numbers below K
        for column in columns if len(columns) == 2 else columns[::-1]:
            _, place = np.unique(column, return_inverse=True)
            _, key = np.unique(key * (int(place.max(initial=0)) + 1) + place, return_inverse=True)
        _, index, place = np.unique(key, return_index=True, return_inverse=True)
        weights = np.zeros(len(index), dtype=np.int64)
        np.add.at(weights, place, self.weights)
        self.owner, self.weights = self.owner[index], weights
        self._set_factors(self.factors[index])

    def _drop(self, leaving: Array) -> None:
        """Forgets tokens on the plane, given in rising order: at an end of a line; elsewhere they have no weight from
        now on."""
        K, m = len(self.owner), len(leaving)
        if self.factors.shape[1] == 1:
            kept: Array | slice = slice(m, K) if leaving[-1] == m - 1 else slice(0, K - m)
            if leaving[-1] != m - 1 and leaving[0] != K - m:
                kept = np.delete(np.arange(K), leaving)
            self.factors, self.owner, self.weights = self.factors[kept], self.owner[kept], self.weights[kept]
        else:
            self.weights[leaving] = 0
            np.subtract.at(self._alive, np.searchsorted(self._starts, leaving, side="right") - 1, 1)

    def _forget_gone(self) -> None:
        """Forgets tokens without weight."""
        kept = self.weights > 0
        if not kept.all():
            self.owner, self.weights = self.owner[kept], self.weights[kept]
            self._set_factors(self.factors[kept])

    def _check_height(self) -> None:
        """Hands over when a number may be larger than the user or the engine allows."""
        P, B, denominator = self._integers(self.origin, self.basis)
        height = max(bound_of(P) + len(B) * bound_of(B) * self._bound, denominator)
        if height.bit_length() > min(self.limits.max_height, HANDOVER_BITS):
            raise Handover(f"{height.bit_length()} bits")

    # --------------------------------------------------------------------------------------------------- loose points

    def _loosen(self, tokens: Array, layer: FeedForward) -> None:
        """Makes points of these tokens, where the layer, by the kernel, takes them."""
        P, B, denominator = self._integers(self.origin, self.basis)
        X = add(product(self.factors[tokens], B), P)
        rows = apply_feed_forward(layer, [primitive_row(x, denominator) for x in X.tolist()])
        self._add_loose(zip(self.owner[tokens].tolist(), rows, self.weights[tokens].tolist(), strict=True))
        self._drop(tokens)

    def _add_loose(self, entries: Iterable[tuple[int, Row, int]]) -> None:
        """Loose points with their copies; the box grows."""
        limit, new = min(self.limits.max_height, HANDOVER_BITS), set()
        for j, row, weight in entries:
            self.loose[j, row] = self.loose.get((j, row), 0) + weight
            new.add(row)
        if max(x.bit_length() for row in new for x in row) > limit:
            raise Handover("a loose point of too many bits")
        columns = list(zip(*([fmpq(x, row[-1]) for x in row[:-1]] for row in new), strict=True))
        self.low = list(map(min, self.low or map(min, columns), map(min, columns)))
        self.high = list(map(max, self.high or map(max, columns), map(max, columns)))

    def _move_loose(self, layer: FeedForward) -> None:
        """The layer on the loose points, by the kernel unless no unit is active in their box."""
        if not self.loose or (layer.eta == 1 and self._is_silent(layer)):
            return
        points, self.loose, self.low, self.high = self.loose, {}, [], []
        moved = apply_feed_forward(layer, [row for _, row in points])
        self._add_loose((j, row, weight) for (j, _), row, weight in zip(points, moved, points.values(), strict=True))

    def _is_silent(self, layer: FeedForward) -> bool:
        for row, bias in zip(layer.U.tolist(), layer.b.entries(), strict=True):
            highest = bias
            for u, a, b in zip(row, self.low, self.high, strict=True):
                if u != 0:
                    highest += u * (b if u > 0 else a)
            if highest > 0:
                return False
        return True

    # ------------------------------------------------------------------------------------------------------ the rest

    def apply_mean(self, layer: SelfAttention) -> bool:
        """Uniform attention, if no token is loose: the mean of the factors of a sequence becomes further factors."""
        d = int(self.origin.ncols())
        if self.loose or not layer.A.is_zero(d):
            return False
        copies = np.zeros(self.num_sequences, dtype=np.int64)
        np.add.at(copies, self.owner, self.weights)
        weighted = multiply(self.factors, self.weights[:, None])
        (weighted,) = room(int(copies.max()) * self._bound, weighted)
        sums = np.zeros((self.num_sequences, self.factors.shape[1]), dtype=weighted.dtype)
        np.add.at(sums, self.owner, weighted)
        common = lcm(*(int(x) for x in np.unique(copies)))
        means = multiply(sums, integer_array([common // int(x) for x in copies.tolist()])[:, None])
        V = layer.V.to_dense(d).transpose()
        rows = [*(self.basis * layer.rho).tolist(), *(self.basis * V * fmpq(1, common)).tolist()]
        self._set_factors(join(self.factors, means[self.owner]))
        self.origin = self.origin * layer.rho + self.origin * V
        self.basis = fmpq_mat(len(rows), d, [x for row in rows for x in row])
        self._reduce(merge=layer.rho == 0)
        self._check_height()
        return True

    def to_state(self) -> State:
        """The same tokens over one denominator."""
        kept = self.weights > 0
        P, B, denominator = self._integers(self.origin, self.basis)
        common = find_common([denominator, *{row[-1] for _, row in self.loose}], self.limits)
        X = multiply(add(product(self.factors[kept], B), P), common // denominator)
        points = [[x * (common // row[-1]) for x in row[:-1]] for _, row in self.loose]
        if points:
            X = np.concatenate([X, integer_array(points)])
        owner = np.concatenate([self.owner[kept], np.array([j for j, _ in self.loose], dtype=np.int64)])
        weights = np.concatenate([self.weights[kept], np.array([*self.loose.values()], dtype=np.int64)])
        order = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner[order], np.arange(self.num_sequences + 1))
        state = State(X[order], common, starts, weights[order], self.limits)
        state.reduce()
        return state


def pack(active: Array) -> Array:
    """Rows of at most 8 units as bits."""
    bits = np.packbits(active, axis=1, bitorder="little")
    return bits[:, 0] if bits.shape[1] else np.zeros(len(active), dtype=np.uint8)


def fits(*arrays: Array) -> bool:
    """Whether float64 may carry products of these numbers."""
    return all(bound_of(array).bit_length() <= FLOAT_BITS for array in arrays)


def find_error(a: Array, s: Array, reach: Array) -> Array:
    """More than (k + 5) u (|a| + sum_c |s_c| reach_c), all rounded."""
    return np.asarray((np.abs(a) + reach @ np.abs(s)) * ((len(s) + 8) * UNIT))


def find_ratio(left: Array, right: Array) -> fmpq | None:
    """The number r with right = r left, if there is one."""
    place = int((left != 0).argmax())
    a, b = int(left[place]), int(right[place])
    if a == 0 or not (multiply(left, b) == multiply(right, a)).all():
        return None
    return fmpq(b, a)


def join(left: Array, right: Array) -> Array:
    """Columns side by side."""
    return narrow(np.concatenate([left, right], axis=1))
