"""Untrusted. What theory says about profiles: closed forms, theorem 4.5, the packing bound, counts of functions.

Source: Koever, Butoi, Svete, Hahn, Cotterell, *Understanding the Parameter Space Geometry of Transformers Encoding
Boolean Functions* (2026), theorem 4.5 and corollaries 5.1-5.4. The Lipschitz constant is derived here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import comb

import numpy as np
from flint import arb, ctx, fmpq

from proofs.boolean.functions import parse_function
from proofs.boolean.profile import compute_profile
from proofs.kernel.errors import UsageError

Profile = tuple[int, ...]
LARGEST_COUNT = 5


def closed_profile(function: str, bits: int) -> Profile | None:
    """K_0 .. K_N of a named function, or of an expression in its first m variables, without its table of 2^N values.

    None if no closed form is known. Raises: MalformedInput.
    """
    name, _, number = function.strip().partition(":")
    if name in ("and", "or") and not number:
        return _add(bits, {bits: 1}, {1: bits}, {0: 2**bits - bits - 1})
    if name == "majority" and not number:
        k = bits // 2
        if bits % 2:
            return _add(bits, {k + 1: 2 * comb(bits, k)}, {0: 2**bits - 2 * comb(bits, k)})
        rest = 2**bits - comb(bits, k) - comb(bits, k + 1)
        return _add(bits, {k: comb(bits, k)}, {k + 1: comb(bits, k + 1)}, {0: rest})
    exact = {"parity": bits, "first": 1, "dictator": 1, "sparse-parity": int(number) if number.isdigit() else 0}
    if name in exact and bool(number) == (name in ("dictator", "sparse-parity")):
        parse_function(function, bits)
        return _add(bits, {exact[name]: 2**bits})
    return junta_profile(function, bits)


def _add(bits: int, *parts: dict[int, int]) -> Profile:
    total = [0] * (bits + 1)
    for part in parts:
        for n, count in part.items():
            total[n] += count
    return tuple(total)


def junta_profile(function: str, bits: int) -> Profile | None:
    """The profile of an expression in x_1 .. x_m is its profile on m bits times 2^(N - m)."""
    words = re.findall(r"[a-z][a-z:-]*[0-9]*(?:\()?", function)
    if any(not (re.fullmatch(r"x[0-9]+", word) or word.endswith("(")) for word in words):
        return None
    used = [int(word[1:]) for word in words if word[0] == "x"]
    m = min(max([*used, 1]), bits)
    return tuple(2 ** (bits - m) * count for count in compute_profile(parse_function(function, m), m)) + (0,) * (
        bits - m
    )


# --------------------------------------------------------------------------------------------------------- theorem 4.5


@dataclass(frozen=True, slots=True)
class Comparison:
    """K_0 against N^(p/q), p/q = (D - 1) / (2 L) - 5, decided in integers. ``outcome`` is one of the four."""

    outcome: str
    text: str


OUTCOMES = ("exponent not positive", "bound exceeds 2^N", "met", "not met")


def exponent_of(depth: int, dimension: int) -> fmpq:
    """(D - 1) / (2 L) - 5."""
    return fmpq(dimension - 1, 2 * depth) - 5


def compare_theorem(zero: int, bits: int, depth: int, dimension: int) -> Comparison:
    """How K_0 of a certified profile compares with the bound of theorem 4.5 at this N.

    The theorem is about all sufficiently large N and almost all parameters: no finite N refutes it.
    """
    exponent = exponent_of(depth, dimension)
    p, q = int(exponent.p), int(exponent.q)
    if p <= 0:
        return Comparison(OUTCOMES[0], f"K_0 >= 1 {'holds' if zero >= 1 else 'does not hold'}: K_0 = {zero}")
    if bits**p > 2 ** (bits * q):
        return Comparison(OUTCOMES[1], f"N^({exponent}) > 2^N at N = {bits}")
    met = zero**q >= bits**p
    return Comparison(OUTCOMES[2 if met else 3], f"K_0 = {zero} {'>=' if met else '<'} {bits}^({exponent})")


def first_fitting(depth: int, dimension: int) -> int | None:
    """The N from which on N^(p/q) <= 2^N; None if the exponent is not positive.

    N -> N log 2 - (p/q) log N decreases, then increases: after the last failure there is none.
    """
    exponent = exponent_of(depth, dimension)
    p, q = int(exponent.p), int(exponent.q)
    if p <= 0:
        return None
    turn = -(-3 * p // (2 * q)) + 2  # log 2 > 2/3: increasing from 3p / 2q on
    N = turn
    while N**p > 2 ** (N * q):
        N += 1
    while N > 1 and (N - 1) ** p <= 2 ** ((N - 1) * q):
        N -= 1
    return N


# ----------------------------------------------------------------------------------------------------- epsilon > 0


@dataclass(frozen=True, slots=True)
class Family:
    """Encoders y <- LN(y' + W2 relu(W1 y' + b1) + b2), y' = y + attention, all numbers in [-size, size].

    L blocks, dimension D, H heads with queries of r rows and scores divided by sqrt r, m hidden units, N bits.
    """

    bits: int
    depth: int
    dimension: int
    heads: int
    rows: int
    hidden: int
    epsilon: fmpq
    size: fmpq

    @property
    def parameters(self) -> int:
        """The number of free numbers."""
        D, block = self.dimension, self.heads * (2 * self.rows + self.dimension) * self.dimension
        block += 2 * self.hidden * D + self.hidden + D
        return 3 * D + (self.bits + 1) * D + self.depth * block + D + 1


def lipschitz_constant(family: Family) -> arb:
    """A bound C with |T_a(x) - T_b(x)| <= C |a - b| for all x and all parameters a, b (Euclidean norm).

    The family is convex, so derivatives are bounded. Spectral norms are at most size * sqrt(entries); in the maximum
    norm over tokens, all within R, attention with residual stretches by 1 + sum v (1 + 4 q R^2) (as in
    ``proofs.boolean.influence``, but the weights alpha_ij of a row sum to 1). A change of V moves attention by at most
    R |dV|, of Q by 2 v s R^3 |K| |dQ|, s = 1 / sqrt r; the MLP moves by |dW2| (|W1| Z + |b1|) + |db2| + |W2| (|dW1| Z +
    |db1|), Z = R (1 + sum v). LN multiplies by at most 1 / sqrt epsilon. C is the root of the sum of squares.
    """
    if family.epsilon <= 0 or family.size <= 0:
        raise UsageError("epsilon and the size of the weights must be positive")
    D, H, r, m = (arb(x) for x in (family.dimension, family.heads, family.rows, family.hidden))
    B, c, s = arb(family.size), 1 / arb(family.epsilon).sqrt(), 1 / r.sqrt()
    v, qk, W = B * D, B * (r * D).sqrt(), B * (m * D).sqrt()
    q, w = s * qk * qk, B * D.sqrt()
    squares = D + 1  # of w (the last token is at most sqrt D) and omega
    later = w  # what a change of the tokens after the block costs
    for index in reversed(range(family.depth)):
        R = D.sqrt() if index else 2 * B * D.sqrt()
        Z, through = R * (1 + H * v), 1 + W * W
        mlp = [W * Z + B * m.sqrt(), arb(1), W * Z, W]
        heads = [R * through, *[2 * v * s * R**3 * qk * through] * 2]
        squares += sum(((later * c * x) ** 2 for x in mlp), arb(0)) + H * sum(
            ((later * c * x) ** 2 for x in heads), arb(0)
        )
        later *= c * through * (1 + H * v * (1 + 4 * q * R * R))
    # a token is the sum of one embedding and one position
    return (squares + (3 + family.bits + 1) * later * later).sqrt()


def packing_bits(family: Family, margin: fmpq) -> arb:
    """log2 of (1 + C diam / margin)^P: at most so many functions are computed with that margin. 2^N bits are all.

    Parameters of different functions are at least 2 margin / C apart; disjoint balls of half that radius are counted.
    """
    if margin <= 0:
        raise UsageError("the margin must be positive", "--margin")
    with ctx.workprec(128):
        P = family.parameters
        diameter = 2 * arb(family.size) * arb(P).sqrt()
        return P * (1 + lipschitz_constant(family) * diameter / arb(margin)).log() / arb(2).log()


# ---------------------------------------------------------------------------------------------- functions with K_0 = 0


def count_without_zero(bits: int) -> int:
    """How many functions of N <= 5 bits have K_0 = 0: every string has a neighbour with another value.

    f = (g, h), its halves for x_1 = 0, 1. A string is sensitive in f if it is in its half, or if g and h differ there:
    with I(g) the table of insensitive strings of g, the condition is that g ^ h contains I(g) and I(h).
    Raises: UsageError.
    """
    if not 1 <= bits <= LARGEST_COUNT:
        raise UsageError(f"{bits} bits, not in 1..{LARGEST_COUNT}", hint="there are 2^(2^N) functions")
    m = bits - 1
    full = (1 << (1 << m)) - 1
    still = np.array([_insensitive(table, m) for table in range(full + 1)], dtype=np.uint32)
    tables = np.arange(full + 1, dtype=np.uint32)
    half = range((full + 1) // 2)  # f and its complement have the same K_0: g without its last bit is enough
    return 2 * sum(int(np.count_nonzero(((still | still[g]) & ~(tables ^ tables[g])) == 0)) for g in half)


def _insensitive(table: int, bits: int) -> int:
    """The table of the strings with sensitivity 0."""
    found = (1 << (1 << bits)) - 1
    for k in range(bits):
        half = 1 << k
        for t in range(1 << bits):
            if (table >> t ^ table >> (t ^ half)) & 1:
                found &= ~(1 << t)
    return found
