"""The engine against the dense pass, block by block, on cases aimed at each of its shortcuts and on arbitrary ones."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.engine import attention, runs
from proofs.engine.passes import ENGINE
from proofs.kernel.check import check_hardmax
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import Status
from proofs.kernel.hardmax import apply_block
from proofs.kernel.rational import DEFAULT_LIMITS
from proofs.kernel.statement import Dataset, Pair, Readout
from tests.engine.shortcut_cases import FAMILIES, Case
from tests.strategies import loose_sequences, to_row, transformers

SEEDS = 60


def check_every_prefix(case: Case) -> bool:
    """Whether the engine answered alone. After any number of blocks the engine finds exactly the sets that the dense pass finds.

    The dense pass gives the targets: one token too many, too few or elsewhere refutes. Against the inputs as targets,
    both must give the same answer to the letter: counts, first pair, missing and surplus tokens, distance.
    """
    transformer = decode_transformer(case.data)
    rows = [tuple(map(to_row, tokens)) for tokens in case.sequences]
    state = [list(tokens) for tokens in rows]
    for done in range(len(transformer.blocks) + 1):
        if done:
            state = apply_block(transformer.blocks[done - 1], state)
        prefix = replace(transformer, blocks=transformer.blocks[:done])
        pairs = tuple(Pair(x, tuple(y)) for x, y in zip(rows, state, strict=True))
        answer, _ = ENGINE.hardmax(Dataset(transformer.dimension, pairs), prefix, Readout.ALL, DEFAULT_LIMITS, None)
        assert answer.status is Status.VERIFIED, f"after block {done}: {answer}"
    itself = Dataset(transformer.dimension, tuple(Pair(x, x) for x in rows))
    found, parts = ENGINE.hardmax(itself, transformer, Readout.ALL, DEFAULT_LIMITS, None)
    assert found == check_hardmax(itself, transformer, Readout.ALL, DEFAULT_LIMITS)[0]
    return all(part.startswith("engine") for part in parts)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_shortcut_agrees_with_the_dense_pass(family):
    cases = (FAMILIES[family](random.Random(f"{family} {seed}").randint) for seed in range(SEEDS))
    alone = sum(check_every_prefix(case) for case in cases)
    assert alone > SEEDS / 2  # otherwise the dense pass was compared with itself


@pytest.mark.parametrize("family", ["bumps", "aligned", "merged"])
def test_work_in_the_smallest_portions_agrees_too(family, monkeypatch):
    monkeypatch.setattr(runs, "SPARE", -(10**9))
    monkeypatch.setattr(attention, "CHUNK", 7)
    for seed in range(SEEDS):
        check_every_prefix(FAMILIES[family](random.Random(f"{family} {seed}").randint))


@given(st.data())
@settings(max_examples=60)
def test_arbitrary_transformers_agree_with_the_dense_pass(data):
    dimension = data.draw(st.integers(2, 4))
    check_every_prefix(Case(data.draw(transformers(dimension)), data.draw(loose_sequences(dimension))))


def test_the_second_check_of_the_same_objects_answers_the_same():
    case = FAMILIES["bumps"](random.Random(5).randint)
    transformer = decode_transformer(case.data)
    rows = [tuple(map(to_row, tokens)) for tokens in case.sequences]
    dataset = Dataset(transformer.dimension, tuple(Pair(x, x) for x in rows))
    digest = dataset.digest
    first = ENGINE.hardmax(dataset, transformer, Readout.ALL, DEFAULT_LIMITS, None)
    assert ENGINE.hardmax(dataset, transformer, Readout.ALL, DEFAULT_LIMITS, None) == first
    assert Dataset(dataset.dimension, dataset.pairs).digest == digest
