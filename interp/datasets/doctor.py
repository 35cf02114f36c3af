"""Untrusted. Which hypotheses of the theorems a dataset breaks: all of them at once, with places and fixes.

Source: arXiv 2502.02270, theorems 1.6 and 1.8: tokens of one sequence are distinct, tokens of one output are distinct,
the input sequences differ as sets, and m_j <= n_j. docs/reference/datasets.md lists the rules. Nothing here writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from interp.datasets.draft import Draft, DraftPair, Token, draft_of, multiset
from interp.datasets.options import PLAIN, ReadOptions
from interp.datasets.read import load_draft
from interp.datasets.violation import Violation
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Dataset


@dataclass(frozen=True, slots=True)
class Examination:
    """All violations in a file, and its dataset when the file holds one."""

    dataset: Dataset | None
    violations: list[Violation]


def examine(
    path: Path, options: ReadOptions = PLAIN, limits: Limits = DEFAULT_LIMITS, allow_repeats: bool = False
) -> Examination:
    """Everything that is wrong with a file: what makes it no dataset first, then the hypotheses on what could be read.

    Raises: MalformedInput only when there is no file of a known format to look at, LimitReached, UsageError.
    """
    draft = load_draft(path, options, limits)
    violations = [*draft.violations, *_find_in(draft, allow_repeats)]
    return Examination(None if draft.violations else draft.to_dataset(), violations)


def find_violations(dataset: Dataset, allow_repeats: bool = False) -> list[Violation]:
    """All violations of the theorems' hypotheses, [] if they hold.

    With ``allow_repeats`` copies of a token travel together, so m_j is compared with the number of distinct tokens.
    """
    return list(_find_in(draft_of(dataset), allow_repeats))


def _find_in(draft: Draft, allow_repeats: bool) -> Iterator[Violation]:
    for pair in draft.pairs:
        if not allow_repeats:
            yield from _repeated_inputs(pair)
        yield from _repeated_outputs(pair)
        yield from _too_many_outputs(pair, allow_repeats)
    yield from _equal_inputs(draft)


def _is_whole(pair: DraftPair) -> bool:
    """Whether every token was read, so that sizes and sets are known."""
    return all(tokens and None not in tokens for tokens in (pair.input, pair.output))


def _repeats(pair: DraftPair, side: str) -> Iterator[tuple[str, str]]:
    """The place of every token that stands in its sequence before, and the place of the first one."""
    first: dict[Token, int] = {}
    for i, token in enumerate(pair.side(side)):
        if token is not None and first.setdefault(token, i) != i:
            yield pair.place(side, i), pair.place(side, first[token])


def _repeated_inputs(pair: DraftPair) -> Iterator[Violation]:
    targets, tokens = len(set(pair.output)), len(set(pair.input))
    fix = "--positions makes the tokens distinct"
    if targets <= tokens:
        fix += "; or keep them: build --allow-repeats moves copies together"
    else:
        fix += f" (--allow-repeats cannot: m = {targets} exceeds {tokens} distinct tokens)"
    for place, first in _repeats(pair, "input"):
        yield Violation("repeated-input-token", place, f"the same token as {first}", fix, "--positions")


def _repeated_outputs(pair: DraftPair) -> Iterator[Violation]:
    for place, first in _repeats(pair, "output"):
        fix = "--merge-outputs keeps one copy"
        yield Violation("repeated-output-token", place, f"the same token as {first}", fix, "--merge-outputs")


def _too_many_outputs(pair: DraftPair, allow_repeats: bool) -> Iterator[Violation]:
    targets = len(set(pair.output))
    tokens = len(set(pair.input)) if allow_repeats else len(pair.input)
    if _is_whole(pair) and targets > tokens:
        kind = " distinct tokens" if allow_repeats else ""
        message = f"m = {targets} exceeds n = {tokens}{kind}: no transformer makes more tokens than it is given"
        yield Violation("too-many-outputs", pair.place("output", None), message, "drop targets or lengthen the input")


def _equal_inputs(draft: Draft) -> Iterator[Violation]:
    """Every pair whose input set was there before; by multiset first, because that is what a transformer sees."""
    seen: dict[object, DraftPair] = {}
    for pair in draft.pairs:
        if not _is_whole(pair):
            continue
        copies, tokens = multiset(pair.input), frozenset(pair.input)
        if earlier := seen.get((copies,)):
            yield _same_tokens(pair, earlier)
        elif earlier := seen.get(tokens):
            yield _same_set(pair, earlier)
        seen.setdefault((copies,), pair)
        seen.setdefault(tokens, pair)


def _same_tokens(pair: DraftPair, earlier: DraftPair) -> Violation:
    place, other = pair.place("input", None), earlier.place("input", None)
    if set(pair.output) == set(earlier.output):
        message = f"the same tokens as {other}, and equal outputs"
        return Violation("identical-pairs", place, message, "--merge-pairs keeps one of them", "--merge-pairs")
    message = f"the same tokens as {other}, but other outputs: no transformer can do both (permutation equivariance)"
    if pair.input == earlier.input:
        return Violation("contradictory-pairs", place, message, "drop or correct one of the pairs")
    fix = "if the order of the tokens matters, --positions; otherwise drop or correct one of the pairs"
    return Violation("contradictory-pairs", place, message, fix, "--positions")


def _same_set(pair: DraftPair, earlier: DraftPair) -> Violation:
    outputs = "equal" if set(pair.output) == set(earlier.output) else "different"
    message = f"the same set of tokens as {earlier.place('input', None)}, only repeated differently; {outputs} outputs"
    return Violation(
        "equal-input-sets", pair.place("input", None), message, "--positions tells them apart", "--positions"
    )
