"""Untrusted. Theorems 1 and 2 and identity (C.30) on finite examples, in exact rational arithmetic.

The family: B_l = b_l S^-1, C_l = c_l S^-1, A_l = a_l I, S = Sigma^(1/2) (theorem 1: a_l = 0). h is linear, relu or a
polynomial. U_S = S U S^-1 for orthogonal U.

(C.30)  X_l(U_S X_0) = U_S X_l(X_0), and the label row does not change. For <S^-1 U_S x, S^-1 U_S z> = <S^-1 x, S^-1 z>
by U^T U = I, so H is the same, and A_l = a_l I commutes with U_S.

Stationarity. Let F be the squared loss, averaged over all signed permutations U of the covariates (x becomes U_S x; the
labels, the query's too, stay). For a signed permutation Q, rotating all covariates by Q_S changes nothing in F. On the
other hand X = Q_S X' turns a layer into one with B Q_S, C Q_S, Q_S^-1 A Q_S. So F has the same value there. Start from
a point of the family with t R added to one B_l. Then B_k Q_S = b_k Q S^-1 for the others; as h depends on B and C only
through (Bx)^T (Cz), the Q on the left can be taken away from B and C of every layer. This gives the same point of the
family, with t Q^-1 (R S) Q S^-1 added to B_l. The mean of Q^-1 N Q over the signed permutations is (tr N / d) I. Hence

    gradient in direction R of B_l (or C_l)  =  gradient in direction (tr(R S) / d) S^-1,

and likewise, with R replaced by Q_S^-1 R Q_S = S Q^-1 (S^-1 R S) Q S^-1,

    gradient in direction R of A_l           =  gradient in direction (tr R / d) I.

No gradient leads out of the family. Both sides are linear in R, so the d^2 unit matrices are enough. For relu no inner
product may be 0, or there is no gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

from flint import fmpq, fmpq_mat

from proofs.functional_gd.forward import run_forward
from proofs.functional_gd.model import Activation, Context, Head, Transformer, scaled_identity
from proofs.kernel.errors import MalformedInput


@dataclass(frozen=True, slots=True)
class Family:
    """A point of the family; S = Sigma^(1/2) is symmetric, and one number a layer for each of b, c, a, rho."""

    activation: Activation
    S: fmpq_mat
    b: tuple[fmpq, ...]
    c: tuple[fmpq, ...]
    a: tuple[fmpq, ...]
    rho: tuple[fmpq, ...]

    def __post_init__(self) -> None:
        if self.S.transpose() != self.S or self.S.det() == 0:
            raise MalformedInput("the root of Sigma must be symmetric and invertible")
        if not self.activation.rational:
            raise MalformedInput(f"{self.activation} is not rational", "--kernel", "linear, relu or polynomial:k")

    def transformer(self) -> Transformer:
        """The transformer at this point."""
        d, inverse = self.S.nrows(), self.S.inv()
        return Transformer(
            d,
            tuple(
                (Head(self.activation, b * inverse, c * inverse, scaled_identity(d, a), rho),)
                for b, c, a, rho in zip(self.b, self.c, self.a, self.rho, strict=True)
            ),
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two exact numbers that the theorem says are equal."""

    name: str
    found: fmpq
    expected: fmpq


def signed_permutations(d: int) -> Iterator[fmpq_mat]:
    """All 2^d d! of them."""
    for order, signs in product(permutations(range(d)), product((1, -1), repeat=d)):
        yield fmpq_mat(
            [[fmpq(sign * int(c == column)) for c in range(d)] for column, sign in zip(order, signs, strict=True)]
        )


def rational_rotations(d: int) -> Iterator[fmpq_mat]:
    """Rotations by the angles of the triangles 3-4-5 and 5-12-13 in the planes of neighbouring coordinates."""
    for c, (p, q, r) in product(range(d - 1), ((3, 4, 5), (5, 12, 13))):
        U = scaled_identity(d, fmpq(1))
        U[c, c] = U[c + 1, c + 1] = fmpq(p, r)
        U[c, c + 1], U[c + 1, c] = fmpq(-q, r), fmpq(q, r)
        yield U


