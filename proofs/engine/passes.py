"""Trusted. The forward passes that a check may run instead of the kernel's."""

from __future__ import annotations

from proofs.engine.boxes import check_softmax
from proofs.engine.forward import find_wrong, run_parts
from proofs.engine.forward import run_steps as run_hardmax
from proofs.engine.packed import count_packed
from proofs.engine.state import KernelOnly
from proofs.kernel.check import DENSE, Found, Passes, Progress, answer_hardmax
from proofs.kernel.errors import InternalFault, Status
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Dataset, Readout

PARTS = ("engine/hardmax",)

__all__ = ["ENGINE", "check_hardmax", "find_wrong", "run_hardmax"]


def check_hardmax(
    dataset: Dataset, transformer: Transformer, readout: Readout, limits: Limits, progress: Progress | None = None
) -> Found:
    """The obligation of temperature 0, read out at all tokens; what depends on their order is left to the kernel."""
    try:
        if readout is Readout.ALL:
            return _check_all(dataset, transformer, limits, progress)
    except KernelOnly:
        pass
    return DENSE.hardmax(dataset, transformer, readout, limits, progress)


def _check_all(dataset: Dataset, transformer: Transformer, limits: Limits, progress: Progress | None) -> Found:
    """The first pair that is wrong is run again by the kernel: it says what is wrong. Raises: KernelOnly."""
    wrong: list[int] = []
    parts: set[str] = set()
    for part in run_parts(dataset, transformer, limits, progress):
        if part.state is not None:
            parts.update(PARTS)
            wrong += [part.first + j for j in part.wrong]
            continue
        answer, used = DENSE.hardmax(part.dataset, transformer, Readout.ALL, limits, None)
        parts.update(used)
        if answer.status is not Status.VERIFIED:
            wrong.append(part.first)
    if not wrong:
        return answer_hardmax(dataset, [], set()), tuple(sorted(parts))
    alone = Dataset(dataset.dimension, (dataset.pairs[wrong[0]],))
    again, _ = DENSE.hardmax(alone, transformer, Readout.ALL, limits, None)
    if again.status is not Status.REFUTED or again.mismatch is None:
        raise InternalFault(f"engine and kernel disagree about pair {wrong[0]}", hint="please report it")
    found = (set(alone.pairs[0].output) - {*again.mismatch.missing}) | {*again.mismatch.surplus}
    return answer_hardmax(dataset, wrong, found), tuple(sorted(parts))


ENGINE = Passes(check_hardmax, check_softmax, count_packed)
