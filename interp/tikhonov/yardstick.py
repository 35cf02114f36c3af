"""Untrusted, except that every number in a diagnosis is exact or enclosed. Points of the architecture to compare with.

Let theta* be an exact interpolant: loss 0. A global minimiser of J_eps = loss + eps |theta|^2 has J_eps <=
J_eps(theta*) = eps |theta*|^2, so a run above that line is no global minimiser. Every other point says the same with
its own line loss + eps |theta|^2: theta = 0, and each trained run at every eps.
Source: section 3.4 of arXiv 2502.02270 (the line of the interpolant); the other lines are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from flint import fmpq, fmpq_mat

from interp.api import check_hypotheses, make_transformer, verify
from interp.audit.compare import build_all
from interp.execution.distance import Enclosure
from interp.norm.rescaling import rescale
from interp.tikhonov.loss import enclose_loss, exactly
from interp.tikhonov.model import Architecture, dense_norm
from proofs.kernel.errors import Status, UsageError
from proofs.kernel.model import Block, FeedForward, SelfAttention, Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, rational_text
from proofs.kernel.statement import Dataset


@dataclass(frozen=True, slots=True)
class Point:
    """A point theta of the architecture, by its loss and |theta|^2."""

    name: str
    loss: Enclosure
    squares: fmpq

    def objective(self, eps: fmpq) -> Enclosure:
        """J_eps."""
        return self.loss + exactly(eps * self.squares)


@dataclass(frozen=True, slots=True)
class Interpolant:
    """A transformer of the architecture that was verified to interpolate the dataset at its temperature."""

    transformer: Transformer
    name: str
    given: fmpq  # |theta|^2 as constructed, before padding and rescaling

    @property
    def point(self) -> Point:
        """Loss 0, exactly."""
        return Point("interpolant", exactly(fmpq(0)), dense_norm(self.transformer))


class Diagnosis(Enum):
    """What J of a run says about global minimality."""

    CONSISTENT = "J is consistent with a global minimiser"
    ABOVE = "not a global minimiser: J is above the threshold"
    BEATEN = "not a global minimiser: a smaller J is known"
    UNDECIDED = "too close to the threshold to tell"


MEANING = """\
J above the threshold eps |theta*|^2, or above the J of another point, proves that the run is no global minimiser of
J: it is at a local minimum, at a saddle or not converged. An excess above 0 (the share of |theta|^2 that rescaling
saves at the same loss) proves that it is not stationary, so not converged; otherwise the numbers do not tell which.
"Consistent" proves loss <= J <= eps |theta*|^2 and nothing about minimality. ~gradient is |grad J| |theta| / J in
floats, for one subgradient, as the loss is not smooth. Nothing is said about other data or other objectives."""


def diagnose(objective: Enclosure, threshold: fmpq, smaller: Point | None) -> Diagnosis:
    """J against eps |theta*|^2, then against a point with a certainly smaller J if one is known (``find_smaller``)."""
    if objective.lower > threshold:
        return Diagnosis.ABOVE
    if smaller is not None:
        return Diagnosis.BEATEN
    return Diagnosis.CONSISTENT if objective.upper <= threshold else Diagnosis.UNDECIDED


def find_smaller(objective: Enclosure, eps: fmpq, points: Sequence[Point]) -> Point | None:
    """The point with the smallest upper bound of J_eps, if that is certainly smaller than the objective."""
    best = min(points, key=lambda point: point.objective(eps).upper)
    return best if best.objective(eps).upper < objective.lower else None


def make_zero_point(dataset: Dataset) -> Point:
    """theta = 0: every token goes to 0, so the loss is the mean of the largest |y|^2."""
    d = dataset.dimension
    nothing = FeedForward(fmpq(0), fmpq_mat(d, 0), fmpq_mat(0, d), fmpq_mat(0, 1))
    zero = Transformer(d, (Block(nothing, SelfAttention(fmpq(0))),))
    return Point("theta = 0", enclose_loss(dataset, zero, fmpq(0)), dense_norm(zero))


def place_interpolant(
    dataset: Dataset, transformer: Transformer, name: str, architecture: Architecture, limits: Limits = DEFAULT_LIMITS
) -> Interpolant:
    """The transformer as a point of the architecture, rescaled to a small norm and verified.

    Raises: UsageError if it does not fit or does not interpolate at the temperature of the architecture.
    """
    placed = architecture.place(transformer)
    blocks = rescale(placed.blocks, architecture.dimension, positive=True, form="dense")
    rescaled = replace(placed, blocks=blocks)
    verdict = verify(
        rescaled,
        dataset,
        temperatures=rational_text(architecture.temperature),
        max_width=architecture.width,
        max_blocks=architecture.blocks,
        max_parameters=2 * architecture.num_parameters,  # low-rank forms may store more than d^2 numbers if d = 2
        limits=limits,
    )
    if verdict.status is not Status.VERIFIED:
        reasons = "; ".join(f"{item.name}: {item.detail}" for item in verdict.failed)
        raise UsageError(
            f"{name} is {verdict.status.label} as an interpolant at temperature "
            f"{rational_text(architecture.temperature)}: no threshold ({reasons})"
        )
    return Interpolant(rescaled, name, dense_norm(transformer))


def find_interpolant(
    dataset: Dataset,
    temperature: fmpq,
    width: int,
    blocks: int | None = None,
    seed: int = 0,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Interpolant, Architecture]:
    """The construction with the smallest norm that interpolates at this temperature and fits; with its architecture.

    Without ``blocks`` the architecture has as many as the construction needs. Raises: UsageError if there is none,
    MalformedInput when the dataset does not meet the hypotheses of the theorems.
    """
    check_hypotheses(dataset)
    found, refusals = [], []
    for name, transformer in _candidates(dataset, seed):
        architecture = Architecture(dataset.dimension, blocks or max(len(transformer.blocks), 1), width, temperature)
        try:
            found.append((place_interpolant(dataset, transformer, name, architecture, limits), architecture))
        except UsageError as refusal:
            refusals.append(f"{name}: {refusal.message}")
    if not found:
        raise UsageError("no construction gives a threshold", hint="; ".join(refusals))
    return min(found, key=lambda pair: pair[0].point.squares)


def _candidates(dataset: Dataset, seed: int) -> Iterator[tuple[str, Transformer]]:
    for built in build_all(dataset, seed, "softmax"):
        if built.ledger is not None:
            yield built.construction.name, make_transformer(built.ledger, built.construction, dataset, seed)
