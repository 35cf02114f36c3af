"""The theory has no holes and rests on the axioms of the reals only."""

from __future__ import annotations

import re

import pytest

from tests.coq.conftest import SOURCE, Coqc

HOLES = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|Abort|bypass_check|Unset|Declare|Admit)\b"
)
REALS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}


def strip_comments(text: str) -> str:
    depth, kept = 0, []
    for part in re.split(r"(\(\*|\*\))", text):
        if part == "(*":
            depth += 1
        elif part == "*)":
            depth -= 1
        elif depth == 0:
            kept.append(part)
    assert depth == 0
    return "".join(kept)


def listed_files() -> list[str]:
    return [line for line in (SOURCE / "_CoqProject").read_text().split("\n") if line.endswith(".v")]


def test_every_file_is_listed() -> None:
    assert sorted(listed_files()) == sorted(path.name for path in SOURCE.glob("*.v"))


@pytest.mark.parametrize("name", listed_files())
def test_no_holes(name: str) -> None:
    text = strip_comments((SOURCE / name).read_text())
    assert HOLES.findall(text) == []
    # outside a section Variable and Hypothesis are axioms
    depth = 0
    for line in text.split("\n"):
        depth += bool(re.match(r"\s*Section\b", line)) - bool(re.match(r"\s*End\b", line))
        assert depth > 0 or not re.match(r"\s*(Variables?|Hypothes[ie]s|Context)\b", line), line


@pytest.mark.parametrize("word", ["Admitted.", "Axiom a : False.", "admit."])
def test_a_hole_is_found(word: str) -> None:
    assert HOLES.search(strip_comments(f"(* {word} *) Lemma x : True. {word}"))


def axioms_of(output: str) -> set[str]:
    return set(re.findall(r"^([A-Za-z_][\w.]*)(?: :|$)", output, re.MULTILINE)) - {"Axioms", "Closed"}


def test_assumptions(coqc: Coqc) -> None:
    names = ["hardmax_sound", "softmax_sound", "uniform_sound"]
    names += ["hardmax_existence", "softmax_existence", "rational_hardmax_existence", "rational_softmax_existence"]
    result = coqc(
        "From Interp Require Import Soundness Existence.\n" + "".join(f"Print Assumptions {n}.\n" for n in names)
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("Axioms:") == len(names)
    assert axioms_of(result.stdout) <= REALS


def test_statements_are_not_empty(coqc: Coqc) -> None:
    """The hypotheses of the existence theorems can be met, and a certified claim can be false."""
    text = """
From Coq Require Import List Reals Lra QArith Qreals.
From Interp Require Import Semantics Numbers Lemmas Existence.
Import ListNotations.
Definition data : pairs R := [([[1; 0]; [0; 1]], [[5; 5]]); ([[1; 0]; [2; 2]], [[5; 5]; [0; 0]])]%R.
Lemma valid : valid_data 2 data.
Proof.
  unfold valid_data, fits_data, fits_pair, valid_pair, data. split; [auto|]. split; [|split].
  - split; [discriminate|]. repeat constructor; simpl; discriminate.
  - repeat constructor; simpl; intros H; repeat (destruct H as [H|H]; [injection H; intros; lra|]); auto.
  - constructor; [|repeat constructor]. constructor; [|constructor]. intros S.
    destruct (S [0; 1]%R) as [H _]. simpl in H. destruct H as [H|[H|[]]]; auto; injection H; intros; lra.
Qed.
Lemma bound_here : hard_bound data = 11%nat /\\ soft_bound data = 12%nat.
Proof. split; reflexivity. Qed.
Lemma false_claim : ~ interpolates 2 0 [] [([[1; 0]], [[0; 1]])]%R.
Proof. intros H. destruct (H _ _ (or_introl eq_refl) [1; 0]%R) as [I _]. destruct I as [I|[]]; [now left|].
  injection I; intros; lra. Qed.
"""
    result = coqc(text)
    assert result.returncode == 0, result.stderr
