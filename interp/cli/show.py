"""Untrusted. ``interp show``: a summary of a transformer file; everything from its header is marked as claimed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from interp.cli.output import json_option, limit_options, print_result
from interp.transformers.ledger import decode_phases, encode_phases
from proofs.__main__ import read_transformer
from proofs.kernel.counts import count_transformer
from proofs.kernel.rational import Limits

CLAIMED = ("construction", "attention", "temperatures", "generator", "seed", "dataset", "comment")


@click.command()
@click.argument("transformer", type=click.Path(path_type=Path))
@limit_options
@json_option
def show(transformer: Path, limits: Limits, as_json: bool) -> None:
    """Summarise a transformer file."""
    model = read_transformer(transformer, limits)
    counts, phases = count_transformer(model), decode_phases(model.header)
    claimed = {key: str(model.header[key]) for key in CLAIMED if key in model.header}
    lines = [
        f"{transformer}: dimension {model.dimension}, {counts.blocks} blocks, width {counts.width}, "
        f"{counts.parameters} parameters, largest weight {counts.max_bits} bits",
        *(f"  claimed {key}: {value}" for key, value in claimed.items()),
        *(f"  claimed phase {p.name} ({p.lemma}): blocks {p.first}-{p.last}" for p in phases if p.last >= p.first),
        f"  file {model.digest}",
    ]
    record = {
        "dimension": model.dimension,
        "counts": asdict(counts),
        "claimed": claimed | {"phases": encode_phases(phases)},
        "digest": model.digest,
    }
    print_result("\n".join(lines), record, as_json)
