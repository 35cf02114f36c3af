"""Trusted. Proposition 2: how far the prediction of L layers is from the limit of the descent, certified.

Write rho_l for the residuals, G_ij = K(x_i, x_j), nu_i = K(x_i, x), and let G beta = nu. The limit is beta^T Y: for
symmetric positive definite G this is nu^T G^-1 Y, the predictor of Bayes without noise.

Identity. f_l(x) = nu^T alpha_l = beta^T G^T alpha_l = beta^T (Y - rho_l), so limit - f_L(x) = beta^T rho_L. Moreover
rho_L = prod (I - r_l G^T) Y. Both sides are computed and compared.

Bound. If G > 0 and -q I <= I - r_l G <= q I with 0 <= q < 1 for all l, then in the inner product of G^-1, with which
I - r_l G commutes, |rho_L| <= q^L |Y|, and by Cauchy-Schwarz error^2 <= q^2L (nu^T G^-1 nu) (Y^T G^-1 Y). Only if the
Gram matrix of x_1 .. x_n, x is positive semidefinite is nu^T G^-1 nu <= K(x, x) (its Schur complement is >= 0).

Convergence. For symmetric G > 0 the residuals tend to 0 for every Y exactly when 0 < r < 2 / lambda_max, that is, r > 0
and 2 I - r G > 0. If G is singular and the Gram matrix of x_1 .. x_n, x positive semidefinite, then nu is in the range
of G; with beta in the range too, beta^T Y = nu^T G^+ Y, to which the prediction tends for such r (2 I - r G > 0).
"""

from __future__ import annotations

from typing import Any

from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

from proofs.functional_gd.check import GUARD_BITS, Verdict, needed_bits, short
from proofs.functional_gd.descent import Table, combine, kernel_table, rate_factor, run_descent
from proofs.functional_gd.model import Claim, Context
from proofs.kernel.check import Obligation
from proofs.kernel.errors import LimitReached, Status, UsageError

Rows = list[list[Any]]
DEFINITE, SINGULAR, INDEFINITE, UNDECIDED = "positive definite", "singular", "not positive semidefinite", "undecided"


def classify(matrix: Rows) -> tuple[str, str]:
    """What a symmetric matrix is, by LDL^T, with a principal minor that shows it. Rationals or balls.

    Pivots are eliminated in order. A pivot 0 whose row is 0 is passed over. Otherwise a pivot p <= 0 is a witness: with
    S the rows used so far, P > 0 their minor, the minor of S and this row is P p; and if p = 0 and an entry b of the
    row is not, the minor of S, this row and that one is - P b^2 < 0.
    """
    A, singular, minor = [list(row) for row in matrix], "", fmpq(1)
    used: list[int] = []
    for k in range(len(A)):
        pivot = A[k][k]
        rows = ", ".join(str(i + 1) for i in (*used, k))
        if pivot < 0:  # for balls: true only if certain
            return INDEFINITE, f"the minor of rows {rows} is {short(minor * pivot)}"
        if pivot > 0:
            for i in range(k + 1, len(A)):
                factor = A[i][k] / pivot
                A[i] = [x - factor * y for x, y in zip(A[i], A[k], strict=True)]
            used, minor = [*used, k], minor * pivot
            continue
        if _balls(matrix):
            return UNDECIDED, f"the minor of rows {rows} is {short(minor * pivot)}"
        other = next((m for m in range(k + 1, len(A)) if A[k][m] != 0), None)
        if other is not None:
            return INDEFINITE, f"the minor of rows {rows}, {other + 1} is {short(-minor * A[k][other] ** 2)}"
        singular = singular or f"the minor of rows {rows} is 0"
    return (SINGULAR, singular) if singular else (DEFINITE, f"all leading minors are positive, det {short(minor)}")


def _balls(matrix: Rows) -> bool:
    return isinstance(matrix[0][0], arb)


def contracts(gram: Rows, rate: fmpq, q: fmpq) -> str:
    """What the worse of (q + 1) I - rate G and (q - 1) I + rate G is: -q I <= I - rate G <= q I if neither is bad."""
    kinds = [classify(_shifted(gram, -rate * sign, q + sign))[0] for sign in (1, -1)]
    return next(kind for kind in (INDEFINITE, UNDECIDED, SINGULAR, DEFINITE) if kind in kinds)


def _shifted(gram: Rows, factor: fmpq, shift: fmpq) -> Rows:
    """factor * G + shift * I."""
    return [[factor * x + shift * int(i == j) for j, x in enumerate(row)] for i, row in enumerate(gram)]


