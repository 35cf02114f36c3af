"""Untrusted. A transformer with float weights as an exact one, and the header of its file."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from interp.export.state import TEMPERATURE, ExactState, decode_state
from interp.version import VERSION
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits, rational_text
from proofs.kernel.statement import parse_temperatures


@dataclass(frozen=True, slots=True)
class HeaderOptions:
    """What the user wants the header to claim; None takes the temperature in the file."""

    attention: str | None = None
    temperatures: str | None = None


PLAIN = HeaderOptions()


def import_transformer(
    state: ExactState, options: HeaderOptions = PLAIN, limits: Limits = DEFAULT_LIMITS
) -> Transformer:
    """The transformer of named tensors.

    What it claims is what the options say: hardmax is temperature 0, softmax the temperature in the file, or (0, 1].
    Without options it is the temperature in the file, or 0.
    Exactness: no weight is rounded. Raises: MalformedInput, LimitReached, UsageError for options that contradict
    each other.
    """
    stored = state[TEMPERATURE].values[0] if TEMPERATURE in state and state[TEMPERATURE].shape == () else fmpq(0)
    text = options.temperatures
    if text is None and options.attention == "softmax":
        text = "(0,1]" if stored <= 0 else rational_text(stored)
    elif text is None:
        text = "0" if options.attention == "hardmax" else rational_text(stored)
    claimed = parse_temperatures(text)
    kind = options.attention or ("softmax" if claimed.positive else "hardmax")
    if not (claimed.zero if kind == "hardmax" else claimed.positive):
        raise UsageError(f"attention {kind} does not go with temperatures {claimed}", "--temperatures")
    generator = f"exact-interp {VERSION} (import)"
    return decode_state(state, {"attention": kind, "temperatures": str(claimed), "generator": generator}, limits)
