"""Draws docs/images/architecture.svg: the packages and their imports (needs grimp, of import-linter, and graphviz)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp
import networkx as nx

TRUSTED = {"kernel", "engine", "balls", "__main__", "guard", "witness", "planes", "shards"}
SAID_IN_THE_CAPTION = {"interp", "proofs", "interp.version", "interp.optional", "interp.files", "interp.testing"}
ROLES = {
    "interp.cli": "command line",
    "interp.api": "Python",
    "interp.constructions": "read like theorems",
    "interp.stages": "one lemma each",
    "interp.datasets": "read, check, convert",
    "interp.transformers": "write, ledger",
    "interp.audit": "counts, explain",
    "proofs.kernel": "at most 1080 lines",
    "proofs.engine": "the same, fast",
    "proofs.balls": "one temperature",
    "proofs.__main__": "prints the verdict",
    "proofs.guard": "time and memory",
    "proofs.witness": "large files",
    "proofs.lemmas": "what phases promise",
    "proofs.standalone": "second checker",
    "proofs.shards": "many processes",
}


def package_of(module: str) -> str:
    """``interp.stages`` of ``interp.stages.separation``."""
    return ".".join(module.split(".")[:2])


def read_imports() -> nx.DiGraph:
    """The packages; an edge where one imports the other and no longer way says so already.

    Packages that import each other stay joined by their own edges. What nearly all of ``interp`` imports is left out.
    """
    modules = grimp.build_graph("interp", "proofs")
    graph = nx.DiGraph()
    for module in modules.modules:
        importer = package_of(module)
        graph.add_node(importer)
        for imported in map(package_of, modules.find_modules_directly_imported_by(module)):
            if importer != imported and not (importer.startswith("interp") and imported == "proofs.kernel"):
                graph.add_edge(importer, imported)
    graph.remove_nodes_from(SAID_IN_THE_CAPTION)
    groups = nx.condensation(graph)
    members = groups.nodes(data="members")
    reduced = nx.DiGraph()
    reduced.add_nodes_from(sorted(graph))
    kept = nx.transitive_reduction(groups).edges
    inside = {(group, group) for group in groups}
    place = {package: group for group, packages in members for package in packages}
    reduced.add_edges_from(sorted((a, b) for a, b in graph.edges if (place[a], place[b]) in {*kept, *inside}))
    return reduced


def node(package: str) -> str:
    """A box in the language of graphviz; the trusted ones stand out."""
    top, name = package.split(".")
    label = f"<b>{name}</b>" + (f'<br/><font point-size="10">{ROLES[package]}</font>' if package in ROLES else "")
    trusted = top == "proofs" and name in TRUSTED
    colour = 'fillcolor="#F6C9A0" penwidth=1.6' if trusted else 'fillcolor="#FFFFFF"'
    return f'"{package}" [label=<{label}> {colour}];'


def draw(graph: nx.DiGraph) -> str:
    """The graph in the language of graphviz, one frame for each of the two trees."""
    lines = [
        "digraph architecture {",
        'graph [rankdir=TB ranksep=0.45 nodesep=0.16 fontname="sans-serif" bgcolor=white newrank=true];',
        'node [shape=box style="filled,rounded" fontname="sans-serif" fontsize=12 margin="0.10,0.05" height=0.3];',
        'edge [color="#777777" arrowsize=0.6];',
    ]
    for top, title, colour in (
        ("interp", "interp: finds, is never believed", "#E3EEF6"),
        ("proofs", "proofs: checks, never imports interp", "#FBF0E6"),
    ):
        lines.append(f'subgraph "cluster_{top}" {{ label="{title}"; labeljust=l; fontsize=14; style="filled,rounded";')
        lines.append(f'color="{colour}"; fillcolor="{colour}";')
        lines += [node(package) for package in graph if package.startswith(f"{top}.")]
        lines.append("}")
    lines += [f'"{a}" -> "{b}";' for a, b in graph.edges]
    return "\n".join([*lines, "}"])


def main(path: Path) -> None:
    """Writes the picture."""
    done = subprocess.run(["dot", "-Tsvg"], input=draw(read_imports()), capture_output=True, text=True, check=True)
    path.write_text(done.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/architecture.svg"))
