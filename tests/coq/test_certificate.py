"""Certificates: coqc accepts true ones and refuses false ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interp.export.coq import emit_certificate
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Dataset, make_claim
from tests.coq.cases import file_case, hardmax_case, rank_one_value_case, selecting_case
from tests.coq.conftest import Coqc
from tests.coq.test_theory import REALS, axioms_of

Case = Callable[[], tuple[Dataset, Transformer]]

ACCEPTED: list[tuple[str, Case, str, str]] = [
    ("hardmax", hardmax_case, "0", "standard"),
    ("hardmax, bignums", hardmax_case, "0", "bignums"),
    ("softmax", lambda: file_case("softmax_small"), "(0,1]", "standard"),
    ("softmax and hardmax, bignums", lambda: file_case("softmax_small"), "[0,1/2]", "bignums"),
    ("every temperature", lambda: file_case("uniform"), "[0,oo)", "standard"),
    ("rank-one V, one temperature", rank_one_value_case, "1/3", "standard"),
    ("dense A, one temperature", selecting_case, "1", "standard"),
]


@pytest.mark.parametrize(
    ("case", "temperatures", "arithmetic"), [row[1:] for row in ACCEPTED], ids=[r[0] for r in ACCEPTED]
)
def test_accepted(case: Case, temperatures: str, arithmetic: str, coqc: Coqc) -> None:
    dataset, transformer = case()
    result = coqc(emit_certificate(dataset, transformer, make_claim(dataset, temperatures=temperatures), arithmetic))
    assert result.returncode == 0, result.stderr
    if arithmetic == "standard":
        assert axioms_of(result.stdout) <= REALS


def change(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def text_of(
    case: tuple[Dataset, Transformer],
    temperatures: str = "0",
    max_width: int | None = None,
    max_blocks: int | None = None,
    max_parameters: int | None = None,
) -> str:
    dataset, transformer = case
    claim = make_claim(dataset, None, temperatures, max_width, max_blocks, max_parameters)
    return emit_certificate(dataset, transformer, claim)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("[[(2#1);(-1#1)]]", "[[(2#1);(-1#3)]]", id="a target"),
        pytest.param("Neuron [(", "Neuron [(1#7); (", id="a weight vector of length 3"),
    ],
)
def test_tampered(old: str, new: str, coqc: Coqc) -> None:
    result = coqc(change(text_of(hardmax_case()), old, new))
    assert result.returncode != 0
    assert 'The term "eq_refl" has type "true = true" while it is expected' in result.stderr


def test_more_refusals(coqc: Coqc) -> None:
    """The checkers answer false, all in one run of coqc."""
    text = text_of(hardmax_case())
    soft = file_case("softmax_small")
    refused = {
        "width": text_of(hardmax_case(), max_width=3),
        "blocks": text_of(hardmax_case(), max_blocks=6),
        "parameters": text_of(hardmax_case(), max_parameters=100),
        "score": change(text, "(0#1) (Square (1#1) [])", "(0#1) (Square (-1#1) [])"),
        "target": change(text, "[[(2#1);(-1#1)]]", "[]"),
        "short_target": change(text, "[[(2#1);(-1#1)]]", "[[(2#1)]]"),
        "outer": change(text, "(Square (0#1) [])", "(Square (0#1) [([(0#1)],[(0#1);(0#1)])])"),
        "softmax": change(text_of(soft, "(0,1]"), "(-108#1)", "(-109#1)"),
        "limit": text_of(soft, "(0,1000000]"),
        "not_uniform": text_of(soft, "(0,1]").replace("check_softmax", "check_uniform").replace(" limit 200", ""),
    }
    header, _, _ = text.partition("Definition blocks")
    parts = [header]
    for name, certificate in refused.items():
        body, _, lemmas = certificate[certificate.index("Definition blocks") :].partition("Lemma")
        check = lemmas[lemmas.index(": check_") + 2 : lemmas.index(" = true")]
        parts.append(f"Module case_{name}.\n{body}\nGoal {check} = false.\nProof. vm_compute. reflexivity. Qed.\n")
        parts.append(f"End case_{name}.\n")
    result = coqc("".join(parts))
    assert result.returncode == 0, result.stderr


def test_empty_data_is_refused(coqc: Coqc) -> None:
    cases = {
        "1 4 1 18 standard_numbers [] [([[1]], [[1]])] = false": "dimension 1",
        "2 4 1 18 standard_numbers [] [] = false": "no pairs",
        "2 4 1 18 standard_numbers [] [([], [])] = false": "empty sequences",
        "2 4 1 18 standard_numbers [] [([[1]], [[1]])] = false": "tokens of length 1",
        "2 4 1 18 standard_numbers [] [([[1;2]], [[1;2]])] = true": "all right",
    }
    header, _, _ = text_of(hardmax_case()).partition("Definition blocks")
    goals = "".join(f"Goal check_hardmax {case}.\nProof. reflexivity. Qed.\n" for case in cases)
    result = coqc(header + goals)
    assert result.returncode == 0, result.stderr


def test_refusals_of_the_emitter() -> None:
    dataset, transformer = hardmax_case()
    with pytest.raises(UsageError, match="not uniform"):
        emit_certificate(dataset, transformer, make_claim(dataset, temperatures="(0,oo)"))
    with pytest.raises(UsageError, match="arithmetic"):
        emit_certificate(dataset, transformer, make_claim(dataset), "floating")
    with pytest.raises(MalformedInput, match="dimension"):
        emit_certificate(dataset, Transformer(3, ()), make_claim(dataset))
