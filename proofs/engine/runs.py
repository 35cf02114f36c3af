"""Trusted. A run of hats on all tokens: each layer touches the tokens in its support and no others.

A shift moves all tokens rigidly. So let y be a token minus the shifts of the layers passed so far: layer l adds the
vector h_l(<u, y> + tau_l) to y, where tau_l = <u, sum of the shifts before l> and h_l = g_l - shift_l vanishes outside
of the support, slope and value of both tails. Only tokens whose <u, y> + tau_l lies strictly inside of the support
move; they are found in the sorted values <u, y>, each by the first layer that has it in its support. After a move a
token may lie in the support of any *later* layer: it is searched again, from the next layer on, until no support is
left. The exact layer decides where a token goes; what a search returns need only hold every token that moves.

Boxes are carried by their centers. On a box that does not reach into the support no unit changes its sign and the
layer is the shift; a search for the widest box among them finds all others.
"""

from __future__ import annotations

from math import gcd, lcm

import numpy as np

from proofs.engine.integers import Array, add, bound_of, expand, integer_array, multiply, narrow, product, room
from proofs.engine.program import Run, combine_units
from proofs.engine.radii import combine, uncertain, upper, whole
from proofs.engine.state import State

SPARE = 2**20  # pairs of a layer and a token looked at beyond four a token
CHUNK = 2**22  # entries of moduli held at once


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
    # tokens stand at most so far from where they are in the coordinates y
    drift = sum(bound_of(run.shift[l]) * state.denominator // int(run.scale[l]) + 1 for l in run.shifted)
    state.check_height(drift)
    length = len(run.shift)
    tokens = np.arange(len(state.numerators))
    since = np.zeros(len(tokens), dtype=np.int64)  # the first layer that has not seen the token
    values = state.project(run.lines.direction)
    modulus = upper(run.lines.direction, 1)
    reach = None
    if state.radii is not None:
        reach = combine(modulus[None], state.radii)[:, 0]
        since[~np.isfinite(reach)] = length
    while len(tokens):
        wide = 0 if reach is None else bound_of(whole(np.where(since < length, reach[tokens], 0), state.denominator))
        found, layers, stop = find_first(values, since, frame, wide)
        since = np.maximum(since, stop)
        since[found] = layers + 1
        if len(found):
            moved = tokens[found]
            units = find_units(run, layers, add(values[found], frame.tau[layers]), state.denominator)
            if reach is not None and state.radii is not None:
                state.radii[moved] = bend(run, layers, units, state.radii[moved], reach[moved], state.denominator)
                reach[moved] = combine(modulus[None], state.radii[moved])[:, 0]
                since[found[~np.isfinite(reach[moved])]] = length
            numerators, scale = move(run, layers, units, state.denominator)
            factor = find_growth(numerators, scale)
            if factor != 1:
                state.rescale(factor)
                values = multiply(values, factor)
                frame = Frame(run, state.denominator)
                numerators, drift = multiply(numerators, factor), drift * factor
            rows = add(state.numerators[moved], numerators // scale[:, None])
            state.put(moved, rows, drift)
            after = product(rows, run.lines.direction)
            if after.dtype == object:
                values = values.astype(object)
            values[found] = after
        alive = since < length
        tokens, values, since = tokens[alive], values[alive], since[alive]
    if run.shifted:
        state.shift(frame.total)


def find_first(values: Array, since: Array, frame: Frame, wide: int = 0) -> tuple[Array, Array, int]:
    """(tokens, layers, stop): the first layer < stop, not before since[i], whose support, widened on both sides, holds
    token i, if any.

    ``stop`` bounds the number of pairs that are listed at once; it exceeds min(since).
    """
    start = int(since.min())
    order = values.argsort()
    ordered = values[order]
    low, high = frame.low[start:], frame.high[start:]
    if wide:
        low, high = room(max(bound_of(low), bound_of(high)) + wide, low, high)
        low, high = low - wide, high + wide
    first = np.searchsorted(ordered, low, side="right")
    last = np.searchsorted(ordered, high, side="left")
    counts = np.maximum(last - first, 0)
    listed = max(1, int(np.searchsorted(np.cumsum(counts), 4 * len(values) + SPARE, side="right")))
    layers, places = expand(first[:listed], counts[:listed])
    found = order[places]
    layers += start
    ahead = layers >= since[found]
    found, index = np.unique(found[ahead], return_index=True)  # layers rise: the first occurrence is the first layer
    return found, layers[ahead][index], start + listed


def find_units(run: Run, layers: Array, inside: Array, denominator: int) -> Array:
    """C S + B D of every unit of layer layers[t] where <u, x> = S / D with S = inside[t]: (T, w) over g D."""
    C, B, _ = run.bounds
    c, b, s = room(C * bound_of(inside) + (B + 1) * denominator, run.lines.C[layers], run.lines.B[layers], inside)
    return np.asarray(c * s[:, None] + b * denominator)


def move(run: Run, layers: Array, units: Array, denominator: int) -> tuple[Array, Array]:
    """What layer layers[t] adds to a token with these units beyond its shift: (T, d) over D scale (T,).

    With x over D: relu(c s + b) is max(C S + B D, 0) over g D. So D h_l(s) is, over g h,
    sum_k W_k max(C_k S + B_k D, 0) - D shift.
    """
    positive = np.maximum(units, 0)
    shift = run.shift[layers] if run.shifted else None
    bound = positive.shape[1] * bound_of(positive) * run.bounds[2] + denominator
    if shift is not None:
        bound += bound_of(shift) * denominator
    positive, weights = room(bound, positive, run.lines.W[layers])
    total = combine_units(positive, weights)
    if shift is not None:
        total = total - shift.astype(total.dtype) * denominator
    return narrow(total), run.scale[layers]


def bend(run: Run, layers: Array, units: Array, radii: Array, reach: Array, denominator: int) -> Array:
    """The radii of boxes after layer layers[t]; inf where a unit may change its sign on the box.

    Unit k is certain if |C S + B D| >= |C| reach D. Then the layer is x -> M x + const with
    M = (scale I + v u^T) / scale, v = sum of C_k W_k over the active units.
    """
    C, W, scale = run.lines.C[layers], run.lines.W[layers], run.scale[layers]
    d = radii.shape[1]
    doubt = uncertain(units, combine(upper(C, 1)[:, :, None], reach[:, None]), denominator)
    active, weights = room(C.shape[1] * run.bounds[0] * run.bounds[2], C * (units > 0), W)
    v = combine_units(active, weights)
    columns = np.flatnonzero(radii.any(axis=0))
    bent = np.flatnonzero((v != 0).any(axis=1))
    bound = bound_of(scale) + bound_of(v) * bound_of(run.lines.direction)
    v, u, unity, scale = room(bound, v, run.lines.direction[columns], np.eye(d, dtype=np.int64)[:, columns], scale)
    result = radii.copy()
    for part in np.array_split(bent, 1 + len(bent) * d * len(columns) // CHUNK):
        M = scale[part, None, None] * unity + v[part, :, None] * u
        result[part] = combine(upper(M, scale[part, None, None]), radii[part][:, columns])
    result[doubt] = np.inf
    return result


def find_growth(numerators: Array, scale: Array) -> int:
    """The smallest f for which f numerators / scale are whole numbers."""
    wrong = np.flatnonzero((numerators % scale[:, None] != 0).any(axis=1))
    factors = (
        int(scale[i]) // gcd(int(scale[i]), *row) for i, row in zip(wrong, numerators[wrong].tolist(), strict=True)
    )
    return lcm(1, *factors)
