"""Mutants of accepted witnesses of every construction, and what the checker says of each: ``make mutants``.

Mutants are signed again (counts, digests and end record made consistent), so that they reach the semantics. A mutant
may be accepted only if the independent evaluators confirm the claim: exact fractions at temperature 0, 400 digits at
positive temperatures. The engine must answer each as the kernel alone does: status, obligations to the letter, counts.
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
from interp.constructions.causal import build_causal
from interp.constructions.compact import build_compact
from interp.constructions.folded import find_folded_plan
from interp.constructions.hardmax import list_targets
from interp.constructions.labels import find_code_plans
from interp.constructions.peeling import build_peeling
from interp.stages.clouds import make_cloud
from interp.stages.tokens import TokenState
from interp.transformers.encode import encode_transformer
from interp.transformers.ledger import Ledger
from proofs.engine.passes import ENGINE
from proofs.kernel.check import DENSE, Passes, check
from proofs.kernel.decode import decode_dataset, decode_transformer
from proofs.kernel.errors import InterpError, Status, UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Claim, Dataset, Pair, make_claim, parse_temperatures
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


APART = make_dataset(*(([(x + k, y), (x, y - k)], [(y, x)]) for k in (1, 2) for x, y in ((0, 0), (9, 1), (2, 8))))
GENERAL = make_dataset(*(([(k * k % 23, k**3 % 29), (k, 0)], [(k % 4, k % 5)]) for k in range(12)))


SPACE = make_dataset(  # d = 3, m = 3: two heads
    ([(0, 0, 1), (1, 2, 0), (3, 1, 0), (2, 5, 1)], [(1, 1, 0), (-2, 0, 0), (0, 3, 1)]),
    ([(0, 0, 1), (1, 2, 0), (5, 5, 5)], [(1, 1, 0), (4, 0, 0), (7, 3, 1)]),
)


@dataclass(frozen=True)
class Subject:
    """An accepted witness with its statement."""

    name: str
    dataset: Dataset
    blocks: list[dict[str, Any]]
    header: dict[str, Any]
    temperatures: str
    claimed: tuple[str, str] = ("none", "all")  # mask and read-out

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
    builders["causal"] = (build_causal, "[0,oo)")
    builders["peeling, two heads"] = (lambda dataset: build_peeling(dataset, heads=2), "0")
    builders["labels"] = (_build_codes, "[0,oo)")
    builders["folded"] = (_build_groups, "[0,oo)")
    for name, (build, temperatures) in builders.items():
        for dataset in {"labels": [APART], "folded": [GENERAL], "peeling, two heads": [SPACE]}.get(
            name, [SHARED, DISJOINT, KINKS]
        ):
            try:
                ledger = build(dataset)
            except UsageError:
                continue
            data = encode_transformer(Transformer(dataset.dimension, tuple(ledger.blocks)))
            header = {"attention": "any", "construction": name, "dataset": dataset.digest, "seed": 0}
            claimed = ("causal", "last") if name == "causal" else ("none", "all")
            yield Subject(name, dataset, block_records(data), header, temperatures, claimed)


def _build_codes(dataset: Dataset) -> Ledger:
    """Codes for classes that stand apart, where ``labels`` itself finds that a chain is as short."""
    rows = [pair.output[0] for pair in dataset.pairs]
    [plan] = find_code_plans(make_cloud(TokenState.from_dataset(dataset), rows))
    plan.build(ledger := Ledger(dataset.dimension))
    return ledger


def _build_groups(dataset: Dataset) -> Ledger:
    """Folded groups, where ``folded`` itself finds that a chain is shorter."""
    plan = find_folded_plan(TokenState.from_dataset(dataset), list_targets(dataset), random.Random(0))
    if plan is None:
        raise UsageError("not in general position")
    plan.build(ledger := Ledger(dataset.dimension))
    return ledger


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
    for i, record in enumerate(subject.blocks):
        for kind, sa in list_attention_changes(record.get("sa", {"rho": 1})):
            yield mutant(kind, [*subject.blocks[:i], record | {"sa": sa}, *subject.blocks[i + 1 :]])
    for key, value in HEADERS.items():
        yield mutant("header", subject.blocks, **{key: value})
    yield from _changed_statements(subject)
    for name in ("max_width", "max_blocks", "max_parameters"):
        yield Mutant("budget below", subject.encode(subject.blocks), subject.dataset, {name: 0})


def list_attention_changes(sa: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The mask set or taken off; heads left out, doubled, exchanged in part."""
    bare = {key: value for key, value in sa.items() if key != "mask"}
    yield "mask flipped", bare if "mask" in sa else bare | {"mask": "causal"}
    rest = {key: value for key, value in sa.items() if key not in ("A", "V", "heads")}
    heads = sa.get("heads", [{key: sa[key] for key in ("A", "V") if key in sa}])
    yield "head doubled", rest | {"heads": [*heads, heads[0]]}
    yield "head without effect", rest | {"heads": [*heads, {}]}
    if len(heads) == 2:
        yield from (("head left out", rest | head) for head in heads)
        yield "heads exchanged", rest | {"heads": heads[::-1]}
        crossed = [dict(zip("AV", pair, strict=True)) for pair in ((heads[k]["A"], heads[1 - k]["V"]) for k in (0, 1))]
        yield "heads crossed", rest | {"heads": crossed}


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
    """The checker's word on a mutant: a status, ``FALSE`` for an acceptance that the evaluators contradict, or
    ``APART`` where engine and kernel answer differently."""
    statement = decode_dataset(dataset_bytes(mutant.dataset))
    budgets = {"max_blocks": 100, "max_parameters": 10**4} | mutant.budgets
    mask, readout = subject.claimed
    claim = make_claim(statement, temperatures=subject.temperatures, mask=mask, readout=readout, **budgets)
    status, *reasons = ask(statement, mutant.witness, claim, DENSE)
    if ask(statement, mutant.witness, claim, ENGINE) != (status, *reasons):
        return "APART"
    if status is Status.VERIFIED and not confirmed(subject, mutant, budgets):
        return "FALSE"
    return "accepted, confirmed" if status is Status.VERIFIED else status.label


