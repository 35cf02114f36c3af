"""Trusted. What is claimed: the user's dataset, and temperatures and budgets that the user (or a default) sets.

Nothing in this module reads a witness.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeVar

from flint import fmpq

from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, Row, integer_text, parse_rational, rational_text

DEFAULT_MAX_WIDTH = 4
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pair:
    """One sequence of tokens and the set of tokens it must be mapped onto."""

    input: tuple[Row, ...]
    output: tuple[Row, ...]


@dataclass(frozen=True)
class Dataset:
    """N pairs (X_j, Y_j) of non-empty token lists in Q^d, d >= 2.

    The hypotheses of the theorems (distinct tokens, different sets, m_j <= n_j) are not needed for a verdict to be
    right and are not checked here; ``interp dataset check`` does that.
    """

    dimension: int
    pairs: Sequence[Pair]

    def __post_init__(self) -> None:
        if self.dimension < 2:
            raise MalformedInput(
                f"dimension {self.dimension} is below 2", "$.dimension", "append a constant coordinate"
            )
        if not self.pairs:
            raise MalformedInput("the dataset has no pairs: nothing to check", "$.pairs")
        for j, pair in enumerate(self.pairs):
            for name, tokens in (("input", pair.input), ("output", pair.output)):
                if not tokens:
                    raise MalformedInput("an empty sequence", f"$.pairs[{j}].{name}")
                for i, row in enumerate(tokens):
                    if len(row) != self.dimension + 1:
                        raise MalformedInput(
                            f"a token with {len(row) - 1} coordinates, expected {self.dimension}",
                            f"$.pairs[{j}].{name}[{i}]",
                        )

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        distinct = {(frozenset(pair.input), frozenset(pair.output)) for pair in self.pairs}
        return len(distinct), sum(len(output) for _, output in distinct)

    @property
    def num_pairs(self) -> int:
        """N: pairs that differ as sets, so that repeating a pair buys no budget."""
        return self._sizes[0]

    @property
    def num_outputs(self) -> int:
        """M: sum of m_j over those pairs, m_j the number of distinct tokens in Y_j."""
        return self._sizes[1]

    @property
    def num_listed(self) -> int:
        """The pairs as they are listed, equal ones counted again."""
        return len(self.pairs)

    @property
    def num_tokens(self) -> int:
        """K: sum of the lengths of all input sequences."""
        return sum(len(pair.input) for pair in self.pairs)

    @property
    def max_length(self) -> int:
        """n: the longest input sequence."""
        return max(len(pair.input) for pair in self.pairs)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text of the content (docs/reference/formats.md), whatever file it came from."""
        state = hashlib.sha256(f"interp-dataset/1 {self.dimension} {len(self.pairs)}\n".encode())
        for pair in self.pairs:
            state.update((";".join(map(_canonical_tokens, (pair.input, pair.output))) + "\n").encode())
        return "sha256:" + state.hexdigest()


def _canonical_tokens(tokens: tuple[Row, ...]) -> str:
    return " ".join(",".join(map(integer_text, row)) for row in tokens)


@dataclass(frozen=True, slots=True)
class Temperatures:
    """The temperatures claimed: 0 (hardmax) or not; (0, upper], or (0, oo) (``all_positive``), or one (``single``)."""

    zero: bool
    upper: fmpq | None = None
    all_positive: bool = False
    single: fmpq | None = None

    def __post_init__(self) -> None:
        given = [x for x in (self.upper, self.single) if x is not None]
        several = len(given) + self.all_positive + (self.zero and self.single is not None) > 1
        if several or not (self.zero or self.positive) or any(x <= 0 for x in given):
            raise UsageError(
                "not a set of temperatures: nothing, or several things, would be claimed", "--temperatures"
            )

    def __str__(self) -> str:
        if self.single is not None:
            return rational_text(self.single)
        if self.all_positive:
            return f"{'[' if self.zero else '('}0, oo)"
        if self.upper is not None:
            return f"{'[' if self.zero else '('}0, {rational_text(self.upper)}]"
        return "0"

    @property
    def positive(self) -> bool:
        """Whether any positive temperature (softmax) is claimed."""
        return self.all_positive or self.upper is not None or self.single is not None


