"""Untrusted. Changes that make the hypotheses of the theorems hold: pure, exact, each a reading option too.

append_constant          x -> (x, 1), y -> (y, 1)                                  d -> d + 1
append_positions         x_i -> (x_i, i) for the i-th token of its input, i from 1; y -> (y, 0)
merge_repeated_outputs   one copy of every token of an output
merge_identical_pairs    one copy of every pair (same input tokens equally often, same output set)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from interp.datasets.draft import Draft, DraftPair, Token, Tokens, draft_of, multiset
from interp.datasets.options import ReadOptions
from proofs.kernel.statement import Dataset


def append_constant(dataset: Dataset) -> Dataset:
    """The coordinate 1 after the others, in every input and output token."""
    return _with_constant(draft_of(dataset)).to_dataset()


def append_positions(dataset: Dataset) -> Dataset:
    """The position in its sequence, from 1, after the other coordinates of an input token; 0 for an output token."""
    return _with_positions(draft_of(dataset)).to_dataset()


def merge_repeated_outputs(dataset: Dataset) -> Dataset:
    """Every output without its repetitions, in order of first appearance."""
    return _with_merged_outputs(draft_of(dataset)).to_dataset()


def merge_identical_pairs(dataset: Dataset) -> Dataset:
    """The first of all pairs with the same tokens in the input, equally often, and the same output set.

    Inputs that are equal only as sets stay: a mean over a sequence can tell how often a token occurs.
    """
    return _with_merged_pairs(draft_of(dataset)).to_dataset()


def apply_options(draft: Draft, options: ReadOptions) -> Draft:
    """The changes asked for, in the order of the table above."""
    changes: list[tuple[bool, Callable[[Draft], Draft]]] = [
        (options.append_constant, _with_constant),
        (options.positions, _with_positions),
        (options.merge_outputs, _with_merged_outputs),
        (options.merge_pairs, _with_merged_pairs),
    ]
    for wanted, change in changes:
        if wanted:
            draft = change(draft)
    return draft


def _with_constant(draft: Draft) -> Draft:
    return _extend(draft, lambda i: 1, lambda i: 1)


def _with_positions(draft: Draft) -> Draft:
    return _extend(draft, lambda i: i + 1, lambda i: 0)


def _extend(draft: Draft, input_value: Callable[[int], int], output_value: Callable[[int], int]) -> Draft:
    def extended(tokens: Tokens, value: Callable[[int], int]) -> Tokens:
        return tuple(_extend_token(token, value(i)) for i, token in enumerate(tokens))

    pairs = (
        DraftPair(extended(pair.input, input_value), extended(pair.output, output_value), pair.place)
        for pair in draft.pairs
    )
    return replace(draft, dimension=None if draft.dimension is None else draft.dimension + 1, pairs=tuple(pairs))


def _extend_token(token: Token, value: int) -> Token:
    """One more integer coordinate; the row stays primitive, because it was before."""
    return None if token is None else (*token[:-1], value * token[-1], token[-1])


def _with_merged_outputs(draft: Draft) -> Draft:
    pairs = (replace(pair, output=tuple(dict.fromkeys(pair.output))) for pair in draft.pairs)
    return replace(draft, pairs=tuple(pairs))


def _with_merged_pairs(draft: Draft) -> Draft:
    kept: dict[object, DraftPair] = {}
    for j, pair in enumerate(draft.pairs):
        readable = None not in pair.input and None not in pair.output
        kept.setdefault((multiset(pair.input), frozenset(pair.output)) if readable else j, pair)
    return replace(draft, pairs=tuple(kept.values()))
