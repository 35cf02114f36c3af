"""Transformers and sequences aimed at each shortcut of the engine.

Everything is drawn from a source of choices, so that seeds and hypothesis draw from the same families.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.strategies import Choose, Token, transformer_bytes

F = Fraction
Unit = tuple[list[Fraction], list[Fraction], Fraction]  # W-column, U-row, bias


@dataclass(frozen=True)
class Case:
    """A transformer file and the sequences to run it on."""

    data: bytes
    sequences: list[list[Token]]


# ---------------------------------------------------------------------------------------------------------- sequences


def choose_sequences(choose: Choose, d: int, scale: int = 1) -> list[list[Token]]:
    """Small tokens on a lattice, many of them with equal products, some repeated, some shared."""
    denominator = choose(1, 3) * scale
    pool = [tuple(F(choose(-3, 3), denominator) for _ in range(d)) for _ in range(choose(2, 8))]
    return [[pool[choose(0, len(pool) - 1)] for _ in range(choose(1, 6))] for _ in range(choose(1, 3))]


def choose_positive_sequences(choose: Choose, d: int) -> list[list[Token]]:
    """Tokens >= 0 with zeros and equal coordinates, and often one that is largest, or nearly, in every coordinate."""
    result = []
    for _ in range(choose(1, 3)):
        tokens = [tuple(F(choose(0 if choose(0, 3) == 0 else 1, 3)) for _ in range(d)) for _ in range(choose(1, 5))]
        if choose(0, 2):
            corner = [max(token[c] for token in tokens) + choose(0, 1) for c in range(d)]
            if choose(0, 2) == 0:
                corner[choose(0, d - 1)] -= 1
            tokens.insert(choose(0, len(tokens)), tuple(corner))
        if choose(0, 1):
            tokens.append(tuple(F(-choose(1, 3)) for _ in range(d)))
        result.append(tokens)
    return result


# -------------------------------------------------------------------------------------------------------------- layers


def product(u: list[int], x: Token) -> Fraction:
    return sum((a * b for a, b in zip(u, x, strict=True)), F(0))


def choose_bump(choose: Choose, d: int, u: list[int], places: list[Fraction]) -> list[Unit]:
    """Units (W-column, U-row, bias) that vanish to both sides; kinks on the places, near them, or anywhere."""
    number = choose(2, 4)
    kinks = {places[choose(0, len(places) - 1)] + F(choose(-1, 1), choose(1, 4)) * choose(0, 1) for _ in range(number)}
    while len(kinks) < 2:
        kinks.add(max(kinks) + F(choose(1, 4), choose(1, 3)))
    t = sorted(kinks)
    free = [[F(choose(-3, 3), choose(1, 2)) for _ in range(d)] for _ in t[:-2]]
    if not free:
        return [([F(0)] * d, [F(x) for x in u], -t[0])]  # with two kinks only 0 is possible
    total = [sum(column, F(0)) for column in zip(*free, strict=True)]
    moment = [sum((v[c] * s for v, s in zip(free, t, strict=False)), F(0)) for c in range(d)]
    last = [(t[-2] * total[c] - moment[c]) / (t[-1] - t[-2]) for c in range(d)]
    vectors = [*free, [-total[c] - last[c] for c in range(d)], last]
    side = 1 if choose(0, 2) else -1  # all units to the right, or all to the left
    units = []
    for v, s in zip(vectors, t, strict=True):
        factor = F(side * choose(1, 3), choose(1, 2))
        units.append(([x / abs(factor) for x in v], [factor * x for x in u], -factor * s))
    return units


def choose_constant(choose: Choose, d: int) -> Unit:
    """A unit that adds a constant, or nothing when its bias is negative."""
    return ([F(choose(-2, 2), choose(1, 2)) for _ in range(d)], [F(0)] * d, F(choose(-1, 2)))


def feed_forward(units: list[Unit], eta: Any = 1) -> dict[str, Any]:
    """The record of a layer."""
    W, U, b = zip(*units, strict=True)
    return {
        "eta": str(eta),
        "W": [[str(w[c]) for w in W] for c in range(len(W[0]))],
        "U": [[str(x) for x in row] for row in U],
        "b": [str(x) for x in b],
    }


def choose_direction(choose: Choose, d: int) -> list[int]:
    """A direction that is not 0."""
    u = [choose(-2, 2) for _ in range(d)]
    return u if any(u) else [1] + [0] * (d - 1)


# ------------------------------------------------------------------------------------------------------------ families


def bumps(choose: Choose, scale: int = 1) -> Case:
    """Runs of bumps with kinks on tokens; tokens move into, out of and back into supports; some blocks shift too."""
    d = choose(2, 3)
    sequences = choose_sequences(choose, d, scale)
    u = choose_direction(choose, d)
    places = sorted({product(u, x) for tokens in sequences for x in tokens})
    places += [s + F(choose(-4, 4), 2) for s in places]  # where moved tokens may come
    blocks = []
    for _ in range(choose(1, 9)):
        if choose(0, 9) == 0:
            u = choose_direction(choose, d)
        units = choose_bump(choose, d, u, places)
        if choose(0, 4) == 0:
            units.append(choose_constant(choose, d))
        if choose(0, 9) == 0:
            units += choose_bump(choose, d, u, places)
        blocks.append({"ff": feed_forward(units)})
    return Case(transformer_bytes(d, blocks), sequences)


def near_overflow(choose: Choose) -> Case:
    """The same with tokens and weights around the limits of int64."""
    case = bumps(choose, 3 ** choose(0, 12))
    power = 1 << choose(50, 63)
    return Case(case.data, [[tuple(x * power + choose(-1, 1) for x in t) for t in s] for s in case.sequences])


def tails(choose: Choose) -> Case:
    """Layers that are nearly bumps: one vector or bias is off, so that a slope or a value of a tail is not 0."""
    d = choose(2, 3)
    sequences = choose_sequences(choose, d)
    u = choose_direction(choose, d)
    places = sorted({product(u, x) for tokens in sequences for x in tokens})
    blocks = []
    for _ in range(choose(1, 4)):
        units = choose_bump(choose, d, u, places)
        w, row, b = units[choose(0, len(units) - 1)]
        kind = choose(0, 3)
        if kind == 0:
            w[choose(0, d - 1)] += choose(1, 2)  # a slope, and a value
        elif kind == 1:
            units.append(([F(choose(-1, 1)) for _ in range(d)], [F(x) for x in row], b + choose(0, 1)))
            units.append(([-x for x in units[-1][0]], [F(x) for x in row], units[-1][2] + choose(0, 1)))  # a value
        elif kind == 2:
            v = [F(choose(-1, 1)) for _ in range(d)]  # (s)_+ against (-s)_+: slopes cancel in the sum, not at the sides
            units += [(v, [F(x) for x in u], F(0)), ([-x for x in v], [F(-x) for x in u], F(0))]
        else:
            units.append(([F(choose(-1, 1)) for _ in range(d)], [F(x) for x in choose_direction(choose, d)], F(0)))
        eta = [1, 1, 1, 0, -1, F(1, 2)][choose(0, 5)]
        blocks.append({"ff": feed_forward(units, eta)})
    return Case(transformer_bytes(d, blocks), sequences)


def attention(choose: Choose, A: dict[str, Any], sequences: list[list[Token]], d: int) -> Case:
    """One attention layer between a shift and a bump, so that merged rows go on."""
    V: dict[str, Any] = {"beta": [1, -1, "1/2", "2/3", 0][choose(0, 4)]}
    if choose(0, 3) == 0:
        V |= {"r": [choose(-1, 1) for _ in range(d)], "t": [choose(-1, 1) for _ in range(d)]}
    record = {"rho": [0, 0, 1, -1, "1/3"][choose(0, 4)], "V": V}
    if A:
        record["A"] = A
    u = choose_direction(choose, d)
    places = sorted({product(u, x) for tokens in sequences for x in tokens})
    after = [{"ff": feed_forward(choose_bump(choose, d, u, places))}, {"sa": {"rho": 0, "V": {"beta": 1}}}]
    return Case(transformer_bytes(d, [{"sa": record}, *after]), sequences)


def uniform(choose: Choose) -> Case:
    """A = 0: means with multiplicities, lengths that do not divide each other."""
    d = choose(2, 3)
    zero = [{}, {"alpha": 0}, {"p": [0] * d, "q": [1] * d}][choose(0, 2)]
    return attention(choose, zero, choose_sequences(choose, d), d)


def by_products(choose: Choose) -> Case:
    """A = p q^T: queries of both signs and 0, ties."""
    d = choose(2, 3)
    p, q = choose_direction(choose, d), choose_direction(choose, d)
    return attention(choose, {"p": p, "q": q}, choose_sequences(choose, d), d)


def aligned(choose: Choose) -> Case:
    """A = alpha I: dominance that holds, that holds with equality, that fails in one coordinate; queries with zeros."""
    d = choose(2, 3)
    alpha = [1, "1/2", -1, 3][choose(0, 3)]
    sequences = choose_positive_sequences(choose, d) if choose(0, 3) else choose_sequences(choose, d)
    return attention(choose, {"alpha": alpha}, sequences, d)


def dense(choose: Choose) -> Case:
    """Any A."""
    d = choose(2, 3)
    A: dict[str, Any] = {"dense": [[choose(-2, 2) for _ in range(d)] for _ in range(d)]}
    if choose(0, 1):
        A = {"alpha": choose(-1, 1), "p": choose_direction(choose, d), "q": choose_direction(choose, d)}
    return attention(choose, A, choose_sequences(choose, d), d)


def merged(choose: Choose) -> Case:
    """rho = 0 merges tokens into rows of different weights, which then tie, under any A, and move on."""
    d = choose(2, 3)
    sequences = choose_sequences(choose, d)
    sequences = [tokens + tokens[: choose(0, len(tokens))] for tokens in sequences]
    p, q = choose_direction(choose, d), choose_direction(choose, d)
    first = {"rho": 0, "A": {"p": p, "q": q}, "V": {"beta": 1}}
    tie = [1] + [0] * (d - 1)
    scores: list[dict[str, Any]] = [
        {"alpha": [1, -1][choose(0, 1)]},
        {"dense": [[int(i == j == 0) for j in range(d)] for i in range(d)]},
        {"alpha": 0, "p": tie, "q": choose_direction(choose, d)},
        {},
    ]
    blocks: list[dict[str, Any]] = [{"sa": first}]
    if choose(0, 1):  # everything onto one hyperplane: every score of the next layer ties
        W = [["-1"] if c == 0 else ["0"] for c in range(d)]
        flat = {"eta": 1, "W": [[w[0], str(-int(w[0]))] for w in W], "U": [tie, [-x for x in tie]], "b": [0, 0]}
        blocks.append({"ff": flat})
    for _ in range(choose(1, 2)):
        A = scores[choose(0, 3)]
        record: dict[str, Any] = {"rho": choose(0, 1), "V": {"beta": [1, "1/2"][choose(0, 1)]}}
        blocks.append({"sa": record | ({"A": A} if A else {})})
    return Case(transformer_bytes(d, blocks), sequences)


FAMILIES: dict[str, Callable[[Choose], Case]] = {
    "bumps": bumps,
    "near overflow": near_overflow,
    "tails": tails,
    "uniform": uniform,
    "products": by_products,
    "aligned": aligned,
    "dense": dense,
    "merged": merged,
}
