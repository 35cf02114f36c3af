"""Untrusted. Writes a Coq certificate: the numbers of a dataset and a transformer, and one theorem about them.

What the theorem says is defined in ``proofs/coq/Semantics.v``; ``coqc`` decides whether it is true, and
``proofs/coq/compare_certificate.py`` whether the numbers are those of the files. See ``docs/explanation/coq.md``.

d dimension, w width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flint import fmpq, fmpq_mat

from interp.export.state import check_plain
from proofs.kernel.errors import MalformedInput, UsageError
from proofs.kernel.model import Block, SquareMatrix, Transformer
from proofs.kernel.rational import Row, coordinates_of
from proofs.kernel.statement import Claim, Dataset, Mask, Readout, Temperatures

HEADER = """\
(* A certificate. coqc accepts this file exactly if its theorem is true; Semantics.v says what the theorem means. *)
From Coq Require Import List QArith Qreals Reals Lra.
From Interp Require Import Semantics {module} Checker Soundness.
Import ListNotations.
Open Scope Q_scope.
"""
# arithmetic -> module, numbers of the exact checkers, numbers of the box checker
ARITHMETICS = {
    "standard": ("NumbersStandard", "standard_numbers", "standard_box_numbers"),
    "bignums": ("NumbersBignums", "bignum_numbers", "bignum_box_numbers"),
}
WEIGHT_CAP = 200  # softmax weights below 2^-200 count as 2^-200
_SHORT = 10**12  # from here on hexadecimal: Coq reads it several times faster


def emit_certificate(dataset: Dataset, transformer: Transformer, claim: Claim, arithmetic: str = "standard") -> str:
    """The text of ``cert.v``: coqc accepts it exactly if the checker inside proves the claim.

    ``standard`` arithmetic rests on no axioms but those of the reals; ``bignums`` is faster on long numbers and rests
    on the axioms about machine integers too.

    Exactness: every number is written as the rational it is. Raises: MalformedInput, UsageError.
    """
    if arithmetic not in ARITHMETICS:
        raise UsageError(f"arithmetic {arithmetic!r}", hint=f"one of {', '.join(ARITHMETICS)}")
    module, exact, boxes = ARITHMETICS[arithmetic]
    check_plain(transformer)
    if claim.mask is not Mask.NONE or claim.readout is not Readout.ALL:
        raise UsageError("the theory knows no mask and reads out all tokens", hint="leave out --mask and --readout")
    d, temperatures = dataset.dimension, claim.temperatures
    limit = temperatures.upper if temperatures.single is None else temperatures.single
    if transformer.dimension != d:
        raise MalformedInput(f"the transformer has dimension {transformer.dimension}, the dataset {d}")
    parts = [
        HEADER.format(module=module),
        "Definition blocks : transformer Q := [\n" + ";\n".join(_block(b, d) for b in transformer.blocks) + "].\n",
        "Definition data : pairs Q := [\n"
        + ";\n".join(f" ({_tokens(pair.input)},\n  {_tokens(pair.output)})" for pair in dataset.pairs)
        + "].\n",
    ]
    if limit is not None:
        parts.append(f"Definition limit : Q := {_rational(limit)}.\n")
    sizes = f"{d} {claim.max_width} {claim.max_blocks} {claim.max_parameters}"
    uniform = all(is_uniform(block, d) for block in transformer.blocks)
    parts.append(_theorem(temperatures, sizes, uniform, exact, boxes))
    return "\n".join(parts)


def is_uniform(block: Block, dimension: int) -> bool:
    """Whether the attention of the block has A = 0 or V = 0, so that temperature plays no part."""
    return block.attention.A.is_zero(dimension) or block.attention.V.is_zero(dimension)


def _theorem(temperatures: Temperatures, sizes: str, uniform: bool, exact: str, boxes: str) -> str:
    """The lemmas that run the checkers, and the theorem put together from them."""
    hardmax = f"check_hardmax {sizes} {exact} blocks data"
    softmax = f"check_softmax {sizes} {boxes} limit {WEIGHT_CAP} blocks data"
    claim = f"Theorem certificate : certified (Claim {sizes} {_temperature_set(temperatures)}) data blocks.\n"
    hard_proof = "hardmax_sound _ _ _ _ _ _ _ checked_hardmax"
    soft_proof = "softmax_sound _ _ _ _ _ _ _ _ _ checked_softmax"
    if not temperatures.positive:
        lemmas, proof = _lemma("hardmax", hardmax), f"exact ({hard_proof})."
    elif uniform:
        lemmas = _lemma("uniform", f"check_uniform {sizes} {exact} blocks data")
        proof = (
            "apply certified_narrow with (temps := fun tau => (0 <= tau)%R);\n"
            "  [intros tau H; lra | exact (uniform_sound _ _ _ _ _ _ _ checked_uniform)]."
        )
    elif temperatures.all_positive:
        raise UsageError(
            "a block has attention that is not uniform, so no certificate covers every positive temperature",
            "--temperatures",
            "claim (0,T] with some T",
        )
    elif temperatures.zero:
        lemmas = _lemma("hardmax", hardmax) + "\n" + _lemma("softmax", softmax)
        proof = (
            "apply certified_union with\n"
            "    (temps := fun tau => tau = 0%R) (temps' := fun tau => (0 < tau <= Q2R limit)%R);\n"
            f"  [intros tau [[H|H] L]; [right|left]; lra | exact ({hard_proof}) |\n   exact ({soft_proof})]."
        )
    elif temperatures.single is not None:
        lemmas = _lemma("softmax", softmax)
        proof = (
            "apply certified_narrow with (temps := fun tau => (0 < tau <= Q2R limit)%R);\n"
            f"  [intros tau H; lra | exact ({soft_proof})]."
        )
    else:
        lemmas, proof = _lemma("softmax", softmax), f"exact ({soft_proof})."
    return f"{lemmas}\n{claim}Proof.\n  {proof}\nQed.\nPrint Assumptions certificate.\n"


def _temperature_set(temperatures: Temperatures) -> str:
    if not temperatures.positive:
        return "(fun tau => tau = 0%R)"
    if temperatures.single is not None:
        return "(fun tau => (0 < tau /\\ tau = Q2R limit)%R)"
    relation = "<=" if temperatures.zero else "<"
    bound = "" if temperatures.all_positive else " <= Q2R limit"
    return f"(fun tau => (0 {relation} tau{bound})%R)"


def _lemma(name: str, check: str) -> str:
    return f"Lemma checked_{name} : {check} = true.\nProof. vm_cast_no_check (eq_refl true). Qed.\n"


def _block(block: Block, dimension: int) -> str:
    layer, attention = block.feed_forward, block.attention
    columns = layer.W.transpose().tolist() if layer.width else []
    units = [
        f"Neuron {_vector(w)} {_vector(u)} {_rational(b)}"
        for w, u, b in zip(columns, layer.U.tolist(), layer.b.entries(), strict=True)
    ]
    return (
        f"Block {_rational(layer.eta)} [" + ";\n  ".join(units) + "]\n"
        f" {_rational(attention.rho)} {_square(attention.A, dimension)} {_square(attention.V, dimension)}"
    )


def _square(matrix: SquareMatrix, dimension: int) -> str:
    """scale I + sum of left right^T; a dense matrix is the sum of e_i times its row i."""
    outers: list[tuple[Iterable[fmpq], Iterable[fmpq]]] = []
    if matrix.dense is not None:
        for i, row in enumerate(matrix.dense.tolist()):
            outers.append(([fmpq(int(i == k)) for k in range(dimension)], row))
    elif matrix.left is not None and matrix.right is not None:
        outers.append((_entries(matrix.left), _entries(matrix.right)))
    shown = "; ".join(f"({_vector(left)}, {_vector(right)})" for left, right in outers)
    return f"(Square {_rational(matrix.scale)} [{shown}])"


def _entries(column: fmpq_mat) -> list[fmpq]:
    return list(column.entries())


def _tokens(rows: Sequence[Row]) -> str:
    return "[" + ";\n   ".join(_vector(coordinates_of(row)) for row in rows) + "]"


def _vector(values: Iterable[fmpq]) -> str:
    return "[" + ";".join(map(_rational, values)) + "]"


def _rational(value: fmpq) -> str:
    return f"({_integer(int(value.p))}#{_integer(int(value.q))})"


def _integer(value: int) -> str:
    return str(value) if abs(value) < _SHORT else f"{'-' if value < 0 else ''}0x{abs(value):x}"
