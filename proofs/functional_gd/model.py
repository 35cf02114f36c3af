"""Trusted. Contexts, kernels and claims (the user's), and the transformers of functional gradient descent (a witness).

Shapes: d dimension, n points of the context, L layers. A matrix B or C of a head is p x d for any p >= 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from flint import fmpq, fmpq_mat

from proofs.kernel.errors import MalformedInput
from proofs.kernel.rational import rational_text

MAX_DEGREE = 100
MAX_LAYERS = 100_000
LOSSES = {"half-sum": "1/2 sum", "sum": "sum", "mean": "1/n sum"}  # of the (f(x_i) - y_i)^2
_ACTIVATION = re.compile(r"(linear|relu|exp|softmax)\Z|polynomial:([1-9][0-9]{0,2})\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Activation:
    """What a score s becomes: s, max(s, 0), (1 + s)^degree, e^s, or softmax over the n keys."""

    name: str
    degree: int = 1

    @property
    def rational(self) -> bool:
        """Whether rational scores give rational weights."""
        return self.name in {"linear", "relu", "polynomial"}

    def __str__(self) -> str:
        return f"{self.name}:{self.degree}" if self.name == "polynomial" else self.name


@dataclass(frozen=True, slots=True)
class Term:
    """The summand weight * h(<B u, B v>) of a kernel, B being p x d."""

    weight: fmpq
    activation: Activation
    B: fmpq_mat


@dataclass(frozen=True, slots=True)
class Kernel:
    """K(u, v) = the sum of its terms, and the text that it was made from."""

    terms: tuple[Term, ...]
    text: str

    @property
    def rational(self) -> bool:
        """Whether K is rational at rational points."""
        return all(term.activation.rational for term in self.terms)


@dataclass(frozen=True, slots=True)
class Context:
    """n >= 1 labelled points (x_i, y_i) and a query x, in Q^d, d >= 1."""

    points: tuple[tuple[fmpq, ...], ...]
    labels: tuple[fmpq, ...]
    query: tuple[fmpq, ...]
    digest: str = ""

    def __post_init__(self) -> None:
        if not self.points or not self.query:
            raise MalformedInput("a context needs a point and a coordinate: nothing to check", "$.points")
        if len(self.labels) != len(self.points):
            raise MalformedInput(f"{len(self.labels)} labels for {len(self.points)} points", "$.labels")
        for i, point in enumerate(self.points):
            if len(point) != self.dimension:
                raise MalformedInput(f"{len(point)} coordinates, expected {self.dimension}", f"$.points[{i}]")

    @property
    def dimension(self) -> int:
        """The number d of coordinates."""
        return len(self.query)


@dataclass(frozen=True, slots=True)
class Claim:
    """The user's claim: descent on which kernel, with which steps r_0 .. r_{L-1}, for which loss."""

    kernel: Kernel
    steps: tuple[fmpq, ...]
    loss: str = "half-sum"
    target_bits: int = 64

    @property
    def descent(self) -> str:
        """The descent in words."""
        same = len(set(self.steps)) == 1
        steps = ", ".join(map(rational_text, self.steps[:1] if same else self.steps))
        loss = f"{LOSSES[self.loss]} (f(x_i) - y_i)^2"
        return f"{len(self.steps)} layers of gradient descent on {loss} with K = {self.kernel.text}, r = {steps}"

    def __str__(self) -> str:
        how = "exactly" if self.kernel.rational else f"by an exact identity, and within 2^-{self.target_bits}"
        return f"{self.descent}, at every layer and entry, {how}"


@dataclass(frozen=True, slots=True)
class Head:
    """V Z M H with V = diag(A, rho) and H_ij = h(<B x_i, C x_j>), i the key and j the query."""

    activation: Activation
    B: fmpq_mat
    C: fmpq_mat
    A: fmpq_mat
    rho: fmpq


@dataclass(frozen=True, slots=True)
class Transformer:
    """A witness: its heads layer by layer, and what its header says (shown, never believed)."""

    dimension: int
    layers: tuple[tuple[Head, ...], ...]
    header: dict[str, Any] = field(default_factory=dict)
    digest: str = ""


def scaled_identity(dimension: int, scale: fmpq) -> fmpq_mat:
    """The matrix scale * I."""
    return fmpq_mat([[scale * int(a == b) for b in range(dimension)] for a in range(dimension)])


def parse_activation(text: str, path: str = "") -> Activation:
    """linear, relu, polynomial:k, exp or softmax. Raises: MalformedInput."""
    match = _ACTIVATION.match(text)
    if match is None or (match[2] and int(match[2]) > MAX_DEGREE):
        hint = f"linear, relu, polynomial:k with 1 <= k <= {MAX_DEGREE}, exp or softmax"
        raise MalformedInput(f"unknown kernel {text[:40]!r}", path, hint)
    return Activation("polynomial", int(match[2])) if match[2] else Activation(match[1])
