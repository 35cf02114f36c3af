"""Untrusted. The claim T(X_j) = Y_j at temperature 0 as a question for SMT solvers (SMT-LIB 2.6).

The file asserts the forward pass of every pair and that some pair is wrong: ``unsat`` says that the claim holds,
``sat`` that it does not. Nothing that this program computed about the forward pass is in it, so a solver decides alone.

Every value is a variable with one equation, so the file grows with the number of operations. The one product of two
variables is a score <A x_i, x_l>. Where A = p q^T it is <q, x_i> <p, x_l>, and the tokens that maximise it are those of
largest <p, x_l> where <q, x_i> > 0, of smallest where it is < 0, and all where it is 0. So each token is asked for the
sign of <q, x_i>, and everything is linear (QF_LRA) unless an attention that acts has another A (QF_NRA).

j pair, k block, i and l tokens, c coordinate, d dimension, n length.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from interp.export.state import check_plain
from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.model import Block, FeedForward, SelfAttention, SquareMatrix, Transformer
from proofs.kernel.rational import coordinates_of, integer_text
from proofs.kernel.statement import Dataset, Pair

MAX_TERMS = 200_000
_ZERO = fmpq(0)

HEADER = """\
; T(X_j) = Y_j for {pairs} pairs at temperature 0 (hardmax, ties average), as exact sets.
; unsat: the claim holds. sat: it does not. Budgets for blocks, width and parameters are not part of it.
; dataset     {dataset}
; transformer {transformer}
(set-info :smt-lib-version 2.6)
(set-logic {logic})
"""


def encode_smt(dataset: Dataset, transformer: Transformer, max_terms: int = MAX_TERMS) -> str:
    """The text of the question.

    Exactness: every number is written as the rational it is. Raises: MalformedInput when the dimensions differ,
    UsageError as ``check_plain``, LimitReached for more than ``max_terms`` coefficients.
    """
    check_plain(transformer)
    d = dataset.dimension
    if transformer.dimension != d:
        raise MalformedInput(f"the transformer has dimension {transformer.dimension}, the dataset {d}")
    logic = "QF_LRA" if all(is_linear(block.attention, d) for block in transformer.blocks) else "QF_NRA"
    script = _Script(max_terms)
    wrong = [_pair_is_wrong(script, transformer, j, pair) for j, pair in enumerate(dataset.pairs)]
    script.write(f"(assert {_any(wrong)})")
    head = HEADER.format(
        pairs=len(dataset.pairs), dataset=dataset.digest, transformer=transformer.digest or "unnamed", logic=logic
    )
    return head + "\n".join(script.lines) + "\n(check-sat)\n"


def is_linear(attention: SelfAttention, dimension: int) -> bool:
    """Whether the choice of tokens asks for signs and orders of linear terms only: V = 0, A = 0 or A = p q^T."""
    A = attention.A
    if attention.V.is_zero(dimension) or A.is_zero(dimension):
        return True
    return A.dense is None and A.scale == 0


class _Script:
    """Lines of a script; every value that is more than a number gets a name."""

    def __init__(self, max_terms: int) -> None:
        self.lines: list[str] = []
        self.max_terms = max_terms
        self._terms = 0

    def write(self, line: str) -> None:
        """Appends a line."""
        self.lines.append(line)

    def real(self, name: str, term: str) -> str:
        """A variable that equals the term."""
        self.write(f"(declare-const {name} Real)")
        self.write(f"(assert (= {name} {term}))")
        return name

    def count(self, number: int) -> None:
        """Raises: LimitReached beyond the bound."""
        self._terms += number
        if self._terms > self.max_terms:
            raise LimitReached(
                f"the question has more than {self.max_terms} terms",
                hint="solvers are for small instances: take fewer pairs (--limit), or raise --max-terms",
            )

    def combination(self, coefficients: Sequence[fmpq], values: Sequence[str], constant: fmpq = _ZERO) -> str:
        """sum of coefficient times value, plus the constant."""
        terms = [
            value if a == 1 else f"(* {_number(a)} {value})"
            for a, value in zip(coefficients, values, strict=True)
            if a != 0
        ]
        self.count(len(terms) + 1)
        if constant != 0 or not terms:
            terms.append(_number(constant))
        return _sum(terms)


def _number(value: fmpq) -> str:
    numerator, denominator = int(value.p), int(value.q)
    text = integer_text(abs(numerator)) + ".0"
    if denominator != 1:
        text = f"(/ {text} {integer_text(denominator)}.0)"
    return text if numerator >= 0 else f"(- {text})"


def _sum(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"(+ {' '.join(terms)})"


def _any(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"(or {' '.join(terms)})"


def _all(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else f"(and {' '.join(terms)})"


Token = list[str]  # the names of its coordinates


def _pair_is_wrong(script: _Script, transformer: Transformer, j: int, pair: Pair) -> str:
    """The forward pass of a pair; returns the formula "the final tokens are not the target set"."""
    d = transformer.dimension
    tokens = [
        [script.real(f"x{j}_0_{i}_{c}", _number(value)) for c, value in enumerate(coordinates_of(row))]
        for i, row in enumerate(pair.input)
    ]
    for k, block in enumerate(transformer.blocks, 1):
        tokens = _apply_block(script, block, tokens, f"{j}_{k}", d)
    targets = [[_number(value) for value in coordinates_of(row)] for row in dict.fromkeys(pair.output)]
    script.count(2 * d * len(tokens) * len(targets))
    equal = [
        [_all([f"(= {x} {y})" for x, y in zip(token, target, strict=True)]) for target in targets] for token in tokens
    ]
    right = [_any(row) for row in equal] + [_any(column) for column in zip(*equal, strict=True)]
    script.write(f"(define-fun wrong{j} () Bool (not {_all(right)}))")
    return f"wrong{j}"


def _apply_block(script: _Script, block: Block, tokens: list[Token], place: str, d: int) -> list[Token]:
    layer, attention = block.feed_forward, block.attention
    if not layer.is_identity():
        tokens = [_feed_forward(script, layer, token, f"{place}_{i}") for i, token in enumerate(tokens)]
    if attention.V.is_zero(d):
        if attention.rho == 1:
            return tokens
        means: list[Token] = [[] for _ in tokens]
    else:
        means = _means(script, attention.A, tokens, place, d)
    V = [] if attention.V.is_zero(d) else attention.V.to_dense(d).tolist()
    return [
        [
            script.real(
                f"x{place}_{i}_{c}", script.combination([attention.rho, *(V[c] if V else [])], [token[c], *means[i]])
            )
            for c in range(d)
        ]
        for i, token in enumerate(tokens)
    ]


def _feed_forward(script: _Script, layer: FeedForward, token: Token, place: str) -> Token:
    """eta x + W relu(U x + b)."""
    units = []
    for m, (row, b) in enumerate(zip(layer.U.tolist(), layer.b.entries(), strict=True)):
        value = script.real(f"u{place}_{m}", script.combination(row, token, b))
        units.append(script.real(f"r{place}_{m}", f"(ite (> {value} 0.0) {value} 0.0)"))
    W = layer.W.tolist() if layer.width else [[] for _ in token]
    return [
        script.real(f"f{place}_{c}", script.combination([layer.eta, *W[c]], [x, *units])) for c, x in enumerate(token)
    ]


def _means(script: _Script, A: SquareMatrix, tokens: list[Token], place: str, d: int) -> list[Token]:
    """For every token, the mean of the tokens that maximise its score."""
    n = len(tokens)
    everything = [
        script.real(f"a{place}_{c}", script.combination([fmpq(1, n)] * n, [token[c] for token in tokens]))
        for c in range(d)
    ]
    if A.is_zero(d):
        return [everything] * n
    if A.dense is None and A.scale == 0 and A.left is not None and A.right is not None:
        return _rank_one_means(script, A.left.entries(), A.right.entries(), tokens, everything, place)
    rows, means = A.to_dense(d).tolist(), []
    for i, token in enumerate(tokens):
        query = [script.real(f"q{place}_{i}_{c}", script.combination(row, token)) for c, row in enumerate(rows)]
        script.count(n * d)
        scores = [
            script.real(f"s{place}_{i}_{l}", _sum([f"(* {a} {b})" for a, b in zip(query, other, strict=True)]))
            for l, other in enumerate(tokens)
        ]
        means.append(_mean_of_best(script, scores, ">=", tokens, f"{place}_{i}"))
    return means


def _rank_one_means(
    script: _Script, p: Sequence[fmpq], q: Sequence[fmpq], tokens: list[Token], everything: Token, place: str
) -> list[Token]:
    """score_il = <q, x_i> <p, x_l>: the sign of the first factor says which tokens maximise it."""
    heights = [script.real(f"p{place}_{l}", script.combination(p, token)) for l, token in enumerate(tokens)]
    highest = _mean_of_best(script, heights, ">=", tokens, place + "_high")
    lowest = _mean_of_best(script, heights, "<=", tokens, place + "_low")
    means = []
    for i, token in enumerate(tokens):
        sign = script.real(f"q{place}_{i}", script.combination(q, token))
        means.append(
            [
                script.real(f"m{place}_{i}_{c}", f"(ite (> {sign} 0.0) {high} (ite (< {sign} 0.0) {low} {mean}))")
                for c, (high, low, mean) in enumerate(zip(highest, lowest, everything, strict=True))
            ]
        )
    return means


def _mean_of_best(script: _Script, values: Sequence[str], order: str, tokens: list[Token], place: str) -> Token:
    """The mean of the tokens whose value is extreme; dividing by how many there are is a choice among n constants."""
    n = len(tokens)
    script.count(n * n + n * len(tokens[0]))
    chosen = []
    for l, value in enumerate(values):
        best = _all([f"({order} {value} {other})" for other in values])
        script.write(f"(define-fun b{place}_{l} () Bool {best})")
        chosen.append(f"b{place}_{l}")
    number = script.real(f"n{place}", _sum([f"(ite {choice} 1.0 0.0)" for choice in chosen]))
    mean = []
    for c in range(len(tokens[0])):
        terms = [f"(ite {choice} {token[c]} 0.0)" for choice, token in zip(chosen, tokens, strict=True)]
        total = script.real(f"t{place}_{c}", _sum(terms))
        share = f"(* {_number(fmpq(1, n))} {total})"
        for size in range(n - 1, 0, -1):
            share = f"(ite (= {number} {size}.0) (* {_number(fmpq(1, size))} {total}) {share})"
        mean.append(script.real(f"e{place}_{c}", share))
    return mean