def parse_temperatures(text: str, limits: Limits = DEFAULT_LIMITS) -> Temperatures:
    """``0``, ``(0,T]``, ``[0,T]``, ``(0,oo)``, ``[0,oo)`` or one temperature ``T``. Raises: UsageError."""
    compact = re.sub(r" *([\[\](),]) *", r"\1", text.strip(" "))  # never inside a number
    if compact == "0":
        return Temperatures(zero=True)
    match = re.fullmatch(r"([\[(])0,(?:(oo|inf)\)|([^\[\](),]+)\])", compact, re.ASCII)
    if match and match[2]:
        return Temperatures(zero=match[1] == "[", all_positive=True)
    try:
        value = parse_rational(match[3] if match else compact, "--temperatures", limits)
    except MalformedInput:
        value = fmpq(0)
    if value <= 0:
        hint = "write 0, (0,T], [0,T], (0,oo), [0,oo) or T, with T > 0"
        raise UsageError(f"temperatures {text!r}", "--temperatures", hint)
    return Temperatures(zero=match[1] == "[", upper=value) if match else Temperatures(zero=False, single=value)


class Readout(Enum):
    """The output tokens whose set must be Y_j: all, or the last m_j, m_j the number of distinct tokens in Y_j."""

    ALL = "all"
    LAST = "last"

    def take(self, pair: Pair, tokens: Sequence[T]) -> Sequence[T]:
        """Those of the output tokens of a pair, in their order (all that there are if they are fewer than m_j)."""
        return tokens if self is Readout.ALL else tokens[-len(set(pair.output)) :]


class Mask(Enum):
    """The mask of every attention layer with V != 0."""

    NONE = "none"
    CAUSAL = "causal"


@dataclass(frozen=True, slots=True)
class Claim:
    """T interpolates the dataset at these temperatures, within these budgets."""

    temperatures: Temperatures
    max_width: int
    max_blocks: int
    max_parameters: int
    mask: Mask = Mask.NONE
    readout: Readout = Readout.ALL

    def __str__(self) -> str:
        image = "T(X_j)" if self.readout is Readout.ALL else "the last m_j tokens of T(X_j)"
        mask = "" if self.mask is Mask.NONE else " with a causal mask"
        return (
            f"{image} = Y_j for every pair at temperature {self.temperatures}{mask}, width <= {self.max_width}, "
            f"blocks <= {self.max_blocks}, parameters <= {self.max_parameters}"
        )


def count_hardmax_bound(num_pairs: int, num_outputs: int) -> int:
    """Blocks of theorem 1.6: 2M + 2N + 1."""
    return 2 * num_outputs + 2 * num_pairs + 1


def count_softmax_bound(num_pairs: int, num_outputs: int) -> int:
    """Blocks of theorem 1.8: 2M + 3N."""
    return 2 * num_outputs + 3 * num_pairs


def count_parameter_bound(dimension: int, num_blocks: int) -> int:
    """(10 d + 8) L: four units of 2d + 1 scalars, eta, rho, alpha, beta, p, q. The paper has O(dM)."""
    return (10 * dimension + 8) * num_blocks


def make_claim(
    dataset: Dataset,
    attention: str | None = None,
    temperatures: str | None = None,
    max_width: int | None = None,
    max_blocks: int | None = None,
    max_parameters: int | None = None,
    mask: str = "none",
    readout: str = "all",
) -> Claim:
    """The claim from the user's options; what is not given takes its default from the dataset, never from a witness.

    Hardmax is temperature 0; softmax is (0, 1] unless temperatures are given. Raises: UsageError.
    """
    defaults = {None: "0", "hardmax": "0", "softmax": "(0,1]"}
    if attention not in defaults:
        raise UsageError(f"attention {attention!r}", "--attention", "hardmax or softmax")
    chosen = parse_temperatures(temperatures if temperatures is not None else defaults[attention])
    if (attention == "hardmax" and not chosen.zero) or (attention == "softmax" and not chosen.positive):
        raise UsageError(f"attention {attention} does not go with temperatures {chosen}", "--temperatures")
    for name, word, words in (("mask", mask, Mask), ("readout", readout, Readout)):
        if word not in (known := [member.value for member in words]):
            raise UsageError(f"{name} {word!r}", f"--{name}", " or ".join(known))
    for name, value in (("width", max_width), ("blocks", max_blocks), ("parameters", max_parameters)):
        if value is not None and value < 0:
            raise UsageError(f"a negative budget: {value}", f"--max-{name}")
    if max_blocks is None:
        bound = count_softmax_bound if chosen.positive and not chosen.zero else count_hardmax_bound
        max_blocks = bound(dataset.num_pairs, dataset.num_outputs)
    if max_parameters is None:
        max_parameters = count_parameter_bound(dataset.dimension, max_blocks)
    width = DEFAULT_MAX_WIDTH if max_width is None else max_width
    return Claim(chosen, width, max_blocks, max_parameters, Mask(mask), Readout(readout))
