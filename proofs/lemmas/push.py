"""Push: a unit that sees one class takes it to the wanted side of every half-space."""

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="push",
    title="One unit gives a separable class any code",
    statement=(
        "Let finitely many points belong to classes, let affine functions f_i = <u_i, x> - t_i, i = 1..R, have "
        "linearly independent u_i, and let h_c be affine, > 0 on all points of class c and <= 0 on the others, for "
        "each class c of a set K of at most four. For any bits b_i(c), c in K, one block of width 4 with V = 0 moves "
        "every class c of K to f_i > 0 where b_i(c) = 1 and to f_i <= 0 where b_i(c) = 0, and no point of another "
        "class."
    ),
    hypotheses=("h_c separates class c from all others, for each c in K", "independent u_i, or v_c as in the proof"),
    proof=(
        "Choose v_c with <u_i, v_c> = 1 where b_i(c) = 1 and -1 where b_i(c) = 0. The unit relu(h_c) with column "
        "lambda v_c adds lambda h_c(x) <u_i, v_c> to f_i on points of class c and nothing elsewhere. Class c is "
        "finite, so its h_c has a positive minimum and f_i(x) a bound: lambda large enough does for all i."
    ),
    kind="written",
    source="docs/explanation/frontier.md, theorem C",
)
