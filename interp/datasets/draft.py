"""Untrusted. What a file holds before it is known to be a dataset: tokens with their places.

A token that could not be read is None. Shapes: a row has d + 1 entries (proofs/kernel/rational.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from interp.datasets.violation import Violation
from proofs.kernel.errors import InternalFault
from proofs.kernel.rational import Row
from proofs.kernel.statement import Dataset, Pair

Token = Row | None
Tokens = tuple[Token, ...]
Place = Callable[[str, int | None], str]  # "input" or "output", and the token (None: the whole sequence)
SIDES = ("input", "output")


@dataclass(frozen=True, slots=True)
class DraftPair:
    """One input sequence, its output set, and where they stand in the file."""

    input: Tokens
    output: Tokens
    place: Place

    def side(self, name: str) -> Tokens:
        """The tokens of "input" or "output"."""
        return self.input if name == "input" else self.output


@dataclass(frozen=True, slots=True)
class Draft:
    """Pairs of tokens of dimension d (None when the file does not say), and what the reader found wrong."""

    dimension: int | None
    pairs: tuple[DraftPair, ...]
    violations: tuple[Violation, ...] = ()
    dimension_path: str = "$.dimension"

    def to_dataset(self) -> Dataset:
        """The dataset. Raises: MalformedInput for the first violation."""
        if self.violations:
            raise self.violations[0].error()
        pairs = tuple(Pair(_complete(pair.input), _complete(pair.output)) for pair in self.pairs)
        return Dataset(self.dimension or 0, pairs)


def _complete(tokens: Tokens) -> tuple[Row, ...]:
    rows = tuple(row for row in tokens if row is not None)
    if len(rows) != len(tokens):
        raise InternalFault("a token was lost without a fault", hint="a defect of the program: please report it")
    return rows


def json_places(pair: int) -> Place:
    """Places in a JSON document, such as ``$.pairs[3].input[5]``."""
    return lambda side, token: f"$.pairs[{pair}].{side}{_index(token)}"


def line_places(pair: int) -> Place:
    """Places in JSON lines, such as ``line 5: $.input[5]`` (line 1 is the header)."""
    return lambda side, token: f"line {pair + 2}: $.{side}{_index(token)}"


def _index(token: int | None) -> str:
    return "" if token is None else f"[{token}]"


def draft_of(dataset: Dataset, places: Callable[[int], Place] = json_places) -> Draft:
    """A dataset as a draft without violations."""
    pairs = (DraftPair(pair.input, pair.output, places(j)) for j, pair in enumerate(dataset.pairs))
    return Draft(dataset.dimension, tuple(pairs))


def multiset(tokens: Sequence[Token]) -> frozenset[tuple[Token, int]]:
    """The tokens with how often each occurs: what a transformer sees of a sequence, up to order."""
    return frozenset(Counter(tokens).items())


def check_structure(draft: Draft) -> Draft:
    """Adds a violation for a draft without pairs, every empty sequence and every ragged token, which becomes None."""
    found = list(draft.violations)
    if not draft.pairs and not found:
        found.append(Violation("no-pairs", "$.pairs", "the dataset has no pairs: nothing to check"))
    pairs = []
    for pair in draft.pairs:
        for name in SIDES:
            if not pair.side(name):
                found.append(Violation("empty-sequence", pair.place(name, None), "an empty sequence"))
        inputs, outputs = (_check_lengths(pair, name, draft.dimension, found) for name in SIDES)
        pairs.append(DraftPair(inputs, outputs, pair.place))
    return replace(draft, pairs=tuple(pairs), violations=tuple(found))


def _check_lengths(pair: DraftPair, side: str, dimension: int | None, found: list[Violation]) -> Tokens:
    """The tokens of one side, None instead of every token that has not d coordinates."""
    kept: list[Token] = []
    for i, row in enumerate(pair.side(side)):
        if row is None or dimension is None or len(row) - 1 == dimension:
            kept.append(row)
        else:
            message = f"a token with {len(row) - 1} coordinates, expected {dimension}"
            found.append(Violation("ragged-token", pair.place(side, i), message))
            kept.append(None)
    return tuple(kept)


def check_dimension(draft: Draft) -> Draft:
    """Adds a violation for d < 2."""
    if draft.dimension is None or draft.dimension >= 2:
        return draft
    option = "--append-constant" if draft.dimension == 1 else ""
    violation = Violation(
        "dimension",
        draft.dimension_path,
        f"dimension {draft.dimension} is below 2",
        f"append a constant coordinate: {option}" if option else "",
        option,
    )
    return replace(draft, violations=(violation, *draft.violations))
