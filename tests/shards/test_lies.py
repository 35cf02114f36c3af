"""Answers that are missing, doubled, about something else or untrue: never verified, and a lie is an internal fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from interp.api import build
from interp.transformers.encode import encode_transformer
from proofs.kernel.errors import InternalFault, InterpError, LimitReached, MalformedInput, Status, UsageError
from proofs.kernel.statement import Dataset, Pair, make_claim
from proofs.shards.answer import ShardAnswer, decode_answer
from proofs.shards.check import check_texts
from proofs.shards.dispatch import answer_here
from proofs.shards.question import encode_pairs
from tests.shards.shards import check_sharded
from tests.strategies import make_dataset

DATASET = make_dataset(*(([(k, 1), (k, 2)], [(k, 0)]) for k in range(6)))
CONTENT = encode_transformer(build(DATASET, "softmax"))
WRONG = Dataset(2, (*DATASET.pairs[:4], Pair(DATASET.pairs[4].input, DATASET.pairs[0].output), DATASET.pairs[5]))
OTHER = "sha256:" + 64 * "0"


def ask(dispatch, dataset=DATASET, temperatures="[0,1]"):
    return check_sharded(dataset, CONTENT, make_claim(dataset, temperatures=temperatures), 3, dispatch=dispatch)


def test_honest_answers_are_believed():
    assert ask(answer_here).status is Status.VERIFIED
    assert ask(lambda tasks: reversed(list(answer_here(tasks)))) == ask(answer_here)
    assert ask(answer_here, WRONG).status is Status.REFUTED


def change(index, **fields):
    def dispatch(tasks):
        for k, line in enumerate(answer_here(tasks)):
            yield replace(decode_answer(line), **fields).encode() if k == index else line

    return dispatch


LIES = {
    "one is missing": lambda tasks: list(answer_here(tasks))[1:],
    "the last is missing": lambda tasks: list(answer_here(tasks))[:-1],
    "none": lambda tasks: [],
    "one is given twice": lambda tasks: [*answer_here(tasks), *answer_here(tasks[:1])],
    "one stands for all": lambda tasks: len(tasks) * list(answer_here(tasks[:1])),
    "shorter": change(1, last=3),
    "longer": change(0, last=6),
    "another place": change(0, first=6, last=8),
    "another question": change(1, question=OTHER),
    "other pairs": change(2, pairs=OTHER),
    "another transformer": change(0, transformer=OTHER),
    "no text": lambda tasks: [None for _ in tasks],
    "an empty text": lambda tasks: ["" for _ in tasks],
    "cut short": lambda tasks: (line[:-1] for line in answer_here(tasks)),
    "more keys": lambda tasks: (line[:-1] + ', "more": 1}' for line in answer_here(tasks)),
    "a key twice": lambda tasks: (line[:-1] + ', "first": 0}' for line in answer_here(tasks)),
    "swapped pairs": lambda tasks: answer_here([replace(t, pairs=tasks[0].pairs) for t in tasks]),
    "swapped places": lambda tasks: answer_here([replace(t, first=tasks[0].first) for t in tasks]),
    "refuted falsely": change(1, status=Status.REFUTED, wrong=1, pair=2),
    "undecided falsely": change(1, status=Status.UNDECIDED, pair=2),
    "stopped falsely": change(1, status=Status.UNDECIDED, pair=2, block=1),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("temperatures", ["0", "(0,1]"])
def test_a_lie_is_an_internal_fault(lie, temperatures):
    with pytest.raises(InternalFault):
        ask(LIES[lie], temperatures=temperatures)


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_never_hides_a_wrong_pair(lie):
    if lie == "undecided falsely":  # what is wrong elsewhere decides
        assert ask(LIES[lie], WRONG, "0").status is Status.REFUTED
        return
    with pytest.raises(InternalFault):
        ask(LIES[lie], WRONG, "0")


def test_another_question_is_not_answered_by_this_one():
    # answers about temperature 0 handed in for (0, 1]
    kept: list[str] = []

    def keep(tasks):
        kept.extend(answer_here(tasks))
        return iter(kept)

    ask(keep, temperatures="0")
    with pytest.raises(InternalFault, match="another question"):
        ask(lambda tasks: iter(kept), temperatures="(0,1]")


def test_another_transformer_is_found_out():
    other = encode_transformer(build(DATASET, "softmax", pad=True))
    with pytest.raises(InternalFault, match="another transformer"):
        ask(lambda tasks: answer_here([replace(task, witness=other) for task in tasks]))


def test_another_version_of_the_checker(monkeypatch):
    monkeypatch.setattr("proofs.shards.worker.checker_digest", lambda: OTHER)
    with pytest.raises(UsageError, match="another version of the checker"):
        ask(answer_here)


def test_shards_that_are_not_the_dataset():
    texts = [encode_pairs(2, DATASET.pairs[a:b]) for a, b in ((0, 2), (2, 6))]
    check_texts(DATASET, texts)
    for wrong in (texts[:1], texts[::-1], [*texts, texts[0]], []):
        with pytest.raises(InternalFault, match="not the dataset"):
            check_texts(DATASET, wrong)


def test_what_is_sent_is_the_dataset(monkeypatch):
    """Right answers about other pairs than those of the dataset, one of which is wrong."""
    monkeypatch.setattr(
        "proofs.shards.check.encode_pairs", lambda d, pairs: encode_pairs(d, DATASET.pairs[: len(pairs)])
    )
    with pytest.raises(InternalFault, match="not the dataset"):
        ask(answer_here, WRONG)


def test_a_limit_is_told_and_is_no_success():
    fields = {"status": Status.LIMIT, "block": 3, "error": ("too large", "", "raise it")}
    with pytest.raises(LimitReached, match="too large"):
        ask(change(1, **fields))


HONEST = {"question": OTHER, "pairs": OTHER, "transformer": OTHER, "parts": ("kernel",)}


@pytest.mark.parametrize(
    "fields",
    [
        {"first": 0, "last": 0, "status": Status.VERIFIED},
        {"first": 3, "last": 2, "status": Status.VERIFIED},
        {"first": 0, "last": 2, "status": Status.VERIFIED, "wrong": 1},
        {"first": 0, "last": 2, "status": Status.VERIFIED, "pair": 1},
        {"first": 0, "last": 2, "status": Status.VERIFIED, "block": 1},
        {"first": 0, "last": 2, "status": Status.VERIFIED, "error": ("", "", "")},
        {"first": 0, "last": 2, "status": Status.VERIFIED, "parts": ()},
        {"first": 0, "last": 2, "status": Status.REFUTED},
        {"first": 0, "last": 2, "status": Status.REFUTED, "pair": 2},
        {"first": 0, "last": 2, "status": Status.REFUTED, "pair": 1, "wrong": 2},
        {"first": 0, "last": 2, "status": Status.UNDECIDED, "pair": 1, "wrong": 1},
        {"first": 0, "last": 2, "status": Status.LIMIT, "block": 1},
        {"first": 0, "last": 2, "status": Status.LIMIT, "error": ("", "", "")},
        {"first": 0, "last": 2, "status": Status.FAULT},
    ],
)
def test_what_cannot_be_an_answer(fields):
    with pytest.raises(MalformedInput):
        ShardAnswer(**(HONEST | fields))


def test_answers_are_read_as_they_were_written():
    for fields in (
        {"status": Status.VERIFIED},
        {"status": Status.REFUTED, "pair": 4, "wrong": 2},
        {"status": Status.UNDECIDED, "pair": 3, "block": 7},
        {"status": Status.LIMIT, "block": 1, "error": ("a", "b", "c")},
    ):
        answer = ShardAnswer(**(HONEST | {"first": 2, "last": 7} | fields))
        assert decode_answer(answer.encode()) == answer
    for line in ("[]", "{}", answer.encode().replace('"limit"', '"fault"'), answer.encode().replace("7", '"7"')):
        with pytest.raises(InterpError):
            decode_answer(line)
