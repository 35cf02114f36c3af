"""Untrusted. The dependency graph of the lemmas, coloured by the kind of their proofs."""

from __future__ import annotations

from pathlib import Path

import networkx as nx

from interp.files.write import write_file
from proofs.kernel.errors import UsageError
from proofs.lemmas import KINDS, LEMMAS

COLOURS = {"coq": "#009E73", "symbolic": "#56B4E9", "written": "#E69F00"}  # safe for colour-blind readers
FORMATS = (".svg", ".pdf", ".png")


def build_graph() -> nx.DiGraph[str]:
    """An edge from every lemma to each that it uses."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for lemma in LEMMAS.values():
        graph.add_node(lemma.name, kind=lemma.kind)
        graph.add_edges_from((lemma.name, other) for other in lemma.depends)
    return graph


def draw_graph(path: Path) -> None:
    """Writes the graph as .dot, or draws it as .svg, .pdf or .png (extra ``plot``). Raises: UsageError."""
    if path.suffix == ".dot":
        write_file(path, _encode_dot().encode())
        return
    if path.suffix not in FORMATS:
        raise UsageError(f"format {path.suffix!r}", "--graph", f"one of .dot, {', '.join(FORMATS)}")
    try:
        import matplotlib
    except ImportError as error:
        raise UsageError(
            "matplotlib is missing", "--graph", "pip install 'exact-interp[plot]', or write .dot"
        ) from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    graph = build_graph()
    places = _place_layers(graph)
    figure, axes = plt.subplots(figsize=(11, 6), layout="constrained")
    colours = [COLOURS[LEMMAS[name].kind] for name in graph]
    nx.draw_networkx_edges(graph, places, ax=axes, edge_color="0.6", node_size=500, arrowsize=11)
    nx.draw_networkx_nodes(graph, places, ax=axes, node_color=colours, node_size=500, edgecolors="white")
    nx.draw_networkx_labels(graph, {name: (x, y - 0.24) for name, (x, y) in places.items()}, ax=axes, font_size=9)
    for kind, colour in COLOURS.items():
        axes.plot([], [], "o", color=colour, ms=10, label=KINDS[kind])
    axes.legend(frameon=False, loc="upper left")
    axes.set_axis_off()
    with path.open("wb") as stream:
        figure.savefig(stream, format=path.suffix[1:])
    plt.close(figure)


def _place_layers(graph: nx.DiGraph[str]) -> dict[str, tuple[float, float]]:
    """What uses nothing at the bottom, everything else one row above what it uses; rows are centred."""
    level: dict[str, int] = {}
    for name in reversed(list(nx.topological_sort(graph))):
        level[name] = 1 + max((level[other] for other in graph.successors(name)), default=-1)
    places = {}
    for row in range(max(level.values()) + 1):
        names = [name for name in graph if level[name] == row]
        for k, name in enumerate(names):
            places[name] = (1.6 * (k - (len(names) - 1) / 2), float(row))
    return places


def _encode_dot() -> str:
    lines = ["digraph lemmas {", "  rankdir=BT; node [style=filled, fontname=sans];"]
    lines += [f'  "{lemma.name}" [fillcolor="{COLOURS[lemma.kind]}"];' for lemma in LEMMAS.values()]
    lines += [f'  "{lemma.name}" -> "{other}";' for lemma in LEMMAS.values() for other in lemma.depends]
    return "\n".join([*lines, "}"]) + "\n"
