"""Untrusted. ``interp boolean``: Boolean functions, their sensitivity profiles, and encoders that compute them.

``certify`` hands bytes and the user's claim to ``proofs.boolean`` and prints what comes back; the others only find.
"""

from __future__ import annotations

from pathlib import Path

import click
from flint import fmpq

from interp.boolean.constructions import CONSTRUCTIONS
from interp.boolean.encode import encode_encoder
from interp.boolean.experiments import Sample, sample_encoders, sample_functions
from interp.boolean.initialise import SCHEMES, draw_encoder
from interp.boolean.theory import (
    LARGEST_COUNT,
    Family,
    closed_profile,
    compare_theorem,
    count_without_zero,
    exponent_of,
    first_fitting,
    packing_bits,
)
from interp.boolean.training import Settings, train_encoder
from interp.cli.output import (
    bound_options,
    json_option,
    leave,
    limit_options,
    output_option,
    print_result,
    render_table,
)
from interp.cli.progress import progress_bar, progress_options, step_spinner
from interp.cli.sections import SentenceGroup
from interp.files.write import write_file
from proofs.boolean.answer import answer_certify
from proofs.boolean.check import Claim
from proofs.boolean.decode import MAX_BITS
from proofs.boolean.functions import parse_function
from proofs.boolean.model import Encoder
from proofs.boolean.profile import average_sensitivity, compute_profile
from proofs.guard import Answer, Bounds, run_guarded
from proofs.kernel.errors import InternalFault, UsageError
from proofs.kernel.rational import Limits, parse_rational, rational_text

PATH = click.Path(path_type=Path)
BAR = 40
FUNCTION_HELP = "parity, majority, first, dictator:i, sparse-parity:m, and, or, truth:0110, or e.g. x1&(x2^~x3)."
bits_option = click.option("--bits", type=click.IntRange(1, MAX_BITS), required=True, help="N: the end token is extra.")
seed_option = click.option("--seed", default="0", show_default=True)
depth_option = click.option("--depth", type=click.IntRange(1, 1000), default=2, show_default=True)
dimension_option = click.option("--dimension", type=click.IntRange(1, 4000), default=16, show_default=True)
encoder_option = output_option("The encoder file to write.")


@click.group(cls=SentenceGroup)
def boolean() -> None:
    """Boolean functions: exact sensitivity profiles, and encoders whose function is certified string by string."""


