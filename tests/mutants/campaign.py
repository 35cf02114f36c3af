"""Mutants of accepted witnesses of every construction, and what the checker says of each: ``make mutants``.

Mutants are signed again (counts, digests and end record made consistent), so that they reach the semantics. A mutant
may be accepted only if the independent evaluators confirm the claim: exact fractions at temperature 0, 400 digits at
positive temperatures.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from interp.constructions.catalogue import CONSTRUCTIONS
from interp.constructions.compact import build_compact
from interp.transformers.encode import encode_transformer
from proofs.kernel.check import check
from proofs.kernel.decode import decode_dataset, decode_transformer
from proofs.kernel.errors import InterpError, Status
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Dataset, Pair, make_claim, parse_temperatures
from tests.reference import evaluator
from tests.reference.softmax import interpolates_at
from tests.strategies import (
    block_records,
    dataset_bytes,
    make_dataset,
    pairs_of,
    places_of,
    to_fractions,
    to_row,
    transformer_bytes,
    with_number,
)

TEMPERATURES = (Fraction(1), Fraction(1, 3), Fraction(1, 40))  # of (0, 1]; for (0, oo) also the next two
HIGH_TEMPERATURES = (Fraction(7), Fraction(1000))

SHARED = make_dataset(
    ([(0, 0), (1, 2), (3, 1)], [(1, 1), (-2, 0)]), ([(0, 0), (1, 2)], [(1, 1)]), ([("1/3", 1), (3, 1)], [(0, 5)])
)
DISJOINT = make_dataset(([(0, 0), (1, 2)], [(1, 1), (-2, 0)]), ([(5, "1/2"), (4, 4)], [(1, 1)]))
KINKS = make_dataset(([(-1, 0), (1, 0)], [(2, 1)]), ([(-2, 0), (2, 0)], [(0, 3)]), ([(0, 0)], [(2, 1)]))


@dataclass(frozen=True)
class Subject:
    """An accepted witness with its statement."""

    name: str
    dataset: Dataset
    blocks: list[dict[str, Any]]
    header: dict[str, Any]
    temperatures: str

    def encode(self, blocks: list[dict[str, Any]], **header: Any) -> bytes:
        """A signed file."""
        return transformer_bytes(self.dataset.dimension, blocks, **(self.header | header))


@dataclass(frozen=True)
class Mutant:
    """One change: the kind of what was changed, and the files that come of it."""

    kind: str
    witness: bytes
    dataset: Dataset
    budgets: dict[str, int]


def list_subjects() -> Iterator[Subject]:
    """Witnesses of every construction, compact also without a rank-one V."""
    builders: dict[str, tuple[Callable[..., Any], str]] = {
        name: (construction.build, construction.temperatures) for name, construction in CONSTRUCTIONS.items()
    }
    builders["compact, no rank one"] = (lambda dataset: build_compact(dataset, rank_one_v=False), "[0,oo)")
    for name, (build, temperatures) in builders.items():
        for label, dataset in (("shared", SHARED), ("disjoint", DISJOINT), ("kinks", KINKS)):
            if name == "resnet" and label != "disjoint":
                continue
            data = encode_transformer(Transformer(dataset.dimension, tuple(build(dataset).blocks)))
            header = {"attention": "any", "construction": name, "dataset": dataset.digest, "seed": 0}
            yield Subject(name, dataset, block_records(data), header, temperatures)


def list_mutants(subject: Subject) -> Iterator[Mutant]:
    """Every single change of the kinds below."""

    def mutant(kind: str, blocks: list[dict[str, Any]], **header: Any) -> Mutant:
        return Mutant(kind, subject.encode(blocks, **header), subject.dataset, {})

    for path in places_of(subject.blocks):
        kind = ".".join(str(step) for step in path[1:3])
        for label, change in CHANGES.items():
            yield mutant(f"{kind} {label}", with_number(subject.blocks, path, change))
    count = len(subject.blocks)
    for i in range(count):
        yield mutant("block dropped", subject.blocks[:i] + subject.blocks[i + 1 :])
        yield mutant("block doubled", subject.blocks[: i + 1] + subject.blocks[i:])
        for j in range(i + 1, min(i + 3, count)):
            swapped = list(subject.blocks)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            yield mutant("blocks exchanged", swapped)
    for key, value in HEADERS.items():
        yield mutant("header", subject.blocks, **{key: value})
    yield from _changed_statements(subject)
    for name in ("max_width", "max_blocks", "max_parameters"):
        yield Mutant("budget below", subject.encode(subject.blocks), subject.dataset, {name: 0})


CHANGES: dict[str, Callable[[Fraction], Fraction]] = {
    "plus an ulp": lambda x: x + Fraction(1, x.denominator),
    "minus an ulp": lambda x: x - Fraction(1, x.denominator),
    "plus a hair": lambda x: x + Fraction(1, 10**30),
    "negated": lambda x: -x if x else Fraction(1),
}

HEADERS: dict[str, Any] = {
    "attention": "hardmax",
    "temperatures": "[0, oo)",
    "construction": "magic",
    "dataset": "sha256:" + "0" * 64,
    "phases": [{"name": "magic", "lemma": "none", "first": 1, "last": 99, "bits": 0, "shared": True}],
    "comment": "VERIFIED",
}


def _changed_statements(subject: Subject) -> Iterator[Mutant]:
    """A coordinate of an input or output token changed, of every pair and of the last pair alone; a target left out."""
    witness, pairs = subject.encode(subject.blocks), list(subject.dataset.pairs)
    for j, pair in enumerate(pairs):
        where = "last pair" if j == len(pairs) - 1 else "pair"
        for side in ("input", "output"):
            rows = list(getattr(pair, side))
            for i, row in enumerate(rows):
                token = list(to_fractions(row))
                token[-1] += Fraction(1, 10**6)
                changed = replace(pair, **{side: (*rows[:i], to_row(token), *rows[i + 1 :])})
                yield Mutant(f"{where} {side}", witness, _with_pair(subject.dataset, j, changed), {})
        if len(pair.output) > 1:
            yield Mutant(
                f"{where} output", witness, _with_pair(subject.dataset, j, Pair(pair.input, pair.output[1:])), {}
            )


def _with_pair(dataset: Dataset, index: int, pair: Pair) -> Dataset:
    pairs = list(dataset.pairs)
    pairs[index] = pair
    return Dataset(dataset.dimension, tuple(pairs))


def judge(subject: Subject, mutant: Mutant) -> str:
    """The checker's word on a mutant: a status, or ``FALSE`` for an acceptance that the evaluators contradict."""
    statement = decode_dataset(dataset_bytes(mutant.dataset))
    budgets = {"max_blocks": 100, "max_parameters": 10**4} | mutant.budgets
    claim = make_claim(statement, temperatures=subject.temperatures, **budgets)
    try:
        status = check(statement, decode_transformer(mutant.witness), claim).status
    except InterpError as error:
        return error.status.label
    if status is Status.VERIFIED and not confirmed(subject, mutant, budgets):
        return "FALSE"
    return "accepted, confirmed" if status is Status.VERIFIED else status.label


