"""Line: everything onto one axis; disjoint intervals stay disjoint and beyond every target."""

from proofs.lemmas.lemma import Lemma

LEMMA = Lemma(
    name="line",
    title="One block projects all boxes onto an axis",
    statement=(
        "If <u, .> maps the boxes around different points to disjoint intervals, FF(x) = e_1 relu(<u, x> + "
        "c), eta = 0, with c so large that <u, x> + c > B everywhere, maps the boxes onto disjoint intervals "
        "of the e_1 axis beyond B."
    ),
    hypotheses=("the promise of the soft collapse lemma for u", "c > B - min <u, .>", "B >= 0"),
    proof=(
        "The unit is positive on every box, so the layer is x -> (<u, x> + c) e_1 there: a translate of the intervals."
    ),
    kind="written",
    source="docs/explanation/mathematics.md",
    depends=("soft collapse",),
    coq=("Existence.run_line",),
)
