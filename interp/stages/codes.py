"""Untrusted. Codes (lemma ``codes``): a few half-spaces give every class a binary code, and codes become targets.

Shapes: n points of Q^d in C classes, R bits. Bit i of a class is whether its points lie in half-space i. After a layer
with eta = 0 that writes relu(<u_i, x> - threshold_i) along p_i, one stop for each bit leaves the point a + sum of b_i
p_i for every class; a, p_1, .., p_R are such that R + 1 classes stand on their targets, and every other class takes one
unit more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product

from flint import fmpq, fmpq_mat

from interp.stages.chain import build_chain_from_zero, count_chain_from_zero
from interp.stages.clouds import Cloud, HalfSpace, find_gap, find_half_space
from interp.stages.dyadic import find_simple_dyadic
from interp.stages.hat import MAX_UNITS, Unit, build_constant, build_feed_forward, count_layers
from interp.stages.signature import axis
from proofs.kernel.errors import InternalFault
from proofs.kernel.model import Block
from proofs.kernel.rational import coordinates_of

PROGRAMS = 256  # linear programs solved to find half-spaces
PROGRAM_WORK = 1_000_000  # coordinates of all points times programs
CANDIDATES = 40  # half-spaces among which codes are looked for

Code = tuple[int, ...]


def find_half_spaces(cloud: Cloud, classes: Sequence[int]) -> list[HalfSpace]:
    """Half-spaces that tell some of these classes from the rest of them, the widest margins first."""
    work = max(1, cloud.points.nrows() * cloud.points.ncols())
    left = max(len(classes), min(PROGRAMS, PROGRAM_WORK // work))
    found = []
    for size in range(1, len(classes) // 2 + 1):
        for inside in combinations(classes, size):
            if 2 * size == len(classes) and inside[0] != classes[0]:
                continue  # the other side of one that was tried
            if left == 0:
                break
            left -= 1
            if (space := find_half_space(cloud, inside, set(classes) - set(inside))) is not None:
                found.append(space)
    return sorted(found, key=lambda space: -space.approx_margin)[:CANDIDATES]


def count_code_blocks(num_classes: int, num_bits: int) -> int:
    """Blocks for targets in general position: projection, stops, corrections (with the constant if R = 4)."""
    return 2 + count_layers(num_classes - 1 - num_bits + (num_bits == MAX_UNITS))


@dataclass(frozen=True)
class BitCode:
    """Half-spaces and the code of every class."""

    spaces: tuple[HalfSpace, ...]
    codes: tuple[Code, ...]

    @property
    def num_bits(self) -> int:
        """R."""
        return len(self.spaces)


def choose_code(spaces: Sequence[HalfSpace], classes: Sequence[int], pushed: Sequence[int]) -> BitCode | None:
    """At most four of the half-spaces that give the classes different codes; the fewest blocks, then the widest margin.

    ``pushed`` classes are in no half-space yet and get codes that are left. [1, codes] has rank R + 1.
    """
    total = len(classes) + len(pushed)
    sizes = [r for r in range(1, MAX_UNITS + 1) if 2**r >= total and r < total]
    for num_bits in sorted(sizes, key=lambda r: count_code_blocks(total, r)):
        best: tuple[float, BitCode] | None = None
        for chosen in combinations(spaces, num_bits):
            margin = min(space.approx_margin for space in chosen)
            if best is not None and margin <= best[0]:
                continue
            codes = {c: tuple(int(c in space.inside) for space in chosen) for c in classes}
            if len(set(codes.values())) == len(classes) and (full := _complete(codes, pushed, num_bits)) is not None:
                best = margin, BitCode(chosen, full)
        if best is not None:
            return best[1]
    return None


def _complete(codes: dict[int, Code], pushed: Sequence[int], num_bits: int) -> tuple[Code, ...] | None:
    """Codes of all classes by number, those of the pushed ones chosen so that all span the space, or None."""
    free = [code for code in product((0, 1), repeat=num_bits) if code not in codes.values()]
    for given in permutations(free, len(pushed)):
        full = codes | dict(zip(pushed, given, strict=True))
        ordered = tuple(full[c] for c in sorted(full))
        if fmpq_mat([[1, *code] for code in ordered]).rank() == num_bits + 1:
            return ordered
    return None


@dataclass(frozen=True)
class _Bits:
    """The first layer's units without their columns: unit i is 0 on bit 0 and at least 1 on bit 1."""

    readings: tuple[tuple[list[fmpq], fmpq], ...]


def _read_bits(cloud: Cloud, code: BitCode) -> _Bits:
    readings = []
    for i, space in enumerate(code.spaces):
        inside = {c for c, bits in enumerate(code.codes) if bits[i]}
        low, high = find_gap(cloud, space.direction, inside, set(range(cloud.num_classes)) - inside)
        if low >= high:
            raise InternalFault(f"half-space {i} of a code does not separate")
        threshold = find_simple_dyadic(low, low + (high - low) / 2, include_low=True)
        unit = find_simple_dyadic((high - threshold) / 2, high - threshold, include_high=True)
        readings.append(([x / unit for x in space.direction], -threshold / unit))
    return _Bits(tuple(readings))


def is_general(cloud: Cloud) -> bool:
    """Whether the targets are affinely independent."""
    rows = [[*coordinates_of(row), fmpq(1)] for row in cloud.targets]
    return len(rows) <= cloud.points.ncols() + 1 and int(fmpq_mat(rows).rank()) == len(rows)


@dataclass(frozen=True)
class _Frame:
    """a and p_1, .., p_R, and affine functionals (row, constant) that read bit i of a + sum b_k p_k and of targets."""

    origin: fmpq_mat
    steps: list[fmpq_mat]
    readings: list[tuple[list[fmpq], fmpq]]


