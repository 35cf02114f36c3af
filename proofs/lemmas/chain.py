"""Chain: points of a ray go to arbitrary targets, four a block, all coordinates at once."""

from __future__ import annotations

from collections.abc import Sequence

from proofs.kernel.model import FeedForward
from proofs.kernel.rational import Row
from proofs.lemmas.lemma import Lemma
from proofs.lemmas.units import Box, check_images, check_silence

LEMMA = Lemma(
    name="chain",
    title="Four targets a block along a ray",
    statement=(
        "Let n points stand at x(t_i) = P + t_i D, t_1 < .. < t_n, D != 0, with targets y_1, .., y_n in Q^d, and "
        "let S be the finite set of points already placed. Suppose an affine function t^ has t^(x(t)) = t and t^ <= "
        "b_1 < t_1 on S (no condition if S is empty). Then ceil(n / 4) blocks of width 4 with V = 0 move each "
        "x(t_i) to y_i and no point of S. A run of consecutive equal targets may take two units, whatever its "
        "length, as long as the second of them is followed by another unit in its block or ends the chain. If S is "
        "empty the first layer may have eta = 0 and read t = t^(x) on points that stand anywhere; then leading "
        "targets 0 need no unit."
    ),
    hypotheses=("t_1 < .. < t_n", "a reading t^ of the first block", "D != 0, or eta = 0 in the first layer"),
    proof=(
        "One block. Units relu(t^ - b_q), q = 1..r, r <= 4, vanish on S, as t^ <= b_1 <= b_q there. On the ray they "
        "bend v_0(t) = x(t) into a piecewise linear curve v_r. Let unit q be to bring parameter a_q to the target "
        "y_q, with a_(q-1) <= b_q < a_q. Its column is (y_q - v_(q-1)(a_q)) / (a_q - b_q): at a_q only units 1..q "
        "act, so v_r(a_q) = y_q. If unit q is a flat, that is, y_q = y_(q-1) and b_q = a_(q-1), the curve is "
        "constant on [a_(q-1), a_q]. After the last unit all parameters t > b_r stand on the ray v_r(t) = y_r + (t "
        "- a_r) D'.\n"
        "The next block needs a reading. If D'_c != 0 for a coordinate c then t^'(x) = a_r + (x_c - (y_r)_c) / D'_c "
        "reads t on the new ray, and it is < t' (the next parameter) on the placed points S' iff (y_c - (y_r)_c) / "
        "D'_c < t' - a_r for y in S'; if not, slide b_r towards a_r: D' = D_(r-1) + J_r / (a_r - b_r) with J_r = "
        "y_r - v_(r-1)(a_r). If J_r != 0 some |D'_c| grows beyond all bounds, while S' is finite: the condition "
        "holds from some point on.\n"
        "If J_r = 0, let p < r be the last unit with J_p != 0. It is no flat: the unit after a flat is a step to "
        "another target, so it misses. Slide b_p inside (old b_p, a_p): the slope D_p changes, so the curve no "
        "longer hits y_(p+1): J_(p+1) != 0. Sliding b_(p+1) off a_p changes D_(p+1), and so on up to J_r != 0. If "
        "all J_q are 0, the block moves nothing: D' = D, the targets y_1..y_r stand at t_1..t_r < t' on the ray and "
        "S is behind b_1 < t': the old reading serves again (with coordinate c, D_c != 0, if t^ was one; with eta = "
        "0, y_1 != 0 = v_0 makes J_1 != 0). So every block is possible, each places four points (fewer only in the "
        "last), and the count follows.\n"
        "With eta = 0 the layer is x -> sum of the units: v_0 = 0, and points with leading targets 0 are placed by "
        "it if b_1 is not below their parameters."
    ),
    kind="written",
    source="docs/explanation/compact.md, lemma 2",
    depends=("curve",),
)


def check_promise(layer: FeedForward, before: Sequence[Row], after: Sequence[Row], placed: Box) -> str | None:
    """None, or what is broken: the layer maps before[i] to after[i], and no unit acts on the box of placed points.

    The builder passes the points that the block places, with both ends of each run, and the next and the last point of
    the ray: all others lie between two of these on one linear piece. O(d) for each.
    """
    return check_images(layer, before, after) or check_silence(layer, placed)
