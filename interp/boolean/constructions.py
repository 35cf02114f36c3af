"""Untrusted. Encoders from the literature with explicit weights: PARITY, FIRST and MAJORITY.

PARITY and FIRST follow Chiang and Cholak, *Overcoming a Theoretical Limitation of Self-Attention* (2022), whose first
token is our end token: it has their position 0. With layer norm (epsilon = 0) every coordinate c has a twin -c, so that
means are 0 and a norm multiplies a token by a positive number; the last MLP clears all coordinates but the result c and
its twin, which the last norm makes +-sqrt(D/2). So |T| = sqrt(D/2) whatever N is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flint import fmpq, fmpq_mat

from proofs.boolean.model import MLP, Block, Encoder, Head, Norm, Vector
from proofs.kernel.errors import UsageError

Sparse = Mapping[int, int | fmpq]  # coordinate -> number


def build_parity(lengths: Sequence[int], norm: bool = False) -> Encoder:
    """T > 0 exactly on the strings with an odd number k of ones.

    Coordinates: 0-2 one-hot of 0, 1, end; 3 i/n; 4 (-1)^i; 5 k/n; 6 1/n; 7 [i = k]/n; 8 the result (n = N + 1 tokens).
    Block 1: uniform attention counts; the MLP makes [i = k] of three kinks. Block 2: one head prefers odd i, the other
    even i; their difference at i = k has the sign of the parity.

    Source: Chiang and Cholak, section 3.1 (d = 10, 2 heads: scores are divided by sqrt 5). |T| = 2 tanh(1/sqrt 5) / n^2
    for odd N without norm, sqrt 10 with it.
    """
    layout = _Layout(10, norm)
    count = layout.head({}, {}, {5: {1: 1}, 6: {2: 1}}, 5)
    kinks: list[Sparse] = [{5: 1, 3: -1, 6: -1}, {5: 1, 3: -1}, {5: 1, 3: -1, 6: 1}]
    odd = layout.head({2: 1}, {4: -1}, {8: {7: 1}}, 5)
    even = layout.head({2: 1}, {4: 1}, {8: {7: -1}}, 5)
    blocks = (layout.block([count], layout.mlp(kinks, {7: [1, -2, 1]})), layout.block([odd, even], layout.clear(8)))
    embeddings = layout.token({0: 1}), layout.token({1: 1}), layout.token({2: 1})

    def position(i: int, n: int) -> Vector:
        return layout.token({3: fmpq(i, n), 4: (-1) ** i})

    return layout.encoder(embeddings, lengths, position, blocks, 8, f"PARITY{layout.words}")


def build_first(lengths: Sequence[int], norm: bool = False) -> Encoder:
    """T > 0 exactly on the strings with x_1 = 1.

    Coordinates: 0-2 one-hot of 0, 1, end; 3 [i = 1]; 4 [i = 1 and x_i = 1]; 5 the result. The end token prefers
    position 1 and reads 4 minus half of 3. Source: Chiang and Cholak, section 3.2 (d = 6, one head: scores are divided
    by sqrt 6). |T| = e^c / (2 (e^c + N)), c = 1/sqrt 6, without norm, sqrt 6 with it.
    """
    layout = _Layout(6, norm)
    both: list[Sparse] = [{3: 1, 0: -1, 2: -1}]  # [i = 1] + [x = 1] - 1, homogeneous: the one-hot sums to 1
    look = layout.head({2: 1}, {3: 1}, {5: {4: 1, 3: fmpq(-1, 2)}}, 6)
    blocks = (layout.block([], layout.mlp(both, {4: [1]})), layout.block([look], layout.clear(5)))
    embeddings = layout.token({0: 1}), layout.token({1: 1}), layout.token({2: 1})

    def position(i: int, n: int) -> Vector:
        return layout.token({3: int(i == 1)})

    return layout.encoder(embeddings, lengths, position, blocks, 5, f"FIRST{layout.words}")


def build_majority(lengths: Sequence[int], norm: bool = False) -> Encoder:
    """T > 0 exactly on the strings with more ones than zeros.

    Uniform attention adds up 2 for a 1, -2 for a 0 and -1 for the end: T = (2 (ones - zeros) - 1) / n, so |T| >= 1/n
    without norm, and |T| = 1 with it (D = 2: the sum is written over its own summands).
    """
    layout = _Layout(2, norm)
    average = layout.head({}, {}, {1: {0: 1}}, 1)
    embeddings = layout.token({0: -2}), layout.token({0: 2}), layout.token({0: -1})
    blocks = (layout.block([average], layout.clear(1)),)

    def position(i: int, n: int) -> Vector:
        return layout.token({})

    return layout.encoder(embeddings, lengths, position, blocks, 1, f"MAJORITY{layout.words}")


CONSTRUCTIONS: dict[str, Callable[[Sequence[int], bool], Encoder]] = {
    "parity": build_parity,
    "first": build_first,
    "majority": build_majority,
}


class _Layout:
    """d coordinates, each with a twin of the opposite sign in the second half if there are layer norms."""

    def __init__(self, d: int, norm: bool) -> None:
        self.d, self.twins = d, norm
        self.D = 2 * d if norm else d
        self.words = ", layer norm with epsilon = 0" if norm else ", no layer norm"

    def token(self, entries: Sparse) -> Vector:
        half = [fmpq(entries.get(c, 0)) for c in range(self.d)]
        return (*half, *(-x for x in half)) if self.twins else tuple(half)

    def row(self, entries: Sparse) -> list[fmpq]:
        """A functional: it reads the first half only."""
        return [fmpq(entries.get(c, 0)) for c in range(self.D)]

    def rows(self, functionals: Mapping[int, Sparse]) -> fmpq_mat:
        """A map that writes functionals to coordinates, and their negatives to the twins."""
        half = [self.row(functionals.get(c, {})) for c in range(self.d)]
        return fmpq_mat([*half, *([-x for x in row] for row in half)] if self.twins else half)

    def head(self, query: Sparse, key: Sparse, value: Mapping[int, Sparse], divisor: int) -> Head:
        """One-dimensional queries and keys, their product divided by sqrt(divisor)."""
        return Head(fmpq_mat([self.row(query)]), fmpq_mat([self.row(key)]), self.rows(value), fmpq(1, divisor))

    def mlp(self, hidden: Sequence[Sparse], written: Mapping[int, Sequence[int]]) -> MLP:
        """Adds combinations of ReLU units to coordinates."""
        half = [[fmpq(x) for x in written.get(c, (0,) * len(hidden))] for c in range(self.d)]
        W2 = [*half, *([-x for x in row] for row in half)] if self.twins else half
        zeros = (fmpq(0),)
        W1 = fmpq_mat([self.row(entries) for entries in hidden])
        return MLP(W1, zeros * len(hidden), fmpq_mat(W2), zeros * self.D, "relu", True)

    def clear(self, kept: int) -> MLP | None:
        """Subtracts every coordinate but one from itself, x being relu(x) - relu(-x); only needed before a norm."""
        if not self.twins:
            return None
        gone = [c for c in range(self.d) if c != kept]
        hidden: list[Sparse] = [{c: sign} for c in gone for sign in (1, -1)]
        written = {c: [-sign * int(c == g) for g in gone for sign in (1, -1)] for c in gone}
        return self.mlp(hidden, written)

    def block(self, heads: Sequence[Head], mlp: MLP | None) -> Block:
        plain = Norm((fmpq(1),) * self.D, (fmpq(0),) * self.D) if self.twins else None
        return Block(tuple(heads), plain, mlp, plain)

    def encoder(
        self,
        embeddings: tuple[Vector, Vector, Vector],
        lengths: Sequence[int],
        position: Callable[[int, int], Vector],
        blocks: tuple[Block, ...],
        result: int,
        comment: str,
    ) -> Encoder:
        """Bits have positions 1 .. N, the end token has position 0."""
        if not lengths:
            raise UsageError("no number of bits", "--bits")
        table = {N: tuple(position(i, N + 1) for i in (*range(1, N + 1), 0)) for N in lengths}
        return Encoder(self.D, fmpq(0), embeddings, table, blocks, tuple(self.row({result: 1})), fmpq(0), comment)
