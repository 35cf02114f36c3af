"""Sequences and transformers aimed at one shortcut of the engine each, drawn from a source of choices.

A case is (dimension, sequences of tokens, block records). Random transformers miss most faults of shortcuts; these are
made so that a wrong shortcut shows soon (test_planted_faults.py holds them to that).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

Choose = Callable[[int, int], int]
Case = tuple[int, list[list[tuple[Fraction, ...]]], list[dict[str, Any]]]


def text(values: Any) -> Any:
    """Numbers as the text of a file."""
    return [text(v) for v in values] if isinstance(values, list | tuple) else str(values)


def tokens_of(choose: Choose, d: int, size: int, low: int = -3, high: int = 3) -> list[tuple[Fraction, ...]]:
    return [tuple(Fraction(choose(low, high)) for _ in range(d)) for _ in range(size)]


def sequences_of(choose: Choose, d: int, low: int = -3, high: int = 3) -> list[list[tuple[Fraction, ...]]]:
    return [tokens_of(choose, d, choose(1, 4), low, high) for _ in range(choose(1, 3))]


def direction_of(choose: Choose, d: int) -> list[int]:
    return [choose(1, 3), *(choose(-2, 3) for _ in range(d - 1))]


def hat(u: list[int], center: Any, width: Any, vector: list[Any], sign: int = 1) -> list[tuple[list[Any], ...]]:
    """Units (W column, U row, bias) that move x by ``vector`` where <u, x> = center; sign -1 writes it with -u."""
    steep = [Fraction(v) / width for v in vector]
    row = [sign * x for x in u]
    kinks = [center - width, center, center + width]
    return [([k * s for s in steep], row, -sign * at) for k, at in zip((1, -2, 1), kinks, strict=True)]


def block_of(units: list[Any], eta: Any = 1, **more: Any) -> dict[str, Any]:
    """A block record from units."""
    columns, rows, biases = zip(*units, strict=True)
    W = [list(row) for row in zip(*columns, strict=True)]
    return {"ff": {"eta": str(eta), "W": text(W), "U": text(rows), "b": text(biases)}} | more


def constant(vector: list[Any]) -> tuple[list[Any], list[Any], Any]:
    return vector, [0] * len(vector), 1


def hats(choose: Choose) -> Case:
    """Runs of hats: kinks on tokens, either sign of the coefficients, narrow and wide, tokens that move on."""
    d = choose(2, 3)
    u = direction_of(choose, d)
    blocks = []
    for _ in range(choose(1, 6)):
        vector = [choose(-3, 3) for _ in range(d)]
        units = hat(u, choose(-6, 6), choose(1, 3), vector, 1 - 2 * choose(0, 1))
        blocks.append(block_of(units))
    return d, sequences_of(choose, d), blocks


def shifts(choose: Choose) -> Case:
    """Hats with constant shifts in between and inside, whole and not."""
    d = choose(2, 3)
    u = direction_of(choose, d)
    blocks = []
    for _ in range(choose(2, 6)):
        vector = [Fraction(choose(-2, 2), choose(1, 2)) for _ in range(d)]
        units = hat(u, choose(-6, 6), choose(1, 2), [choose(-2, 2) for _ in range(d)]) if choose(0, 2) else []
        blocks.append(block_of([*units, constant(vector)] if choose(0, 1) or not units else units))
    return d, sequences_of(choose, d), blocks


def growth(choose: Choose) -> Case:
    """Hats whose shifts and slopes bring in denominators in the middle of a run."""
    d = choose(2, 3)
    u = direction_of(choose, d)
    blocks = []
    for _ in range(choose(2, 5)):
        vector = [Fraction(choose(-4, 4), choose(1, 5)) for _ in range(d)]
        blocks.append(block_of(hat(u, Fraction(choose(-12, 12), choose(1, 3)), choose(1, 4), vector)))
    return d, sequences_of(choose, d), blocks


def curves(choose: Choose) -> Case:
    """Layers that read one direction and are almost hats: one tail has a slope or another value."""
    d = choose(2, 3)
    u = direction_of(choose, d)
    blocks = []
    for _ in range(choose(1, 4)):
        units = hat(u, choose(-4, 4), choose(1, 2), [choose(-2, 2) for _ in range(d)])
        fault = choose(0, 4)
        if fault == 0:  # a step: slopes vanish, values differ
            units = [([1] * d, u, 2), ([-1] * d, u, choose(-1, 1))]
        elif fault == 1:  # the same from the left
            units = [([1] * d, [-x for x in u], 2), ([-1] * d, [-x for x in u], choose(-1, 1))]
        elif fault == 2:  # a slope to the right
            units = [*units, ([1] + [0] * (d - 1), u, choose(-3, 3))]
        elif fault == 3:  # a slope to the left
            units = [*units, ([1] + [0] * (d - 1), [-x for x in u], choose(-3, 3))]
        blocks.append(block_of(units))
    return d, sequences_of(choose, d), blocks


def large(choose: Choose) -> Case:
    """Numbers around 2^31, 2^62 and 2^63: products and sums that leave 64 bits by a little."""
    d = 2
    u = [choose(1, 2), choose(-1, 1)]
    exponents = (20, 31, 32, 61, 62, 63)

    def number() -> int:
        return choose(-1, 1) * 2 ** exponents[choose(0, 5)] + choose(-2, 2)

    sequences = [[(Fraction(number()), Fraction(number())) for _ in range(choose(1, 3))] for _ in range(2)]
    blocks: list[dict[str, Any]] = []
    for _ in range(choose(1, 3)):
        kind = choose(0, 4)
        if kind < 3:
            at = sequences[choose(0, 1)][0]
            center = sum(a * b for a, b in zip(u, at, strict=True)) + choose(-1, 1)
            blocks.append(block_of(hat(u, center, 2 ** choose(0, 40), [number(), number()])))
        elif kind == 3:
            blocks.append({"sa": {"rho": str(choose(0, 2)), "V": {"beta": "1"}}})
        else:
            blocks.append({"sa": {"rho": "1", "A": {"alpha": str(choose(-1, 1))}, "V": {"beta": "1"}}})
    return d, sequences, blocks


def lines(choose: Choose) -> Case:
    """A = p q^T: queries of both signs and zero, ties, repeated tokens; twice, so that states after it count."""
    d = choose(2, 3)
    blocks = []
    for _ in range(choose(1, 2)):
        p, q = ([choose(-1, 2) for _ in range(d)] for _ in range(2))
        blocks.append({"sa": {"rho": str(choose(0, 1)), "A": {"p": text(p), "q": text(q)}, "V": {"beta": "1"}}})
    return d, [tokens_of(choose, d, choose(1, 6), -1, 1) for _ in range(choose(1, 3))], blocks


def dominance(choose: Choose) -> Case:
    """A = alpha I on sequences with a largest or smallest corner, or almost: zero coordinates, equal ones, copies."""
    d = choose(2, 3)
    sequences = []
    for _ in range(choose(1, 3)):
        low, high = ((0, 2), (1, 3), (-2, 0), (-3, -1), (-2, 2))[choose(0, 4)]
        tokens = tokens_of(choose, d, choose(1, 4), low, high)
        if choose(0, 2):
            corner = max if choose(0, 1) else min
            tokens.insert(choose(0, len(tokens)), tuple(corner(column) for column in zip(*tokens, strict=True)))
        if choose(0, 1):
            tokens.append(tokens[choose(0, len(tokens) - 1)])
        sequences.append(tokens)
    alpha = str(Fraction(choose(1, 3) * (1 - 2 * choose(0, 1)), choose(1, 2)))
    blocks = [{"sa": {"rho": str(choose(0, 1)), "A": {"alpha": alpha}, "V": {"beta": "1"}}}]
    return d, sequences, blocks


def merging(choose: Choose) -> Case:
    """Attention with rho = 0 merges tokens; means and ties afterwards must count every copy."""
    d = 2
    kinds: list[dict[str, Any]] = [
        {"A": {"alpha": "1"}},
        {"A": {"p": ["1", "0"], "q": ["0", "1"]}},
        {"A": {"dense": [["0", "1"], ["1", "0"]]}},
        {},
    ]
    first, second = kinds[choose(0, 2)], kinds[choose(0, 3)]
    blocks = [
        {"sa": {"rho": "0", "V": {"beta": "1"}} | first},
        {"sa": {"rho": str(choose(0, 2)), "V": {"beta": "1"}} | second},
    ]
    return d, [tokens_of(choose, d, choose(2, 6), -2, 2) for _ in range(choose(1, 2))], blocks


def general(choose: Choose) -> Case:
    """eta other than 1, rho other than 1, V = 0, dense A and V, directions that change, blocks without units."""
    d = 2
    blocks: list[dict[str, Any]] = []
    for _ in range(choose(1, 4)):
        block: dict[str, Any] = {}
        kind = choose(0, 4)
        if kind == 0:
            block = {"ff": {"eta": str(Fraction(choose(-2, 2), choose(1, 2)))}}
        elif kind < 4:
            u = direction_of(choose, d)
            units = hat(u, choose(-3, 3), choose(1, 2), [choose(-2, 2) for _ in range(d)])
            if kind == 2:
                units[choose(0, 2)][1][0] += 1
            block = block_of(units, 1 if kind == 1 else choose(-1, 2))
        if choose(0, 1):
            dense = [[str(choose(-1, 1)) for _ in range(d)] for _ in range(d)]
            block["sa"] = {"rho": str(Fraction(choose(-2, 2), choose(1, 2)))}
            if choose(0, 1):
                block["sa"]["V"] = {"dense": dense}
            if choose(0, 1):
                block["sa"]["A"] = {"dense": dense} if choose(0, 1) else {"alpha": "1", "p": dense[0], "q": dense[1]}
        blocks.append(block)
    return d, sequences_of(choose, d), blocks


def planes(choose: Choose) -> Case:
    """A layer with eta = 0, then bends that read the same or other directions: kinks on tokens and just beside them,
    ties, copies, tokens nearly on one line; means in between; points that come loose and are read again."""
    d = choose(2, 3)
    sequences = sequences_of(choose, d, -2, 2)
    if choose(0, 1):
        sequences = [tokens + tokens[: choose(0, len(tokens))] for tokens in sequences]
    if choose(0, 2) == 0:  # nearly on a line
        v = direction_of(choose, d)
        sequences = [[tuple(t * x for x in v) for t in range(-2, choose(0, 4))] for _ in range(2)]
        nudged = list(sequences[0][choose(0, len(sequences[0]) - 1)])
        nudged[-1] += Fraction(choose(-1, 1), 2 ** choose(1, 70))
        sequences[0].append(tuple(nudged))

    def unit() -> tuple[list[Any], list[Any], Any]:
        row = [choose(-1, 1) for _ in range(d)] if choose(0, 2) else [1] + [0] * (d - 1)
        kink = choose(-3, 3) + Fraction(choose(-1, 1), (2, 3, 2**60)[choose(0, 2)]) * choose(0, 1)
        return [Fraction(choose(-2, 2), choose(1, 3)) for _ in range(d)], row, kink

    blocks: list[dict[str, Any]] = [block_of([unit() for _ in range(choose(1, 3))], 0)]
    for _ in range(choose(1, 5)):
        kind = choose(0, 5)
        if kind == 0:
            blocks.append({"sa": {"rho": str(choose(0, 1)), "V": {"beta": str(Fraction(choose(1, 2), choose(1, 2)))}}})
        elif kind == 1:
            r, t = ([choose(-1, 1) for _ in range(d)] for _ in range(2))
            blocks.append({"sa": {"rho": str(choose(0, 1)), "V": {"beta": "0", "r": text(r), "t": text(t)}}})
        else:
            blocks.append(block_of([unit() for _ in range(choose(1, 4))], 0 if choose(0, 4) == 0 else 1))
    return d, sequences, blocks


def stages(choose: Choose) -> Case:
    """Tokens of a line or a plane come loose from one end, one or two a block; then a unit sees some loose ones only."""
    sequences = [[(Fraction(i), Fraction(i * i % 7)) for i in part] for part in (range(12), range(12, 14))]
    units = [([1, 0], [1, 0], 1), ([0, 1], [0, 1], 1)]
    blocks = [block_of(units[: choose(1, 2)], 0)]
    kink = 15
    for _ in range(choose(2, 5)):
        kink -= choose(1, 2)
        blocks.append(block_of([([0, (1, 100, -100)[choose(0, 2)]], [1, 0], -kink)]))
    side = 1 - 2 * choose(0, 1)
    blocks.append(block_of([([choose(-3, 3), 1], [0, side], -choose(30, 90))]))
    return 2, sequences, blocks


def scaled(choose: Choose) -> Case:
    """Hats and bends on tokens times E, which every layer changes: E negative, in thirds, tall, and anew after 0."""
    d = 2
    u = direction_of(choose, d)
    etas = [Fraction(x) for x in ("1", "2", "-1", "1/3", "-3/2", "0", f"1/{2**90}", str(-(2**70)))]
    blocks: list[dict[str, Any]] = []
    E = Fraction(1)
    for _ in range(choose(1, 6)):
        eta = etas[choose(0, 7)]
        units = hat(u, choose(-6, 6), choose(1, 3), [choose(-3, 3) for _ in range(d)])
        if choose(0, 3) == 0:
            units = [([choose(-2, 2) for _ in range(d)], [choose(-1, 1) for _ in range(d)], choose(-2, 2))]
        after = E * eta or Fraction(1)
        block = block_of([([after * x for x in w], [x / E for x in row], b) for w, row, b in units], eta)
        E = after
        kind = choose(0, 5)
        if kind < 2:
            rho = etas[choose(0, 7)]
            block["sa"] = {"rho": str(rho)}
            E = E * rho or Fraction(1)
        elif kind == 2:
            alpha = text(Fraction(choose(-1, 3) * 8) / E**2)
            block["sa"] = {"rho": str(choose(-1, 1)), "A": {"alpha": alpha}, "V": {"beta": "1"}}
        blocks.append(block)
    return d, sequences_of(choose, d), blocks


def boxed(choose: Choose) -> Case:
    """Softmax with gaps above, at and below the cap of weights, then layers that make points of boxes, or almost.

    After the attention come hats and trapezoids, or a line and flat places around whole numbers, some too narrow.
    """
    d = 2
    alpha = (1, 8, 40, 128, 511, 512, 2**14, -256)[choose(0, 7)]
    beta = {"dense": [["1", "-1"], ["0", str(choose(0, 1))]]} if choose(0, 3) == 0 else {"beta": str(choose(1, 2))}
    blocks: list[dict[str, Any]] = [{"sa": {"rho": str(choose(0, 3) // 3), "A": {"alpha": str(alpha)}, "V": beta}}]
    if choose(0, 5) == 0:
        blocks.insert(0, {"sa": {"rho": str(choose(0, 1)), "V": {"beta": "1"}}})
    u = direction_of(choose, d)
    if choose(0, 3):
        blocks.append(block_of([([1, 0], u, 64)], 0))
        u = [1, 0]
    moved = 64 if u == [1, 0] else 0
    centers = range(moved - 9, moved + 10)
    size = (2**-1, 2**-5, 2**-39, 2**-120, 2**-505, 2**-514)[choose(0, 5)]
    width = Fraction(size)
    for center in sorted({centers[choose(0, len(centers) - 1)] for _ in range(choose(1, 6))}):
        target = [choose(-3, 3) for _ in range(d)]
        if choose(0, 1):
            blocks.append(block_of(hat(u, center + Fraction(1, 2), choose(1, 3), target)))
            continue
        at = [center - 2 * width, center - width, center + width, center + 2 * width]
        low, high = ([Fraction(y) - (at[k] if c == 0 else 0) for c, y in enumerate(target)] for k in (1, 2))
        if not moved:
            low = high = [Fraction(y) for y in target]
        up, down = ([x / width for x in low], [-x / width for x in high])
        middle = [(h - l) / (2 * width) for l, h in zip(low, high, strict=True)]
        slopes = [[Fraction(0)] * d, up, middle, down, [Fraction(0)] * d]
        columns = [[b - a for a, b in zip(left, right, strict=True)] for left, right in pairwise(slopes)]
        blocks.append(block_of([(w, u, -k) for w, k in zip(columns, at, strict=True)]))
    if choose(0, 1) == 0:
        blocks.insert(choose(2, len(blocks)), block_of([constant([choose(-1, 1) for _ in range(d)])]))
    if choose(0, 6) == 0:
        blocks.append({"sa": {"rho": "1", "A": {"alpha": "1"} if choose(0, 1) else {}, "V": {"beta": "1"}}})
    return d, [tokens_of(choose, d, choose(1, 4), -3, 3) for _ in range(choose(1, 3))], blocks


def wide(choose: Choose) -> Case:
    """Softmax with A of every form and small gaps, so that boxes are wide; then hats and curves that stretch them, turn
    them, and have kinks in them, beside them and on their ends."""
    d = 2
    p, q = ([choose(-1, 2) for _ in range(d)] for _ in range(2))
    forms: list[dict[str, Any]] = [
        {"alpha": text((1, 2, 4, -2)[choose(0, 3)])},
        {"p": text([2 * x for x in p]), "q": text([Fraction(x, choose(1, 2)) for x in q])},
        {"dense": text([[choose(-1, 2) for _ in range(d)] for _ in range(d)])},
    ]
    record = {"rho": str(choose(0, 3) // 3), "A": forms[choose(0, 2)], "V": {"beta": "1"}}
    if choose(0, 3) == 0:
        record["V"] = {"dense": text([[choose(-1, 1) for _ in range(d)] for _ in range(d)])}
    blocks: list[dict[str, Any]] = [{"sa": record}]
    u = direction_of(choose, d)
    for _ in range(choose(1, 5)):
        at, vector = Fraction(choose(-16, 16), 4), [choose(-4, 4) for _ in range(d)]
        if choose(0, 3):
            blocks.append(block_of(hat(u, at, Fraction(choose(1, 8), 4), vector)))
        else:
            row = [choose(-1, 1) for _ in range(d)]
            blocks.append(block_of([(vector, row, -at), ([1, 0], u, choose(0, 9))], choose(0, 1)))
    if choose(0, 4) == 0:
        blocks.append({"sa": {"rho": str(choose(0, 1)), "V": {"beta": str(choose(0, 1))}}})
    return d, [tokens_of(choose, d, choose(1, 4), -3, 3) for _ in range(choose(1, 3))], blocks


def extreme(choose: Choose) -> Case:
    """Softmax, then layers with numbers about the largest float, about the smallest and about their roots, which bring
    boxes out of what float64 holds, make points of them, or lead them back."""
    d = 2
    sizes = [Fraction(x) for x in (1, 2**511, 2**512, 2**1023, 2**1024 - 2**971, 2**1024)]
    sizes += [1 / x for x in sizes[1:4]] + [Fraction(1, 2**e) for e in (537, 1073, 1074, 1075)]

    def size() -> Fraction:
        return sizes[choose(0, len(sizes) - 1)]

    c = size() if choose(0, 1) else Fraction(1)  # how large tokens are
    alpha = text(Fraction((1, 8, 600)[choose(0, 2)]) / c**2)
    V = {"beta": text(size() if choose(0, 3) == 0 else 1)}
    blocks: list[dict[str, Any]] = [{"sa": {"rho": str(choose(0, 2) // 2), "A": {"alpha": alpha}, "V": V}}]
    for _ in range(choose(1, 4)):
        low, high = size(), size()
        row = [[high, 0], [0, high], [high, high]][choose(0, 2)]
        column = [[low, 0], [0, -low], [low, low / 2]][choose(0, 2)]
        kind = choose(0, 3)
        if kind == 0:  # on and off again: 0 where units are active
            blocks.append(block_of([(column, row, 0), ([-x for x in column], row, 0)], choose(0, 1)))
        elif kind == 1:
            blocks.append(block_of([(column, row, choose(0, 1) * size())], choose(0, 1)))
        elif kind == 2:
            blocks.append(block_of([(column, [0, 0], 1)], size() if choose(0, 1) else 1))
        else:
            u = direction_of(choose, d)
            blocks.append(block_of(hat(u, c * choose(-4, 4), c, [x * choose(0, 1) for x in column])))
    if choose(0, 2) == 0:
        blocks.append({"sa": {"rho": "0", "V": {"beta": text(size())}}})
    sequences = [tokens_of(choose, d, choose(1, 3), 0, 3) for _ in range(choose(1, 2))]
    return d, [[tuple(c * x for x in token) for token in tokens] for tokens in sequences], blocks


FAMILIES = {
    family.__name__: family
    for family in (hats, shifts, growth, curves, large, lines, dominance, merging, general, planes, stages, scaled)
}
