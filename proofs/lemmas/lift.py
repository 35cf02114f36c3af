"""Lift: after adding a convex function of the signature, one half-plane meets the tokens of one sequence only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from flint import fmpq

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="lift",
    title="A convex lift gives each sequence a supporting line",
    statement=(
        "Let the tokens of sequence j be (s, g_j) with different g_j, J a set of sequences and D >= 0. Adding a "
        "convex f(g) to the first coordinate, there are lines l_j, j in J, of slope <= 0 with l_j(g_j) = f(g_j) and "
        "f(g_i) - l_j(g_i) > D for all i != j. It takes either (a) |J| kinks, one fewer if the smallest g is in J: "
        "ceil(|J| / 4) blocks; or (b) if d >= 3 and the attention also writes T = (g - g_0) / H in [0, 1] to "
        "coordinate 3, ceil(K / 2) blocks, where 2^-K <= gap / (2 H), gap the smallest distance of two g_j."
    ),
    hypotheses=("the g_j are pairwise different", "(b) d >= 3"),
    proof=(
        "(a) f(g) = sum over j in J, but not the smallest, of c_j relu(b_j - g), with b_j within a quarter of the "
        "distance to the neighbour on its side of g_j. Let delta be the smaller distance of g_j to a neighbour, rho "
        "the slope of f to the right of b_j, and l_j the line through (g_j, f(g_j)) of slope rho - c_j / 2 <= 0 "
        "(slopes of f are <= 0). If b_j >= g_j then, f being convex, f(g_i) >= f(g_j) + (rho - c_j)(b_j - g_j) + "
        "rho (g_i - b_j) at the right neighbour, which exceeds l_j by c_j ((g_i - g_j) / 2 - (b_j - g_j)) >= c_j "
        "(g_i - g_j) / 4; at the left neighbour the excess is at least c_j (g_j - g_i) / 2. If b_j <= g_j the sides "
        "change roles. So c_j > 4 D / delta suffices. The smallest g, if in J, needs no kink: the line of slope rho "
        "- c with c > D / delta is below f by c (g_i - g_j) at its only neighbour.\n"
        "Farther sequences: f - l_j is convex, 0 at g_j and > D >= 0 at the neighbours, so it increases away from "
        "g_j.\n"
        "(b) tent_1(T) = 2 min(T, 1 - T), tent_i = tent_1 o tent_(i-1). T - T^2 = sum_i 4^-i tent_i(T), and the "
        "partial sum to K interpolates T - T^2 on the grid 2^-K. So F(T) = -T - sum_(i<=K) 4^-i tent_i(T) "
        "interpolates T^2 - 2 T there: convex, its slope grows by 2 h from cell to cell, h = 2^-K, and is <= 0 on "
        "[0, 1]. l_j is the linear piece of mu F on the cell of T_j. As neighbours of T_j are >= 2 h away, they are "
        "at least h outside the cell, where the excess is >= 2 h^2 mu; mu > D / (2 h^2) suffices (the builder takes "
        "the coarsest grid on which no neighbour touches the cell, and mu for the excess found). Two levels are "
        "piecewise linear with corners 0, 1/4, 1/2, 3/4: four units relu(T - i/4) write them and turn T into "
        "tent_2(T), and in the last block into 0. Other sequences by convexity again."
    ),
    kind="written",
    source="docs/explanation/compact.md, theorems A2 and A3",
    depends=("signature",),
)


def check_promise(points: Sequence[tuple[fmpq, fmpq]], lines: Mapping[int, fmpq], spread: fmpq) -> str | None:
    """None, or what is broken: points (g, f(g)) by increasing g, slopes of lines by place.

    Margins at the neighbours are enough: the points are in convex position, so the excess grows away from the point.
    O(N).
    """
    rises = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(points)]
    if any(a > b for a, b in pairwise(rises)):
        return "the lifted points are not in convex position"
    for place, slope in lines.items():
        g, f = points[place]
        if slope > 0:
            return f"the line at place {place} rises"
        for other in (place - 1, place + 1):
            if 0 <= other < len(points) and points[other][1] - f - slope * (points[other][0] - g) <= spread:
                return f"the line at place {place} is not {spread} below its neighbour at place {other}"
    return None
