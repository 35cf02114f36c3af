"""A second checker of interp in one file: exact arithmetic, standard library only, no code shared with `proofs.kernel`.

THE STATEMENT. DATA holds pairs (X_j, Y_j) of lists of points of Q^d, the tokens. WITNESS holds a transformer T, which
maps lists of tokens to lists of the same length. *Verified*: for every pair and at every temperature in S the set of
tokens of T(X_j) is the set Y_j, and T has at most the claimed width, blocks and parameters. S is "0", "(0,T]", "[0,T]",
"(0,oo)" or "[0,oo)". *Refuted*: an obligation is false (for S = (0,T]: at every temperature). *Undecided*: neither was
proved. The statement is made of DATA and the options; what WITNESS claims of itself is never used. Defaults: S = {0},
or (0,1] for softmax; width 4; blocks 2M + 2N + 1 if S contains 0, else 2M + 3N; parameters (10d + 8) blocks. Here N
counts the pairs that differ as pairs of sets, and M is the sum of |Y_j| over these N.

THE TRANSFORMER is a list of blocks, each a feed-forward layer and then a self-attention layer:
    FF(x) = eta x + sum_k relu(<u_k, x> + b_k) w_k      u_k a row of U, w_k a column of W, k = 1..width
    SA_i  = rho x_i + V sum_l pi_il x_l                 with the scores s_il = <A x_i, x_l>
At temperature 0 (hardmax) pi_i is uniform on the l of largest s_il; at tau > 0 (softmax) pi_il is proportional to
exp(s_il / tau). A repeated token counts as often as it occurs. All numbers are rational; no float occurs in this file.
Temperature 0 is computed as written. Equal tokens stay equal, so they are kept once, with their number of copies m.

ALL TEMPERATURES IN (0, tau*] AT ONCE. A token becomes a box: a centre c and a radius r >= 0 for each coordinate, such
that the token lies within r of c at every tau in (0, tau*]. At the start r = 0. The rules:
 1. FF. On the box <u_k, x> + b_k is within |u_k| r of its value z at c. If z >= |u_k| r then relu is the identity on
    the box, if z <= -|u_k| r it is 0, otherwise the pair is undecided. So FF is x -> M x + const there, M = eta I + sum
    of w_k u_k^T over the active k, and the token lands within |M| r of FF(c). That is exactly 0 where M cancels.
 2. Gaps. A x_i is within t := |A| r_i of q := A c_i. Let l* have the largest score at the centres. For l != l* put
    D := c_l* - c_l and R := r_l* + r_l. Then s_il* - s_il = <A x_i, x_l* - x_l> is within e := <|q|, R> + <t, |D| + R>
    of <q, D>, hence at least g := <q, D> - e.
 3. Small weights. If k := floor(g / tau*) >= 1 then pi_il <= (m_l / m_l*) exp(-g / tau) <= (m_l / m_l*) exp(-g / tau*)
    <= (m_l / m_l*) 2^-min(k, 512) =: eps_l. Let C be the set of l* and of all l with k < 1 (of all l, if tau* = oo).
 4. The mean h of C, with weights proportional to pi_i. If <q, D> = e = 0 on C, all its scores are equal at every tau:
    h = sum_C m_l x_l / sum_C m_l. Otherwise h lies in the smallest box that contains the boxes of C.
 5. Together. sum_l pi_il x_l = h + sum_(l not in C) pi_il (x_l - h) is within sum eps_l |x_l - h| of h, and SA_i within
    |rho| r_i + |V| r of rho c_i + V c, if that sum lies in the box (c, r).
 6. Radii are only ever rounded up. Boxes are merged only if they are one point (r = 0), never because they look alike.

COMPARISON. A pair is verified if every final box is a point and the set of them is Y_j; refuted if some box contains no
point of Y_j, or some point of Y_j is in no box; else undecided. At temperature 0 all boxes are points.
File formats: docs/reference/formats.md, read strictly. Exit codes: Status below, never 1.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from math import gcd, lcm
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple

MAX_BYTES, MAX_DIGITS, MAX_EXPONENT, MAX_HEIGHT = 4 * 10**9, 10_000, 10_000, 4 * 10**6  # height: bits in a forward pass
WEIGHT_BITS, RADIUS_BITS, ZERO, HALF = 512, 64, Fraction(0), Fraction(1, 2)  # rules 3 and 6
NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?|/([1-9][0-9]*))")
OPTIONS = {"attention": str, "temperatures": str, "max_width": int, "max_blocks": int, "max_parameters": int}
Vector = tuple[int, ...]  # (X_1, ..., X_d, D), without common factor and with D > 0, is the point (X_1/D, ..., X_d/D)
Box = tuple[Vector, Vector, int]  # centre, radius, copies
Status = IntEnum(
    "Status", {"VERIFIED": 0, "USAGE": 2, "REFUTED": 10, "UNDECIDED": 11, "MALFORMED": 12, "LIMIT": 13, "FAULT": 14}
)


class Result(NamedTuple):
    """The answer to a statement, or to a part of it."""

    status: Status
    detail: str


class Stop(Exception):
    """Ends the work on a statement, or on one pair; has the arguments of a Result."""


def need(condition: bool, fault: str, status: Status = Status.MALFORMED) -> None:
    """Stop unless the condition holds."""
    if not condition:
        raise Stop(status, fault[:300])


class Literal(str):
    """A JSON number as it was written."""


def unique(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its entries, no key of which may come twice."""
    if len(dict(entries)) < len(entries):
        raise ValueError("a key is given twice")
    return dict(entries)


