"""The answers word for word: name, status, detail and mismatch of every obligation, and what a verdict carries."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from flint import fmpq

from proofs.kernel.boxes import Box, Undecided, apply_feed_forward_boxes, point
from proofs.kernel.check import Mismatch, Obligation, _locate, check, check_softmax, compare, compare_boxes
from proofs.kernel.counts import Counts, count_block, count_transformer
from proofs.kernel.decode import Literal, decode_dataset, decode_json, decode_transformer, read_count
from proofs.kernel.errors import InternalFault, LimitReached, MalformedInput, Status, UsageError
from proofs.kernel.hardmax import apply_block
from proofs.kernel.rational import Limits, integer_text, parse_rational, short_decimal
from proofs.kernel.softmax import ScoreTable, apply_block_boxes, mean_up_to
from proofs.kernel.statement import Readout, make_claim, parse_temperatures
from tests.strategies import make_dataset, to_row, transformer_bytes

F = Fraction
TWO = make_dataset(([(0, 0)], [(1, 1)]), ([(3, 0)], [(4, 1), (5, 1)]))
POINT, OTHER = point(to_row((1, 1))), point(to_row((4, 1)))


def box(center, radius):
    return Box(to_row(center), to_row(radius))


def blocks(*records, dimension=2):
    return decode_transformer(transformer_bytes(dimension, list(records)))


# ------------------------------------------------------------------------------------------------------- comparing


@pytest.mark.parametrize(
    ("sequences", "status", "detail"),
    [
        ([[POINT]], Status.REFUTED, "not every pair was answered"),
        ([[POINT], [OTHER, point(to_row((5, 1)))]], Status.VERIFIED, "2 of 2 pairs exact"),
        # a pair of points that is right says nothing about the next pair
        ([[POINT], [OTHER, OTHER]], Status.REFUTED, "pair 1 is wrong at every temperature"),
        ([[POINT], [box((9, 9), (1, 1))]], Status.REFUTED, "pair 1, token 0 stays away from every target"),
        ([[POINT], [OTHER, box((9, 9), (1, 1))]], Status.REFUTED, "pair 1, token 1 stays away from every target"),
        ([[POINT], [box((4, 1), ("1/2", 0))]], Status.REFUTED, "pair 1: 1 targets are never reached"),
        ([[POINT], [box((4, 1), (1, 0))] * 2], Status.UNDECIDED, "pair 1: a final token is known only up to a radius"),
        ([[POINT], [box((4, 1), (1, 0))]], Status.REFUTED, "pair 1: fewer tokens than targets"),
        # an undecided pair does not hide that the next is refuted
        ([[box((1, 1), (1, 0))], [OTHER, OTHER]], Status.REFUTED, "pair 1 is wrong at every temperature"),
        (
            [[box((1, 1), (1, 0))], [box((4, 1), (2, 0))] * 2],
            Status.UNDECIDED,
            "pair 0: a final token is known only up to a radius",
        ),
    ],
)
def test_what_boxes_prove(sequences, status, detail):
    answer = compare_boxes(TWO, sequences, Readout.ALL)
    assert (answer.name, answer.status, answer.detail) == ("softmax", status, detail)
    if "every temperature" in detail:
        assert answer.mismatch == Mismatch(1, (to_row((5, 1)),), (), fmpq(1))
    else:
        assert answer.mismatch is None


def test_what_points_prove():
    right = [[to_row((1, 1))], [to_row((5, 1)), to_row((4, 1))]]
    assert compare(TWO, right, Readout.ALL) == Obligation("hardmax", Status.VERIFIED, "2 of 2 pairs exact")
    assert compare(TWO, right[:1], Readout.ALL) == Obligation("hardmax", Status.REFUTED, "not every pair was answered")
    wrong = [[to_row((1, 2))], right[1]]
    mismatch = Mismatch(0, (to_row((1, 1)),), (to_row((1, 2)),), fmpq(1))
    detail = "1 of 2 pairs are wrong, the first is pair 0"
    assert compare(TWO, wrong, Readout.ALL) == Obligation("hardmax", Status.REFUTED, detail, mismatch)


# --------------------------------------------------------------------------------------------------------- checking

SHIFT = {"ff": {"eta": 1, "W": [[1], [1]], "U": [[0, 0]], "b": [1]}}
ONE = make_dataset(([(0, 0)], [(1, 1)]))


def test_a_verdict_carries_all_of_its_parts():
    told, claim = [], make_claim(ONE, temperatures="[0,1]")
    transformer = blocks(SHIFT)
    verdict = check(ONE, transformer, claim, progress=lambda done, total: told.append((done, total)))
    assert verdict.obligations == (
        Obligation("width", Status.VERIFIED, "1 <= 4"),
        Obligation("blocks", Status.VERIFIED, "1 <= 5"),
        Obligation("parameters", Status.VERIFIED, "9 <= 140"),
        Obligation("hardmax", Status.VERIFIED, "1 of 1 pairs exact"),
        Obligation("softmax", Status.VERIFIED, "1 of 1 pairs exact"),
    )
    assert verdict.parts == ("kernel", "kernel/hardmax", "kernel/softmax")
    assert (verdict.dataset_digest, verdict.transformer_digest) == (ONE.digest, transformer.digest)
    assert verdict.counts.blocks == 1
    assert told == [(1, 1), (1, 1)]
    equal = check(ONE, transformer, make_claim(ONE, max_width=1, max_blocks=1, max_parameters=9))
    assert [item.detail for item in equal.obligations[:3]] == ["1 <= 1", "1 <= 1", "9 <= 9"]
    below = check(ONE, transformer, make_claim(ONE, max_width=0, max_blocks=0, max_parameters=8))
    assert below.obligations[:3] == (
        Obligation("width", Status.REFUTED, "1 > 0"),
        Obligation("blocks", Status.REFUTED, "1 > 0"),
        Obligation("parameters", Status.REFUTED, "9 > 8"),
    )


def test_another_dimension_is_refuted_in_these_words():
    verdict = check(ONE, blocks(dimension=3), make_claim(ONE))
    assert verdict.obligations[3:] == (Obligation("dimension", Status.REFUTED, "dimension 3, the dataset has 2"),)


def test_balls_stop_at_the_first_precision_that_decides_and_say_which():
    told = []
    answer, parts = check_softmax(
        ONE, blocks(SHIFT), parse_temperatures("1"), Readout.ALL, Limits(), lambda *done: told.append(done)
    )
    assert answer == Obligation("softmax", Status.VERIFIED, "1 of 1 pairs exact (balls of 64 bits)")
    assert parts == ("kernel/softmax", "balls")
    assert told == [(1, 1)]


def test_the_upper_temperature_of_the_claim_is_the_one_that_is_used():
    # two scores a gap of 1 apart: bounded up to temperature 1/2, not up to oo
    lean = {"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}
    step = {"ff": {"eta": 0, "W": [[1], [0]], "U": [[1, 0]], "b": ["-1/2"]}}
    dataset = make_dataset(([(1, 0), (0, 0)], [(1, 1)]))
    kinds = {}
    for temperatures in ("(0,1/20]", "(0,oo)"):
        claim = make_claim(dataset, temperatures=temperatures)
        kinds[temperatures] = check(dataset, blocks(lean, step), claim).obligations[-1].detail
    assert "stays away" in kinds["(0,1/20]"]
    assert kinds["(0,oo)"].startswith("block 2, pair 0, token 0: the sign of unit 0: value ")


def test_an_undecided_sign_is_placed_by_block_pair_and_token():
    lean = {"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}
    sign = {"ff": {"eta": 1, "W": [[1], [0]], "U": [[1, 0]], "b": ["-1/2"]}}
    dataset = make_dataset(([(5, 5)], [(1, 1)]), ([(5, 6)], [(1, 2)]), ([(0, 0), (1, 0)], [(1, 1)]))
    claim = make_claim(dataset, temperatures="(0,oo)")
    answer = check(dataset, blocks({"ff": {"eta": 1}}, lean, sign), claim).obligations[-1]
    detail = "block 3, pair 2, token 1: the sign of unit 0: value 0, radius 5.000e-1"
    assert answer == Obligation("softmax", Status.UNDECIDED, detail)


# ---------------------------------------------------------------------------------------------------- many sequences


def test_every_sequence_of_boxes_attends_to_its_own_tokens():
    mean = {"sa": {"rho": 0, "V": {"beta": 1}}}
    sequences = [[point(to_row((k, 0))), point(to_row((k + 2, 0)))] for k in range(4)]
    result = apply_block_boxes(blocks(mean).blocks[0], sequences, mean_up_to(None), Limits())
    assert result == [[point(to_row((k + 1, 0)))] * 2 for k in range(4)]


def test_a_mean_over_columns_of_several_boxes_is_the_smallest_box():
    table = ScoreTable(blocks({"sa": {"rho": 0}}).blocks[0].attention.A, [box((0, 0), (1, 0)), box((4, 2), (0, 1))])
    assert table.hull([0, 1]) == ([fmpq(3, 2), fmpq(3, 2)], [fmpq(5, 2), fmpq(3, 2)])
    assert table.extent() == [5, 3]


def test_score_differences_errors_and_the_mean_that_they_bound():
    # the query 2 +- 1/8 has scores 4 and 2 up to 2 (1/8 + 1/4) + 1/8 (|2 - 1| + 1/8 + 1/4); its own does not differ
    inner = blocks({"sa": {"rho": 0, "A": {"alpha": 1}}}, dimension=1).blocks[0].attention.A
    table = ScoreTable(inner, [box((2,), (F(1, 8),)), box((1,), (F(1, 4),))])
    assert table.differences(0) == (0, [0, 2], [0, fmpq(59, 64)])
    # a gap of 69/64 gives weight <= 2^-1 at temperature 1, 2^-2 at 1/2, none of it known up to any; all boxes: 11/8
    expected = {fmpq(1): fmpq(1, 2), fmpq(1, 2): fmpq(1, 4)}
    for tau, weight in expected.items():
        assert mean_up_to(tau)(table, 0) == ([2], [fmpq(1, 8) + weight * fmpq(11, 8)])
    assert mean_up_to(None)(table, 0) == table.hull([0, 1])


def test_the_bit_limit_is_reached_above_it_and_not_at_it():
    double = blocks({"ff": {"eta": "1/8"}}).blocks[0]
    row = to_row((1, 0))
    assert apply_block(double, [[row]], Limits(max_height=4)) == [[to_row(("1/8", 0))]]
    held = apply_block_boxes(double, [[point(row)]], mean_up_to(None), Limits(max_height=4))
    assert held == [[point(to_row(("1/8", 0)))]]
    for height in (1, 3):
        with pytest.raises(LimitReached, match=f"more than {height} bits"):
            apply_block(double, [[row]], Limits(max_height=height))
        with pytest.raises(LimitReached, match=f"more than {height} bits"):
            apply_block_boxes(double, [[point(row)]], mean_up_to(None), Limits(max_height=height))


def test_an_idle_unit_on_the_edge_of_a_box_is_not_active():
    # h = 0 and r = 0: the unit is silent, so the radius is that of the identity
    layer = blocks({"ff": {"eta": 1, "W": [[1], [0]], "U": [[0, 1]], "b": [0]}}).blocks[0].feed_forward
    start = box((3, 0), (1, 0))
    assert apply_feed_forward_boxes(layer, [start]) == [start]


def test_the_reason_of_an_unknown_sign():
    layer = blocks({"ff": {"eta": 1, "W": [[1], [0]], "U": [[1, 0]], "b": [0]}}).blocks[0].feed_forward
    with pytest.raises(Undecided) as caught:
        apply_feed_forward_boxes(layer, [POINT, box((1, 0), (2, 0))])
    assert caught.value.token == 1
    assert str(caught.value) == caught.value.detail == "the sign of unit 0: value 1.000e0, radius 2.000e0"


# ----------------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (F(0), "0"),
        (F(1), "1.000e0"),
        (F(-1, 2), "-5.000e-1"),
        (F(1, 3), "3.333e-1"),
        (F(-2, 3), "-6.666e-1"),
        (F(12345), "1.234e4"),
        (F(999999), "9.999e5"),
        (F(10**40), "1.000e40"),
        (F(1, 1000), "1.000e-3"),
        (F(-1234, 10**7), "-1.234e-4"),
        (F(98765, 10**30), "9.876e-26"),
        (F(7**50, 3**90), "2.060e-1"),
        (F(1, 2**1000), "9.332e-302"),
        (F(2**5000, 3), "4.708e1504"),
    ],
)
def test_short_decimals(value, text):
    assert short_decimal(fmpq(value.numerator, value.denominator)) == text


def test_integers_of_any_length_have_a_text():
    for bits in (9999, 10_000, 10_001, 60_000):
        assert parse_rational(integer_text(1 << bits), "$", Limits(max_digits=10**6)) == fmpq(1 << bits)


def test_one_block_counts_as_one():
    assert count_block(blocks(SHIFT).blocks[0], 2).blocks == 1


@pytest.mark.parametrize("name", ["width", "blocks", "parameters"])
def test_a_negative_budget_is_named(name):
    with pytest.raises(UsageError) as caught:
        make_claim(ONE, **{f"max_{name}": -1})
    assert str(caught.value).startswith(f"--max-{name}: a negative budget: -1")


@pytest.mark.parametrize("text", ["X0X", "1 2", "", "0.0", "-1", "(0,0]", "٣", "[0,٣]"])
def test_what_is_no_set_of_temperatures_is_told_how_to_write_one(text):
    with pytest.raises(UsageError) as caught:
        parse_temperatures(text)
    assert str(caught.value) == (
        f"--temperatures: temperatures {text!r} (write 0, (0,T], [0,T], (0,oo), [0,oo) or T, with T > 0)"
    )


def test_errors_are_their_message():
    for kind in (MalformedInput, LimitReached, UsageError, InternalFault):
        assert Exception.__str__(kind("what")) == "what"


@pytest.mark.parametrize("name", ["mask", "readout"])
def test_an_unknown_word_of_a_claim_is_named(name):
    with pytest.raises(UsageError) as caught:
        make_claim(ONE, **{name: "some"})
    assert str(caught.value).startswith(f"--{name}: {name} 'some' (")


def test_every_token_is_found_in_its_pair():
    dataset = make_dataset(*((([(k, i) for i in range(k)]), [(0, 0)]) for k in (2, 1, 3)))
    assert [_locate(dataset, token) for token in range(6)] == [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2)]
    with pytest.raises(InternalFault, match="no token"):
        _locate(dataset, 6)


def test_what_a_header_says_is_cut_and_quoted():
    long = decode_transformer(transformer_bytes(2, [SHIFT], dataset="x" * 150, temperatures=["a"]))
    first, second = check(ONE, long, make_claim(ONE)).notes
    assert first == f"the header names another dataset ({'x' * 100!r}); the verdict is about the one given"
    assert second == "the header claims temperature no text; checked was 0"


LINES = '{"format":"interp-dataset-lines/1","dimension":2,"pairs":1%s}\n{"input":[[1,0]],"output":[["1/1234",2]]}\n'


def test_the_header_of_lines_may_have_a_comment_and_nothing_else():
    plain = decode_dataset((LINES % "").encode())
    assert decode_dataset((LINES % ',"comment":"c"').encode()) == plain
    for key in ("Comment", "COMMENT", "XXcommentXX"):
        with pytest.raises(MalformedInput, match="line 1"):
            decode_dataset((LINES % f',"{key}":"c"').encode())


def test_the_limit_on_digits_holds_for_tokens_of_datasets():
    with pytest.raises(LimitReached, match=r"output\[0\]"):
        decode_dataset((LINES % "").encode(), Limits(max_digits=3))


def test_a_token_that_may_lie_above_the_best_is_a_contender_at_every_temperature():
    # scores 1 and 9/10 for the query (1, 0), but the second token may stand at (7/5, 0) and win
    attention = blocks({"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}).blocks[0].attention
    table = ScoreTable(attention.A, [point(to_row((1, 0))), box(("9/10", 0), ("1/2", 0))])
    for tau in (fmpq(1, 1000), fmpq(1), None):
        center, radius = mean_up_to(tau)(table, 0)
        assert center[0] - radius[0] <= fmpq(2, 5)
        assert center[0] + radius[0] >= fmpq(7, 5)


def test_no_blocks_count_nothing():
    assert count_transformer(blocks()) == Counts(0, 0, 0, 0, 0, 0, 0, 0, 0)


# ---------------------------------------------------------------------------------------------- faults word for word

NOT_A_NUMBER = "is not a number (write an integer, a decimal or a fraction p/q)"
END = json.loads(transformer_bytes(2, [{}]).splitlines()[-1])["end"]


def witness_with(end):
    """A transformer of one block with that last line."""
    return b"".join([*transformer_bytes(2, [{}]).splitlines(keepends=True)[:-1], end.encode(), b"\n"])


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: decode_json(b"1 2"), "not JSON: Extra data at line 1 column 3"),
        (lambda: parse_rational("x"), f"'x' {NOT_A_NUMBER}"),
        (lambda: parse_rational("x" * 40), f"'{'x' * 40}' {NOT_A_NUMBER}"),
        (lambda: parse_rational("x" * 41), f"'{'x' * 37}...' {NOT_A_NUMBER}"),
        (lambda: parse_rational("1e" + "0" * 20 + "1"), "an exponent above 10000 (raise --max-exponent)"),
        (
            lambda: decode_transformer(transformer_bytes(4001, [{}])),
            "line 1: $.dimension: dimension 4001, more than 4000 (raise --max-dimension)",
        ),
        (
            lambda: decode_transformer(transformer_bytes(2, [{}] * 3), Limits(max_depth=2)),
            "line 1: $.blocks: blocks 3, more than 2 (raise --max-depth)",
        ),
        (
            lambda: decode_transformer(transformer_bytes(2, [{"ff": {"eta": "x"}}])),
            f"line 2: $.ff.eta: 'x' {NOT_A_NUMBER}",
        ),
        (lambda: decode_transformer(witness_with("1 2")), "last line: not JSON: Extra data at line 1 column 3"),
        (
            lambda: decode_transformer(witness_with(json.dumps({"end": END | {"x": 1}}))),
            "last line: $.end: unknown key 'x'",
        ),
        (
            lambda: decode_transformer(witness_with(json.dumps({"end": END | {"blocks": "1"}}))),
            "the end record: expected a count",
        ),
        (
            lambda: decode_transformer(witness_with(json.dumps({"end": END | {"sha256": "0"}}))),
            "last line: $.end.sha256: the digest in the end record is not that of the lines before it "
            "(the file was changed)",
        ),
    ],
)
def test_faults(ask, words):
    with pytest.raises((LimitReached, MalformedInput)) as fault:
        ask()
    assert str(fault.value) == words


def test_counts_have_at_most_15_digits_and_exponents_20():
    assert read_count(Literal("9" * 15), "$") == 10**15 - 1
    with pytest.raises(MalformedInput, match="expected a count"):
        read_count(Literal("9" * 16), "$")
    assert parse_rational("1e" + "0" * 19 + "2") == 100
