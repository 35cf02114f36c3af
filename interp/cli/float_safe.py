"""Untrusted. ``interp build --float-safe``: the variant that floats run best, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
from flint import fmpq

from interp.cli.output import pack_options
from interp.cli.progress import step_spinner
from interp.constructions.catalogue import CONSTRUCTIONS, Construction, find_construction
from interp.execution.distance import root_decimal
from interp.precision.search import Candidate, find_candidates
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import parse_rational, rational_text
from proofs.kernel.statement import Dataset

AUTO = ("labels", "compact")  # in this order, where they apply: the others are longer and need more bits


@dataclass(frozen=True, slots=True)
class FloatSafe:
    """The format wanted, and how far final tokens may end from their targets."""

    dtype: str | None
    distance: fmpq


float_safe_options = pack_options(
    FloatSafe,
    "float_safe",
    click.option("--float-safe", "dtype", type=click.Choice(["float64", "float32"]), help="Seek a variant for floats."),
    click.option(
        "--float-distance",
        "distance",
        default="1/1000",
        show_default=True,
        callback=lambda context, option, text: parse_rational(text, "--float-distance"),
        help="Allowed at the end.",
    ),
)


@dataclass(frozen=True, slots=True)
class Kept:
    """The outcome in words and as a record; whether it is proved."""

    text: str
    record: dict[str, Any]
    safe: bool


def find_float_safe(
    dataset: Dataset,
    build_as: Callable[..., Transformer],
    name: str,
    minimise: str | None,
    wanted: FloatSafe,
    tau: fmpq | None,
    seed: int,
) -> tuple[Kept, Transformer]:
    """The best candidate of one construction, or with ``auto`` of those that apply. Raises: UsageError."""
    if minimise is not None:
        raise UsageError("one aim at a time", "--float-safe", "leave out --minimise")
    distance = wanted.distance
    if distance <= 0:
        raise UsageError("the distance must be positive", "--float-distance")
    dtype = str(wanted.dtype)
    found: list[Candidate] = []
    with step_spinner("float-safe") as step:
        for construction in [CONSTRUCTIONS[x] for x in AUTO] if name == "auto" else [find_construction(name)]:
            # at 0 where that is claimed, else at the largest temperature, where scores decide least
            at = fmpq(0) if construction.attention != "softmax" else tau or fmpq(1)
            build = _builder(build_as, construction)
            try:
                for candidate in find_candidates(dataset, construction, build, dtype, seed, distance, at):
                    found.append(candidate)
                    step(f"{construction.name}, variant {len(found)}: {candidate.report.answer}")
            except UsageError:  # it does not apply to this dataset
                if name != "auto":
                    raise
            if found and found[-1].is_safe(distance):
                break
    if not found:
        raise UsageError("no construction of `auto` applies", "--float-safe", "name one with --construction")
    best = min(found, key=lambda candidate: candidate.rank)
    return _describe(best, len(found), dtype, distance), best.transformer


def _builder(build_as: Callable[..., Transformer], construction: Construction) -> Callable[[int, bool], Transformer]:
    def build(seed: int, gentle: bool) -> Transformer:
        return build_as(construction.name, seed=seed, gentle=True if gentle else None)

    return build


def _describe(best: Candidate, tried: int, dtype: str, distance: fmpq) -> Kept:
    report, run, safe = best.report, best.report.run, best.is_safe(distance)
    record: dict[str, Any] = {
        "dtype": dtype,
        "safe": safe,
        "answer": report.answer,
        "variants": tried,
        "gentle": best.gentle,
        "seed": best.seed,
        "final_error": report.final_error if report.agreed else None,
    }
    variant = f"{'gentle' if best.gentle else 'as it is'}, seed {best.seed}, {tried} variants tried"
    if safe:
        words = f"safe, proved: every decision is kept, final tokens within {report.final_error:.3g}"
    elif report.agreed:
        words = f"NOT safe: every decision is kept, proved, but the final error is bounded by {report.final_error:.3g}"
    else:
        words = f"NOT proved safe ({report.answer})"
    line = f"  {dtype}: {words} ({variant})\n"
    if run is not None and run.num_tokens:
        square = run.worst_square
        worst = "no number" if square is None else root_decimal(square)
        record |= {"wrong_decisions": run.num_wrong, "tokens_off": run.wrong_tokens, "worst_hausdorff": worst}
        line += (
            f"  its run: {run.num_wrong} of {run.num_decisions} decisions wrong, "
            f"{run.wrong_tokens} of {run.num_tokens} final tokens off by more than {rational_text(distance)}, "
            f"worst Hausdorff distance {worst}\n"
        )
    return Kept(line, record, safe)