def parse(text: bytes, place: str) -> "Node":
    """Read one JSON value; int refuses what parse_constant gets: NaN, Infinity, -Infinity."""
    hooks = {"parse_int": Literal, "parse_float": Literal, "parse_constant": int}
    try:
        return Node(json.loads(text.decode("utf-8"), object_pairs_hook=unique, **hooks), place)
    except (ValueError, RecursionError) as error:
        raise Stop(Status.MALFORMED, f"{place}: not strict JSON: {str(error)!a}"[:300]) from error


class Node(NamedTuple):
    """A JSON value and its place; the methods return it as what it should be, or find it malformed."""

    value: Any
    place: str

    def fields(self, required: str, optional: str = "") -> dict[str, "Node"]:
        """Return an object that has all required keys and no unknown one."""
        need(isinstance(self.value, dict), f"{self.place}: expected an object")
        known = set(required.split()) <= set(self.value) <= set(f"{required} {optional}".split())
        need(known, f"{self.place}: expected the keys {required}, and if you like {optional}")
        return {key: Node(value, f"{self.place}.{key}") for key, value in self.value.items()}

    def items(self, size: int | None = None) -> list["Node"]:
        """Return a list, of this size if one is given."""
        fits = isinstance(self.value, list) and size in (None, len(self.value))
        need(fits, f"{self.place}: expected a list" + ("" if size is None else f" of length {size}"))
        return [Node(value, f"{self.place}[{i}]") for i, value in enumerate(self.value)]

    def natural(self) -> int:
        """Return a natural number that is written as a JSON integer."""
        need(
            isinstance(self.value, Literal) and bool(re.fullmatch("[0-9]{1,15}", self.value)), f"{self.place}: no count"
        )
        return int(self.value)

    def number(self) -> Fraction:
        """Return the rational that is written; Decimal is exact here and, unlike int, takes more than 4300 digits."""
        match = NUMBER.fullmatch(self.value) if isinstance(self.value, str) else None
        if match is None:
            raise Stop(Status.MALFORMED, f"{self.place}: expected an integer, a decimal or a fraction")
        sign, whole, decimals, exponent, denominator = (group or "" for group in match.groups())
        power = exponent.lstrip("+-").lstrip("0") or "0"
        need(len(whole + decimals + exponent + denominator) <= MAX_DIGITS, f"{self.place}: too long", Status.LIMIT)
        need(len(power) < 9 and int(power) <= MAX_EXPONENT, f"{self.place}: too large an exponent", Status.LIMIT)
        scale = int(power) * (-1 if exponent.startswith("-") else 1) - len(decimals)
        return Fraction(int(Decimal(sign + whole + decimals)), int(Decimal(denominator or "1"))) * Fraction(10) ** scale

    def numbers(self, size: int | None = None) -> list[Fraction]:
        """Return a list of numbers."""
        return [entry.number() for entry in self.items(size)]

    def matrix(self, height: int, width: int) -> list[list[Fraction]]:
        """Return the rows of a matrix, which is written as rows or as the product of a column and a row."""
        if not isinstance(self.value, dict):
            return [row.numbers(width) for row in self.items(height)]
        column, row = self.fields("outer")["outer"].items(2)
        return [[a * b for b in row.numbers(width)] for a in column.numbers(height)]

    def linear_map(self, d: int, scale: str, column: str, row: str) -> "tuple[LinearMap, int]":
        """Return A or V, which is scale I + column row^T or dense, and the number of its parameters."""
        if isinstance(self.value, dict) and "dense" in self.value:
            rows = [vector(row) for row in self.fields("dense")["dense"].matrix(d, d)]
            terms = [((*(int(i == j) for i in range(d)), 1), row) for j, row in enumerate(rows)]
            return LinearMap(ZERO, terms), d * d
        entry = self.fields("", f"{scale} {column} {row}")
        factor = entry[scale].number() if scale in entry else ZERO
        if column not in entry and row not in entry:
            return LinearMap(factor), 1
        self.fields(f"{column} {row}", scale)
        return LinearMap(factor, [(vector(entry[column].numbers(d)), vector(entry[row].numbers(d)))]), 1 + 2 * d

    def block(self, index: int, d: int) -> "Block":
        """Return a block, its parameters counted; u and w have the rows of U and of W."""
        entry = self.fields("block", "ff sa")
        need(entry["block"].natural() == index, f"{self.place}: this should be block {index}")
        ff = entry.get("ff", Node({"eta": "1"}, "")).fields("eta", "W U b")
        sa = entry.get("sa", Node({"rho": "1"}, "")).fields("rho", "A V")
        need(len(ff) in (1, 4), f"{self.place}: W, U and b come together")
        b = ff["b"].numbers() if "b" in ff else []
        u = [vector(row) for row in ff["U"].matrix(len(b), d)] if "b" in ff else []
        w = ff["W"].matrix(d, len(b)) if "b" in ff else []
        rows = list(dict.fromkeys(u))
        units = [(rows.index(u[k]), b[k], vector([row[k] for row in w])) for k in range(len(b))]
        a, size_a = sa.get("A", Node({}, "")).linear_map(d, "alpha", "p", "q")
        v, size_v = sa.get("V", Node({}, "")).linear_map(d, "beta", "r", "t")
        size = len(units) * (2 * d + 1) + 2 + size_a + size_v
        return Block(ff["eta"].number(), rows, units, sa["rho"].number(), a, v, size)


