"""Untrusted. The record of an audit, as a file that is committed, and what became worse since.

A record is ``interp-audit/1`` (docs/how-to/ci.md). Reading is strict: a baseline that
says less than it should must not pass for one that was met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

from interp.audit.audit import Audit
from proofs.guard import Answer
from proofs.kernel.counts import Counts
from proofs.kernel.decode import decode_json, read_count, read_list, read_object
from proofs.kernel.errors import MalformedInput, Status, UsageError
from proofs.kernel.statement import Claim, Dataset

AUDIT_FORMAT = "interp-audit/1"
BUDGETS = ("max_width", "max_blocks", "max_parameters")
TEXTS = ("temperatures", "mask", "readout")  # of the claim
COUNTS = tuple(field.name for field in fields(Counts))
KEYS = {
    "format", "within", "construction", "claim", "counts", "max_rank", "rank_one_v", "num_targets", "comparisons",
    "phases", "dataset", "explanation", "verified", "verdict",
}  # fmt: skip
REFRESH = "look at it, then write a new one with --update-baseline"


@dataclass(frozen=True, slots=True)
class Change:
    """A value before and after."""

    name: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.name}: {_text(self.old)} -> {_text(self.new)}"


def _text(value: Any) -> str:
    return "none" if value is None else ascii(value)[1:-1] if isinstance(value, str) else str(value)


def make_record(
    result: Audit, dataset: Dataset | None, claim: Claim | None, answer: Answer | None, lines: list[str]
) -> dict[str, Any]:
    """The record of an audit."""
    return {
        "format": AUDIT_FORMAT,
        "within": result.within,
        "construction": result.construction,
        "claim": None
        if claim is None
        else {"temperatures": str(claim.temperatures), "mask": claim.mask.value, "readout": claim.readout.value}
        | {name: getattr(claim, name) for name in BUDGETS},
        "counts": asdict(result.counts),
        "max_rank": result.max_rank,
        "rank_one_v": result.rank_one_v,
        "num_targets": result.num_targets,
        "comparisons": [asdict(c) | {"holds": c.holds} for c in result.comparisons],
        "phases": [
            {"name": p.phase.name, "lemma": p.phase.lemma, "blocks": p.phase.num_blocks, "allotted": p.allotted,
             "bits": p.counts.max_bits}
            for p in result.phases
        ],
        "dataset": None if dataset is None else {"N": dataset.num_pairs, "M": dataset.num_outputs,
                                                 "d": dataset.dimension, "digest": dataset.digest},
        "explanation": lines,
        "verified": None if answer is None else answer.status is Status.VERIFIED,
        "verdict": None if answer is None else answer.record,
    }  # fmt: skip


def is_record(value: Any) -> bool:
    """Whether decoded JSON says that it is the record of an audit, of any version."""
    return isinstance(value, dict) and str(value.get("format", "")).startswith("interp-audit/")


def decode_record(data: bytes) -> dict[str, Any]:
    """The record in a file, counts as integers. Raises: MalformedInput."""
    record = decode_json(data)
    if is_record(record) and record["format"] != AUDIT_FORMAT:
        raise MalformedInput(f"format {record['format']!r}, expected {AUDIT_FORMAT!r}", "$.format", REFRESH)
    read_object(record, "$", KEYS)
    if record["format"] != AUDIT_FORMAT:
        raise MalformedInput("not the record of an audit", "$.format", "write one with interp audit --update-baseline")
    _read_flags(record)
    record["counts"] = _read_counts(record["counts"], "$.counts", COUNTS)
    record["max_rank"] = read_count(record["max_rank"], "$.max_rank")
    if record["claim"] is not None:
        claim = read_object(record["claim"], "$.claim", {*TEXTS, *BUDGETS})
        for name in TEXTS:
            if type(claim[name]) is not str:  # numbers are a kind of text here
                raise MalformedInput("expected text", f"$.claim.{name}")
        record["claim"] = claim | _read_counts({name: claim[name] for name in BUDGETS}, "$.claim", BUDGETS)
    if record["dataset"] is not None:
        dataset = read_object(record["dataset"], "$.dataset", {"N", "M", "d", "digest"})
        if type(dataset["digest"]) is not str:
            raise MalformedInput("expected text", "$.dataset.digest")
        sizes = ("N", "M", "d")
        record["dataset"] = dataset | _read_counts({name: dataset[name] for name in sizes}, "$.dataset", sizes)
    for i, phase in enumerate(read_list(record["phases"], "$.phases")):
        read_object(phase, f"$.phases[{i}]", {"name", "lemma", "blocks", "allotted", "bits"})
        if type(phase["name"]) is not str:
            raise MalformedInput("expected text", f"$.phases[{i}].name")
    return dict(record)


def check_baseline(baseline: dict[str, Any], record: dict[str, Any]) -> list[Change]:
    """What of ``record`` is worse than in the baseline.

    Raises: UsageError when the two do not answer the same question or the baseline is itself of a failed audit.
    """
    for key, what in (("dataset", "dataset"), ("claim", "claim")):
        if baseline[key] != record[key]:
            differing = "; ".join(str(change) for change in list_changes(baseline, record, (key,)))
            raise UsageError(f"the baseline is of another {what}: {differing}", "--baseline", REFRESH)
    if baseline["verified"] is False or not baseline["within"]:
        raise UsageError("the baseline is of an audit that failed", "--baseline", REFRESH)
    worse = [
        Change(name, baseline["counts"][name], record["counts"][name])
        for name in COUNTS
        if record["counts"][name] > baseline["counts"][name]
    ]
    if record["max_rank"] > baseline["max_rank"]:
        worse.append(Change("max_rank", baseline["max_rank"], record["max_rank"]))
    if baseline["verified"] and not record["verified"]:
        worse.append(Change("verified", "yes", "not asked" if record["verified"] is None else "no"))
    return worse


def list_improvements(baseline: dict[str, Any], record: dict[str, Any]) -> list[Change]:
    """The counts that became smaller."""
    pairs = [(name, baseline["counts"][name], record["counts"][name]) for name in COUNTS]
    return [Change(*pair) for pair in pairs if pair[2] < pair[1]]


DIFFERENCES = ("dataset", "claim", "construction", "counts", "max_rank", "rank_one_v", "num_targets", "phases",
               "within", "verified")  # fmt: skip


def list_changes(old: dict[str, Any], new: dict[str, Any], keys: tuple[str, ...] = DIFFERENCES) -> list[Change]:
    """Every value under these keys of two records that is not the same."""
    before, after = ({path: value for key in keys for path, value in _leaves(key, side[key])} for side in (old, new))
    return [
        Change(path, before.get(path), after.get(path))
        for path in dict.fromkeys([*before, *after])
        if before.get(path) != after.get(path)
    ]


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values in a record with their paths; items of a list go by their names, a name that returns by its number."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item)
    elif isinstance(value, list):
        seen: Counter[str] = Counter()
        for item in value:
            name = item["name"]
            seen[name] += 1
            label = name if seen[name] == 1 else f"{name} {seen[name]}"
            yield from _leaves(f"{path}[{label}]", {key: x for key, x in item.items() if key != "name"})
    else:
        yield path, value


def _read_flags(record: dict[str, Any]) -> None:
    if not isinstance(record["within"], bool):
        raise MalformedInput("expected true or false", "$.within")
    if record["verified"] is not None and not isinstance(record["verified"], bool):
        raise MalformedInput("expected true, false or null", "$.verified")
    if (record["verified"] is None) != (record["verdict"] is None):
        raise MalformedInput("verified and verdict do not go together", "$.verified")


def _read_counts(value: Any, path: str, names: tuple[str, ...]) -> dict[str, int]:
    counts = read_object(value, path, set(names))
    return {name: read_count(counts[name], f"{path}.{name}") for name in names}
