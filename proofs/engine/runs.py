"""Trusted. A run of hats on all tokens: each layer touches the tokens in its support and no others.

A shift moves all tokens rigidly. So let y be a token minus the shifts of the layers passed so far: layer l adds the
vector h_l(<u, y> + tau_l) to y, where tau_l = <u, sum of the shifts before l> and h_l = g_l - shift_l vanishes outside
of the support, slope and value of both tails. Only tokens whose <u, y> + tau_l lies strictly inside of the support
move; they are found in the sorted values <u, y>, each by the first layer that has it in its support. After a move a
token may lie in the support of any *later* layer: it is searched again, from the next layer on, until no support is
left. The exact layer decides where a token goes; what a search returns need only hold every token that moves.
"""

from __future__ import annotations

from math import gcd, lcm

import numpy as np

from proofs.engine.integers import Array, add, bound_of, expand, integer_array, multiply, narrow, product, room
from proofs.engine.program import Run
from proofs.engine.state import State

SPARE = 2**20  # pairs of a layer and a token looked at beyond four a token


class Frame:
    """The supports of a run and its shifts, in the coordinates y and over the denominator of a state."""

    def __init__(self, run: Run, denominator: int) -> None:
        d = len(run.lines.direction)
        tau, total = [0] * len(run.shift), [0] * d
        direction = run.lines.direction.tolist()
        offset, passed = 0, 0
        for l in run.shifted:
            tau[passed : l + 1] = [offset] * (l + 1 - passed)
            numerators, scale = run.shift[l].tolist(), int(run.scale[l])
            # whole by the choice of the denominator in ``find_factor``
            step = [x * denominator // scale for x in numerators]
            total = [x + y for x, y in zip(total, step, strict=True)]
            offset, passed = sum(u * x for u, x in zip(direction, total, strict=True)), l + 1
        tau[passed:] = [offset] * (len(tau) - passed)
        self.total = integer_array(total)
        self.tau = integer_array(tau)
        self.low, self.high = self._find_supports(run, denominator)

    def _find_supports(self, run: Run, denominator: int) -> tuple[Array, Array]:
        """Integers low < value < high for every integer value in the support, (L,) each; low = high = 0 for no support.

        The kinks are -B D / C. An integer s exceeds a number x just if it exceeds floor(x), and is below x just if it
        is below ceil(x) = -floor(-x).
        """
        C, B = run.lines.C, run.lines.B
        B, C = room((bound_of(B) + 1) * denominator + bound_of(C), B, C)
        size = np.where(C == 0, 1, np.abs(C))
        place = -B * np.sign(C) * denominator
        low, high = place // size, -(-place // size)
        widest = max(bound_of(low), bound_of(high))
        low = np.where(C == 0, widest, low).min(axis=1)
        high = np.where(C == 0, -widest, high).max(axis=1)
        empty = (C == 0).all(axis=1)
        low, high, tau = room(widest + bound_of(self.tau), low, high, self.tau)
        return narrow(np.where(empty, 0, low - tau)), narrow(np.where(empty, 0, high - tau))


def find_factor(run: Run, denominator: int) -> int:
    """The smallest f such that all shifts are whole numbers over f times the denominator."""
    factor = 1
    for l in run.shifted:
        scale = int(run.scale[l])
        reduced = scale // gcd(scale, *run.shift[l].tolist())
        factor = lcm(factor, reduced // gcd(reduced, denominator))
    return factor


def apply_run(state: State, run: Run) -> None:
    """All layers of a run on all tokens."""
    state.rescale(find_factor(run, state.denominator))
    frame = Frame(run, state.denominator)
    state.check_height(sum(bound_of(run.shift[l]) * state.denominator // int(run.scale[l]) + 1 for l in run.shifted))
    length = len(run.shift)
    tokens = np.arange(len(state.numerators))
    since = np.zeros(len(tokens), dtype=np.int64)  # the first layer that has not seen the token
    values = state.project(run.lines.direction)
    while len(tokens):
        found, layers, stop = find_first(values, since, frame)
        since = np.maximum(since, stop)
        since[found] = layers + 1
        if len(found):
            moved = tokens[found]
            inside = add(values[found], frame.tau[layers])
            numerators, scale = move(run, layers, inside, state.denominator)
            factor = find_growth(numerators, scale)
            if factor != 1:
                state.rescale(factor)
                values = multiply(values, factor)
                frame = Frame(run, state.denominator)
                numerators = multiply(numerators, factor)
            rows = add(state.numerators[moved], numerators // scale[:, None])
            state.put(moved, rows)
            after = product(rows, run.lines.direction)
            if after.dtype == object:
                values = values.astype(object)
            values[found] = after
        alive = since < length
        tokens, values, since = tokens[alive], values[alive], since[alive]
    if run.shifted:
        state.shift(frame.total)


def find_first(values: Array, since: Array, frame: Frame) -> tuple[Array, Array, int]:
    """(tokens, layers, stop): the first layer < stop, not before since[i], that has token i in its support, if any.

    ``stop`` bounds the number of pairs that are listed at once; it exceeds min(since).
    """
    start = int(since.min())
    order = values.argsort()
    ordered = values[order]
    first = np.searchsorted(ordered, frame.low[start:], side="right")
    last = np.searchsorted(ordered, frame.high[start:], side="left")
    counts = np.maximum(last - first, 0)
    listed = max(1, int(np.searchsorted(np.cumsum(counts), 4 * len(values) + SPARE, side="right")))
    layers, places = expand(first[:listed], counts[:listed])
    found = order[places]
    layers += start
    ahead = layers >= since[found]
    found, index = np.unique(found[ahead], return_index=True)  # layers rise: the first occurrence is the first layer
    return found, layers[ahead][index], start + listed


def move(run: Run, layers: Array, inside: Array, denominator: int) -> tuple[Array, Array]:
    """What layer layers[t] adds to a token with <u, x> = inside[t] beyond its shift: (T, d) over D scale (T,).

    With x over D: relu(c s + b) is max(C S + B D, 0) over g D. So D h_l(s) is, over g h,
    sum_k W_k max(C_k S + B_k D, 0) - D shift.
    """
    C, B, W = run.bounds
    c, b, s = room(C * bound_of(inside) + (B + 1) * denominator, run.lines.C[layers], run.lines.B[layers], inside)
    positive = np.maximum(c * s[:, None] + b * denominator, 0)
    shift = run.shift[layers] if run.shifted else None
    bound = positive.shape[1] * bound_of(positive) * W + denominator
    if shift is not None:
        bound += bound_of(shift) * denominator
    positive, weights = room(bound, positive, run.lines.W[layers])
    total = positive[:, 0, None] * weights[:, 0]
    for k in range(1, positive.shape[1]):
        total = total + positive[:, k, None] * weights[:, k]
    if shift is not None:
        total = total - shift.astype(total.dtype) * denominator
    return narrow(total), run.scale[layers]


def find_growth(numerators: Array, scale: Array) -> int:
    """The smallest f for which f numerators / scale are whole numbers."""
    wrong = np.flatnonzero((numerators % scale[:, None] != 0).any(axis=1))
    factors = (
        int(scale[i]) // gcd(int(scale[i]), *row) for i, row in zip(wrong, numerators[wrong].tolist(), strict=True)
    )
    return lcm(1, *factors)
