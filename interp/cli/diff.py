"""Untrusted. ``interp diff``: two transformers, or two audits, side by side."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from interp.audit.baseline import decode_record, is_record, list_changes
from interp.audit.diff import diff_transformers
from interp.cli.output import json_option, leave, limit_options, print_result
from interp.cli.progress import progress_options, step_spinner
from proofs.__main__ import is_binary, read_bytes, read_transformer
from proofs.kernel.decode import decode_json
from proofs.kernel.errors import InterpError, MalformedInput, Status, UsageError
from proofs.kernel.rational import Limits

MAX_SHOWN = 20  # blocks in the text; --json has all


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@limit_options
@json_option
@progress_options
def diff(first: Path, second: Path, limits: Limits, as_json: bool) -> None:
    """Compare two transformer files, or two audits (JSON), exactly.

    Transformers are the same if every block is the same map, however it is stored and whatever the headers say.
    Exit code 0 if the two are the same, 10 otherwise.
    """
    old, new = (_read_audit(path, limits) for path in (first, second))
    if (old is None) != (new is None):
        read_transformer(second if new is None else first, limits)  # or it says what the file is instead
        raise UsageError("a transformer and an audit cannot be compared", hint="give two of a kind")
    if old is not None and new is not None:
        changes = list_changes(old, new)
        lines = [f"the audits are {'the same' if not changes else 'different'}", *(f"  {c}" for c in changes)]
        record: dict[str, Any] = {"kind": "audit", "same": not changes, "changes": [asdict(c) for c in changes]}
    else:
        with step_spinner("diff") as announce:
            announce("blocks")
            lines, record = _diff_transformers(first, second, limits)
    status = Status.VERIFIED if record["same"] else Status.REFUTED
    print_result("\n".join(lines), record, as_json)
    leave(status)


def _diff_transformers(first: Path, second: Path, limits: Limits) -> tuple[list[str], dict[str, Any]]:
    models = [read_transformer(path, limits) for path in (first, second)]
    found = diff_transformers(*models)
    identical = models[0].digest == models[1].digest
    if identical:
        head = "the transformers are identical, byte for byte"
    elif found.same:
        head = "the transformers are the same, block by block; their files differ"
    else:
        head = f"the transformers are different: {len(found.blocks)} block(s)"
    lines = [head, *(f"  {change}" for change in found.blocks[:MAX_SHOWN])]
    if len(found.blocks) > MAX_SHOWN:
        lines.append(f"  and {len(found.blocks) - MAX_SHOWN} more blocks (--json has all)")
    lines += [f"  {change}" for change in found.counts] + [f"  header {change}" for change in found.header]
    record = {
        "kind": "transformer",
        "same": found.same,
        "identical": identical,
        "digests": [model.digest for model in models],
        "blocks": [asdict(change) for change in found.blocks],
        "counts": [asdict(change) for change in found.counts],
        "header": [asdict(change) for change in found.header],
    }
    return lines, record


def _read_audit(path: Path, limits: Limits) -> dict[str, Any] | None:
    """The record of an audit, or None for any other file. Raises: MalformedInput, LimitReached."""
    data = read_bytes(path, limits)
    if is_binary(path):
        return None
    try:
        value = decode_json(data)
    except MalformedInput:
        return None
    if not is_record(value):
        return None
    try:
        return decode_record(data)
    except InterpError as error:
        error.file = str(path)
        raise
