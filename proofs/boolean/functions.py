"""Trusted. Boolean functions as a user writes them, read into truth tables; nothing is evaluated as a program.

    expression = conjunctions with ^ (exclusive or) between them, then |;   conjunction = terms with & between them
    term       = ~term | ( expression ) | 0 | 1 | x3 | first | dictator:3 | truth:0110 | name | name(expression, ..)
    name       = parity | majority | and | or;   without arguments: of all N bits;   sparse-parity:2 is parity(x1, x2)

& binds more than ^, and ^ more than |. ``majority`` is 1 if more arguments are 1 than 0. ``truth:`` lists the values of
all 2^N strings in order, x_1 in front.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import and_, or_, xor
from typing import NoReturn

from proofs.boolean.profile import full_table, sum_tables, variable_table, where_equal
from proofs.kernel.errors import MalformedInput

MAX_DEPTH = 100
_TOKEN = re.compile(r"truth:[01]+|[a-z]+(?:-[a-z]+)?(?::?[0-9]{1,4})?|[01()&|^~,]", re.ASCII)
HINT = "parity, majority, and, or, first, dictator:i, sparse-parity:m, truth:0110, or an expression such as x1&(x2^~x3)"


def parse_function(text: str, bits: int, path: str = "--function") -> int:
    """The truth table of a function of N bits. Raises: MalformedInput."""
    return _Parser(text, bits, path).parse()


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, bits: int, path: str) -> None:
        self.bits, self.path, self.full = bits, path, full_table(bits)
        self.variables = [variable_table(i, bits) for i in range(1, bits + 1)]
        self.tokens, self.depth, place = [], 0, 0
        compact = re.sub(r" +", " ", text).strip()
        while place < len(compact):
            match = _TOKEN.match(compact, place)
            if match is None:
                self.refuse(f"{compact[place : place + 20]!r} is not understood")
            self.tokens.append(match[0])
            place = match.end() + (compact[match.end() : match.end() + 1] == " ")
        self.tokens.reverse()

    def refuse(self, message: str) -> NoReturn:
        raise MalformedInput(message, self.path, HINT)

    def take(self, *wanted: str) -> str:
        """The next token if it is wanted, else nothing."""
        return self.tokens.pop() if self.tokens and self.tokens[-1] in wanted else ""

    def need(self, wanted: str) -> None:
        if not self.take(wanted):
            self.refuse(f"expected {wanted!r} " + (f"before {self.tokens[-1][:20]!r}" if self.tokens else "at the end"))

    def parse(self) -> int:
        table = self.expression()
        if self.tokens:
            self.refuse(f"{self.tokens[-1][:20]!r} comes unexpected")
        return table

    def expression(self, level: int = 0) -> int:
        if level == 3:
            return self.term()
        symbol, operation = (("|", or_), ("^", xor), ("&", and_))[level]
        table = self.expression(level + 1)
        while self.take(symbol):
            table = operation(table, self.expression(level + 1))
        return table

    def term(self) -> int:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.refuse(f"more than {MAX_DEPTH} nested terms")
        if self.take("~"):
            table = self.full ^ self.term()
        elif self.take("("):
            table = self.expression()
            self.need(")")
        elif self.tokens:
            table = self.named(self.tokens.pop())
        else:
            self.refuse("a term is missing at the end")
        self.depth -= 1
        return table

    def named(self, token: str) -> int:
        name, _, number = token.partition(":")
        if token in ("0", "1"):
            return self.full * int(token)
        if token == "first":
            return self.variable("1")
        if token[0] == "x" and token[1:].isdigit():
            return self.variable(token[1:])
        if name == "dictator" and number:
            return self.variable(number)
        if name == "truth":
            if len(number) != 1 << self.bits:
                self.refuse(f"{len(number)} values for {1 << self.bits} strings")
            return int(number[::-1], 2)
        if name == "sparse-parity" and number:
            self.variable(number)
            return reduce(xor, self.variables[: int(number)])
        if token not in ("parity", "majority", "and", "or"):
            self.refuse(f"unknown name {token[:20]!r}")
        return self.combine(token, self.arguments() or self.variables)

    def arguments(self) -> list[int]:
        if not self.take("("):
            return []
        found = [self.expression()]
        while self.take(","):
            found.append(self.expression())
        self.need(")")
        return found

    def variable(self, number: str) -> int:
        if not 1 <= int(number) <= self.bits:
            self.refuse(f"there is no bit {number} among {self.bits}")
        return self.variables[int(number) - 1]

    def combine(self, name: str, tables: list[int]) -> int:
        if name == "majority":
            digits = sum_tables(tables)
            more = range(len(tables) // 2 + 1, len(tables) + 1)
            return reduce(or_, (where_equal(digits, count, self.bits) for count in more))
        return reduce({"parity": xor, "and": and_, "or": or_}[name], tables)
