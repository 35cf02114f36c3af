"""Untrusted. Assertions for test suites; the verdict comes from ``proofs``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from flint import fmpq

from interp.api import load_transformer, verify
from interp.audit.explain import explain_hardmax
from interp.datasets.read import load_dataset
from proofs.kernel.check import Mismatch, Verdict
from proofs.kernel.errors import InterpError, Status
from proofs.kernel.model import Transformer
from proofs.kernel.rational import Row, coordinates_of, integer_text, rational_text
from proofs.kernel.statement import Dataset

MAX_TOKENS = 5  # tokens of a set in a message
MAX_DIGITS = 40  # characters of a number in a message


def assert_interpolates(
    transformer: Transformer | Path | str,
    dataset: Dataset | Path | str,
    *,
    temperatures: str | None = None,
    attention: str | None = None,
    max_width: int | None = None,
    max_blocks: int | None = None,
    max_parameters: int | None = None,
    paranoid: bool = False,
) -> Verdict:
    """Asserts T(X_j) = Y_j for every pair, exactly; files or loaded objects. The claim is that of ``interp verify``.

    An undecided claim fails too. Raises: AssertionError, MalformedInput, UsageError, LimitReached.
    """
    __tracebackhide__ = True
    model = load_transformer(transformer) if isinstance(transformer, Path | str) else transformer
    data = load_dataset(dataset) if isinstance(dataset, Path | str) else dataset
    verdict = verify(
        model,
        data,
        attention=attention,
        temperatures=temperatures,
        max_width=max_width,
        max_blocks=max_blocks,
        max_parameters=max_parameters,
        paranoid=paranoid,
    )
    if verdict.status is not Status.VERIFIED:
        raise AssertionError("\n".join(explain_failure(verdict, model, data)))
    return verdict


def explain_failure(verdict: Verdict, transformer: Transformer, dataset: Dataset) -> list[str]:
    """What was claimed, what fails, the first wrong pair with its tokens, and the phase that went wrong."""
    lines = [f"{verdict.status.label}: {verdict.claim}"]
    for item in verdict.failed:
        lines.append(f"  {item.name}: {item.detail}")
        if item.mismatch is not None:
            lines += _explain_mismatch(item.mismatch, dataset)
        if item.name == "hardmax" and item.status is Status.REFUTED:
            try:
                lines += [f"    {line}" for line in explain_hardmax(dataset, transformer)]
            except InterpError as error:
                lines.append(f"    where it went wrong is not known: {error}")
    return lines


def exact_decimal(value: fmpq) -> str:
    """The number in full: a decimal where it ends, p/q otherwise."""
    denominator, places = int(value.q), 0
    for prime in (2, 5):
        power = 0
        while denominator % prime == 0:
            denominator //= prime
            power += 1
        places = max(places, power)
    if denominator != 1:
        return rational_text(value)
    digits = integer_text(abs(int(value.p)) * (10**places // int(value.q))).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}")


def _explain_mismatch(mismatch: Mismatch, dataset: Dataset) -> list[str]:
    expected = set(dataset.pairs[mismatch.pair].output)
    got = (expected - set(mismatch.missing)) | set(mismatch.surplus)
    return [
        f"    pair {mismatch.pair} ({len(dataset.pairs[mismatch.pair].input)} input tokens)",
        f"      expected {_show(expected, mismatch.missing)}",
        f"      got      {_show(got, mismatch.surplus)}",
        f"      squared Hausdorff distance {_short(exact_decimal(mismatch.squared_distance))}",
    ]


def _show(tokens: set[Row], first: Iterable[Row]) -> str:
    """Tokens of a set, those that differ first."""
    ordered = [*first, *sorted(tokens - set(first))]
    shown = ["(" + ", ".join(_short(exact_decimal(x)) for x in coordinates_of(row)) + ")" for row in ordered]
    more = f" and {len(shown) - MAX_TOKENS} more" if len(shown) > MAX_TOKENS else ""
    return "{" + ", ".join(shown[:MAX_TOKENS]) + "}" + more


def _short(text: str) -> str:
    return text if len(text) <= MAX_DIGITS else f"{text[:MAX_DIGITS]}... ({len(text)} characters)"
