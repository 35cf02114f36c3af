"""Figures that are drawn from the code show the code as it is."""

from __future__ import annotations

import html
import importlib.util
import re
from pathlib import Path

import pytest

from interp.lemmas.graph import build_graph

DOCS = Path(__file__).parents[2] / "docs"


def load_figure(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / "figures" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(name):
    """Nodes and arrows of a picture by graphviz, an arrow as ``a->b``."""
    titles = re.findall(r"<title>(.*?)</title>", (DOCS / "images" / f"{name}.svg").read_text())
    return {html.unescape(title) for title in titles}


def test_the_picture_of_the_lemmas_is_true():
    graph = build_graph()
    expected = {"lemmas", *graph, *(f"{a}->{b}" for a, b in graph.edges)}
    assert shown("lemmas") == expected, "interp lemmas --graph docs/images/lemmas.svg"


def test_the_picture_of_the_architecture_is_true():
    pytest.importorskip("grimp", reason="import-linter is not installed: pip install exact-interp[lint]")
    graph = load_figure("architecture").read_imports()
    expected = {"architecture", "cluster_interp", "cluster_proofs", *graph, *(f"{a}->{b}" for a, b in graph.edges)}
    assert shown("architecture") == expected, "python docs/figures/architecture.py"
