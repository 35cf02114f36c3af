"""Every lemma is complete: statement, hypotheses, a proof and its kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.lemmas import LEMMAS
from proofs.lemmas.__main__ import render_lemmas


@pytest.mark.parametrize("name", LEMMAS)
def test_a_lemma_is_complete(name):
    lemma = LEMMAS[name]
    assert lemma.name == name
    assert lemma.kind in {"written", "symbolic", "coq"}
    assert all(part.strip() for part in (lemma.title, lemma.statement, lemma.proof, lemma.source, *lemma.hypotheses))
    assert lemma.hypotheses


def test_the_steps_of_the_hardmax_theorem_are_there():
    assert {"hat", "separation", "leaders", "collapse", "interpolation"} <= set(LEMMAS)


def test_the_reference_page_is_up_to_date():
    page = Path(__file__).parents[2] / "docs" / "reference" / "lemmas.md"
    assert page.read_text() == render_lemmas(), "run: python -m proofs.lemmas > docs/reference/lemmas.md"
