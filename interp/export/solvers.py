"""Untrusted. Asks SMT solvers (z3 and cvc5, the extra ``smt``) about a script with one ``check-sat``."""

from __future__ import annotations

from collections.abc import Callable

from interp.optional import load_optional
from proofs.kernel.errors import InternalFault

SOLVERS = ("z3", "cvc5")


def ask_solver(solver: str, script: str, seconds: int = 60) -> str:
    """``sat``, ``unsat`` or ``unknown``. Raises: UsageError when it is not installed, InternalFault."""
    ask: Callable[[str, int], str] = {"z3": _ask_z3, "cvc5": _ask_cvc5}[solver]
    answer = ask(script, seconds)
    if answer not in ("sat", "unsat", "unknown"):
        raise InternalFault(f"{solver} answers {answer[:200]!r}")
    return answer


def _ask_z3(script: str, seconds: int) -> str:
    z3 = load_optional("z3", "z3-solver")
    solver = z3.Solver()
    solver.set("timeout", 1000 * seconds)
    try:
        solver.from_string(script)
        return str(solver.check())
    except z3.Z3Exception as error:
        raise InternalFault(f"z3 refuses the script: {error}") from error


def _ask_cvc5(script: str, seconds: int) -> str:
    cvc5 = load_optional("cvc5")
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", str(1000 * seconds))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "claim")
    symbols, answers = parser.getSymbolManager(), []
    try:
        while not (command := parser.nextCommand()).isNull():
            if answer := command.invoke(solver, symbols).strip():
                answers.append(answer)
    except RuntimeError as error:
        raise InternalFault(f"cvc5 refuses the script: {error}") from error
    return "\n".join(answers)
