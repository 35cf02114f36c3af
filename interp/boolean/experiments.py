"""Untrusted. Distributions of certified profiles: random encoders, and uniform random functions beside them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from flint import fmpq

from interp.boolean.initialise import draw_encoder
from interp.boolean.theory import Profile, compare_theorem
from proofs.boolean.check import pack_table
from proofs.boolean.model import Encoder
from proofs.boolean.profile import average_sensitivity, compute_profile
from proofs.boolean.signs import NEGATIVE, POSITIVE, find_signs

MAX_PRECISION = 4096
UNIFORM = "uniform random functions"


@dataclass(frozen=True, slots=True)
class Sample:
    """Certified profiles of several encoders (or functions); ``open`` had a string that was not decided."""

    name: str
    bits: int
    depth: int
    dimension: int
    profiles: tuple[Profile, ...]
    open: int = 0

    def share(self, count: int) -> fmpq:
        """A count as a part of the certified encoders."""
        return fmpq(count, max(1, len(self.profiles)))

    @property
    def constant(self) -> fmpq:
        """The part with K_0 = 2^N."""
        return self.share(sum(profile[0] == 2**self.bits for profile in self.profiles))

    @property
    def no_zero(self) -> fmpq:
        """The part with K_0 = 0."""
        return self.share(sum(profile[0] == 0 for profile in self.profiles))

    @property
    def mean_sensitivity(self) -> fmpq:
        """The mean of the average sensitivity."""
        return sum((average_sensitivity(profile) for profile in self.profiles), fmpq(0)) * self.share(1)

    @property
    def mean_profile(self) -> tuple[fmpq, ...]:
        """The mean of K_n / 2^N, n = 0..N."""
        return tuple(self.share(sum(counts)) / 2**self.bits for counts in zip(*self.profiles, strict=True))

    @property
    def theorem(self) -> Counter[str]:
        """How often each outcome of theorem 4.5 was reported."""
        return Counter(
            compare_theorem(profile[0], self.bits, self.depth, self.dimension).outcome for profile in self.profiles
        )


def certify_profile(encoder: Encoder, bits: int, max_precision: int = MAX_PRECISION) -> Profile | None:
    """The certified profile, None if a string has no certain sign."""
    signs = find_signs(encoder, bits, fmpq(0), max_precision)
    if not ((signs.sign == POSITIVE) | (signs.sign == NEGATIVE)).all():
        return None
    return compute_profile(pack_table(signs.sign == POSITIVE), bits)


def sample_encoders(
    scheme: str,
    bits: int,
    depth: int,
    dimension: int,
    count: int,
    seed: str,
    epsilon: fmpq = fmpq(0),  # noqa: B008
) -> Sample:
    """Draws encoders with the seeds ``seed``/0, ``seed``/1, .. and certifies each."""
    return collect(
        scheme,
        bits,
        depth,
        dimension,
        (
            certify_profile(draw_encoder(scheme, [bits], depth, dimension, f"{seed}/{k}", epsilon), bits)
            for k in range(count)
        ),
    )


def sample_functions(bits: int, count: int, seed: str) -> Sample:
    """Uniform random functions."""
    draws = random.Random(f"functions/{seed}")
    profiles = (compute_profile(draws.getrandbits(1 << bits), bits) for _ in range(count))
    return collect(UNIFORM, bits, 1, 1, profiles)


def collect(name: str, bits: int, depth: int, dimension: int, found: Iterable[Profile | None]) -> Sample:
    """A sample; what was not certified is counted, not dropped silently."""
    profiles = list(found)
    certified = tuple(profile for profile in profiles if profile is not None)
    return Sample(name, bits, depth, dimension, certified, len(profiles) - len(certified))
