"""Builds and judges, the way a user's file travels: built, written, read back, checked, evaluated apart."""

from __future__ import annotations

from interp.constructions.hardmax import build_hardmax
from interp.transformers.encode import encode_transformer
from proofs.kernel.check import Verdict, check
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import Status
from proofs.kernel.hardmax import apply_block
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Dataset, make_claim
from tests.reference import evaluator
from tests.strategies import fractions_of


def build_file(dataset: Dataset, seed: int = 0, separation: str = "auto") -> bytes:
    """The file of the hardmax construction."""
    ledger = build_hardmax(dataset, seed, separation)
    return encode_transformer(Transformer(dataset.dimension, tuple(ledger.blocks)))


def judge(dataset: Dataset, data: bytes, **budgets: int) -> Verdict:
    """The verdict on a file, with the budgets of the theorem unless others are given."""
    return check(dataset, decode_transformer(data), make_claim(dataset, **budgets))


def check_everything(dataset: Dataset, seed: int, separation: str) -> None:
    """Builds, verifies within 2 M + max(N - 1, 0) blocks, compares every token of every block with the reference."""
    data = build_file(dataset, seed, separation)
    blocks = 2 * dataset.num_outputs + max(dataset.num_pairs - 1, 0)
    verdict = judge(dataset, data, max_blocks=blocks)
    assert verdict.status is Status.VERIFIED, verdict.failed
    assert verdict.counts.width <= 4

    rows = [list(pair.input) for pair in dataset.pairs]
    states = evaluator.run(data, fractions_of(rows))
    final = next(states)
    for block, final in zip(decode_transformer(data).blocks, states, strict=True):
        rows = apply_block(block, rows)
        assert fractions_of(rows) == final
    targets = fractions_of(pair.output for pair in dataset.pairs)
    assert list(map(set, final)) == list(map(set, targets))
    assert evaluator.count(data) == (verdict.counts.blocks, verdict.counts.width, verdict.counts.parameters)
