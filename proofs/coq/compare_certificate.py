"""Trusted. Reads the numbers back out of a Coq certificate and compares them with the dataset and transformer files.

    python compare_certificate.py cert.v dataset.json transformer.jsonl

Standard library only; shares no code with the program that wrote the certificate. ``coqc`` says whether the theorem in
``cert.v`` is true, this program whether it is about these files. Everything in ``cert.v`` but its numbers must be
exactly the text expected here, so that a certificate cannot redefine what its theorem means.

Exit codes: 0 the numbers agree, 10 they differ, 12 a file does not follow its format, 2 usage.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

Vector = tuple[Fraction, ...]
Outer = tuple[Vector, Vector]  # left, right
Square = tuple[Fraction, tuple[Outer, ...]]  # scale I + sum of left right^T
Unit = tuple[Vector, Vector, Fraction]  # column of W, row of U, entry of b
Block = tuple[Fraction, tuple[Unit, ...], Fraction, Square, Square]  # eta, units, rho, A, V
Pair = tuple[tuple[Vector, ...], tuple[Vector, ...]]

HEADER = """\
(* A certificate. coqc accepts this file exactly if its theorem is true; Semantics.v says what the theorem means. *)
From Coq Require Import List QArith Qreals Reals Lra.
From Interp Require Import Semantics {module} Checker Soundness.
Import ListNotations.
Open Scope Q_scope.

