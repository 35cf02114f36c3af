"""Trusted. Compares the two sides at every layer and entry, and answers verified, refuted or undecided.

Rational kernels: equality of rationals. Otherwise two obligations: every layer is the gradient step by an exact
identity (``identity``), and the two computations, in balls, differ by certainly less than 2^-k.

Precision rule. An error of a residual row grows by at most 1 + r |G|_inf in one step, although the row itself shrinks.
So L log2(1 + r |G|_inf) + k bits are needed, with |G|_inf = max over columns z of sum_i |K(x_i, z)|, and more for the
size of the labels. If that is not enough the precision is doubled twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flint import arb, ctx, fmpq

from proofs.functional_gd.descent import State, Table, kernel_table, rate_factor, run_descent
from proofs.functional_gd.forward import Matrix, run_forward
from proofs.functional_gd.identity import decide_layers
from proofs.functional_gd.model import Claim, Context, Transformer
from proofs.kernel.check import Obligation
from proofs.kernel.errors import LimitReached, Status
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, rational_text

GUARD_BITS = 64
MAX_BITS = 2_000_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one claim; ``facts`` are shown beside it: values, and the digests of the files."""

    claim: str
    obligations: tuple[Obligation, ...]
    facts: dict[str, str]

    @property
    def status(self) -> Status:
        """Refuted if an obligation fails, else undecided if one is, else verified; nothing checked is a fault."""
        found = {item.status for item in self.obligations}
        order = (Status.REFUTED, Status.UNDECIDED, Status.VERIFIED)
        return next((status for status in order if status in found), Status.FAULT)


def check_descent(context: Context, claim: Claim, transformer: Transformer, limits: Limits = DEFAULT_LIMITS) -> Verdict:
    """Whether the transformer's forward pass is the descent that the user claims."""
    found, wanted = (transformer.dimension, len(transformer.layers)), (context.dimension, len(claim.steps))
    status = Status.VERIFIED if found == wanted else Status.REFUTED
    text = "dimension {}, {} layers".format
    detail = text(*found) + ("" if found == wanted else ", the claim: " + text(*wanted))
    obligations = [Obligation("shape", status, detail)]
    if found == wanted:
        heads = (head for layer in transformer.layers for head in layer)
        if claim.kernel.rational and all(head.activation.rational for head in heads):
            obligations.append(_check_exactly(context, claim, transformer, limits))
        else:
            obligations.append(Obligation("layers", *decide_layers(transformer, context, claim)))
            obligations.append(_check_balls(context, claim, transformer))
    facts = {"context": context.digest, "transformer": transformer.digest}
    return Verdict(str(claim), tuple(obligations), facts)


def _entries(states: list[State], passes: Iterator[Matrix], context: Context) -> Iterator[tuple[str, Any, Any]]:
    """Every entry of every Z_l: its place, what it is, and what it must be: points, residuals, minus the prediction."""
    columns = [*(f"point {j}" for j in range(len(context.points))), "the query"]
    points = [list(row) for row in zip(*context.points, context.query, strict=True)]
    for l, (Z, state) in enumerate(zip(passes, states, strict=True)):
        expected = [*points, [*state.residuals, -state.prediction]]
        for a, rows in enumerate(zip(Z, expected, strict=True)):
            row = f"coordinate {a + 1}" if a < context.dimension else "the label row"
            for column, value, wanted in zip(columns, *rows, strict=True):
                yield f"layer {l}, {row} at {column}", value, wanted


def _check_exactly(context: Context, claim: Claim, transformer: Transformer, limits: Limits) -> Obligation:
    states = run_descent(kernel_table(claim.kernel, context, balls=False), context, claim)
    count = 0
    for place, value, wanted in _entries(states, run_forward(transformer, context, fmpq), context):
        count += 1
        if value != wanted:
            return Obligation("values", Status.REFUTED, f"{place}: {short(value)} instead of {short(wanted)}")
        if max(int(value.p).bit_length(), int(value.q).bit_length()) > limits.max_height:
            raise LimitReached(f"a number of more than {limits.max_height} bits", hint="raise --max-height")
    return Obligation("values", Status.VERIFIED, f"{count} entries equal, prediction {short(states[-1].prediction)}")


def needed_bits(context: Context, claim: Claim, table: Table) -> int:
    """The precision rule, from a table of balls. Raises: LimitReached."""
    norm = arb(0)
    for column in (*table.columns, table.nu):
        norm = norm.max(sum(map(abs, column), arb(0)))
    factor = rate_factor(claim.loss, len(context.points))
    if not norm.is_finite():
        raise LimitReached("the kernel's values are too large for balls")
    growth = sum(_log2_above(1 + abs(factor * step) * norm) for step in claim.steps)
    size = _log2_above(1 + norm) + _log2_above(arb(1) + max(map(abs, context.labels)))
    bits = growth + size + claim.target_bits + GUARD_BITS
    if bits > MAX_BITS:
        raise LimitReached(f"{bits} bits by the precision rule, more than {MAX_BITS}")
    return bits


def _log2_above(value: arb) -> int:
    """An integer above log2 of a finite value > 0."""
    mantissa, exponent = value.upper().man_exp()
    return int(mantissa).bit_length() + int(exponent)


def _check_balls(context: Context, claim: Claim, transformer: Transformer) -> Obligation:
    with ctx.workprec(GUARD_BITS):
        bits = needed_bits(context, claim, kernel_table(claim.kernel, context, balls=True))
    for precision in (bits, 2 * bits, 4 * bits):
        obligation = _compare_balls(context, claim, transformer, precision)
        if obligation.status is not Status.UNDECIDED:
            break
    return obligation


def _compare_balls(context: Context, claim: Claim, transformer: Transformer, bits: int) -> Obligation:
    tolerance, undecided = fmpq(1, 1 << claim.target_bits), ""
    with ctx.workprec(bits):
        largest = arb(0)
        states = run_descent(kernel_table(claim.kernel, context, balls=True), context, claim)
        for place, value, wanted in _entries(states, run_forward(transformer, context, arb), context):
            difference = abs(value - wanted)
            if difference >= tolerance:  # true only if certain
                return Obligation("values", Status.REFUTED, f"{place}: {short(value)} instead of {short(wanted)}")
            if not difference < tolerance:  # neither is certain
                undecided = undecided or f"{place}: difference {short(difference)} at {bits} bits"
            largest = largest.max(difference)
        if undecided:
            return Obligation("values", Status.UNDECIDED, undecided)
        text = f"differences < 2^{_log2_above(largest)} at {bits} bits, prediction {short(states[-1].prediction)}"
        return Obligation("values", Status.VERIFIED, text)


def short(value: Any) -> str:
    """A number for messages: a rational, shortened if long, or a ball with 20 digits."""
    text = str(value.str(20)) if isinstance(value, arb) else rational_text(value)
    return text if len(text) <= 60 else f"{text[:25]}...{text[-25:]} ({len(text)} characters)"