def _make_frame(cloud: Cloud, code: BitCode) -> _Frame:
    """The frame of targets in general position: R + 1 classes of independent codes stand on their targets."""
    d, targets = cloud.points.ncols(), fmpq_mat([list(coordinates_of(row)) for row in cloud.targets])
    basis: list[int] = []
    for c in sorted(range(cloud.num_classes), key=lambda c: sum(code.codes[c])):
        rows = [[1, *code.codes[k]] for k in (*basis, c)]
        if fmpq_mat(rows).rank() == len(rows):
            basis.append(c)
    system = fmpq_mat([[1, *code.codes[c]] for c in basis])
    solved = system.solve(fmpq_mat([targets.tolist()[c] for c in basis])).tolist()
    origin, *steps = (fmpq_mat(d, 1, row) for row in solved)
    # a functional by its values on all targets: coordinates that tell the targets apart, the constant only if needed
    augmented = fmpq_mat([[*row, 1] for row in targets.tolist()])
    reduced, rank = augmented.rref()
    pivots = [next(k for k, x in enumerate(row) if x != 0) for row in reduced.tolist()[:rank]]
    square = fmpq_mat([[row[k] for k in pivots] for row in augmented.tolist()])
    values = square.solve(fmpq_mat([list(bits) for bits in code.codes])).transpose().tolist()
    readings = []
    for row in values:
        full = [fmpq(0)] * (d + 1)
        for k, x in zip(pivots, row, strict=True):
            full[k] = x
        readings.append((full[:-1], full[-1]))
    return _Frame(origin, steps, readings)


def build_code_blocks(cloud: Cloud, code: BitCode) -> tuple[list[Block], list[Block]]:
    """Projection with stops, and corrections, for targets in general position."""
    d, frame, bits = cloud.points.ncols(), _make_frame(cloud, code), _read_bits(cloud, code)
    constant = [build_constant(frame.origin.entries())] if any(x != 0 for x in frame.origin.entries()) else []
    early = constant if code.num_bits < MAX_UNITS else []
    units: list[Unit] = [(p.entries(), row, bias) for p, (row, bias) in zip(frame.steps, bits.readings, strict=True)]
    blocks = [Block(build_feed_forward(d, [*units, *early], eta=0))]
    # until the constant is added a point x stands at x - a
    readings = []
    for row, bias in frame.readings:
        missing = fmpq(0) if early else _dot(row, frame.origin)
        readings.append((row, bias + missing))
    stops: list[Unit] = [
        ((p * -1).entries(), row, bias - 1) for p, (row, bias) in zip(frame.steps, readings, strict=True)
    ]
    blocks.append(Block(build_feed_forward(d, stops)))
    corrections = [unit for c in range(cloud.num_classes) if (unit := _correct(cloud, code, frame, readings, c))]
    corrections += constant if not early else []
    rest = [Block(build_feed_forward(d, corrections[i : i + MAX_UNITS])) for i in range(0, len(corrections), MAX_UNITS)]
    return blocks, rest


def _correct(
    cloud: Cloud, code: BitCode, frame: _Frame, readings: Sequence[tuple[list[fmpq], fmpq]], c: int
) -> Unit | None:
    """The unit 1 - sum of |b_i - b_i(c)|: 1 on class c, at most 0 on every other; None if c is on its target."""
    bits = code.codes[c]
    reached = frame.origin + sum((p for p, bit in zip(frame.steps, bits, strict=True) if bit), frame.origin * 0)
    column = fmpq_mat(len(reached.entries()), 1, list(coordinates_of(cloud.targets[c]))) - reached
    if all(x == 0 for x in column.entries()):
        return None
    row, bias = [fmpq(0)] * len(reached.entries()), fmpq(1 - sum(bits))
    for bit, (weights, constant) in zip(bits, readings, strict=True):
        sign = 1 if bit else -1
        row = [x + sign * w for x, w in zip(row, weights, strict=True)]
        bias += sign * constant
    return column.entries(), row, bias


def _dot(row: Sequence[fmpq], point: fmpq_mat) -> fmpq:
    return sum((u * x for u, x in zip(row, point.entries(), strict=True)), fmpq(0))


def count_code_chain_blocks(cloud: Cloud, code: BitCode) -> int:
    """Blocks of ``build_code_chain``."""
    return 2 + count_chain_from_zero([cloud.targets[c] for c in _by_number(code)])


def build_code_chain(cloud: Cloud, code: BitCode) -> tuple[list[Block], list[Block]]:
    """Projection with stops, and a chain over the codes as binary numbers: any targets, R <= d."""
    d, bits = cloud.points.ncols(), _read_bits(cloud, code)
    axes = [axis(d, i) for i in range(code.num_bits)]
    first = build_feed_forward(d, [(e, row, bias) for e, (row, bias) in zip(axes, bits.readings, strict=True)], eta=0)
    stops = build_feed_forward(d, [([-x for x in e], e, -1) for e in axes])
    order = _by_number(code)
    row = [fmpq(2**i if i < code.num_bits else 0) for i in range(d)]
    numbers = [fmpq(_number(code.codes[c])) for c in order]
    points = [fmpq_mat(d, 1, list(coordinates_of(cloud.targets[c]))) for c in order]

    def locate(i: int) -> fmpq_mat:
        return fmpq_mat(d, 1, [*code.codes[order[i]], *[0] * (d - code.num_bits)])

    return [Block(first), Block(stops)], build_chain_from_zero(numbers, points, row, fmpq(0), locate)


def _number(bits: Code) -> int:
    return sum(bit << i for i, bit in enumerate(bits))


def _by_number(code: BitCode) -> list[int]:
    return sorted(range(len(code.codes)), key=lambda c: _number(code.codes[c]))
