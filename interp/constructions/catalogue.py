"""Untrusted. Every construction with its theorem: what it builds, its bound, and how the bound is allotted to phases.

The theorems state one number of blocks; the allotment to phases is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from interp.constructions.bounds import (
    count_causal_bound,
    count_compact_bound,
    count_corrections_bound,
    count_peeling_bound_of,
    count_resnet_bound,
)
from interp.constructions.causal import build_causal
from interp.constructions.compact import build_compact
from interp.constructions.folded import build_folded_transformer
from interp.constructions.hardmax import build_hardmax
from interp.constructions.labels import build_labels
from interp.constructions.peeling import build_peeling
from interp.constructions.resnet import build_resnet
from interp.constructions.softmax import build_softmax
from interp.transformers.ledger import Ledger
from proofs.kernel.errors import UsageError
from proofs.kernel.statement import Dataset, count_hardmax_bound, count_parameter_bound, count_softmax_bound

PAPER = "arXiv 2502.02270v3"


@dataclass(frozen=True)
class Construction:
    """A way to build, and the numbers it is audited against."""

    name: str
    theorem: str
    attention: str  # "hardmax", "softmax" or "any"
    temperatures: str  # what a file claims; the user's claim is made apart
    build: Callable[..., Ledger]
    count_blocks: Callable[[Dataset], int]
    allotment: Callable[[Dataset], dict[str, int]] = field(default=lambda data: {})
    options: tuple[str, ...] = ()
    mask: str = "none"
    readout: str = "all"

    def count_parameters(self, dataset: Dataset) -> int:
        """(10 d + 8) times the block bound."""
        return count_parameter_bound(dataset.dimension, self.count_blocks(dataset))


HARDMAX = Construction(
    name="hardmax",
    theorem=f"theorem 1.6 of {PAPER}",
    attention="hardmax",
    temperatures="0",
    build=build_hardmax,
    count_blocks=lambda data: count_hardmax_bound(data.num_pairs, data.num_outputs),
    allotment=lambda data: {
        "separation": 2 * data.num_pairs,
        "leader selection": data.num_outputs,
        "collapse": 1,
        "interpolation": data.num_outputs,
    },
    options=("separation", "gentle"),
)

SOFTMAX = Construction(
    name="softmax",
    theorem=f"theorem 1.8 of {PAPER}",
    attention="softmax",
    temperatures="(0,1]",
    build=build_softmax,
    count_blocks=lambda data: count_softmax_bound(data.num_pairs, data.num_outputs),
    allotment=lambda data: {
        "separation": 2 * data.num_pairs,
        "leader selection": data.num_outputs,
        "collapse": data.num_pairs,
        "interpolation": data.num_outputs,
    },
    options=("temperature", "gentle"),
)

COMPACT = Construction(
    name="compact",
    theorem="theorem A of docs/explanation/compact.md",
    attention="any",
    temperatures="[0,oo)",
    build=build_compact,
    count_blocks=count_compact_bound,
    options=("rank_one_v", "gentle"),
)

LABELS = Construction(
    name="labels",
    theorem="theorem C of docs/explanation/frontier.md, at most theorem A1",
    attention="any",
    temperatures="[0,oo)",
    build=build_labels,
    count_blocks=count_compact_bound,
    allotment=lambda data: {
        "mean": 1,
        "push": 1,
        "codes": 2,
        "corrections": count_corrections_bound(len({row for pair in data.pairs for row in pair.output})),
    },
    options=("trained",),
)

FOLDED = Construction(
    name="folded",
    theorem="theorem D of docs/explanation/frontier.md, at most theorem A",
    attention="any",
    temperatures="[0,oo)",
    build=build_folded_transformer,
    count_blocks=count_compact_bound,
)

PEELING = Construction(
    name="peeling",
    theorem="theorem B of docs/explanation/compact.md",
    attention="hardmax",
    temperatures="0",
    build=build_peeling,
    count_blocks=count_peeling_bound_of,
    options=("heads",),
)

RESNET = Construction(
    name="resnet",
    theorem="one hat a token, no attention",
    attention="any",
    temperatures="[0,oo)",
    build=build_resnet,
    count_blocks=lambda data: count_resnet_bound(data.num_tokens),
)

CAUSAL = Construction(
    name="causal",
    theorem="theorem F of docs/explanation/causal-and-heads.md",
    attention="any",
    temperatures="[0,oo)",
    build=build_causal,
    count_blocks=count_causal_bound,
    mask="causal",
    readout="last",
)

CONSTRUCTIONS = {
    construction.name: construction for construction in (HARDMAX, SOFTMAX, COMPACT, LABELS, FOLDED, PEELING, RESNET)
}


EVERY = CONSTRUCTIONS | {CAUSAL.name: CAUSAL}  # CONSTRUCTIONS are those without a mask, read out at all tokens


def find_construction(name: str) -> Construction:
    """The construction of that name. Raises: UsageError."""
    if name not in EVERY:
        raise UsageError(f"construction {name!r}", "--construction", f"one of {', '.join(EVERY)}")
    return EVERY[name]


def run_construction(construction: Construction, dataset: Dataset, seed: int, options: dict[str, Any]) -> Ledger:
    """Builds, refusing options that the construction does not have. Raises: UsageError, InternalFault."""
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in construction.options:
            raise UsageError(f"construction {construction.name} has no such option", f"--{key.replace('_', '-')}")
    return construction.build(dataset, seed, **given)
