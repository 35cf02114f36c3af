"""Untrusted. The dependency graph of the lemmas, coloured by the kind of their proofs; drawn by graphviz."""

from __future__ import annotations

import subprocess
from pathlib import Path

import networkx as nx

from interp.files.write import write_file
from proofs.kernel.errors import UsageError
from proofs.lemmas import KINDS, LEMMAS

COLOURS = {"coq": "#009E73", "symbolic": "#56B4E9", "written": "#E69F00"}  # safe for colour-blind readers
FORMATS = (".dot", ".svg", ".pdf", ".png")
STYLE = """graph [rankdir=LR ranksep=0.7 nodesep=0.1 fontname="sans-serif" fontsize=12
labelloc=t labeljust=l bgcolor=white];
node [shape=box style="filled,rounded" fontname="sans-serif" fontsize=12 margin="0.10,0.04" height=0.28 penwidth=0];
edge [color="#777777" arrowsize=0.6];"""


def build_graph() -> nx.DiGraph[str]:
    """An edge from every lemma to each that it uses."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for lemma in LEMMAS.values():
        graph.add_node(lemma.name, kind=lemma.kind)
        graph.add_edges_from((lemma.name, other) for other in lemma.depends)
    return graph


def draw_graph(path: Path) -> None:
    """Writes the graph as .dot, or draws it as .svg, .pdf or .png. Raises: UsageError, also without graphviz."""
    if path.suffix not in FORMATS:
        raise UsageError(f"format {path.suffix!r}", "--graph", f"one of {', '.join(FORMATS)}")
    content = encode_dot().encode()
    if path.suffix != ".dot":
        try:
            command = ["dot", f"-T{path.suffix[1:]}"]
            content = subprocess.run(command, input=content, capture_output=True, check=True).stdout
        except FileNotFoundError as error:
            hint = "install graphviz, or write .dot"
            raise UsageError("the program dot is not installed", "--graph", hint) from error
    write_file(path, content)


def encode_dot() -> str:
    """The graph in the language of graphviz, an arrow from each lemma to those that it uses."""
    graph = build_graph()
    legend = " &nbsp; ".join(f'<font color="{COLOURS[kind]}">&#9632;</font> {words}' for kind, words in KINDS.items())
    lines = ["digraph lemmas {", STYLE, f"label=<{legend}>;"]
    lines += [f'"{name}" [fillcolor="{COLOURS[kind]}"];' for name, kind in graph.nodes(data="kind")]
    lines += [f'"{a}" -> "{b}";' for a, b in graph.edges]
    return "\n".join([*lines, "}", ""])
