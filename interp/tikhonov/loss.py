"""Untrusted. The loss of a transformer on a dataset, certified.

    loss(T) = (1 / N) sum_j d_H(T(X_j), Y_j)^2,   J(T) = loss(T) + eps |theta|^2

d_H is the Hausdorff distance of finite sets in the Euclidean norm, so d_H^2 is rational where the tokens are. The
forward passes are the kernel's: at temperature 0, and wherever attention is uniform, the loss is an exact rational; at
another temperature the kernel's balls enclose the tokens and the loss lies between two rationals.
"""

from __future__ import annotations

from flint import fmpq

from interp.execution.distance import Enclosure, measure_distances
from proofs.balls.attention import PRECISIONS
from proofs.kernel.errors import LimitReached
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Dataset, Temperatures


def exactly(value: fmpq) -> Enclosure:
    """The enclosure of a known value."""
    return Enclosure(value, value)


def enclose_loss(
    dataset: Dataset, transformer: Transformer, temperature: fmpq, limits: Limits = DEFAULT_LIMITS
) -> Enclosure:
    """The loss at one temperature >= 0: the mean of the squared distances, exact or to about twelve digits.

    Raises: LimitReached when no precision certifies every sign of a ReLU.
    """
    at = Temperatures(zero=True) if temperature == 0 else Temperatures(zero=False, single=temperature)
    distances = measure_distances(dataset, transformer, at, limits)
    if distances is None:
        raise LimitReached(f"the loss could not be enclosed with {PRECISIONS[-1]} bits: the sign of a unit stays open")
    return sum(distances, exactly(fmpq(0))) * fmpq(1, len(distances))