@boolean.command()
@click.argument("function")
@bits_option
@json_option
def profile(function: str, bits: int, as_json: bool) -> None:
    """How many strings of N bits have which sensitivity, by brute force and by closed form: FUNCTION as --function."""
    found = compute_profile(parse_function(function, bits, "FUNCTION"), bits)
    closed = closed_profile(function, bits)
    if closed is not None and closed != found:
        raise InternalFault(f"closed form {closed}, brute force {found}", hint="please report it")
    average = average_sensitivity(found)
    largest = max(found)
    rows = [[str(n), str(count), "#" * -(-BAR * count // largest)] for n, count in enumerate(found)]
    check = "brute force and closed form agree" if closed is not None else "by brute force; no closed form is known"
    title = f"{function}, {bits} bits: {2**bits} strings"
    text = f"{render_table(title, ['n', 'K_n', ''], rows)}\naverage sensitivity {rational_text(average)}; {check}"
    record = {
        "function": function,
        "bits": bits,
        "profile": list(found),
        "average": rational_text(average),
        "closed_form": closed is not None,
    }
    print_result(text, record, as_json)


@boolean.command()
@click.argument("encoder", type=PATH)
@bits_option
@click.option("--function", help=f"Also that T > 0 exactly where this is 1: {FUNCTION_HELP}")
@click.option("--margin", "margin_text", default="0", show_default=True, help="Also that |T| is at least this.")
@click.option("--influence", is_flag=True, help="Instead: one flip changes T by less than twice the margin.")
@click.option(
    "--max-precision", type=click.IntRange(64, 1 << 20), default=4096, show_default=True, help="Bits of balls."
)
@click.option("--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes.")
@limit_options
@bound_options
@json_option
@progress_options
def certify(
    encoder: Path,
    bits: int,
    function: str | None,
    margin_text: str,
    influence: bool,
    max_precision: int,
    jobs: int,
    limits: Limits,
    bounds: Bounds,
    as_json: bool,
) -> None:
    """Certify the sign of ENCODER on all 2^N strings, its profile, and the function and margin that you claim."""
    claim = Claim(bits, function, parse_rational(margin_text, "--margin", limits), influence, max_precision)

    def work() -> Answer:
        with progress_bar("certify", "string") as watch:
            return answer_certify(encoder, claim, limits, jobs, watch)

    answer = run_guarded(work, bounds)
    print_result(answer.text, answer.record, as_json)
    leave(answer.status)


@boolean.command()
@click.argument("function", type=click.Choice([*CONSTRUCTIONS]))
@click.option("--bits", "lengths", required=True, help="Numbers of bits that it shall read: 2,3,7 or 2-7.")
@click.option("--norm", is_flag=True, help="With layer norm, epsilon = 0.")
@encoder_option
@json_option
def build(function: str, lengths: str, norm: bool, output: Path, as_json: bool) -> None:
    """Write a known encoder: PARITY and FIRST of Chiang and Cholak, MAJORITY by uniform attention."""
    found = _lengths(lengths)
    _write(CONSTRUCTIONS[function](found, norm), output, found, function, as_json)


@boolean.command()
@click.argument("scheme", type=click.Choice(SCHEMES))
@bits_option
@depth_option
@dimension_option
@click.option("--epsilon", default="0", show_default=True)
@seed_option
@encoder_option
@json_option
def draw(
    scheme: str, bits: int, depth: int, dimension: int, epsilon: str, seed: str, output: Path, as_json: bool
) -> None:
    """Write an encoder with random weights (exact dyadics from the seed)."""
    encoder = draw_encoder(scheme, [bits], depth, dimension, seed, _positive(epsilon, "--epsilon", zero=True))
    _write(encoder, output, [bits], None, as_json)


def _write(encoder: Encoder, output: Path, lengths: list[int], function: str | None, as_json: bool) -> None:
    write_file(output, encode_encoder(encoder))
    words = f" --function {function}" if function else ""
    text = f"{output}: {len(encoder.blocks)} blocks, dimension {encoder.dimension}\n  not certified yet: "
    text += f"interp boolean certify {output} --bits {lengths[-1]}{words}"
    print_result(text, {"output": str(output), "bits": lengths, "blocks": len(encoder.blocks)}, as_json)


@boolean.command()
@click.argument("function")
@bits_option
@depth_option
@dimension_option
@click.option("--updates", type=click.IntRange(1, 10**6), default=600, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@encoder_option
@json_option
@progress_options
def train(
    function: str,
    bits: int,
    depth: int,
    dimension: int,
    updates: int,
    seed: int,
    output: Path,
    as_json: bool,
) -> None:
    """Train an encoder on FUNCTION (needs torch) and write its weights exactly, for `certify`."""
    parse_function(function, bits, "FUNCTION")
    if dimension % 2:
        raise UsageError("the dimension must be even: two heads", "--dimension")
    with step_spinner("training") as announce:
        announce(f"{updates} updates")
        trained = train_encoder(function, bits, Settings(depth, dimension, updates=updates), seed)
    if not as_json:
        print_result(f"approximate: loss {trained.loss:.3g}, accuracy {trained.accuracy:.4f}", {}, False)
    _write(trained.encoder, output, [bits], f'"{function}"', as_json)


@boolean.command()
@click.option("--scheme", "schemes", type=click.Choice(SCHEMES), multiple=True, help="May be repeated. Default: all.")
@click.option("--bits", "lengths", default="4,6", show_default=True)
@click.option("--depth", "depths", default="1,2", show_default=True)
@click.option("--dimension", "dimensions", default="16", show_default=True)
@click.option("--count", type=click.IntRange(1, 10**6), default=20, show_default=True, help="Encoders for each row.")
@seed_option
@json_option
@progress_options
def experiment(
    schemes: tuple[str, ...],
    lengths: str,
    depths: str,
    dimensions: str,
    count: int,
    seed: str,
    as_json: bool,
) -> None:
    """Certified profiles of random encoders, beside those of uniform random functions."""
    samples: list[Sample] = []
    with step_spinner("experiment") as announce:
        for bits in _lengths(lengths):
            for depth in _lengths(depths, "--depth", 1000):
                for dimension in _lengths(dimensions, "--dimension", 4000):
                    for scheme in schemes or SCHEMES:
                        announce(f"{scheme}, N = {bits}, L = {depth}, D = {dimension}")
                        samples.append(sample_encoders(scheme, bits, depth, dimension, count, seed))
            samples.append(sample_functions(bits, max(count, 200), seed))
    columns = ["weights", "N", "L", "D", "certified", "open", "constant", "K_0 = 0", "sensitivity", "theorem 4.5"]
    rows = [_row(sample) for sample in samples]
    records = [
        dict(zip(columns, row, strict=True)) | {"profiles": [list(p) for p in sample.profiles]}
        for row, sample in zip(rows, samples, strict=True)
    ]
    print_result(render_table("certified profiles", columns, rows), records, as_json)


def _row(sample: Sample) -> list[str]:
    drawn = sample.name in SCHEMES
    shape = [str(sample.depth), str(sample.dimension)] if drawn else ["-", "-"]
    shares = [_decimal(x) for x in (sample.constant, sample.no_zero, sample.mean_sensitivity)]
    theorem = ", ".join(f"{count} {name}" for name, count in sorted(sample.theorem.items())) if drawn else "-"
    return [sample.name, str(sample.bits), *shape, str(len(sample.profiles)), str(sample.open), *shares, theorem]


def _decimal(value: fmpq) -> str:
    return f"{int(value.p) / int(value.q):.3f}"


@boolean.command()
@bits_option
@depth_option
@dimension_option
@click.option("--zero", type=click.IntRange(min=0), help="K_0 of a certified profile: compared with theorem 4.5.")
@click.option("--epsilon", default="1/100000", show_default=True)
@click.option("--size", default="1", show_default=True, help="All parameters are at most this.")
@click.option("--margin", "margin_text", default="1/10", show_default=True)
@json_option
def bounds(
    bits: int, depth: int, dimension: int, zero: int | None, epsilon: str, size: str, margin_text: str, as_json: bool
) -> None:
    """The bound of theorem 4.5 (epsilon = 0), the packing bound (epsilon > 0), and functions with K_0 = 0."""
    exponent = exponent_of(depth, dimension)
    fits = first_fitting(depth, dimension)
    record = {
        "exponent": rational_text(exponent),
        "fits_from": fits,
        "without_zero": count_without_zero(bits) if bits <= LARGEST_COUNT else None,
    }
    lines = [f"theorem 4.5: K_0 >= N^({rational_text(exponent)}) almost surely, for all sufficiently large N"]
    lines.append("  the exponent is not positive" if fits is None else f"  the bound is at most 2^N from N = {fits} on")
    if zero is not None:
        found = compare_theorem(zero, bits, depth, dimension)
        lines.append(f"  at N = {bits}: {found.outcome} ({found.text}); a finite N does not refute the theorem")
        record |= {"outcome": found.outcome, "comparison": found.text}
    heads, rows = 2, max(1, dimension // 2)
    eps, most = _positive(epsilon, "--epsilon"), _positive(size, "--size")
    family = Family(bits, depth, dimension, heads, rows, 2 * dimension, eps, most)
    packing = packing_bits(family, _positive(margin_text, "--margin")).upper()
    shown = packing.str(8, radius=False)
    lines.append(f"packing bound: at most 2^({shown}) functions with this margin ({family.parameters} parameters)")
    lines.append(f"  {'fewer than' if packing < 2**bits else 'no fewer than'} all 2^(2^{bits})")
    record |= {"packing_log2": shown, "parameters": family.parameters}
    if record["without_zero"] is not None:
        lines.append(f"functions of {bits} bits with K_0 = 0: {record['without_zero']} of {2**2**bits}")
    print_result("\n".join(lines), record, as_json)


def _positive(text: str, option: str, zero: bool = False) -> fmpq:
    value = parse_rational(text, option)
    if value < 0 or (value == 0 and not zero):
        raise UsageError("must be positive", option)
    return value


def _lengths(text: str, option: str = "--bits", largest: int = MAX_BITS) -> list[int]:
    """The numbers in "2,3,5-8"."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = (first, last) if dash else (first, first)
        if not all(end.isascii() and end.isdigit() and len(end) < 6 for end in ends):
            raise UsageError(f"{part.strip()!r} is no count and no range", option)
        found += range(int(ends[0]), int(ends[1]) + 1)
    if not found or not all(1 <= count <= largest for count in found):
        raise UsageError(f"{text!r} is not within 1..{largest}", option)
    return found
