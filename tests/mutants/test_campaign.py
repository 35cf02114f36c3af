"""A sample of the mutation campaign (``make mutants`` runs all of it)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

from interp.constructions.catalogue import CONSTRUCTIONS
from proofs.engine.passes import ENGINE
from proofs.kernel.errors import Status
from tests.mutants import campaign


def test_every_construction_has_a_witness():
    assert {subject.name for subject in campaign.list_subjects()} >= set(CONSTRUCTIONS)


def test_no_mutant_is_accepted_wrongly():
    table = campaign.run_campaign(fraction=0.05, seed=1)
    total = sum(table.values(), Counter())
    assert set(table["unchanged"]) == {"accepted, confirmed"}
    assert total["FALSE"] == total["APART"] == 0
    assert total["refuted"] > total["accepted, confirmed"]
    assert total.total() > 200


def test_the_campaign_finds_a_checker_that_accepts_everything(monkeypatch):
    accepted = SimpleNamespace(status=Status.VERIFIED, obligations=(), counts=None)
    monkeypatch.setattr(campaign, "check", lambda *asked, passes: accepted)
    table = campaign.run_campaign(fraction=0.01, seed=2)
    assert sum(table.values(), Counter())["FALSE"] > 10


def test_the_campaign_finds_an_engine_that_refutes_with_another_word(monkeypatch):
    def hardmax(*asked):
        obligation, parts = ENGINE.hardmax(*asked)
        return replace(obligation, detail=obligation.detail + "."), parts

    monkeypatch.setattr(campaign, "ENGINE", replace(ENGINE, hardmax=hardmax))
    subject = next(campaign.list_subjects())
    mutants = (mutant for mutant in campaign.list_mutants(subject) if mutant.kind != "header")
    assert campaign.judge(subject, next(mutants)) == "APART"
