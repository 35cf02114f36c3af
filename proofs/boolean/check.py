"""Trusted. The user's claim about an encoder, and the verdict.

The claim is: on every one of the 2^N strings T(x) is defined and its sign is certain; with a function, the sign is
positive exactly where the function is 1; with a margin, |T(x)| >= margin. The sensitivity profile is told only if no
string is left open. With ``influence`` the claim is another one, for epsilon > 0: one flip changes T by less than twice
the margin, so that no function but the constants is computed with that margin; no string is run for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from proofs.boolean.decode import MAX_BITS
from proofs.boolean.functions import parse_function
from proofs.boolean.influence import PRECISION, enclose_influence
from proofs.boolean.model import Encoder
from proofs.boolean.profile import average_sensitivity, compute_profile
from proofs.boolean.signs import NEGATIVE, POSITIVE, UNDECIDED, UNDEFINED, Signs, Watch, find_signs
from proofs.functional_gd.check import Verdict
from proofs.kernel.check import Obligation
from proofs.kernel.errors import Status, UsageError
from proofs.kernel.rational import rational_text

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Claim:
    """What the user claims; never read from a witness. Raises: UsageError, MalformedInput for no function."""

    bits: int
    function: str | None = None
    margin: fmpq = fmpq(0)
    influence: bool = False
    max_precision: int = 4096

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MAX_BITS:
            raise UsageError(f"{self.bits} bits, not in 1..{MAX_BITS}", "--bits")
        if self.margin < 0 or (self.influence and self.margin == 0):
            raise UsageError("the margin must be positive", "--margin")
        if self.influence and self.function is not None:
            raise UsageError("a claim about all functions", "--function", "leave it out with --influence")
        if self.function is not None:
            parse_function(self.function, self.bits)

    def __str__(self) -> str:
        if self.influence:
            margin = rational_text(self.margin)
            return f"one of {self.bits} bits changes T by less than 2 * {margin}: only constants have this margin"
        what = "is defined, and its sign certain," if self.function is None else f"has the sign of {self.function}"
        reach = f", with |T| >= {rational_text(self.margin)}" if self.margin != 0 else ""
        return f"T {what} on all {1 << self.bits} strings of {self.bits} bits{reach}"


def check_encoder(encoder: Encoder, claim: Claim, jobs: int = 1, watch: Watch | None = None) -> Verdict:
    """Whether the claim holds, string by string."""
    lengths = ", ".join(map(str, sorted(encoder.positions)))
    if claim.bits not in encoder.positions:
        shape = Obligation("shape", Status.REFUTED, f"the encoder has positions for {lengths} bits, not {claim.bits}")
        return Verdict(str(claim), (shape,), {"encoder": encoder.digest})
    text = f"dimension {encoder.dimension}, {len(encoder.blocks)} blocks, epsilon {rational_text(encoder.epsilon)}"
    obligations, facts = [Obligation("shape", Status.VERIFIED, text)], {"encoder": encoder.digest}
    if claim.influence:
        obligations.append(_check_influence(encoder, claim))
    else:
        signs = find_signs(encoder, claim.bits, claim.margin, claim.max_precision, jobs, watch)
        obligations += judge(signs, claim)
        facts = describe(signs, claim.bits) | facts
    return Verdict(str(claim), tuple(obligations), facts)


def judge(signs: Signs, claim: Claim) -> list[Obligation]:
    """The obligations about the strings; each names the first string that is in the way."""
    sign, bits = signs.sign, claim.bits
    certain = (sign == POSITIVE) | (sign == NEGATIVE)
    found = [_obligation("signs", ~certain & (sign == UNDEFINED), sign == UNDECIDED, bits, "no sign", claim)]
    if claim.function is not None:
        wanted = np.where(unpack_table(parse_function(claim.function, bits), bits), POSITIVE, NEGATIVE)
        wrong = (sign == -wanted) | (sign == UNDEFINED)
        found.append(_obligation("function", wrong, sign == UNDECIDED, bits, "the other sign", claim))
    if claim.margin != 0:
        found.append(_obligation("margin", signs.reach == -1, signs.reach == 0, bits, "less", claim))
    return found


def _obligation(name: str, wrong: Mask, open_: Mask, bits: int, what: str, claim: Claim) -> Obligation:
    """Holds only if no string is wrong or open."""
    for status, mask, words in (
        (Status.REFUTED, wrong, what),
        (Status.UNDECIDED, open_, f"not decided with {claim.max_precision} bits of precision"),
    ):
        if mask.any():
            first, others = string_text(int(np.argmax(mask)), bits), int(mask.sum()) - 1
            more = f" and on {others} more" if others else ""
            return Obligation(name, status, f"at {first}{more}: {words}")
    return Obligation(name, Status.VERIFIED, f"on {len(wrong)} strings")


def describe(signs: Signs, bits: int) -> dict[str, str]:
    """What was found beside the claim. Profile and margin are told only if every string has a certain sign."""
    sign, by_balls = signs.sign, int(signs.by_balls.sum())
    counts = {"positive": POSITIVE, "negative": NEGATIVE, "undecided": UNDECIDED, "undefined": UNDEFINED}
    facts = {"strings": ", ".join(f"{int((sign == code).sum())} {name}" for name, code in counts.items())}
    facts["decided by"] = f"float64 with error bounds {len(sign) - by_balls}, balls {by_balls}"
    if ((sign == POSITIVE) | (sign == NEGATIVE)).all():
        profile = compute_profile(pack_table(sign == POSITIVE), bits)
        facts["profile"] = ", ".join(f"K_{n} = {count}" for n, count in enumerate(profile) if count)
        facts["average"] = f"sensitivity {rational_text(average_sensitivity(profile))}"
        facts["min |T|"] = f"in [{float(signs.low.min())!r}, {float(signs.high.min())!r}]"
    return facts


def _check_influence(encoder: Encoder, claim: Claim) -> Obligation:
    bound = enclose_influence(encoder, claim.bits)
    if bound is None:
        text = "the bound needs epsilon > 0 and a norm at the end of every block"
        return Obligation("influence", Status.UNDECIDED, text)
    with ctx.workprec(PRECISION):
        holds = bound < 2 * arb(claim.margin)  # true only if certain
    status = Status.VERIFIED if holds else Status.UNDECIDED
    return Obligation("influence", status, f"at most {bound.upper().str(8, radius=False)}")


def string_text(string: int, bits: int) -> str:
    """The bits of a string, x_1 in front."""
    return format(string, f"0{bits}b")


def pack_table(values: Mask) -> int:
    """The truth table of a Boolean array indexed by string number."""
    return int.from_bytes(np.packbits(values, bitorder="little").tobytes(), "little")


def unpack_table(table: int, bits: int) -> Mask:
    """The Boolean array of a truth table."""
    data = np.frombuffer(table.to_bytes(max(1, (1 << bits) // 8), "little"), dtype=np.uint8)
    return np.unpackbits(data, count=1 << bits, bitorder="little").astype(np.bool_)
