"""A lemma is what its kind says: identities reduce to 0, Coq theorems exist, and every stage names one that is there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import networkx as nx
import pytest
import sympy

from interp.cli.main import run_command
from interp.constructions.catalogue import CONSTRUCTIONS
from interp.lemmas.graph import build_graph
from proofs.lemmas import LEMMAS
from tests.strategies import make_dataset

ROOT = Path(__file__).parents[2]
DATASETS = (
    make_dataset(([(0, 0), (1, 2)], [(1, 1), (-2, 0)]), ([(5, 1), (4, 4), (2, 2)], [(1, 1)])),
    make_dataset(([(0, 0), (1, 2), (3, 3)], [(1, 1), (-2, 0)]), ([(0, 0), (1, 2)], [(1, 1)])),
)
SINGLE = make_dataset(([(0, 0), (1, 2)], [(1, 1)]), ([(0, 0), (5, 3)], [(2, 1)]))
DATASETS_OF = {"resnet": DATASETS[:1], "labels": [SINGLE], "folded": [SINGLE]}


def of_kind(kind):
    return [name for name, lemma in LEMMAS.items() if lemma.kind == kind]


@pytest.mark.parametrize("name", of_kind("symbolic"))
def test_identities_reduce_to_zero_for_symbolic_parameters(name):
    found = LEMMAS[name].identities()
    assert found
    assert all(sympy.simplify(expression) == 0 for expression in found)


def test_only_symbolic_lemmas_have_identities():
    assert {name for name, lemma in LEMMAS.items() if lemma.identities} == set(of_kind("symbolic"))


def test_the_symbolic_check_is_symbolic():
    # a sample of numbers is no proof: the identities hold parameters, and a false one does not reduce to 0
    M, N = sympy.symbols("M N", positive=True, integer=True)
    assert sympy.expand((2 * M + 2 * N + 1) - (2 * M + N - 1) - (N + 1)) != 0


@pytest.mark.parametrize("name", [n for n, lemma in LEMMAS.items() if lemma.coq])
def test_coq_theorems_exist_and_are_closed(name):
    for theorem in LEMMAS[name].coq:
        file, _, statement = theorem.partition(".")
        text = (ROOT / "proofs" / "coq" / f"{file}.v").read_text()
        match = re.search(rf"^(Lemma|Theorem) {statement}\b.*?^(Qed|Defined)\.", text, re.M | re.S)
        assert match or re.search(rf"^(Lemma|Theorem) {statement}\b.*?Qed\.", text, re.M | re.S), theorem
        assert not re.search(r"\b(Admitted|admit|Axiom)\b", text)


@pytest.mark.parametrize("name", of_kind("coq"))
def test_a_lemma_of_kind_coq_names_its_theorems(name):
    assert LEMMAS[name].coq


def test_a_written_proof_is_shown_as_not_machine_checked(capsys):
    assert run_command(["lemmas", "separation"]) == 0
    assert "not machine-checked" in capsys.readouterr().out
    assert run_command(["lemmas", "nonsense"]) == 2


def test_dependencies_exist_and_do_not_go_in_circles():
    assert all(other in LEMMAS for lemma in LEMMAS.values() for other in lemma.depends)
    assert nx.is_directed_acyclic_graph(build_graph())


def test_what_a_machine_has_checked_rests_on_nothing_that_none_has():
    for lemma in LEMMAS.values():
        if lemma.kind != "written":
            assert all(LEMMAS[other].kind != "written" for other in lemma.depends), lemma.name


def stage_modules():
    return sorted((ROOT / "interp" / "stages").glob("*.py"))


@pytest.mark.parametrize("path", stage_modules(), ids=lambda path: path.stem)
def test_a_stage_names_only_lemmas_that_are_there(path):
    named = re.findall(r"lemma ``([^`]+)``", path.read_text())
    assert set(named) <= set(LEMMAS), set(named) - set(LEMMAS)


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_every_phase_of_a_built_file_names_a_lemma(name):
    for dataset in DATASETS_OF.get(name, DATASETS):
        phases = CONSTRUCTIONS[name].build(dataset).phases
        assert phases
        assert {phase.lemma for phase in phases} <= set(LEMMAS)


@pytest.mark.parametrize("suffix", [".dot", ".svg"])
def test_the_graph_is_drawn(suffix, tmp_path):
    path = tmp_path / f"lemmas{suffix}"
    if suffix == ".svg" and shutil.which("dot") is None:
        pytest.skip("graphviz is not installed")
    assert run_command(["lemmas", "--graph", str(path)]) == 0
    assert all(name in path.read_text() for name in LEMMAS)


def test_what_cannot_be_drawn_says_what_can(tmp_path, capsys, monkeypatch):
    assert run_command(["lemmas", "--graph", str(tmp_path / "lemmas.xyz")]) == 2
    assert "one of .dot, .svg" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run_command(["lemmas", "--graph", str(tmp_path / "lemmas.svg")]) == 2
    assert "install graphviz, or write .dot" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
