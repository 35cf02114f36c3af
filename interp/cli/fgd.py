"""Untrusted. ``interp fgd``: transformers that are functional gradient descent in context.

``build``, ``steps`` and ``experiment`` only find; ``verify`` and ``distance`` hand bytes and the user's claim to
``proofs.functional_gd`` and print what comes back.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click
from flint import fmpq, fmpq_mat

from interp.cli.output import (
    bound_options,
    json_option,
    leave,
    limit_options,
    output_option,
    pack_options,
    print_result,
    render_table,
)
from interp.cli.progress import progress_options, step_spinner
from interp.cli.sections import SentenceGroup
from interp.files.write import write_file
from interp.functional_gd.advice import advise
from interp.functional_gd.build import build_descent
from interp.functional_gd.encode import encode_transformer
from interp.functional_gd.experiments import (
    ACTIVATIONS,
    DATA_KERNELS,
    DIMENSION,
    LARGEST_CONTEXT,
    find_winner,
    measure,
    show_loss,
)
from interp.functional_gd.symmetry import (
    Family,
    compare_slopes,
    find_equivariance_failure,
    rational_rotations,
    signed_permutations,
)
from interp.version import VERSION
from proofs.functional_gd.answer import answer_verify, make_answer, read_context
from proofs.functional_gd.bayes import check_distance
from proofs.functional_gd.check import Verdict
from proofs.functional_gd.decode import Options, parse_kernel
from proofs.functional_gd.model import LOSSES, parse_activation
from proofs.guard import Answer, Bounds, run_guarded
from proofs.kernel.errors import InterpError, Status, UsageError
from proofs.kernel.rational import Limits, parse_rational, rational_text

PATH = click.Path(path_type=Path)
KERNEL_HELP = "linear, relu, polynomial:k, exp, softmax, or a sum such as linear[1]+1/2*exp[2,3]."
loss_option = click.option("--loss", type=click.Choice([*LOSSES]), default="half-sum", show_default=True)
kernel_option = click.option("--kernel", required=True, help=KERNEL_HELP)


descent_options = pack_options(
    Options,
    "options",
    kernel_option,
    click.option("--steps", required=True, help="r_0,r_1,... or one r for all layers."),
    click.option("--layers", type=click.IntRange(min=0), help="Their number; default: one for each step."),
    loss_option,
    click.option("--target-bits", type=click.IntRange(min=1), default=64, show_default=True),
)


@click.group(cls=SentenceGroup)
def fgd() -> None:
    """Functional gradient descent in context: transformers whose layers are gradient steps in an RKHS."""


@fgd.command()
@click.argument("context", type=PATH)
@output_option("The transformer file to write.")
@descent_options
@limit_options
@json_option
def build(context: Path, output: Path, options: Options, limits: Limits, as_json: bool) -> None:
    """Write the transformer whose layers are gradient steps on the labels of CONTEXT."""
    statement = read_context(context, limits)
    claim = options.claim(statement, limits)
    transformer = build_descent(statement, claim)
    transformer.header.update(
        {
            "kernel": claim.kernel.text,
            "steps": ",".join(map(rational_text, claim.steps)),
            "loss": claim.loss,
            "context": statement.digest,
            "generator": f"exact-interp {VERSION}",
        }
    )
    write_file(output, encode_transformer(transformer))
    layers, heads = len(transformer.layers), len(claim.kernel.terms)
    words = f'--kernel "{options.kernel}" --steps {options.steps} --layers {layers} --loss {options.loss}'
    text = (
        f"{output}: {layers} layers, {heads} {'head' if heads == 1 else 'heads'} a layer\n"
        f"  not verified yet: interp fgd verify {output} {context} {words}"
    )
    print_result(text, {"output": str(output), "layers": layers, "heads": heads}, as_json)


@fgd.command()
@click.argument("transformer", type=PATH)
@click.argument("context", type=PATH)
@descent_options
@limit_options
@bound_options
@json_option
def verify(transformer: Path, context: Path, options: Options, limits: Limits, bounds: Bounds, as_json: bool) -> None:
    """Prove that every layer of TRANSFORMER is the gradient step that you claim, on CONTEXT."""
    _finish(run_guarded(partial(answer_verify, context, transformer, options, limits), bounds), as_json)


def _finish(answer: Answer, as_json: bool) -> None:
    print_result(answer.text, answer.record, as_json)
    leave(answer.status)


@fgd.command()
@click.argument("context", type=PATH)
@descent_options
@click.option("--q", "q_text", help="Also the a-priori bound with this contraction, 0 <= q < 1 (see `fgd steps`).")
@click.option("--within", "within_text", help="Also whether |error| is smaller than this.")
@click.option("--pseudo-inverse", is_flag=True, help="Accept a singular G: the limit is nu^T G^+ Y.")
@limit_options
@bound_options
@json_option
def distance(
    context: Path,
    options: Options,
    q_text: str | None,
    within_text: str | None,
    pseudo_inverse: bool,
    limits: Limits,
    bounds: Bounds,
    as_json: bool,
) -> None:
    """Certify how far the prediction is from the limit of the descent (Bayes for a positive definite kernel)."""
    q = parse_rational(q_text, "--q", limits) if q_text is not None else None
    within = parse_rational(within_text, "--within", limits) if within_text is not None else None

    def ask() -> Verdict:
        statement = read_context(context, limits)
        return check_distance(statement, options.claim(statement, limits), q, within, pseudo_inverse)

    _finish(run_guarded(lambda: make_answer("", ask), bounds), as_json)


@fgd.command()
@click.argument("context", type=PATH)
@kernel_option
@loss_option
@click.option("--grid-bits", type=click.IntRange(1, 200), default=16, show_default=True, help="Steps are j / 2^m.")
@limit_options
@json_option
def steps(context: Path, kernel: str, loss: str, grid_bits: int, limits: Limits, as_json: bool) -> None:
    """Certified step sizes for CONTEXT: the largest that converges, the fastest, and exact ones if there are."""
    statement = read_context(context, limits)
    advice = advise(statement, parse_kernel(kernel, statement.dimension, limits), loss, grid_bits)
    contraction = "none on this grid" if advice.contraction is None else rational_text(advice.contraction)
    exact = ",".join(map(rational_text, advice.exact))
    record = {
        "definite": advice.definite,
        "largest": rational_text(advice.largest),
        "best": rational_text(advice.best),
        "contraction": contraction,
        "exact": exact,
    }
    text = (
        f"{advice.definite}\n"
        f"largest step on the grid with 2 I - r G > 0: {record['largest']}\n"
        f"fast step: {record['best']}, contraction q = {contraction} a layer\n"
        f"exact at finite depth: {exact or 'the eigenvalues are not known to be rational'}"
    )
    print_result(text, record, as_json)


def _numbers(text: str, option: str, limits: Limits) -> tuple[fmpq, ...]:
    return tuple(parse_rational(part.strip(), option, limits) for part in text.split(","))


@fgd.command()
@click.argument("context", type=PATH)
@click.option("--kernel", required=True, help="linear, relu or polynomial:k.")
@click.option("--root", required=True, help='Sigma^(1/2), rows with semicolons: "2,1;1,3".')
@click.option("--target", required=True, help="The label of the query.")
@click.option("--b", "b_text", required=True, help="b_0,b_1,...: one number a layer, as for the next three.")
@click.option("--c", "c_text", required=True)
@click.option("--a", "a_text", required=True, help="All zero for theorem 1.")
@click.option("--rho", "rho_text", required=True)
@limit_options
@json_option
def symmetry(
    context: Path,
    kernel: str,
    root: str,
    target: str,
    b_text: str,
    c_text: str,
    a_text: str,
    rho_text: str,
    limits: Limits,
    as_json: bool,
) -> None:
    """Check (C.30) and the stationarity of theorems 1 and 2 exactly, at one point of their family."""
    statement = read_context(context, limits)
    d = statement.dimension
    rows = [_numbers(row, "--root", limits) for row in root.split(";")]
    if len(rows) != d or any(len(row) != d for row in rows):
        raise UsageError(f"not a {d} x {d} matrix", "--root")
    scalars = [_numbers(text, "--b, --c, --a, --rho", limits) for text in (b_text, c_text, a_text, rho_text)]
    if len({len(numbers) for numbers in scalars}) > 1:
        raise UsageError("b, c, a and rho need one number for each layer", "--b")
    if d > 4:
        raise UsageError(f"{2**d} d! signed permutations for d = {d}", hint="use d <= 4")
    family = Family(parse_activation(kernel, "--kernel"), fmpq_mat(rows), *scalars)
    orthogonal = [*signed_permutations(d), *rational_rotations(d)]
    failures = [place for place in (find_equivariance_failure(statement, family, U) for U in orthogonal) if place]
    found = compare_slopes(statement, parse_rational(target, "--target", limits), family)
    unequal = [item.name for item in found if item.found != item.expected]
    moving = sum(item.found != 0 for item in found)
    text = (
        f"(C.30): {len(orthogonal)} orthogonal matrices, {len(failures)} failures\n"
        f"stationarity: {len(found)} directions, {moving} with a gradient that is not 0, {len(unequal)} unequal"
    )
    record = {
        "orthogonal": len(orthogonal),
        "equivariance_failures": failures,
        "directions": len(found),
        "nonzero": moving,
        "unequal": unequal,
    }
    print_result(text, record, as_json)
    if failures or unequal:
        leave(Status.REFUTED)


@fgd.command()
@click.option("--data", type=click.Choice(DATA_KERNELS), default="exp", show_default=True, help="Labels' kernel.")
@click.option("--activation", "activations", multiple=True, help="May be repeated. Default: all.")
@click.option("--layers", default="1,3,7", show_default=True)
@click.option("--lengths", default="14", show_default=True, help="Numbers of points in a context.")
@click.option("--tasks", type=click.IntRange(min=2), default=32, show_default=True)
@click.option("--seed", default="0", show_default=True)
@json_option
@progress_options
def experiment(
    data: str,
    activations: tuple[str, ...],
    layers: str,
    lengths: str,
    tasks: int,
    seed: str,
    as_json: bool,
) -> None:
    """Mean squared loss on random tasks: matching and mismatching kernels, by depth and context length."""
    names = activations or ACTIVATIONS
    for name in names:
        parse_kernel(name, DIMENSION)
    depths, sizes = _counts(layers, "--layers", 100), _counts(lengths, "--lengths", 10 * LARGEST_CONTEXT)
    table, records = [], []
    with step_spinner("experiment") as announce:
        for length in sizes:
            for depth in depths:
                losses = {}
                for name in names:
                    announce(f"{name}, {depth} layers, {length} points")
                    point = measure(data, name, length, depth, tasks, seed)
                    losses[name] = point.loss
                    chosen = list(map(rational_text, point.steps))
                    shown = {"points": length, "layers": depth, "activation": name, "loss": show_loss(point.loss)}
                    records.append(shown | {"steps": chosen})
                best = find_winner(losses) or "-"
                table.append([str(length), str(depth), *map(show_loss, losses.values()), best])
    text = render_table(f"labels of kernel {data}", ["points", "layers", *names, "smallest"], table)
    print_result(text, records, as_json)


def _counts(text: str, option: str, largest: int) -> list[int]:
    try:
        found = [int(parse_rational(part.strip(), option)) for part in text.split(",")]
    except (InterpError, ValueError, TypeError) as error:
        raise UsageError(f"{text!r} is no list of counts", option) from error
    if any(not 1 <= count <= largest for count in found):
        raise UsageError(f"a count outside 1..{largest}", option)
    return found
