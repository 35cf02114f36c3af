"""Trusted. Every input near a given one goes where it should: the box pass started with a radius.

Certified means: for all X' with |x'_ic - x_ic| <= radius for every token i and coordinate c, and at every temperature
asked about, the set of output tokens T(X') is exactly Y, or (with a distance) its Hausdorff distance from Y in the
Euclidean norm is at most that distance. Tokens move independently of each other. Uses ``proofs.kernel.boxes`` and
``softmax``, and where a sign changes inside a box a line beside the unit; an answer "not certified" says nothing.
"""

from __future__ import annotations

from flint import fmpq, fmpq_mat

from proofs.balls.attention import mean_at
from proofs.kernel.boxes import Box, Undecided, absolute, apply_feed_forward_boxes, round_up
from proofs.kernel.errors import LimitReached, MalformedInput, UsageError
from proofs.kernel.model import FeedForward, Transformer
from proofs.kernel.rational import Limits, Row, coordinates_of, row_of
from proofs.kernel.softmax import Mean, MeanBox, ScoreTable, apply_attention_boxes, mean_up_to
from proofs.kernel.statement import Pair, Temperatures

BITS = 256  # of the balls at one temperature
SLOPES = 16  # a slope is a multiple of 1 / 16


def require_plain(transformer: Transformer) -> None:
    """Raises UsageError for attention with a causal mask or several heads, whose boxes are not treated here."""
    for k, block in enumerate(transformer.blocks, 1):
        if block.attention.causal or block.attention.further:
            raise UsageError(f"block {k} has a causal mask or several heads", hint="one head without a mask only")


def hardmax_mean(table: ScoreTable, i: int) -> MeanBox:
    """The mean at temperature 0. With g_l = d_l - e_l <= score_ib - score_il, a token with g_l > 0 is never chosen.

    The chosen tokens are some of all others, so their mean lies in the hull of these; and if these have exactly equal
    scores everywhere in the box (d_l = e_l = 0), all of them are chosen, and the mean is their average.
    """
    _, differences, errors = table.differences(i)
    contenders = [l for l, (d, e) in enumerate(zip(differences, errors, strict=True)) if d <= e]
    tied = all(differences[l] == 0 and errors[l] == 0 for l in contenders)
    return table.average(contenders) if tied else table.hull(contenders)


def means_of(temperatures: Temperatures) -> list[Mean]:
    """A mean for each kind of temperature claimed. ``mean_up_to`` would do for 0 as well, but less sharply."""
    means: list[Mean] = [hardmax_mean] if temperatures.zero else []
    if temperatures.single is not None:
        means.append(mean_at(temperatures.single, BITS))
    elif temperatures.positive:
        means.append(mean_up_to(temperatures.upper))
    return means


def apply_layer(layer: FeedForward, boxes: list[Box]) -> list[Box]:
    """The layer on every box: the kernel's rule, or line by line where a sign changes inside a box."""
    try:
        return apply_feed_forward_boxes(layer, boxes)
    except Undecided:
        return [_apply_lines(layer, box) for box in boxes]


def _apply_lines(layer: FeedForward, box: Box) -> Box:
    """The layer on one box, every unit replaced by a line and an error.

    A unit takes values h +- s on the box, s = |u| r. For a slope 0 <= t <= 1, relu(z) - t z is convex, at least 0, and
    at most its larger end value: so relu(z) is t z + m up to m for 2 m >= max(t (s - h), (1 - t) (h + s)). With t = 0
    for h <= -s and t = 1 for h >= s this is exact, m = 0. Then the layer is x -> (eta I + W T U) x + W (T b + m) up to
    |W| m, T the slopes.
    """
    d, width = int(layer.W.nrows()), layer.width
    center, radius = (fmpq_mat(d, 1, list(coordinates_of(row))) for row in (box.center, box.radius))
    values, spreads = (layer.U * center + layer.b).entries(), (absolute(layer.U) * radius).entries()
    slopes, ends = fmpq_mat(width, width), []
    for k, (h, s) in enumerate(zip(values, spreads, strict=True)):
        crossing = -s < h < s
        t = fmpq(int((SLOPES * (h + s) / (2 * s)).floor()), SLOPES) if crossing else fmpq(int(h > 0))
        slopes[k, k] = t
        ends.append(max(t * (s - h), (1 - t) * (h + s)) / 2 if crossing else fmpq(0))
    middle = fmpq_mat(width, 1, list(coordinates_of(round_up(ends)))) if width else fmpq_mat(0, 1)
    moved = center * layer.eta + layer.W * (slopes * (layer.U * center + layer.b) + middle)
    matrix = layer.W * slopes * layer.U
    for c in range(d):
        matrix[c, c] += layer.eta
    spread = absolute(matrix) * radius + absolute(layer.W) * middle
    return Box(row_of(moved.entries()), round_up(spread.entries()))


def widen(row: Row, radius: fmpq) -> Box:
    """All tokens within the radius of a token in every coordinate."""
    return Box(row, row_of([radius] * (len(row) - 1)))


def is_certified(
    transformer: Transformer, pair: Pair, radius: fmpq, temperatures: Temperatures, distance: fmpq, limits: Limits
) -> bool:
    """Whether the radius is certified for the pair; distance 0 asks for the exact set of targets.

    Raises: UsageError for a radius or distance below 0 and for masks or several heads, MalformedInput for tokens of
    another dimension, LimitReached.
    """
    if radius < 0 or distance < 0:
        raise UsageError("a radius and a distance are not negative")
    require_plain(transformer)
    if any(len(row) != transformer.dimension + 1 for row in (*pair.input, *pair.output)):
        raise MalformedInput(f"the transformer has dimension {transformer.dimension}, the dataset another")
    means = means_of(temperatures)
    return bool(means) and all(_reaches(transformer, pair, radius, mean, distance, limits) for mean in means)


def _reaches(transformer: Transformer, pair: Pair, radius: fmpq, mean: Mean, distance: fmpq, limits: Limits) -> bool:
    boxes = [widen(row, radius) for row in pair.input]
    for block in transformer.blocks:
        boxes = apply_attention_boxes(block.attention, apply_layer(block.feed_forward, boxes), mean)
        if max(box.center[-1].bit_length() for box in boxes) > limits.max_height:
            raise LimitReached(f"a number of more than {limits.max_height} bits arose", hint="raise --max-height")
    if distance == 0:
        return all(box.is_point for box in boxes) and {box.center for box in boxes} == set(pair.output)
    return farthest_square(boxes, pair.output) <= distance * distance


def farthest_square(boxes: list[Box], targets: tuple[Row, ...]) -> fmpq:
    """An upper bound of the squared Hausdorff distance between points, one in each box, and the targets.

    With s_kl the largest squared distance of a point of box k from target l: every point has a target within
    min_l s_kl, every target a point within min_k s_kl.
    """
    table = [[_largest_square(box, target) for target in targets] for box in boxes]
    smallest = [min(row) for row in table] + [min(column) for column in zip(*table, strict=True)]
    largest: fmpq = max(smallest)
    return largest


def _largest_square(box: Box, target: Row) -> fmpq:
    columns = zip(coordinates_of(box.center), coordinates_of(box.radius), coordinates_of(target), strict=True)
    return sum(((abs(c - t) + r) ** 2 for c, r, t in columns), fmpq(0))
