"""Untrusted. Numbers in JSON files."""

from __future__ import annotations

from flint import fmpq

from proofs.kernel.rational import rational_text

Number = int | str


def encode_number(value: fmpq) -> Number:
    """A JSON integer while it is short, text otherwise (readers differ on long JSON integers)."""
    return int(value.p) if value.q == 1 and abs(value.p) < 2**53 else rational_text(value)
