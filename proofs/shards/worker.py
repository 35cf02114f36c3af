"""Trusted. One shard answered: the passes of a check on some pairs. Runs wherever the shard was sent to."""

from __future__ import annotations

import os
import re
import threading
import weakref
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from proofs.balls.attention import mean_at
from proofs.kernel.check import Obligation, Progress, run_boxes
from proofs.kernel.errors import InternalFault, LimitReached, Status
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Dataset, Readout, parse_temperatures
from proofs.shards.answer import ShardAnswer
from proofs.shards.question import Question, checker_digest, decode_pairs

Witness = str | bytes  # the path of a file on the same machine, or the content of one
WRONG = re.compile(r"([0-9]+) of [0-9]+ pairs are wrong, the first is pair ([0-9]+)")
PLACE = re.compile(r"(?:block ([0-9]+), )?pair ([0-9]+)[ ,:]")
_ONE_AT_A_TIME = threading.Lock()  # the precision of FLINT's balls belongs to the process


def answer_shard(question: dict[str, Any], limits: dict[str, int], witness: Witness, first: int, pairs: bytes) -> str:
    """The answer about these pairs, the first of which has number ``first``; plain values in and out.

    Another version of the checker answers nothing but its own digest.
    """
    if question["version"] != checker_digest():
        return checker_digest()
    with _ONE_AT_A_TIME:
        asked, allowed = Question(**question), Limits(**limits)
        dataset = decode_pairs(pairs)
        transformer = load(witness, allowed, asked.passes)
        return answer_question(asked, dataset, first, transformer, allowed).encode()


def load(witness: Witness, limits: Limits, passes: str) -> Transformer:
    """The transformer, read once for all shards of a process."""
    return _load(witness, limits, passes).transformer


@dataclass(frozen=True)
class _Loaded:
    transformer: Transformer


@lru_cache(maxsize=1)
def _load(witness: Witness, limits: Limits, passes: str) -> _Loaded:
    from proofs.__main__ import read_transformer

    if isinstance(witness, str):
        return _Loaded(prepare(read_transformer(Path(witness), limits), passes))
    with NamedTemporaryFile(suffix=".interp", delete=False) as file:
        file.write(witness)
    try:
        loaded = _Loaded(prepare(read_transformer(Path(file.name), limits), passes))
    except BaseException:
        os.unlink(file.name)
        raise
    weakref.finalize(loaded, _remove, Path(file.name), os.getpid())  # a transformer may stay in its file
    return loaded


def _remove(path: Path, owner: int) -> None:
    """Removes a file of the process that made it; a fork may forget the transformer earlier."""
    if os.getpid() == owner:
        path.unlink(missing_ok=True)


def prepare(transformer: Transformer, passes: str) -> Transformer:
    """The transformer with its program kept from one shard to the next, if the engine is to run it."""
    if passes == "kernel":
        return transformer
    from proofs.engine.packed import pack_transformer

    return pack_transformer(transformer)


def answer_question(
    question: Question, dataset: Dataset, first: int, transformer: Transformer, limits: Limits
) -> ShardAnswer:
    """The answer about a dataset that is a part of the whole.

    A limit stops the kernel's pass in a certain block, which decides what the whole dataset would meet first; the
    engine does not say where, so the kernel is asked.
    """
    done = 0

    def note(block: int, total: int) -> None:
        nonlocal done
        done = block

    answer = ShardAnswer(
        question.digest,
        first,
        first + len(dataset.pairs),
        dataset.digest,
        transformer.digest,
        Status.VERIFIED,
        parts=("kernel",),
    )
    try:
        obligation, parts = run_pass(question, dataset, transformer, limits, note)
    except LimitReached as limit:
        if question.passes == "engine":
            slow = answer_question(replace(question, passes="kernel"), dataset, first, transformer, limits)
            return replace(slow, question=question.digest)
        return replace(answer, status=Status.LIMIT, block=done + 1, error=(limit.message, limit.path, limit.hint))
    answer = replace(answer, parts=parts)
    if obligation.status is Status.VERIFIED:
        return answer
    wrong, block, pair = find_place(obligation)
    return replace(answer, status=obligation.status, wrong=wrong, block=block, pair=first + pair)


def run_pass(
    question: Question, dataset: Dataset, transformer: Transformer, limits: Limits, progress: Progress | None = None
) -> tuple[Obligation, tuple[str, ...]]:
    """What the question asks, by the passes of a check. Raises: LimitReached."""
    from proofs.__main__ import choose_passes

    passes, readout = choose_passes(question.passes == "kernel"), Readout(question.readout)
    if question.name == "hardmax":
        return passes.hardmax(dataset, transformer, readout, limits, progress)
    claimed = parse_temperatures(question.temperatures)
    if question.bits is None or claimed.single is None:
        return passes.softmax(dataset, transformer, claimed, readout, limits, progress)
    answer = run_boxes(dataset, transformer, mean_at(claimed.single, question.bits), readout, limits, progress)
    return answer, ("kernel/softmax", "balls")


def find_place(obligation: Obligation) -> tuple[int, int | None, int]:
    """Of what does not hold: the number of wrong pairs (temperature 0), the block where it stopped, the first pair."""
    if obligation.name == "hardmax":
        if match := WRONG.fullmatch(obligation.detail):
            return int(match[1]), None, int(match[2])
    elif match := PLACE.match(obligation.detail):
        return 0, int(match[1]) if match[1] else None, int(match[2])
    raise InternalFault(f"no place in {obligation.detail[:100]!r}", hint="please report it")
