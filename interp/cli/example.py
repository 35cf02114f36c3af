"""Untrusted. ``interp example``: writes a small dataset to try things on."""

from __future__ import annotations

from pathlib import Path

import click

from interp.cli.output import json_option, print_result, render_table
from interp.datasets.convert import ENCODERS
from interp.datasets.examples import EXAMPLES, find_example
from interp.datasets.summary import summarise
from interp.files.write import write_file
from proofs.kernel.errors import UsageError


@click.command()
@click.argument("name", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The dataset to write (.json, .jsonl or .npz).")
@json_option
def example(name: str | None, output: Path | None, as_json: bool) -> None:
    """List the examples, or write the dataset of one."""
    if name is None:
        if output is not None:
            raise UsageError("which example?", "NAME", f"one of {', '.join(EXAMPLES)}")
        rows = [[item.name, item.about] for item in EXAMPLES.values()]
        text = render_table("", ["example", "what it is"], rows) + "\n\nWrite one: interp example plane -o data.json"
        print_result(text, {item.name: item.about for item in EXAMPLES.values()}, as_json)
        return
    chosen = find_example(name)
    if output is None:
        raise UsageError("where to?", "--output", f"interp example {name} -o data.json")
    suffix = output.suffix.lower()
    if suffix not in ENCODERS:
        raise UsageError(f"no dataset format for {suffix!r}", "--output", f"write {', '.join(ENCODERS)}")
    dataset = chosen.make()
    write_file(output, ENCODERS[suffix](dataset))
    summary = summarise(dataset)
    text = (
        f"{output}: {chosen.about}\n"
        f"  N = {summary.pairs}, M = {summary.outputs}, d = {summary.dimension}, n = {summary.max_length}, "
        f"{summary.shared_tokens} tokens shared between sequences\n  {summary.digest}\n"
        f"  next: interp build {output} -o T.jsonl, then interp verify T.jsonl {output}"
    )
    record = {"name": name, "output": str(output), "digest": summary.digest, "pairs": summary.pairs}
    print_result(text, record, as_json)
