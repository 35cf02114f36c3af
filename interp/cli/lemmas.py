"""Untrusted. ``interp lemmas``: what each step promises, how that is proved, and who depends on whom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from interp.cli.output import json_option, print_result, render_table
from interp.lemmas.graph import draw_graph
from proofs.kernel.errors import UsageError
from proofs.lemmas import KINDS, LEMMAS, Lemma


@click.command()
@click.argument("name", required=False)
@click.option("--graph", type=click.Path(path_type=Path), help="Draw the dependencies: .svg, .pdf, .png or .dot.")
@json_option
def lemmas(name: str | None, graph: Path | None, as_json: bool) -> None:
    """List the lemmas behind the constructions, or print one of them with its proof."""
    if graph is not None:
        draw_graph(graph)
    if name is not None:
        if name not in LEMMAS:
            raise UsageError(f"lemma {name!r}", "NAME", f"one of {', '.join(LEMMAS)}")
        print_result(_render(LEMMAS[name]), _record(LEMMAS[name]), as_json)
        return
    rows = [[lemma.name, KINDS[lemma.kind], ", ".join(lemma.depends), lemma.title] for lemma in LEMMAS.values()]
    text = render_table("", ["lemma", "proof", "uses", "statement in short"], rows)
    print_result(text, [_record(lemma) for lemma in LEMMAS.values()], as_json)


def _render(lemma: Lemma) -> str:
    parts = [f"{lemma.name}: {lemma.title}", lemma.statement]
    parts += ["Hypotheses: " + "; ".join(lemma.hypotheses), f"Proof ({KINDS[lemma.kind]}): {lemma.proof}"]
    if lemma.coq:
        parts.append(f"{'Coq' if lemma.kind == 'coq' else 'Close to it in Coq'}: {', '.join(lemma.coq)}")
    if lemma.depends:
        parts.append(f"Uses: {', '.join(lemma.depends)}")
    return "\n\n".join([*parts, f"Source: {lemma.source}"])


def _record(lemma: Lemma) -> dict[str, Any]:
    keys = ("name", "title", "statement", "hypotheses", "proof", "kind", "source", "depends", "coq")
    return {key: getattr(lemma, key) for key in keys}