def vector(x: Sequence[Fraction]) -> Vector:
    """Return the point with these coordinates."""
    den = lcm(*(a.denominator for a in x))
    return (*(a.numerator * (den // a.denominator) for a in x), den)


def combine(*terms: tuple[Fraction | int, Vector]) -> Vector:
    """Return sum_k factor_k x_k over the terms (factor_k, x_k)."""
    den = lcm(*(factor.denominator * x[-1] for factor, x in terms if factor))
    total = [0] * (len(terms[0][1]) - 1)
    for factor, x in terms:
        if factor:
            scale = factor.numerator * (den // (factor.denominator * x[-1]))
            total = [a + scale * b for a, b in zip(total, x[:-1], strict=True)]
    need(max(den, *map(abs, total)).bit_length() <= MAX_HEIGHT, "a number is too long", Status.LIMIT)
    divisor = gcd(den, *total)
    return (*total, den) if divisor == 1 else (*(n // divisor for n in total), den // divisor)


def absolute(x: Vector) -> Vector:
    """Return the absolute values of the coordinates."""
    return tuple(map(abs, x))


def dot(x: Vector, y: Vector) -> Fraction:
    """Return <x, y>."""
    return Fraction(sum(map(mul, x[:-1], y[:-1])), x[-1] * y[-1])


class LinearMap(NamedTuple):
    """The matrix scale I + sum_k column_k row_k^T, with the terms (column_k, row_k)."""

    scale: Fraction
    terms: Sequence[tuple[Vector, Vector]] = ()

    def apply(self, x: Vector) -> Vector:
        """Return the image of x."""
        return combine((self.scale, x), *((dot(row, x), column) for column, row in self.terms))

    def spread(self, radius: Vector) -> Vector:
        """Return |matrix| radius, rounded up (rule 6); an entry is summed before |.| is taken: its terms may cancel."""
        if not any(radius[:-1]):
            return radius
        units = [(n, (*(int(i == j) for i in range(len(radius) - 1)), 1)) for j, n in enumerate(radius[:-1]) if n]
        exact = combine(*((Fraction(n, radius[-1]), absolute(self.apply(unit))) for n, unit in units))
        least = min((n.bit_length() for n in exact[:-1] if n), default=0)
        p = max(0, exact[-1].bit_length() - least + RADIUS_BITS)
        return vector([Fraction(-((-n << p) // exact[-1]), 1 << p) for n in exact[:-1]])


def tied_mean(boxes: list[Box]) -> tuple[Vector, Vector]:
    """Return the mean of tokens with equal weights, every copy counted."""
    weights = [Fraction(m, sum(m for _, _, m in boxes)) for _, _, m in boxes]
    c, r, _ = zip(*boxes, strict=True)
    return combine(*zip(weights, c, strict=True)), combine(*zip(weights, r, strict=True))


def hull(boxes: list[Box]) -> tuple[Vector, Vector]:
    """Return the smallest box that contains all boxes (rule 4)."""
    ends = ([combine((1, c), (sign, r)) for c, r, _ in boxes] for sign in (-1, 1))
    low, high = ([[Fraction(n, x[-1]) for n in x[:-1]] for x in end] for end in ends)
    bottom, top = vector([min(a) for a in zip(*low, strict=True)]), vector([max(a) for a in zip(*high, strict=True)])
    return combine((HALF, bottom), (HALF, top)), combine((HALF, top), (-HALF, bottom))


class Block(NamedTuple):
    """A block; a unit (k, bias, w) of its feed-forward layer is the term relu(<rows[k], x> + bias) w."""

    eta: Fraction
    rows: list[Vector]
    units: list[tuple[int, Fraction, Vector]]
    rho: Fraction
    a: LinearMap
    v: LinearMap
    parameters: int

    def feed_forward(self, c: Vector, r: Vector, place: str) -> tuple[Vector, Vector]:
        """Apply eta x + sum_k relu(<u_k, x> + b_k) w_k to a box (rule 1)."""
        values, slacks = [dot(u, c) for u in self.rows], [dot(absolute(u), r) for u in self.rows]
        units = [(values[k] + bias, slacks[k], w, k) for k, bias, w in self.units]
        certain = all(abs(z) >= slack for z, slack, _, _ in units)
        need(certain, f"{place}: the sign of a ReLU is not certain", Status.UNDECIDED)
        active = [(z, w, k) for z, slack, w, k in units if z >= slack]
        if self.eta == 1 and not active:
            return c, r
        m = LinearMap(self.eta, [(w, self.rows[k]) for _, w, k in active])
        return combine((self.eta, c), *((z, w) for z, w, _ in active)), m.spread(r)

    def self_attention(self, boxes: list[Box], i: int, tau: Fraction | None) -> Box:
        """Apply rho x_i + V sum_l pi_il x_l to box number i (rule 5)."""
        c, r, m = boxes[i]
        if LinearMap(ZERO) == self.v:
            return combine((self.rho, c)), combine((abs(self.rho), r)), m
        h, radius = self.hardmax_mean(boxes, i) if tau == 0 else self.softmax_mean(boxes, i, tau)
        return combine((self.rho, c), (1, self.v.apply(h))), combine((abs(self.rho), r), (1, self.v.spread(radius))), m

    def hardmax_mean(self, boxes: list[Box], i: int) -> tuple[Vector, Vector]:
        """Return the mean of the tokens of largest score; all boxes are points."""
        query = self.a.apply(boxes[i][0])
        scores = [dot(query, c) for c, _, _ in boxes]
        largest = max(scores)
        return tied_mean([box for box, score in zip(boxes, scores, strict=True) if score == largest])

    def softmax_mean(self, boxes: list[Box], i: int, tau: Fraction | None) -> tuple[Vector, Vector]:
        """Enclose the mean at every temperature in (0, tau], or in (0, oo) if tau is None (rules 2 to 5)."""
        c, r, m = zip(*boxes, strict=True)
        q, t = self.a.apply(c[i]), self.a.spread(r[i])
        scores = [dot(q, x) for x in c]
        best = scores.index(max(scores))
        tied, contenders, others = True, [boxes[best]], []
        for l in set(range(len(boxes))) - {best}:
            difference, radius = combine((1, c[best]), (-1, c[l])), combine((1, r[best]), (1, r[l]))
            error = dot(absolute(q), radius) + dot(t, combine((1, absolute(difference)), (1, radius)))
            k = 0 if tau is None else (scores[best] - scores[l] - error) // tau
            if k >= 1:
                others.append((Fraction(m[l], m[best] << min(k, WEIGHT_BITS)), c[l], r[l]))
            else:
                tied = tied and scores[best] == scores[l] and error == 0
                contenders.append(boxes[l])
        h, around = tied_mean(contenders) if tied else hull(contenders)
        terms = [(weight, x) for weight, y, r_l in others for x in (absolute(combine((1, y), (-1, h))), r_l, around)]
        return h, combine((1, around), *terms)


def read_dataset(data: bytes) -> tuple[int, list[tuple[list[Vector], list[Vector]]]]:
    """Read d and the pairs from one JSON document or, if it is none, from a header line and one line for each pair."""
    try:
        node, records = parse(data, "$"), None
    except Stop:
        first, *lines = data.removesuffix(b"\n").split(b"\n")
        node, records = parse(first, "line 1"), [parse(line, f"line {j}") for j, line in enumerate(lines, 2)]
    head, pairs = node.fields("format dimension pairs", "comment"), []
    name = "interp-dataset/1" if records is None else "interp-dataset-lines/1"
    need(head["format"].value == name, f"{node.place}: expected the format {name}")
    need(records is None or head["pairs"].natural() == len(records), f"{node.place}: the number of lines is another")
    d = head["dimension"].natural()
    for record in head["pairs"].items() if records is None else records:
        sides = record.fields("input output")
        tokens, target = ([vector(x.numbers(d)) for x in sides[key].items()] for key in ("input", "output"))
        need(len(tokens) > 0 and len(target) > 0, f"{record.place}: an empty list of tokens")
        pairs.append((tokens, target))
    need(d >= 2 and len(pairs) > 0, "expected a dimension of at least 2 and at least one pair")
    return d, pairs


def read_transformer(data: bytes) -> tuple[int, list[Block]]:
    """Read d and the blocks from a header, one line for each block, and an end record with a digest of the rest."""
    need(data.endswith(b"\n") and data.count(b"\n") >= 2, "expected at least two lines, each with its end (cut short?)")
    first, *lines, last = data[:-1].split(b"\n")
    end = parse(last, "last line").fields("end")["end"].fields("blocks sha256")
    need(
        end["sha256"].value == hashlib.sha256(data[: -len(last) - 1]).hexdigest(), "not the digest of the lines before"
    )
    claims = "attention temperatures construction generator seed dataset phases comment"  # never used
    head = parse(first, "line 1").fields("format dimension blocks", claims)
    need(head["format"].value == "interp-transformer/1", "line 1: unknown format")
    need({head["blocks"].natural(), end["blocks"].natural()} == {len(lines)}, f"there are {len(lines)} lines of blocks")
    d = head["dimension"].natural()
    return d, [parse(line, f"line {k + 1}").block(k, d) for k, line in enumerate(lines, 1)]


def final_boxes(blocks: list[Block], tokens: list[Vector], tau: Fraction | None) -> list[Box]:
    """Run all blocks on a sequence: at temperature 0 if tau = 0, else in (0, tau], where None stands for oo."""
    boxes = merged([(x, combine((0, x)), 1) for x in tokens])
    for index, block in enumerate(blocks, 1):
        moved = [(*block.feed_forward(c, r, f"block {index}"), m) for c, r, m in boxes]
        idle = block.rho == 1 and LinearMap(ZERO) == block.v
        boxes = merged(moved if idle else [block.self_attention(moved, i, tau) for i in range(len(moved))])
    return boxes


def merged(boxes: list[Box]) -> list[Box]:
    """Merge boxes that are the same point; never boxes with a radius, as their tokens may differ (rule 6)."""
    copies: dict[tuple[Vector, Vector, int], int] = {}
    for i, (c, r, m) in enumerate(boxes):
        key = c, r, i if any(r[:-1]) else -1
        copies[key] = copies.get(key, 0) + m
    return [(c, r, m) for (c, r, _), m in copies.items()]


def check_pair(blocks: list[Block], tokens: list[Vector], target: list[Vector], tau: Fraction | None) -> Result:
    """Run one pair and compare the final boxes with the target set."""
    try:
        boxes = final_boxes(blocks, tokens, tau)
    except Stop as stop:
        return Result(*stop.args)
    hits = [[min(combine((1, r), (-1, absolute(combine((1, y), (-1, c)))))) >= 0 for y in target] for c, r, _ in boxes]
    if not all(map(any, hits)) or not all(map(any, zip(*hits, strict=True))):
        return Result(Status.REFUTED, "a token is no target, or a target is no token")
    if not any(any(r[:-1]) for _, r, _ in boxes) and {c for c, _, _ in boxes} == set(target):
        return Result(Status.VERIFIED, "")
    return Result(Status.UNDECIDED, "a final box is not a point")


def read_claim(options: Mapping[str, Any]) -> dict[str, Fraction | None]:
    """Return the passes that the claimed temperatures need, each with its tau (see final_boxes)."""
    need(options.keys() <= OPTIONS.keys(), f"the options are {', '.join(OPTIONS)}", Status.USAGE)
    need(all(options[name] >= 0 for name in options if name.startswith("max_")), "a bound is negative", Status.USAGE)
    text = options.get("temperatures", "(0,1]" if options.get("attention") == "softmax" else "0")
    match = re.fullmatch(rf" *(?:0|(?P<open>[(\[]) *0 *, *(?:oo *\)|(?P<top>{NUMBER.pattern}) *\])) *", text)
    if match is None:
        raise Stop(Status.USAGE, "temperatures: write 0, (0,T], [0,T], (0,oo) or [0,oo)")
    tau = Node(match["top"], "temperatures").number() if match["top"] else None
    need(tau is None or tau > 0, "temperatures: T must be positive", Status.USAGE)
    passes: dict[str, Fraction | None] = {} if match["open"] == "(" else {"hardmax": ZERO}
    passes |= {"softmax": tau} if match["open"] else {}
    need(options.get("attention") in (None, *passes), "the attention does not go with the temperatures", Status.USAGE)
    return passes


def check(data: bytes, witness: bytes, options: Mapping[str, Any]) -> Result:
    """Check every obligation of the statement."""
    passes = read_claim(options)
    (d, pairs), (d_witness, blocks) = read_dataset(data), read_transformer(witness)
    distinct = {(frozenset(tokens), frozenset(target)) for tokens, target in pairs}
    m, n = sum(len(target) for _, target in distinct), len(distinct)
    width = options.get("max_width", 4)
    length = options.get("max_blocks", 2 * m + (2 * n + 1 if "hardmax" in passes else 3 * n))
    size = options.get("max_parameters", (10 * d + 8) * length)
    counts = max([0, *(len(b.units) for b in blocks)]), len(blocks), sum(b.parameters for b in blocks)
    claim = list(zip(("width", "blocks", "parameters"), counts, (width, length, size), strict=True))
    found = [Result(Status.REFUTED, f"{name} {value} > {bound}") for name, value, bound in claim if value > bound]
    if d != d_witness:
        return Result(Status.REFUTED, f"the transformer has dimension {d_witness}, the data have {d}")
    for name, tau in passes.items():
        for j, (tokens, target) in enumerate(pairs):
            status, detail = check_pair(blocks, tokens, target, tau)
            found.append(Result(status, f"{name}, pair {j}: {detail}"))
    faults = [result for result in found if result.status != Status.VERIFIED]
    if faults:
        return min(faults, key=lambda result: result.status)  # refuted if anything is refuted
    need(len(found) == len(pairs) * len(passes) > 0, "an obligation was not checked", Status.FAULT)
    budgets = ", ".join(f"{name} {value} <= {bound}" for name, value, bound in claim)
    return Result(Status.VERIFIED, f"T(X_j) = Y_j for all {len(pairs)} pairs, {' and '.join(passes)}; {budgets}")


def check_files(data_path: str, witness_path: str, options: Mapping[str, Any]) -> Result:
    """Check the statement about the two files with the given OPTIONS; never raises."""
    try:
        data, witness = Path(data_path).read_bytes(), Path(witness_path).read_bytes()
        need(max(len(data), len(witness)) <= MAX_BYTES, "a file is too large", Status.LIMIT)
        return check(data, witness, {name: value for name, value in options.items() if value is not None})
    except Stop as stop:
        return Result(*stop.args)
    except Exception as error:
        kinds = (OSError, Status.MALFORMED), (MemoryError, Status.LIMIT), (Exception, Status.FAULT)
        status = next(status for kind, status in kinds if isinstance(error, kind))
        return Result(status, f"{type(error).__name__}: {str(error)!a}"[:300])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the answer and return the exit code."""
    parser = argparse.ArgumentParser(description="The second checker of interp: is T(X_j) = Y_j, exactly?")
    parser.add_argument("data")
    parser.add_argument("witness")
    parser.add_argument("--json", action="store_true")
    for name, kind in OPTIONS.items():
        parser.add_argument("--" + name.replace("_", "-"), type=kind)
    given = vars(parser.parse_args(arguments))
    status, detail = check_files(given["data"], given["witness"], {name: given[name] for name in OPTIONS})
    answer = json.dumps({"verdict": status.name.lower(), "exit_code": status.value, "detail": detail})
    try:
        with open(1, "w", closefd=False, encoding="ascii") as out:
            out.write((answer if given["json"] else f"{status.name}: {detail}") + "\n")
    except OSError:
        return 2
    return status.value


if __name__ == "__main__":
    raise SystemExit(main())