Definition blocks : transformer Q := [
"""
DATA = "].\n\nDefinition data : pairs Q := [\n"
LIMIT = "].\n\nDefinition limit : Q := "
LEMMA = "Lemma checked_{name} : {check} = true.\nProof. vm_cast_no_check (eq_refl true). Qed.\n\n"
THEOREM = "Theorem certificate : certified (Claim {sizes} {temperatures}) data blocks.\nProof.\n  "
END = "\nQed.\nPrint Assumptions certificate.\n"
ARITHMETICS = {
    "NumbersStandard": ("standard_numbers", "standard_box_numbers"),
    "NumbersBignums": ("bignum_numbers", "bignum_box_numbers"),
}
# The temperatures a theorem can be about, as shown to the user and as written in Coq.
TEMPERATURES = {
    "0": "(fun tau => tau = 0%R)",
    "(0, {limit}]": "(fun tau => (0 < tau <= Q2R limit)%R)",
    "[0, {limit}]": "(fun tau => (0 <= tau <= Q2R limit)%R)",
    "{limit}": "(fun tau => (0 < tau /\\ tau = Q2R limit)%R)",
    "(0, oo)": "(fun tau => (0 < tau)%R)",
    "[0, oo)": "(fun tau => (0 <= tau)%R)",
}
HARDMAX_PROOF = "hardmax_sound _ _ _ _ _ _ _ checked_hardmax"
SOFTMAX_PROOF = "softmax_sound _ _ _ _ _ _ _ _ _ checked_softmax"
UNIFORM_PROOF = """\
apply certified_narrow with (temps := fun tau => (0 <= tau)%R);
  [intros tau H; lra | exact (uniform_sound _ _ _ _ _ _ _ checked_uniform)]."""
SINGLE_PROOF = f"""\
apply certified_narrow with (temps := fun tau => (0 < tau <= Q2R limit)%R);
  [intros tau H; lra | exact ({SOFTMAX_PROOF})]."""
UNION_PROOF = f"""\
apply certified_union with
    (temps := fun tau => tau = 0%R) (temps' := fun tau => (0 < tau <= Q2R limit)%R);
  [intros tau [[H|H] L]; [right|left]; lra | exact ({HARDMAX_PROOF}) |
   exact ({SOFTMAX_PROOF})]."""


class Malformed(Exception):
    """A file does not follow its format."""


class Differs(Exception):
    """The certificate is about other numbers than the files."""


@dataclass(frozen=True)
class Certificate:
    """The numbers of a certificate, and its claim in words."""

    dimension: int
    blocks: tuple[Block, ...]
    pairs: tuple[Pair, ...]
    claim: str


# ---- the certificate ----


class Reader:
    """A cursor over the text of a certificate; whatever is not expected is refused."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def fail(self, wanted: str) -> NoReturn:
        """Refuses the text at the cursor."""
        line = self.text.count("\n", 0, self.place) + 1
        raise Malformed(
            f"certificate, line {line}: expected {wanted}, found {self.text[self.place : self.place + 40]!r}"
        )

    def skip(self) -> None:
        """Passes over white space."""
        while self.place < len(self.text) and self.text[self.place] in " \n":
            self.place += 1

    def looking_at(self, literal: str) -> bool:
        """Whether the literal comes next."""
        return self.text.startswith(literal, self.place)

    def exactly(self, literal: str) -> None:
        """Passes over the literal, to the byte."""
        if not self.looking_at(literal):
            self.fail(repr(literal[:60]))
        self.place += len(literal)

    def symbol(self, literal: str) -> None:
        """Passes over white space and a symbol."""
        self.skip()
        self.exactly(literal)

    def match(self, pattern: re.Pattern[str], wanted: str) -> str:
        """Passes over a match of the pattern."""
        found = pattern.match(self.text, self.place)
        if found is None:
            self.fail(wanted)
        self.place = found.end()
        return found.group()

    def integer(self) -> int:
        """A decimal or hexadecimal integer."""
        text = self.match(_INTEGER, "an integer")
        return int(text, 16 if "0x" in text else 10)

    def rational(self) -> Fraction:
        """``(p#q)`` with q > 0."""
        self.symbol("(")
        numerator = self.integer()
        self.exactly("#")
        denominator = self.integer()
        if denominator <= 0:
            self.fail("a positive denominator before this")
        self.exactly(")")
        return Fraction(numerator, denominator)

    def vector(self) -> Vector:
        """``[a; b; ..]``."""
        values: list[Fraction] = []
        self.symbol("[")
        while not self.closes(bool(values)):
            values.append(self.rational())
        return tuple(values)

    def closes(self, need_separator: bool) -> bool:
        """Passes over the end of a list, or over the separator before its next item."""
        self.skip()
        if self.looking_at("]"):
            self.place += 1
            return True
        if need_separator:
            self.exactly(";")
        return False

    def tokens(self) -> tuple[Vector, ...]:
        """A list of vectors."""
        values: list[Vector] = []
        self.symbol("[")
        while not self.closes(bool(values)):
            values.append(self.vector())
        return tuple(values)

    def square(self) -> Square:
        """``(Square scale [(left, right); ..])``."""
        self.symbol("(Square")
        scale = self.rational()
        outers: list[Outer] = []
        self.symbol("[")
        while not self.closes(bool(outers)):
            self.symbol("(")
            left = self.vector()
            self.symbol(",")
            outers.append((left, self.vector()))
            self.symbol(")")
        self.symbol(")")
        return scale, tuple(outers)

    def block(self) -> Block:
        """``Block eta [Neuron w u b; ..] rho A V``."""
        self.symbol("Block")
        eta = self.rational()
        units: list[Unit] = []
        self.symbol("[")
        while not self.closes(bool(units)):
            self.symbol("Neuron")
            units.append((self.vector(), self.vector(), self.rational()))
        return eta, tuple(units), self.rational(), self.square(), self.square()


_INTEGER = re.compile(r"-?(?:0x[0-9a-f]+|0|[1-9][0-9]*)", re.ASCII)
_COUNT = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_MODULE = re.compile("|".join(ARITHMETICS))


def read_certificate(text: str) -> Certificate:
    """The numbers of a certificate. Raises: Malformed, unless all else is the expected text."""
    reader = Reader(text)
    before, after = HEADER.split("{module}")
    reader.exactly(before)
    exact, boxes = ARITHMETICS[reader.match(_MODULE, "a module of numbers")]
    reader.exactly(after)
    blocks: list[Block] = []
    while not reader.looking_at(DATA):
        if blocks:
            reader.exactly(";\n")
        blocks.append(reader.block())
    reader.exactly(DATA)
    pairs: list[Pair] = []
    while not reader.looking_at("]."):
        if pairs:
            reader.exactly(";\n")
        reader.symbol("(")
        source = reader.tokens()
        reader.symbol(",")
        pairs.append((source, reader.tokens()))
        reader.symbol(")")
    limit = None
    if reader.looking_at(LIMIT):
        reader.exactly(LIMIT)
        limit = reader.rational()
        if limit <= 0:
            reader.fail("a positive limit before this")
        reader.exactly(".\n\n")
    else:
        reader.exactly("].\n\n")
    return _read_theorem(reader, exact, boxes, tuple(blocks), tuple(pairs), limit)


def _read_theorem(
    reader: Reader, exact: str, boxes: str, blocks: tuple[Block, ...], pairs: tuple[Pair, ...], limit: Fraction | None
) -> Certificate:
    """The rest of the file must be one of the few texts that a certificate can end with."""
    rest = reader.text[reader.place :]
    found = re.search(r"check_[a-z]+ ((?:(?:0|[1-9][0-9]*) ){4})", rest, re.ASCII)
    if found is None:
        reader.fail("a lemma that runs a checker")
    sizes = found.group(1).strip()
    dimension, width, count, parameters = map(int, sizes.split())
    cap = re.search(r" limit ([0-9]+) blocks data = true", rest, re.ASCII)
    hardmax = LEMMA.format(name="hardmax", check=f"check_hardmax {sizes} {exact} blocks data")
    uniform = LEMMA.format(name="uniform", check=f"check_uniform {sizes} {exact} blocks data")
    softmax = LEMMA.format(
        name="softmax", check=f"check_softmax {sizes} {boxes} limit {cap[1] if cap else 0} blocks data"
    )
    for shown, written in TEMPERATURES.items():
        if ("limit" in written) != (limit is not None):
            continue
        theorem = THEOREM.format(sizes=sizes, temperatures=written)
        endings = {uniform + theorem + UNIFORM_PROOF + END}
        if shown == "0":
            endings = {hardmax + theorem + f"exact ({HARDMAX_PROOF})." + END}
        elif shown == "(0, {limit}]":
            endings.add(softmax + theorem + f"exact ({SOFTMAX_PROOF})." + END)
        elif shown == "{limit}":
            endings.add(softmax + theorem + SINGLE_PROOF + END)
        elif shown == "[0, {limit}]":
            endings.add(hardmax + softmax + theorem + UNION_PROOF + END)
        if rest in endings:
            claim = (
                f"T(X_j) = Y_j for all {len(pairs)} pairs at temperature {shown.format(limit=limit)}, dimension "
                f"{dimension}, width <= {width}, blocks <= {count}, parameters <= {parameters}"
            )
            return Certificate(dimension, blocks, pairs, claim)
    reader.fail("one of the known theorems with its proof, to the byte")


# ---- the files ----

_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:/([1-9][0-9]*)|(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?)\Z", re.ASCII)


class _Literal(str):
    """A JSON number exactly as written."""


def _refuse(name: str) -> NoReturn:
    raise Malformed(f"{name} is not a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise Malformed("a key is given twice")
    return dict(pairs)


def parse_json(data: bytes) -> Any:
    """JSON with numbers kept as text. Raises: Malformed."""
    try:
        return json.loads(
            data.decode(), parse_int=_Literal, parse_float=_Literal, parse_constant=_refuse, object_pairs_hook=_unique
        )
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error


def parse_number(value: Any) -> Fraction:
    """An integer, a decimal or ``p/q``, as a JSON number or a string. Raises: Malformed."""
    found = _NUMBER.match(value) if isinstance(value, str) else None
    if found is None:
        raise Malformed(f"{value!r} is not a number")
    whole, denominator, decimals, exponent = found.groups()
    if exponent is not None and (len(exponent) > 9 or abs(int(exponent)) > 100_000):
        raise Malformed(f"the exponent of {value!r} is too large")
    if denominator is not None:
        return Fraction(int(whole), int(denominator))
    digits = int(whole + (decimals or ""))
    if whole.startswith("-") and digits > 0:
        digits = -digits
    shift = int(exponent or 0) - len(decimals or "")
    return digits * Fraction(10) ** shift


def _get(record: Any, key: str, kind: type) -> Any:
    if not isinstance(record, dict) or not isinstance(record.get(key), kind):
        raise Malformed(f"key {key!r} is missing or of the wrong kind")
    return record[key]


def _vector(value: Any, length: int) -> Vector:
    if not isinstance(value, list) or len(value) != length:
        raise Malformed(f"expected a list of {length} numbers")
    return tuple(map(parse_number, value))


def _tokens(value: Any, dimension: int) -> tuple[Vector, ...]:
    if not isinstance(value, list):
        raise Malformed("expected a list of tokens")
    return tuple(_vector(token, dimension) for token in value)


def read_dataset(data: bytes) -> tuple[int, tuple[Pair, ...]]:
    """Dimension and pairs of a JSON or JSON-lines dataset. Raises: Malformed."""
    first, _, rest = data.partition(b"\n")
    if b'"interp-dataset-lines/1"' in first:
        record = parse_json(first)
        expected = "interp-dataset-lines/1"
        pairs = [parse_json(line) for line in rest.split(b"\n") if line]
        if str(len(pairs)) != record.get("pairs"):
            raise Malformed("another number of pairs than the header says")
    else:
        record = parse_json(data)
        expected = "interp-dataset/1"
        pairs = _get(record, "pairs", list)
    if _get(record, "format", str) != expected:
        raise Malformed(f"expected format {expected!r}")
    dimension = int(parse_number(_get(record, "dimension", str)))
    return dimension, tuple(
        (_tokens(_get(pair, "input", list), dimension), _tokens(_get(pair, "output", list), dimension))
        for pair in pairs
    )


def read_transformer(data: bytes) -> tuple[int, tuple[Block, ...]]:
    """Dimension and blocks of a transformer file. Raises: Malformed."""
    if not data.endswith(b"\n"):
        raise Malformed("the last line has no newline")
    lines = data.split(b"\n")[:-1]
    if len(lines) < 2:
        raise Malformed("no header or no end record")
    header, *records, end = map(parse_json, lines)
    if _get(header, "format", str) != "interp-transformer/1":
        raise Malformed("expected format 'interp-transformer/1'")
    if _get(header, "blocks", str) != str(len(records)) or _get(_get(end, "end", dict), "blocks", str) != str(
        len(records)
    ):
        raise Malformed("another number of blocks than the header or the end record says")
    body = b"".join(line + b"\n" for line in lines[:-1])
    if end["end"].get("sha256") != hashlib.sha256(body).hexdigest():
        raise Malformed("the digest in the end record is not that of the lines before it")
    dimension = int(parse_number(_get(header, "dimension", str)))
    blocks = []
    for k, record in enumerate(records, 1):
        if _get(record, "block", str) != str(k) or record.keys() - {"block", "ff", "sa"}:
            raise Malformed(f"line {k + 1} is not block {k}")
        eta, units = _feed_forward(record.get("ff"), dimension)
        blocks.append((eta, units, *_attention(record.get("sa"), dimension)))
    return dimension, tuple(blocks)


def _feed_forward(record: Any, dimension: int) -> tuple[Fraction, tuple[Unit, ...]]:
    if record is None:
        return Fraction(1), ()
    if not isinstance(record, dict) or record.keys() not in ({"eta"}, {"eta", "W", "U", "b"}):
        raise Malformed("a feed-forward layer has eta, and W, U and b or none of them")
    if "b" not in record:
        return parse_number(record["eta"]), ()
    width = len(_get(record, "b", list))
    bias = _vector(record["b"], width)
    columns = zip(*_matrix(record["W"], dimension, width), strict=True) if width else ()
    rows = _matrix(record["U"], width, dimension)
    return parse_number(record["eta"]), tuple(zip(map(tuple, columns), rows, bias, strict=True))


def _attention(record: Any, dimension: int) -> tuple[Fraction, Square, Square]:
    if record is None:
        return Fraction(1), (Fraction(0), ()), (Fraction(0), ())
    if not isinstance(record, dict) or "rho" not in record or record.keys() - {"rho", "A", "V"}:
        raise Malformed("a self-attention layer has rho, and A and V or not")
    return (
        parse_number(record["rho"]),
        _square(record.get("A"), ("alpha", "p", "q"), dimension),
        _square(record.get("V"), ("beta", "r", "t"), dimension),
    )


def _matrix(value: Any, height: int, width: int) -> tuple[Vector, ...]:
    """Rows, or {"outer": [column, row]}."""
    if isinstance(value, dict):
        factors = _get(value, "outer", list)
        if len(factors) != 2 or len(value) != 1:
            raise Malformed("expected a column and a row")
        column, row = _vector(factors[0], height), _vector(factors[1], width)
        return tuple(tuple(a * b for b in row) for a in column)
    if not isinstance(value, list) or len(value) != height:
        raise Malformed(f"expected {height} rows")
    return tuple(_vector(row, width) for row in value)


def _square(value: Any, names: tuple[str, str, str], dimension: int) -> Square:
    if value is None:
        return Fraction(0), ()
    scale, left, right = names
    if not isinstance(value, dict) or value.keys() - {*names, "dense"} or (left in value) != (right in value):
        raise Malformed(f"a matrix has {scale}, and {left} and {right} or neither, or is dense")
    if "dense" in value:
        if len(value) != 1:
            raise Malformed("a dense matrix has no other parts")
        rows = _matrix(value["dense"], dimension, dimension)
        units = [tuple(Fraction(int(i == k)) for k in range(dimension)) for i in range(dimension)]
        return Fraction(0), tuple(zip(units, rows, strict=True))
    outers = ((_vector(value[left], dimension), _vector(value[right], dimension)),) if left in value else ()
    return parse_number(value.get(scale, "0")), outers


# ---- the comparison ----


def compare(certificate: Certificate, dataset: bytes, transformer: bytes) -> None:
    """Raises Differs unless the certificate is about exactly these files, Malformed if a file is not in its format."""
    for name, (dimension, found), wanted in (
        ("dataset", read_dataset(dataset), certificate.pairs),
        ("transformer", read_transformer(transformer), certificate.blocks),
    ):
        if dimension != certificate.dimension:
            raise Differs(f"the {name} has dimension {dimension}, the certificate {certificate.dimension}")
        if len(found) != len(wanted):
            raise Differs(f"the {name} has {len(found)} items, the certificate {len(wanted)}")
        for k, (a, b) in enumerate(zip(found, wanted, strict=True), 1):
            if a != b:
                raise Differs(f"item {k} of the {name} has other numbers in the certificate")


def main(arguments: list[str]) -> int:
    """Prints the outcome; the exit code says it too."""
    if len(arguments) != 3:
        print("usage: compare_certificate.py cert.v dataset.json transformer.jsonl", file=sys.stderr)
        return 2
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    try:
        text, dataset, transformer = (Path(name).read_bytes() for name in arguments)
        certificate = read_certificate(text.decode("ascii"))
        compare(certificate, dataset, transformer)
    except Differs as error:
        print(f"DIFFERS: {error}")
        return 10
    except (Malformed, UnicodeDecodeError, OSError) as error:
        print(f"MALFORMED: {error}")
        return 12
    print(f"AGREES: the certificate is about these files. If coqc accepts it, then {certificate.claim}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
