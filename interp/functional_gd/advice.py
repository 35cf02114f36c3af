"""Untrusted. Step sizes: the largest certified one, the best contraction, steps that are exact at finite depth.

Every answer is decided by the exact LDL^T of ``proofs.functional_gd.bayes``; only the search is done here. A step r
stands for the rate 2 c r of the claim's loss, which multiplies G.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import ctx, fmpq, fmpq_mat

from proofs.functional_gd.bayes import DEFINITE, SINGULAR, Rows, classify, contracts
from proofs.functional_gd.descent import kernel_table, rate_factor
from proofs.functional_gd.model import Context, Kernel
from proofs.kernel.errors import MalformedInput

BITS = 256  # of the balls, for kernels that are not rational


@dataclass(frozen=True, slots=True)
class Advice:
    """Steps for one context and kernel. ``exact`` is empty unless all eigenvalues of G are rational."""

    definite: str  # what G is, and the minor that shows it
    largest: fmpq  # the largest r on the grid with 2 I - r G > 0: the residuals tend to 0 for every Y
    best: fmpq  # near 2 / (lambda_min + lambda_max)
    contraction: fmpq | None  # the smallest q on the grid with -q I <= I - best G <= q I
    exact: tuple[fmpq, ...]  # one layer per distinct eigenvalue reaches the limit


def gram_rows(context: Context, kernel: Kernel) -> Rows:
    """G, rational or in balls. Raises: MalformedInput for softmax, which is not symmetric."""
    with ctx.workprec(BITS):
        table = kernel_table(kernel, context, balls=not kernel.rational)
    if table.own is None:
        raise MalformedInput("softmax has no Gram matrix", "--kernel", "its descent converges for 0 < r < 2")
    return table.columns


def advise(context: Context, kernel: Kernel, loss: str, grid_bits: int = 16) -> Advice:
    """Steps for one context. Raises: MalformedInput unless G is certified positive definite."""
    gram = gram_rows(context, kernel)
    with ctx.workprec(BITS):
        kind, reason = classify(gram)
        if kind != DEFINITE:
            raise MalformedInput(f"G is {kind}: {reason}", "--kernel", "no step makes all residuals tend to 0")
        factor = rate_factor(loss, len(gram))
        largest = find_largest_step(gram, grid_bits)
        best = find_best_step(gram, grid_bits)
        return Advice(
            f"G is {kind}: {reason}",
            largest / factor,
            best / factor,
            find_contraction(gram, best, grid_bits),
            tuple(rate / factor for rate in find_exact_rates(gram)) if kernel.rational else (),
        )


def find_largest_step(gram: Rows, grid_bits: int) -> fmpq:
    """The largest certified rate r = j / 2^m with 2 I - r G > 0, G > 0 (0 if even 1 / 2^m is too large)."""

    def converges(j: int) -> bool:
        return _classify_shifted(gram, fmpq(-j, 1 << grid_bits), fmpq(2)) == DEFINITE

    bound = 1
    while converges(bound):
        bound *= 2
    return fmpq(_largest(converges, bound), 1 << grid_bits)


def find_best_step(gram: Rows, grid_bits: int) -> fmpq:
    """A rate on the grid near 2 / (lambda_min + lambda_max), which makes the contraction smallest."""
    largest = find_largest_step(gram, grid_bits + 8)
    top = fmpq(2) / max(largest, fmpq(1, 1 << (grid_bits + 8)))

    def below(j: int) -> bool:
        return _classify_shifted(gram, fmpq(1), -top * fmpq(j, 1 << grid_bits)) == DEFINITE

    bottom = top * fmpq(_largest(below, 1 << grid_bits), 1 << grid_bits)
    return fmpq(((fmpq(2) / (top + bottom)) * (1 << grid_bits)).floor(), 1 << grid_bits)


def find_contraction(gram: Rows, rate: fmpq, grid_bits: int) -> fmpq | None:
    """The smallest certified q = j / 2^m < 1 with -q I <= I - rate G <= q I, or None."""
    size = 1 << grid_bits

    def fails(j: int) -> bool:
        return contracts(gram, rate, fmpq(j, size)) not in (DEFINITE, SINGULAR)

    if fails(size - 1):
        return None
    return fmpq(0) if not fails(0) else fmpq(_largest(fails, size - 1) + 1, size)


def find_exact_rates(gram: Rows) -> tuple[fmpq, ...]:
    """1 / lambda for every distinct eigenvalue of a rational G > 0, if all are rational; else nothing.

    prod (I - G / lambda) = 0 by Cayley and Hamilton, as G can be diagonalised: the last layer is exact.
    """
    n = len(gram)
    _, factors = fmpq_mat(n, n, [x for row in gram for x in row]).charpoly().factor()
    if any(polynomial.degree() > 1 for polynomial, _ in factors):
        return ()
    return tuple(sorted((-polynomial[1] / polynomial[0] for polynomial, _ in factors), reverse=True))


def _classify_shifted(gram: Rows, factor: fmpq, shift: fmpq) -> str:
    return classify([[factor * x + shift * int(i == j) for j, x in enumerate(row)] for i, row in enumerate(gram)])[0]


def _largest(holds: Callable[[int], bool], fails: int) -> int:
    """The largest j < ``fails`` with holds(j), for a property that holds up to some j; 0 if it never holds."""
    low = 0
    while fails - low > 1:
        middle = (low + fails) // 2
        low, fails = (middle, fails) if holds(middle) else (low, middle)
    return low
