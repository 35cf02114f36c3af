"""Untrusted. Small datasets to try things on; each satisfies the hypotheses of the theorems."""

from __future__ import annotations

import codecs
import io
import random
import re
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass

from flint import fmpq

from interp.datasets.read import load_dataset
from interp.optional import load_optional
from proofs.kernel.errors import UsageError
from proofs.kernel.rational import Row, row_of
from proofs.kernel.statement import Dataset, Pair

DIGITS = 100  # images of the digits example
SEED = 2025


@dataclass(frozen=True, slots=True)
class Example:
    """A dataset by name, made when it is asked for."""

    name: str
    about: str
    make: Callable[[], Dataset]


def find_example(name: str) -> Example:
    """The example of that name. Raises: UsageError."""
    if name not in EXAMPLES:
        raise UsageError(f"no example {name!r}", "NAME", f"there are {', '.join(EXAMPLES)}")
    return EXAMPLES[name]


def make_plane() -> Dataset:
    """Three sequences of points of the plane that share tokens."""
    inputs = (((0, 0), (1, 2), (3, 1), (4, 4)), ((0, 0), (3, 1), (5, 2)), ((1, 2), (3, 1), (4, 4), (2, 5)))
    outputs = (((6, 6), (7, 3)), ((-2, 5),), ((2, -3), (5, -2)))
    pairs = (Pair(_integers(x), _integers(y)) for x, y in zip(inputs, outputs, strict=True))
    return Dataset(2, tuple(pairs))


def make_zen() -> Dataset:
    """The lines of the Zen of Python as sequences of words; the target of a line is the first word of the next one.

    A word counts once in a line. The words, in alphabetical order, are rational points of the unit circle. The text is
    that of the module ``this`` of the running Python (T. Peters, PEP 20, public domain).
    """
    lines = [list(dict.fromkeys(re.findall(r"[a-z']*[a-z]", line.lower()))) for line in read_zen()]
    words = sorted({word for line in lines for word in line})
    tokens = {word: _on_circle(fmpq(k, len(words))) for k, word in enumerate(words)}
    pairs = [
        Pair(tuple(tokens[word] for word in line), (tokens[following[0]],))
        for line, following in zip(lines, lines[1:] + lines[:1], strict=True)
    ]
    return Dataset(2, tuple(pairs))


def read_zen() -> list[str]:
    """The lines below the title. Importing the module prints them, which is held back."""
    with redirect_stdout(io.StringIO()):
        import this
    return [line for line in codecs.decode(this.s, "rot13").splitlines()[1:] if line]


def make_vowels() -> Dataset:
    """30 of the utterances of Japanese Vowels (UEA archive), the target is the speaker."""
    return load_dataset("bundled:japanese_vowels_30")


def make_digits() -> Dataset:
    """Images of digits (UCI, through scikit-learn): eight rows of pixels with their place, the target is the digit.

    Raises: UsageError without scikit-learn.
    """
    digits = load_optional("sklearn.datasets", "scikit-learn").load_digits()
    pairs = []
    for image, label in zip(digits.images[:DIGITS].astype(int).tolist(), digits.target.tolist(), strict=False):
        rows = [(*pixels, place) for place, pixels in enumerate(image, 1)]
        pairs.append(Pair(_integers(rows), _integers([(label, *[0] * 8)])))
    return Dataset(9, tuple(pairs))


def make_summary() -> Dataset:
    """Ten sequences of 200 tokens; the targets are the two whose coordinates have the smallest and the largest sum."""
    rng = random.Random(SEED)
    pairs = []
    for _ in range(10):
        tokens = list(dict.fromkeys(tuple(int(2001 * rng.random()) - 1000 for _ in range(4)) for _ in range(200)))
        chosen = [min(tokens, key=lambda x: (sum(x), x)), max(tokens, key=lambda x: (sum(x), x))]
        pairs.append(Pair(*(tuple(row_of([fmpq(x, 100) for x in t]) for t in side) for side in (tokens, chosen))))
    return Dataset(4, tuple(pairs))


def _integers(tokens: Iterable[Iterable[int]]) -> tuple[Row, ...]:
    return tuple((*token, 1) for token in tokens)


def _on_circle(t: fmpq) -> Row:
    """The point of the unit circle with stereographic parameter t."""
    return row_of([(1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)])


EXAMPLES = {
    example.name: example
    for example in (
        Example("plane", "three sequences of points of the plane that share tokens, made for looking", make_plane),
        Example(
            "zen", "the lines of the Zen of Python as sequences of words, targets: the word that follows", make_zen
        ),
        Example("vowels", "30 utterances of Japanese Vowels, targets: the speakers", make_vowels),
        Example(
            "digits", f"{DIGITS} images of digits row by row, targets: the digits (needs scikit-learn)", make_digits
        ),
        Example("summary", "ten sequences of 200 tokens, two targets each: like summarising", make_summary),
    )
}
