"""Key: a piecewise-linear function of the value collapses every sequence onto the names of its targets."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="key",
    title="Collapse without attention",
    statement=(
        "Let the sequences occupy disjoint intervals of a line with parameter t > 0, read by a functional, N_c the "
        "number of sequences with m_j < n_j. M + N_c - 1 units at most (and one more if the points are not on the "
        "line yet) write to coordinate 2 an integer key of a target of its own sequence for every token, every "
        "target used. With M' different targets a chain of ceil(M' / 4) blocks that reads coordinate 2 and starts "
        "with eta = 0 then finishes."
    ),
    hypotheses=("the promise of the intervals lemma", "m_j <= n_j"),
    proof=(
        "Give the first n_j - m_j + 1 tokens of sequence j one target and each other token a further one. Reading "
        "tokens in order, the keys form runs; phi is to be constant on each. It takes one kink to reach the first "
        "token of a run, placed between it and the last token before (where phi has the right value), and one more "
        "at that first token to be constant, if the run has more tokens. Keys may be shifted so that the first run "
        "has key 0, which phi = 0 gives without a kink. So there are at most sum_j (m_j + [n_j > m_j]) - 1 kinks, "
        "fewer where runs of neighbouring sequences join. Rows of the units read t, columns are multiples of e_2: t "
        "stays as it is, so units may be spread over blocks. If the points are not on the line, the first block has "
        "eta = 0 and one unit relu(t) e_1.\n"
        "Now every token is (t, key, 0, ..). The chain lemma with eta = 0, reading t^ = x_2 and parameters the keys "
        "merges all tokens of one key and places it."
    ),
    kind="written",
    source="docs/explanation/compact.md",
    depends=("intervals", "chain"),
)


def check_promise(kinks: Sequence[tuple[fmpq, fmpq]], runs: Sequence[tuple[fmpq, fmpq, int]]) -> str | None:
    """None, or what is broken: phi = sum of jump relu(t - place) has the key of every run at both its ends.

    No kink lies strictly inside a run, so phi is linear, hence constant, there. O(kinks + runs).
    """
    jumps, moment, used = fmpq(0), fmpq(0), 0
    for r, (first, last, key) in enumerate(runs):
        for time in (first, last):
            while used < len(kinks) and kinks[used][0] <= time:
                place, jump = kinks[used]
                if first < place < last:
                    return f"a kink inside run {r}"
                jumps, moment, used = jumps + jump, moment + jump * place, used + 1
            if jumps * time - moment != key:
                return f"phi is {jumps * time - moment} at parameter {time} of run {r}, expected {key}"
    return None if used == len(kinks) else "a kink behind the last token"
