"""Untrusted. Prefixes (lemma ``prefixes``): which target every marked prefix of a dataset gets, if that is possible.

Under a causal mask the state of token i is a function of the ordered prefix (x_1, .., x_i). Read out are the last m_j
tokens, so pair j **marks** its m_j longest prefixes. A labelling gives each marked prefix one target so that the marked
prefixes of every pair get each of its targets once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from interp.datasets.violation import Violation
from interp.stages.tokens import require
from proofs.kernel.rational import Row
from proofs.kernel.statement import Dataset
from proofs.lemmas import prefixes as lemma

Prefix = int  # a number for each different prefix that is marked
Domains = dict[Prefix, tuple[Row, ...]]


@dataclass(frozen=True)
class MarkedPrefixes:
    """The different marked prefixes with a place (pair, length) each; marks[j] those of pair j, the shortest first."""

    places: list[tuple[int, int]]
    marks: list[list[Prefix]]
    targets: list[list[Row]]  # of each pair, different ones in order of appearance


def mark_prefixes(dataset: Dataset) -> MarkedPrefixes:
    """All marked prefixes. Prefixes are equal if they are the same tokens in the same order."""
    numbers: dict[tuple[int, Row], int] = {}  # a trie: (parent, token) -> node
    known: dict[int, Prefix] = {}
    places: list[tuple[int, int]] = []
    marks = []
    targets = [list(dict.fromkeys(pair.output)) for pair in dataset.pairs]
    for j, pair in enumerate(dataset.pairs):
        node, own = -1, []
        for length, token in enumerate(pair.input, 1):
            node = numbers.setdefault((node, token), len(numbers))
            if length > len(pair.input) - len(targets[j]):
                if node not in known:
                    known[node] = len(places)
                    places.append((j, length))
                own.append(known[node])
        marks.append(own)
    return MarkedPrefixes(places, marks, targets)


def find_labels(marked: MarkedPrefixes) -> list[Row] | list[Violation]:
    """The target of every marked prefix; or what makes it impossible, pairs named from the smallest set that conflicts.

    Exhaustive: pairs that share no marked prefix do not know of each other, so each connected group is searched alone.
    """
    labels: dict[Prefix, Row] = {}
    violations = []
    for group in _list_groups(marked):
        found = _search(marked, group)
        if found is None:
            violations.append(_explain(marked, group))
        else:
            labels |= found
    if violations:
        return violations
    named = [[labels[p] for p in own] for own in marked.marks]
    require(lemma.check_promise(named, marked.targets), "prefixes")
    return [labels[p] for p in range(len(marked.places))]


def _list_groups(marked: MarkedPrefixes) -> Iterable[list[int]]:
    """The pairs in groups that share marked prefixes."""
    parent = list(range(len(marked.marks)))

    def root(j: int) -> int:
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        return j

    first: dict[Prefix, int] = {}
    for j, own in enumerate(marked.marks):
        for p in own:
            parent[root(j)] = root(first.setdefault(p, j))
    groups: dict[int, list[int]] = {}
    for j in range(len(parent)):
        groups.setdefault(root(j), []).append(j)
    return groups.values()


def _search(marked: MarkedPrefixes, group: Sequence[int]) -> dict[Prefix, Row] | None:
    """A labelling of the prefixes of these pairs, or None if there is none. Depth first, fewest choices first."""
    start: Domains = {}
    for j in group:
        if len(marked.marks[j]) < len(marked.targets[j]):
            return None
        for p in marked.marks[j]:
            start[p] = tuple(y for y in start.get(p, marked.targets[j]) if y in marked.targets[j])
    if len(group) == 1:  # any order will do
        return dict(zip(marked.marks[group[0]], marked.targets[group[0]], strict=True))
    waiting = [start]
    while waiting:
        domains = _propagate(marked, group, waiting.pop())
        if domains is None:
            continue
        open_ = [p for p, choices in domains.items() if len(choices) > 1]
        if not open_:
            return {p: choices[0] for p, choices in domains.items()}
        chosen = min(open_, key=lambda p: len(domains[p]))
        waiting += [domains | {chosen: (y,)} for y in reversed(domains[chosen])]
    return None


def _propagate(marked: MarkedPrefixes, group: Sequence[int], domains: Domains) -> Domains | None:
    """Fewer choices: a target is taken once in a pair, and goes where alone it fits. None: nothing is left."""
    domains, changed = dict(domains), True
    while changed:
        changed = False
        for j in group:
            own = marked.marks[j]
            fits: dict[Row, list[Prefix]] = {y: [] for y in marked.targets[j]}
            for p in own:
                for y in domains[p]:
                    fits[y].append(p)
            for y, fitting in fits.items():
                fixed = [p for p in fitting if domains[p] == (y,)]
                if not fitting or len(fixed) > 1:
                    return None
                keep = fixed or (fitting if len(fitting) == 1 else [])
                for p in keep:
                    if domains[p] != (y,):
                        domains[p], changed = (y,), True
                for p in fitting if fixed else ():
                    if p != fixed[0] and y in domains[p]:
                        domains[p], changed = tuple(z for z in domains[p] if z != y), True
                        if not domains[p]:
                            return None
    return domains


def _explain(marked: MarkedPrefixes, group: Sequence[int]) -> Violation:
    """What conflicts, in pairs no one of which can be left out."""
    core = list(group)
    for j in group:
        rest = [i for i in core if i != j]
        if rest and _search(marked, rest) is None:
            core = rest
    if len(core) == 1:
        j = core[0]
        message = f"m = {len(marked.targets[j])} targets for {len(marked.marks[j])} tokens"
        return Violation("too-many-outputs", f"$.pairs[{j}].output", message, "drop targets or lengthen the input")
    users: dict[Prefix, list[int]] = {}
    for j in core:
        for p in marked.marks[j]:
            users.setdefault(p, []).append(j)
    shared = [
        f"the first {marked.places[p][1]} tokens of pairs {_join(users[p])}" for p in sorted(users) if len(users[p]) > 1
    ]
    message = (
        f"pairs {_join(core)} cannot all be met: {'; '.join(shared[:4])}{'; ..' if len(shared) > 4 else ''} "
        "are the same and read out in each, so that the same token would have to be different targets"
    )
    fix = "drop or correct one of the pairs: no transformer with a causal mask and this read-out exists"
    return Violation("prefix-conflict", f"$.pairs[{core[-1]}].output", message, fix)


def _join(numbers: Sequence[int]) -> str:
    shown = [str(j) for j in numbers[:6]] + ["..."] * (len(numbers) > 6)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
