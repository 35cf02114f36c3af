"""A sample of the mutation campaign (``make mutants`` runs all of it)."""

from __future__ import annotations

from collections import Counter

from interp.constructions.catalogue import CONSTRUCTIONS
from tests.mutants import campaign


def test_every_construction_has_a_witness():
    assert {subject.name for subject in campaign.list_subjects()} >= set(CONSTRUCTIONS)


def test_no_mutant_is_accepted_wrongly():
    table = campaign.run_campaign(fraction=0.05, seed=1)
    total = sum(table.values(), Counter())
    assert set(table["unchanged"]) == {"accepted, confirmed"}
    assert total["FALSE"] == 0
    assert total["refuted"] > total["accepted, confirmed"]
    assert total.total() > 200


def test_the_campaign_finds_a_checker_that_accepts_everything(monkeypatch):
    def accept(dataset, transformer, claim):
        class Verdict:
            status = campaign.Status.VERIFIED

        return Verdict

    monkeypatch.setattr(campaign, "check", accept)
    table = campaign.run_campaign(fraction=0.01, seed=2)
    assert sum(table.values(), Counter())["FALSE"] > 10