def confirmed(subject: Subject, mutant: Mutant, budgets: dict[str, int]) -> bool:
    """Whether the independent evaluators agree with the whole claim."""
    claimed, pairs = parse_temperatures(subject.temperatures), pairs_of(mutant.dataset)
    blocks, width, parameters = evaluator.count(mutant.witness)
    within = width <= budgets.get("max_width", 4) and blocks <= budgets["max_blocks"]
    if not within or parameters > budgets["max_parameters"]:
        return False
    if claimed.zero and not evaluator.interpolates(mutant.witness, pairs):
        return False
    temperatures = TEMPERATURES if claimed.positive else ()
    temperatures += HIGH_TEMPERATURES if claimed.all_positive else ()
    return all(interpolates_at(mutant.witness, pairs, tau) for tau in temperatures)


def run_campaign(fraction: float = 1.0, seed: int = 0) -> dict[str, Counter[str]]:
    """Kind of mutant -> how often each answer was given, on a random part of all mutants."""
    rng = random.Random(seed)
    table: dict[str, Counter[str]] = {}
    for subject in list_subjects():
        accepted = Mutant("unchanged", subject.encode(subject.blocks), subject.dataset, {})
        table.setdefault("unchanged", Counter())[judge(subject, accepted)] += 1
        for mutant in list_mutants(subject):
            if rng.random() < fraction:
                table.setdefault(mutant.kind, Counter())[judge(subject, mutant)] += 1
    return table


def main(fraction: float) -> int:
    """Prints the table; exits with 1 mutant accepted wrongly or an unchanged witness refused as failures."""
    table = run_campaign(fraction)
    columns = ["accepted, confirmed", "refuted", "undecided", "malformed input", "FALSE"]
    print("| changed | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for kind in sorted(table):
        print(f"| {kind} | " + " | ".join(str(table[kind][column]) for column in columns) + " |")
    total = sum(table.values(), Counter())
    print("| **all** | " + " | ".join(str(total[column]) for column in columns) + " |")
    return 0 if total["FALSE"] == 0 and set(table["unchanged"]) == {"accepted, confirmed"} else 3


if __name__ == "__main__":
    sys.exit(main(float(json.loads(sys.argv[1])) if len(sys.argv) > 1 else 1.0))