def rotate(context: Context, matrix: fmpq_mat) -> Context:
    """The context with every covariate multiplied by the matrix, labels unchanged."""

    def image(point: tuple[fmpq, ...]) -> tuple[fmpq, ...]:
        return tuple((matrix * fmpq_mat(len(point), 1, list(point))).entries())

    return replace(context, points=tuple(map(image, context.points)), query=image(context.query))


def find_equivariance_failure(context: Context, family: Family, orthogonal: fmpq_mat) -> str:
    """Where (C.30) fails for this U, or nothing."""
    d, transformer = context.dimension, family.transformer()
    if orthogonal * orthogonal.transpose() != scaled_identity(d, fmpq(1)):
        raise MalformedInput("U is not orthogonal")
    U_S = family.S * orthogonal * family.S.inv()
    rotated_run, plain_run = (run_forward(transformer, c, fmpq) for c in (rotate(context, U_S), context))
    for l, (rotated, plain) in enumerate(zip(rotated_run, plain_run, strict=True)):
        if fmpq_mat(rotated[:d]) != U_S * fmpq_mat(plain[:d]) or rotated[d] != plain[d]:
            return f"layer {l}"
    return ""


class Dual:
    """value + slope * epsilon with epsilon^2 = 0: exact derivatives along one direction."""

    def __init__(self, value: fmpq, slope: fmpq) -> None:
        self.value, self.slope = value, slope

    def __add__(self, other: Any) -> Dual:
        other = to_dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Dual:
        other = to_dual(other)
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Dual:
        return Dual(self.value**exponent, exponent * self.value ** (exponent - 1) * self.slope)

    def max(self, _zero: int) -> Dual:
        """relu. Raises: MalformedInput at 0, where it has no derivative."""
        if self.value == 0:
            raise MalformedInput("an inner product is 0 here: relu has no derivative")
        return self if self.value > 0 else Dual(fmpq(0), fmpq(0))


def to_dual(value: Any) -> Dual:
    """A number that does not move, unless it is dual already."""
    return value if isinstance(value, Dual) else Dual(fmpq(value), fmpq(0))


@dataclass(frozen=True, slots=True)
class MovingMatrix:
    """matrix + epsilon * direction, read by the forward pass like a matrix."""

    matrix: fmpq_mat
    direction: fmpq_mat

    def tolist(self) -> list[list[Dual]]:
        """The rows."""
        pairs = zip(self.matrix.tolist(), self.direction.tolist(), strict=True)
        return [[Dual(x, v) for x, v in zip(*rows, strict=True)] for rows in pairs]


def find_slope(contexts: list[Context], query_label: fmpq, family: Family, layer: int, name: str, R: fmpq_mat) -> fmpq:
    """The derivative of the mean squared loss over the contexts when A, B or C of one layer moves along R."""
    still = family.transformer()
    layers: list[Any] = list(still.layers)
    head: Any = layers[layer][0]
    layers[layer] = (replace(head, **{name: MovingMatrix(getattr(head, name), R)}),)
    moving, total = replace(still, layers=tuple(layers)), fmpq(0)
    for context in contexts:
        *_, last = run_forward(moving, context, to_dual)
        total += ((last[-1][-1] + query_label) ** 2).slope  # minus the last entry is the prediction
    return total / len(contexts)


def compare_slopes(context: Context, query_label: fmpq, family: Family) -> list[Comparison]:
    """Every pair of gradients that stationarity says are equal: all layers, A, B and C, all unit directions."""
    d, S, inverse = context.dimension, family.S, family.S.inv()
    contexts = [rotate(context, S * U * inverse) for U in signed_permutations(d)]
    found = []
    for layer, name, (p, q) in product(range(len(family.b)), "ABC", product(range(d), repeat=2)):
        R = fmpq_mat(d, d)
        R[p, q] = fmpq(1)
        projected = scaled_identity(d, R[p, p] / d) if name == "A" else inverse * (S[q, p] / d)
        slopes = (find_slope(contexts, query_label, family, layer, name, along) for along in (R, projected))
        found.append(Comparison(f"layer {layer + 1}, {name}, direction ({p + 1},{q + 1})", *slopes))
    return found
