"""The contexts of the worked examples, and generators of random ones."""

from __future__ import annotations

from typing import Any

from flint import fmpq
from hypothesis import strategies as st

from interp.functional_gd.build import build_descent
from proofs.functional_gd.check import check_descent
from proofs.functional_gd.decode import Options
from proofs.functional_gd.model import Context
from proofs.kernel.rational import parse_rational

RATIONAL_KERNELS = (
    "linear",
    "relu",
    "polynomial:2",
    "polynomial:3",
    "linear[1]+1/2*polynomial:2[2]",
    "-1*relu[2]+linear",
)
BALL_KERNELS = ("exp", "softmax", "1/2*exp[1]+linear[2]", 'softmax[["1/2",0],[0,1]]+1/3*relu')


def number(value: Any) -> fmpq:
    return parse_rational(str(value))


def vector(*values: Any) -> tuple[fmpq, ...]:
    return tuple(map(number, values))


def make_context(points: Any, labels: Any, query: Any) -> Context:
    return Context(tuple(vector(*x) for x in points), vector(*labels), vector(*query))


TWO = make_context([(1, 0), ("1/2", 1)], (1, 2), (1, 1))
THREE = make_context([(1, 0), ("1/2", 1), (-1, "1/3")], (1, 2, -1), (1, 1))
RELU = make_context([(1, 0), (-1, 1), (0, 1)], (1, 2, -1), (1, 1))
INDEFINITE = make_context([(1, 0), (1, 1), (0, 1), (-1, 1)], (1, 2, -1, 1), (1, 1))
OUTSIDE = make_context([(-2, 2), (-1, 0), (0, -2)], (0, 1, 2), (-1, -1))
EIGENVALUES = make_context([(1, 1, 0), (0, 1, 1)], (1, 4), (1, 1, 1))
SINGULAR = make_context([(1, 0), (2, 0)], (1, 4), (1, 0))


def claim_of(context: Context, kernel: str, steps: str, layers: int | None = None, **options: Any) -> Any:
    return Options(kernel, steps, layers, **options).claim(context)


def verdict_of(context: Context, kernel: str, steps: str, layers: int | None = None, **options: Any) -> Any:
    """The verdict about the transformer that is built for the claim."""
    claim = claim_of(context, kernel, steps, layers, **options)
    return check_descent(context, claim, build_descent(context, claim))


small = st.builds(fmpq, st.integers(-4, 4), st.sampled_from([1, 1, 2, 3]))


@st.composite
def contexts(draw: st.DrawFn, max_points: int = 4, dimension: int = 2) -> Context:
    """Small contexts; repeated points, zeros and equal labels are common."""
    point = st.tuples(*[small] * dimension)
    n = draw(st.integers(1, max_points))
    points = draw(st.lists(point, min_size=n, max_size=n))
    return Context(tuple(points), tuple(draw(st.lists(small, min_size=n, max_size=n))), draw(point))