def solve(G: Rows, right: list[Any], pseudo_inverse: bool = False) -> list[Any]:
    """beta with G beta = right; with ``pseudo_inverse``, the one in the range of a rational symmetric G."""
    n, entries = len(right), [x for row in G for x in row]
    if _balls(G):
        try:
            return list(arb_mat(n, n, entries).solve(arb_mat(n, 1, right)).entries())
        except ZeroDivisionError as error:
            raise LimitReached("the balls are too wide to solve with G", hint="raise --target-bits") from error
    matrix = fmpq_mat(n, n, entries)
    if not pseudo_inverse:
        return list(matrix.solve(fmpq_mat(n, 1, right)).entries())
    square = (matrix * matrix).tolist()  # beta = G gamma, G^2 gamma = right
    echelon, rank = fmpq_mat([[*row, b] for row, b in zip(square, right, strict=True)]).rref()
    gamma = fmpq_mat(n, 1)
    for row in range(rank):
        gamma[next(c for c in range(n) if echelon[row, c] != 0), 0] = echelon[row, n]
    return list((matrix * gamma).entries())


def check_distance(
    context: Context, claim: Claim, q: fmpq | None = None, within: fmpq | None = None, pseudo_inverse: bool = False
) -> Verdict:
    """How far f_L(x) is from its limit; with ``q`` also the bound, with ``within`` also whether |error| < within."""
    balls = not claim.kernel.rational
    with ctx.workprec(GUARD_BITS):
        bits = needed_bits(context, claim, kernel_table(claim.kernel, context, balls=True)) if balls else GUARD_BITS
    with ctx.workprec(2 * bits):
        table = kernel_table(claim.kernel, context, balls)
        if q is not None and (table.own is None or pseudo_inverse):
            raise UsageError("there is no bound for softmax or with the pseudo-inverse", "--q")
        gram = [list(row) for row in zip(*table.columns, strict=True)]  # G_ij = K(x_i, x_j)
        definite, facts = _check_definite(gram, table, pseudo_inverse)
        obligations = [definite]
        if definite.status is Status.VERIFIED:
            beta, labels = solve(gram, table.nu, pseudo_inverse), list(context.labels)
            final = run_descent(table, context, claim)[-1]
            limit, error = combine(beta, labels), combine(beta, final.residuals)
            facts |= {"limit": short(limit), "prediction": short(final.prediction), "error": short(error)}
            rates, rho = [step * rate_factor(claim.loss, len(labels)) for step in claim.steps], labels
            for rate in rates:
                rho = [y - rate * combine(column, rho) for y, column in zip(rho, table.columns, strict=True)]
            gaps = [limit - final.prediction - error, *(a - b for a, b in zip(rho, final.residuals, strict=True))]
            small = fmpq(1, 1 << claim.target_bits) if balls else fmpq(0)
            holds, fails = all(abs(gap) <= small for gap in gaps), any(abs(gap) > small for gap in gaps)
            obligations.append(_decide("identity", holds, fails, "limit - prediction = beta^T rho_L"))
            if within is not None:
                text = f"|error| < {short(within)}"
                obligations.append(_decide("within", abs(error) < within, abs(error) >= within, text))
            if q is not None:
                kinds = {contracts(gram, rate, q) for rate in set(rates)} if 0 <= q < 1 else {INDEFINITE}
                holds, text = not kinds & {INDEFINITE, UNDECIDED}, f"-q I <= I - r G <= q I, q = {short(q)}"
                obligations.append(_decide("contraction", holds, INDEFINITE in kinds, text))
                if holds:
                    bound = q ** (2 * len(rates)) * combine(beta, table.nu) * combine(solve(gram, labels), labels)
                    text = f"error^2 <= {short(bound)}"
                    obligations.append(_decide("bound", error**2 <= bound, error**2 > bound, text))
        statement = f"the distance of {claim.descent} from beta^T Y, where G beta = nu"
        return Verdict(statement, tuple(obligations), facts | {"context": context.digest})


def _decide(name: str, holds: bool, fails: bool, detail: str) -> Obligation:
    return Obligation(name, Status.VERIFIED if holds else Status.REFUTED if fails else Status.UNDECIDED, detail)


def _check_definite(gram: Rows, table: Table, pseudo_inverse: bool) -> tuple[Obligation, dict[str, str]]:
    """Whether there is a limit: G > 0; or, on request, G singular and the extended Gram matrix semidefinite."""
    if table.own is None:
        return Obligation("limit", Status.VERIFIED, "softmax is not symmetric: the limit is no Bayes predictor"), {}
    kind, reason = classify(gram)
    extended, why = classify([*([*row, k] for row, k in zip(gram, table.nu, strict=True)), [*table.nu, table.own]])
    holds = kind == DEFINITE or (pseudo_inverse and kind == SINGULAR and extended == SINGULAR)
    hint = "; the pseudo-inverse is on request" if kind == SINGULAR and not pseudo_inverse else ""
    obligation = _decide("definite", holds, kind != UNDECIDED, f"G is {kind}: {reason}{hint}")
    return obligation, {"extended": f"Gram matrix with the query: {extended}, {why}"}
