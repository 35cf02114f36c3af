"""Verdicts in shards without worker processes, for any way to answer and any number of shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from proofs.__main__ import choose_passes
from proofs.kernel.check import Passes, Verdict, check
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import InterpError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Claim, Dataset
from proofs.shards.answer import decode_answer
from proofs.shards.check import ShardedPasses
from proofs.shards.dispatch import Dispatch, Task, answer_here
from proofs.shards.question import Question, checker_digest


def subject_of(dataset: Dataset, transformer: Transformer, paranoid: bool, limits: Limits = DEFAULT_LIMITS) -> Question:
    passes = "kernel" if paranoid else "engine"
    return Question(checker_digest(), dataset.digest, transformer.digest, passes, limits.max_height, "", "", "")


def check_sharded(
    dataset: Dataset,
    content: bytes,
    claim: Claim,
    count: int,
    paranoid: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    dispatch: Dispatch = answer_here,
) -> Verdict:
    """The verdict in about ``count`` shards."""
    passes, transformer = choose_passes(paranoid), decode_transformer(content)
    asked = ShardedPasses(content, subject_of(dataset, transformer, paranoid, limits), dispatch, count)
    return check(dataset, transformer, claim, limits, None, Passes(asked.hardmax, asked.softmax, passes.count))


def outcome(ask, *arguments, **options):
    """The verdict, or the fault with its text."""
    try:
        return ask(*arguments, **options)
    except InterpError as error:
        return type(error), str(error)


def answers_of(tasks: Sequence[Task], **changes) -> Iterator[str]:
    """Honest answers with some fields replaced."""
    for line in answer_here(tasks):
        yield replace(decode_answer(line), **changes).encode()
