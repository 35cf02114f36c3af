"""Untrusted. ``interp convert``: a transformer file from JSON lines to the binary form, or back."""

from __future__ import annotations

from pathlib import Path

import click

from interp.cli.output import json_option, limit_options, print_result
from interp.cli.progress import progress_options, step_spinner
from interp.transformers.files import convert_transformer
from proofs.kernel.rational import Limits


@click.command()
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@limit_options
@json_option
@progress_options
def convert(source: Path, target: Path, limits: Limits, as_json: bool) -> None:
    """Write the transformer IN as OUT, without loss.

    OUT is in the binary form if its name ends in .npz, and in JSON lines otherwise. It is read back before it is put in
    place. The digest stays the same unless IN was not written the way this program writes JSON lines.
    """
    with step_spinner("convert") as announce:
        announce("reading, writing, reading back")
        transformer, digest = convert_transformer(source, target, limits)
    size = target.stat().st_size
    lines = [f"{target}: {len(transformer.blocks)} blocks, {size} bytes", f"  {digest}"]
    if digest != transformer.digest:
        lines.append(f"  {source} writes the same blocks in other words: {transformer.digest}")
    record = {
        "file": str(target),
        "blocks": len(transformer.blocks),
        "bytes": size,
        "digest": digest,
        "source_digest": transformer.digest,
    }
    print_result("\n".join(lines), record, as_json)
