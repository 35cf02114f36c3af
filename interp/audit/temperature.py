"""Untrusted search, trusted answers: the largest temperature tau* for which the kernel certifies (0, tau*].

Every temperature that is reported as certified was certified by ``proofs.kernel.check.run_boxes``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import fmpq

from proofs.kernel.boxes import Box, Undecided, point
from proofs.kernel.check import Obligation, run_boxes
from proofs.kernel.errors import Status
from proofs.kernel.model import Block, Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.softmax import apply_block_boxes, mean_up_to
from proofs.kernel.statement import Dataset, Readout

RELATIVE_STEP = fmpq(1, 1 << 10)
LARGEST_POWER = 1 << 10  # temperatures between 2^-1024 and 2^1024 are searched

Step = Callable[[str], None]


@dataclass(frozen=True)
class TemperatureRange:
    """(0, certified] holds and (0, failing] could not be certified; ``all_positive`` when every temperature holds."""

    all_positive: bool
    certified: fmpq | None
    failing: fmpq | None
    reason: str  # why ``failing`` fails: the block, the token, the margin


def find_largest_temperature(
    dataset: Dataset,
    transformer: Transformer,
    limits: Limits = DEFAULT_LIMITS,
    step: Step = lambda text: None,
    readout: Readout = Readout.ALL,
) -> TemperatureRange:
    """Bisection on dyadics until the failing temperature is within 2^-10 (relative) of the certified one.

    Blocks before the first attention that depends on the temperature are run once. Raises: LimitReached.
    """
    start = _run_independent_blocks(dataset, transformer, limits)

    def ask(tau: fmpq | None) -> Obligation:
        step("every temperature" if tau is None else f"tau = {tau}")
        return run_boxes(dataset, transformer, mean_up_to(tau), readout, limits, start=start)

    answer = ask(None)
    if answer.status is Status.VERIFIED:
        return TemperatureRange(True, None, None, "")
    certified, failing, tau = None, None, fmpq(1)
    for exponent in (2**k for k in range(LARGEST_POWER.bit_length())):
        answer = ask(tau)
        if answer.status is Status.VERIFIED:
            certified = tau
            if failing is not None:
                break
            tau = fmpq(1 << exponent)
        else:
            failing, reason = tau, answer.detail
            if certified is not None:
                break
            tau = fmpq(1, 1 << exponent)
    if certified is None or failing is None:
        return TemperatureRange(False, certified, failing, answer.detail)
    while failing > certified * (1 + RELATIVE_STEP):
        middle = _dyadic_between(certified, failing)
        answer = ask(middle)
        if answer.status is Status.VERIFIED:
            certified = middle
        else:
            failing, reason = middle, answer.detail
    return TemperatureRange(False, certified, failing, reason)


def _dyadic_between(low: fmpq, high: fmpq) -> fmpq:
    """A dyadic near the geometric mean when the ends are far apart, the arithmetic mean otherwise."""
    if high > 4 * low:
        ratio = high / low
        half = (int(ratio.p).bit_length() - int(ratio.q).bit_length()) // 2
        return low * (1 << max(half, 1))
    return (low + high) / 2


def _run_independent_blocks(
    dataset: Dataset, transformer: Transformer, limits: Limits
) -> tuple[int, list[list[Box]]] | None:
    """Number of leading blocks that do not depend on the temperature, and the state after them."""
    sequences = [[point(row) for row in pair.input] for pair in dataset.pairs]
    done = 0
    for block in transformer.blocks:
        if _depends_on_temperature(block, transformer.dimension):
            break
        try:
            sequences = apply_block_boxes(block, sequences, mean_up_to(None), limits)
        except Undecided:
            break
        done += 1
    return done, sequences


def _depends_on_temperature(block: Block, dimension: int) -> bool:
    return any(not head.A.is_zero(dimension) for head in block.attention.find_acting(dimension))
