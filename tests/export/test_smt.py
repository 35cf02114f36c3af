"""The claim as a question: z3 and cvc5 answer what the kernel answers, on true and on false claims."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interp
from interp.export.smt import encode_smt
from interp.export.solvers import SOLVERS, ask_solver
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import InternalFault, LimitReached, MalformedInput
from proofs.kernel.statement import Pair
from tests.export.cases import need, small_sequences, small_transformers
from tests.reference import evaluator
from tests.strategies import make_dataset, to_row, transformer_bytes

PACKAGES = {"z3": "z3", "cvc5": "cvc5"}
SMALL = make_dataset(([[0, 1], [1, 2]], [[3, 4]]), ([[1, 1], [0, 1], [2, 2]], [[0, 0], [5, 5]]))
KEPT = {"sa": {"rho": 1}}


@pytest.fixture(params=SOLVERS)
def solver(request):
    need(PACKAGES[request.param])
    return request.param


def answer(solver, dataset, data):
    return ask_solver(solver, encode_smt(dataset, decode_transformer(data)))


@pytest.mark.parametrize("construction", ["hardmax", "compact"])
def test_built_transformers_and_wrong_targets(solver, construction):
    transformer = interp.build(SMALL, construction)
    assert ask_solver(solver, encode_smt(SMALL, transformer)) == "unsat"
    pairs = list(SMALL.pairs)
    for output in (
        (to_row([0, 0]), to_row([5, Fraction(5000001, 1000000)])),  # a hair off
        (to_row([0, 0]),),  # one token too many
        (to_row([0, 0]), to_row([5, 5]), to_row([6, 6])),  # a target that is never reached
    ):
        wrong = replace(SMALL, pairs=(pairs[0], Pair(pairs[1].input, output)))
        assert ask_solver(solver, encode_smt(wrong, transformer)) == "sat"


def test_solvers_answer_as_the_definitions_do(solver):
    @settings(max_examples=25)
    @given(small_transformers(2), small_sequences(), st.data())
    def agree(data, sequences, draw):
        *_, last = evaluator.run(data, sequences)
        outputs = [list(dict.fromkeys(tokens)) for tokens in last]
        changed = draw.draw(st.integers(0, 3), label="change")
        if changed == 1:
            outputs[-1][-1] = (outputs[-1][-1][0] + Fraction(1, 7), outputs[-1][-1][1])
        elif changed == 2 and len(outputs[0]) > 1:
            outputs[0].pop()
        elif changed == 3:
            outputs[0].append((Fraction(10**9), Fraction(0)))
        pairs = list(zip(sequences, outputs, strict=True))
        expected = "unsat" if evaluator.interpolates(data, pairs) else "sat"
        assert answer(solver, make_dataset(*pairs), data) == expected

    agree()


def test_three_tied_tokens_are_averaged(solver):
    data = transformer_bytes(2, [{"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}])
    tokens = [[5, 0], [5, 3], [5, 4], [1, 0]]
    linear = transformer_bytes(2, [{"sa": {"rho": 0, "A": {"p": [1, 0], "q": [1, 0]}, "V": {"beta": 1}}}])
    assert answer(solver, make_dataset((tokens, [[5, Fraction(7, 3)]])), linear) == "unsat"
    assert answer(solver, make_dataset((tokens, [[5, Fraction(7, 4)]])), linear) == "sat"
    assert answer(solver, make_dataset((tokens, [[5, 4], [5, 0]])), data) == "sat"


def test_negative_and_zero_queries_choose_lowest_and_all(solver):
    # at <q, x> = -1, 0, 1, 8 the lowest, the mean of all, and twice the highest
    tokens, image = [[1, -1], [3, 0], [5, 1], [7, 8]], [[1, -1], [4, 2], [7, 8]]
    data = transformer_bytes(2, [{"sa": {"rho": 0, "A": {"p": [1, 0], "q": [0, 1]}, "V": {"beta": 1}}}])
    assert answer(solver, make_dataset((tokens, image)), data) == "unsat"
    for wrong in (image[1:], image[::2], [image[2]]):
        assert answer(solver, make_dataset((tokens, wrong)), data) == "sat"


@pytest.mark.parametrize(
    ("attention", "logic"),
    [
        ({"rho": 2}, "QF_LRA"),
        ({"rho": 1, "A": {"alpha": 1}}, "QF_LRA"),  # V = 0: A does not act
        ({"rho": 1, "V": {"beta": 1}}, "QF_LRA"),
        ({"rho": 1, "A": {"p": [1, 0], "q": [0, 1]}, "V": {"beta": 1}}, "QF_LRA"),
        ({"rho": 1, "A": {"alpha": 1, "p": [1, 0], "q": [0, 1]}, "V": {"beta": 1}}, "QF_NRA"),
        ({"rho": 1, "A": {"dense": [[1, 0], [0, 0]]}, "V": {"beta": 1}}, "QF_NRA"),
    ],
)
def test_the_logic_is_linear_where_it_can_be(attention, logic):
    text = encode_smt(SMALL, decode_transformer(transformer_bytes(2, [{"sa": attention}])))
    assert f"(set-logic {logic})" in text
    product = re.search(r"\(\* [a-z]\S+ [a-z]\S+\)", text)  # of two variables
    assert (product is not None) == (logic == "QF_NRA")


def test_what_is_printed_about_the_files():
    transformer = decode_transformer(transformer_bytes(2, [KEPT]))
    text = encode_smt(SMALL, transformer)
    assert SMALL.digest in text
    assert transformer.digest in text
    assert text.count("(check-sat)") == 1
    assert ":status" not in text  # the solver is told nothing about the answer


def test_a_large_question_is_refused_before_it_is_asked():
    transformer = decode_transformer(transformer_bytes(2, [{"ff": {"eta": 2}}] * 100))
    with pytest.raises(LimitReached, match="more than 900 terms"):
        encode_smt(SMALL, transformer, max_terms=900)
    assert encode_smt(SMALL, transformer, max_terms=10_000)


def test_dimensions_must_agree():
    with pytest.raises(MalformedInput, match="dimension 3"):
        encode_smt(SMALL, decode_transformer(transformer_bytes(3, [])))


def test_a_script_that_is_none_is_a_fault(solver):
    with pytest.raises(InternalFault, match=solver):
        ask_solver(solver, "(assert (= x 1.0))\n(check-sat)\n")
