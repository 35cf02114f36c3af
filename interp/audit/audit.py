"""Untrusted. The audit: blocks, width, rank, parameters and bits against the theorem's numbers.

Counts come from the decoded weights (``proofs.kernel.counts``); which block belongs to which phase is the
header's word.
"""

from __future__ import annotations

from dataclasses import dataclass

from interp.audit.rank import find_low_rank
from interp.constructions.catalogue import EVERY, PAPER, Construction
from interp.transformers.ledger import Phase, decode_phases
from proofs.kernel.counts import Counts, count_transformer
from proofs.kernel.model import Transformer
from proofs.kernel.statement import (
    Dataset,
    Temperatures,
    count_hardmax_bound,
    count_parameter_bound,
    count_softmax_bound,
)


@dataclass(frozen=True)
class PhaseAudit:
    """One phase: its blocks against what the theorem's number allots it (None when nothing is allotted)."""

    phase: Phase
    counts: Counts
    allotted: int | None

    @property
    def slack(self) -> int | None:
        """Blocks left over."""
        return None if self.allotted is None else self.allotted - self.phase.num_blocks


@dataclass(frozen=True)
class Comparison:
    """A number found against a number allowed."""

    name: str
    found: int
    allowed: int
    source: str

    @property
    def holds(self) -> bool:
        """Whether found <= allowed."""
        return self.found <= self.allowed


@dataclass(frozen=True)
class Audit:
    """Counts, phases and comparisons. Without a dataset only explicit maxima are compared."""

    counts: Counts
    phases: tuple[PhaseAudit, ...]
    max_rank: int  # largest rank of A - alpha I over blocks whose attention acts
    comparisons: tuple[Comparison, ...]
    construction: str
    rank_one_v: bool  # some V = beta I + r t^T with r t^T != 0: such a block has up to 12 d + 8 scalars
    num_targets: int | None  # M', the number of distinct targets

    @property
    def within(self) -> bool:
        """Whether every comparison holds."""
        return all(comparison.holds for comparison in self.comparisons)


def audit_transformer(
    transformer: Transformer,
    dataset: Dataset | None = None,
    temperatures: Temperatures | None = None,
    max_blocks: int | None = None,
    max_parameters: int | None = None,
    max_bits: int | None = None,
    max_width: int | None = None,
) -> Audit:
    """The audit of a transformer; ``temperatures`` (the user's claim) selects the theorem. Raises: MalformedInput."""
    counts = count_transformer(transformer)
    construction = EVERY.get(str(transformer.header.get("construction")))
    comparisons = []
    if dataset is not None:
        comparisons += _compare_with_theorems(counts, dataset, temperatures, construction)
    for name, found, allowed in (
        ("blocks", counts.blocks, max_blocks),
        ("parameters", counts.parameters, max_parameters),
        ("bits", counts.max_bits, max_bits),
        ("width", counts.width, max_width),
    ):
        if allowed is not None:
            comparisons.append(Comparison(name, found, allowed, f"--max-{name}"))
    acting = [head for block in transformer.blocks for head in block.attention.find_acting(transformer.dimension)]
    return Audit(
        counts,
        tuple(_audit_phases(transformer, dataset, construction)),
        max((find_low_rank(head.A, transformer.dimension) for head in acting), default=0),
        tuple(comparisons),
        construction.name if construction else "unknown",
        any(head.V.left is not None for head in acting),
        None if dataset is None else len({row for pair in dataset.pairs for row in pair.output}),
    )


def _compare_with_theorems(
    counts: Counts, dataset: Dataset, temperatures: Temperatures | None, construction: Construction | None
) -> list[Comparison]:
    N, M, d = dataset.num_pairs, dataset.num_outputs, dataset.dimension
    softmax = temperatures is not None and temperatures.positive and not temperatures.zero
    bound = count_softmax_bound(N, M) if softmax else count_hardmax_bound(N, M)
    formula = "theorem 1.8: 2M + 3N" if softmax else "theorem 1.6: 2M + 2N + 1"
    result = [
        Comparison("blocks", counts.blocks, bound, f"{formula} ({PAPER})"),
        Comparison("width", counts.width, 4, f"width 4 ({PAPER})"),
        Comparison("parameters", counts.parameters, count_parameter_bound(d, bound), f"(10 d + 8) x {bound} (ours)"),
    ]
    if construction is not None and construction.count_blocks(dataset) != bound:
        own = construction.count_blocks(dataset)
        result.insert(1, Comparison("blocks", counts.blocks, own, construction.theorem))
    return result


def _audit_phases(
    transformer: Transformer, dataset: Dataset | None, construction: Construction | None
) -> list[PhaseAudit]:
    allotment = construction.allotment(dataset) if construction and dataset else {}
    result = []
    for phase in decode_phases(transformer.header):
        blocks = () if phase.shared else transformer.blocks[max(phase.first - 1, 0) : phase.last]
        counts = count_transformer(Transformer(transformer.dimension, tuple(blocks)))
        result.append(PhaseAudit(phase, counts, allotment.get(phase.name)))
    return result
