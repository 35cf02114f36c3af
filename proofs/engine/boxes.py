"""Trusted. All temperatures in (0, tau] at once: boxes as in ``proofs.kernel.boxes``, fewer and found with less work.

A pair is *doubtful* unless the boxes here prove it exact: the kernel's pass is run on such pairs alone. So nothing here
has to be sharp, only right: the boxes of a pair that is not doubtful are points, and together hold all its tokens.
Centers go where tokens go at temperature 0 (the mean of the tokens of largest score is the center); radii follow as
``proofs.engine.radii`` says.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from proofs.engine.attention import Decay
from proofs.engine.forward import Part, run_parts
from proofs.engine.state import KernelOnly
from proofs.kernel.check import DENSE, Found, Obligation, Progress
from proofs.kernel.errors import Status
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Dataset, Readout, Temperatures

PARTS = ("engine/softmax",)


def check_softmax(
    dataset: Dataset,
    transformer: Transformer,
    claimed: Temperatures,
    readout: Readout,
    limits: Limits,
    progress: Progress | None = None,
) -> Found:
    """The obligation of an interval of temperatures, read out at all tokens; all others are left to the kernel."""
    try:
        if claimed.single is None and readout is Readout.ALL:
            return _check_all(dataset, transformer, claimed, limits, progress)
    except KernelOnly:
        pass
    return DENSE.softmax(dataset, transformer, claimed, readout, limits, progress)


def _check_all(
    dataset: Dataset, transformer: Transformer, claimed: Temperatures, limits: Limits, progress: Progress | None
) -> Found:
    """All temperatures of an interval. Raises: KernelOnly."""
    found = run_parts(dataset, transformer, limits, progress, Decay(claimed.upper))
    doubtful = [j for part in found for j in find_doubtful(part)]
    total = dataset.num_listed
    exact = Obligation("softmax", Status.VERIFIED, f"{total} of {total} pairs exact")
    if not doubtful:
        return exact, PARTS
    # all others are exact: what the kernel finds first among these it finds first among all
    some = Dataset(dataset.dimension, tuple(dataset.pairs[j] for j in doubtful))
    answer, _ = DENSE.softmax(some, transformer, claimed, Readout.ALL, limits, None)
    parts = (*PARTS, "kernel/softmax")
    if answer.status is Status.VERIFIED:
        return exact, parts
    detail = re.sub(r"pair (\d+)", lambda match: f"pair {doubtful[int(match[1])]}", answer.detail)
    mismatch = answer.mismatch and replace(answer.mismatch, pair=doubtful[answer.mismatch.pair])
    return replace(answer, detail=detail, mismatch=mismatch), parts


def find_doubtful(part: Part) -> list[int]:
    """The pairs, counted in the whole dataset, whose final boxes are not points, or not just their targets."""
    if part.state is None:
        return [part.first]
    doubtful = set(part.wrong)
    if part.state.radii is not None:
        wide = (part.state.radii != 0).any(axis=1)
        doubtful.update(np.unique(part.state.owner[wide]).tolist())
    return [part.first + j for j in sorted(doubtful)]
