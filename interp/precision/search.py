"""Untrusted. Constructions that floats run well: gentle variants and several seeds, judged by the float check.

Gentle: trapezoids, whose plateau forgets errors, instead of hats; directions and signatures with wide gaps. Rescaling
to a small norm is not among the variants: it gives weights more bits, and powers of two change no relative error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

from flint import fmpq

from interp.constructions.catalogue import Construction
from interp.precision.check import FormatReport, check_floats
from interp.precision.formats import RUNNABLE
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Dataset

SEEDS = 4

Build = Callable[[int, bool], Transformer]  # of a seed, gentle or not


@dataclass(frozen=True)
class Candidate:
    """A transformer and what the format makes of it."""

    transformer: Transformer
    seed: int
    gentle: bool
    report: FormatReport

    def is_safe(self, distance: fmpq) -> bool:
        """Whether every decision is proved to be kept and every final token to end within the distance.

        The exact run ends on targets, and every target is reached: so the Hausdorff distance is bounded as well.
        """
        report = self.report
        return report.agreed and report.final_error < inf and fmpq(*report.final_error.as_integer_ratio()) <= distance

    @property
    def rank(self) -> tuple[float, ...]:
        """Smaller is better: proved, then decisions and tokens that the run gets wrong, then distances."""
        report, run = self.report, self.report.run
        if run is None or run.fault:
            return (2, inf, inf, inf, inf)
        square = inf if run.worst_square is None else float(int(run.worst_square.p) / int(run.worst_square.q))
        error = report.final_error if report.agreed else inf
        return (0 if report.agreed else 1, run.num_wrong, run.wrong_tokens, error, square)


def find_candidates(
    dataset: Dataset, construction: Construction, build: Build, dtype: str, seed: int, distance: fmpq, tau: fmpq
) -> Iterator[Candidate]:
    """The construction as it is, then its variants, until one is safe."""
    variants = [(seed, False)]
    if "gentle" in construction.options:
        variants += [(seed + k, True) for k in range(SEEDS)]
    else:
        variants += [(seed + k, False) for k in range(1, SEEDS)]
    for chosen, gentle in variants:
        transformer = build(chosen, gentle)
        report = check_floats(
            dataset, transformer, [RUNNABLE[dtype]], runs=[dtype], temperature=tau, distance=distance
        ).formats[0]
        candidate = Candidate(transformer, chosen, gentle, report)
        yield candidate
        if candidate.is_safe(distance):
            return