def ask(statement: Dataset, witness: bytes, claim: Claim, passes: Passes) -> tuple[Status, object, object]:
    """The status with obligations and counts, or with the words of a fault."""
    try:
        verdict = check(statement, decode_transformer(witness), claim, passes=passes)
    except InterpError as error:
        return error.status, str(error), None
    return verdict.status, verdict.obligations, verdict.counts


def confirmed(subject: Subject, mutant: Mutant, budgets: dict[str, int]) -> bool:
    """Whether the independent evaluators agree with the whole claim."""
    claimed, pairs = parse_temperatures(subject.temperatures), pairs_of(mutant.dataset)
    blocks, width, parameters = evaluator.count(mutant.witness)
    within = width <= budgets.get("max_width", 4) and blocks <= budgets["max_blocks"]
    if not within or parameters > budgets["max_parameters"]:
        return False
    layers, last = [block.get("sa", {}) for block in block_records(mutant.witness)], subject.claimed[1] == "last"
    if subject.claimed[0] == "none" and any("mask" in layer for layer in layers):
        return False
    if subject.claimed[0] == "causal" and any("mask" not in layer and has_values(layer) for layer in layers):
        return False
    if claimed.zero and not evaluator.interpolates(mutant.witness, pairs, last):
        return False
    temperatures = TEMPERATURES if claimed.positive else ()
    temperatures += HIGH_TEMPERATURES if claimed.all_positive else ()
    return all(interpolates_at(mutant.witness, pairs, tau, last=last) for tau in temperatures)


def has_values(layer: dict[str, Any]) -> bool:
    """Whether some V of a layer, as a file has it, is written with a number that is not 0."""
    heads = layer.get("heads", [layer])
    return any(Fraction(x) != 0 for head in heads for x in _numbers_in(head.get("V", {})))


def _numbers_in(value: Any) -> Iterator[Any]:
    for path in places_of(value):
        found = value
        for step in path:
            found = found[step]
        yield found


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
    """Prints the table; 3 if a mutant is accepted wrongly, two passes disagree or an unchanged witness is refused."""
    table = run_campaign(fraction)
    columns = ["accepted, confirmed", "refuted", "undecided", "malformed input", "FALSE", "APART"]
    print("| changed | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for kind in sorted(table):
        print(f"| {kind} | " + " | ".join(str(table[kind][column]) for column in columns) + " |")
    total = sum(table.values(), Counter())
    print("| **all** | " + " | ".join(str(total[column]) for column in columns) + " |")
    return 0 if total["FALSE"] == total["APART"] == 0 and set(table["unchanged"]) == {"accepted, confirmed"} else 3


if __name__ == "__main__":
    sys.exit(main(float(json.loads(sys.argv[1])) if len(sys.argv) > 1 else 1.0))
