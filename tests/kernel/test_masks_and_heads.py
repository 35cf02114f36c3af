"""Causal masks, several heads, read-out at the last tokens: by hand, by their laws, and what would be accepted wrongly."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from proofs.engine.passes import ENGINE
from proofs.kernel.boxes import Box, point
from proofs.kernel.check import check, compare, compare_boxes
from proofs.kernel.counts import count_transformer
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import MalformedInput, Status, UsageError
from proofs.kernel.hardmax import apply_attention
from proofs.kernel.softmax import apply_attention_boxes, mean_up_to
from proofs.kernel.statement import Mask, Readout, make_claim
from proofs.shards.check import Sharding, check_in_shards
from tests.strategies import attentions, fractions_of, make_dataset, to_row, transformer_bytes

F = Fraction
MEAN = {"rho": 0, "V": {"beta": 1}}
LARGEST = {"rho": 0, "A": {"p": [1, 0], "q": [0, 1]}, "V": {"beta": 1}}  # largest x_1, for queries with x_2 > 0


def attention(record, dimension=2):
    return decode_transformer(transformer_bytes(dimension, [{"sa": record}])).blocks[0].attention


def image(record, *tokens):
    return fractions_of([apply_attention(attention(record, len(tokens[0])), [to_row(token) for token in tokens])])[0]


def blocks(*records):
    return decode_transformer(transformer_bytes(2, [{"sa": record} for record in records]))


def test_a_causal_mean_is_that_of_the_tokens_so_far():
    tokens = [(3, 1), (0, 1), (0, 4)]
    assert image(MEAN | {"mask": "causal"}, *tokens) == [(3, 1), (F(3, 2), 1), (1, 2)]
    assert image(MEAN, *tokens) == [(1, 2)] * 3


def test_ties_and_largest_scores_are_those_among_the_tokens_so_far():
    tokens = [(1, 1), (0, 1), (1, 3), (7, 2)]
    assert image(LARGEST | {"mask": "causal"}, *tokens) == [(1, 1), (1, 1), (1, 2), (7, 2)]


def test_summands_of_heads_add_up():
    first, second = {"V": {"beta": 1}}, {"A": {"p": [1, 0], "q": [0, 1]}, "V": {"beta": -2}}
    # mean (1, 2), largest (3, 1)
    assert image({"rho": 1, "heads": [first, second]}, (3, 1), (0, 1), (0, 4)) == [(-2, 1), (-5, 1), (-5, 4)]


@st.composite
def layers(draw):
    d = draw(st.integers(1, 3))
    tokens = st.lists(st.lists(st.integers(-2, 2), min_size=d, max_size=d), min_size=1, max_size=5)
    return draw(attentions(d, plain=False)), draw(tokens), draw(st.randoms(use_true_random=False))


@given(layers(), st.integers(0, 4))
def test_under_a_mask_no_token_sees_a_later_one(case, count):
    record, tokens, _ = case
    record |= {"mask": "causal"}
    count = min(count + 1, len(tokens))
    assert image(record, *tokens)[:count] == image(record, *tokens[:count])
    one_by_one = [image({k: v for k, v in record.items() if k != "mask"}, *tokens[: i + 1])[-1] for i in range(count)]
    assert image(record, *tokens)[:count] == one_by_one
    boxes = apply_attention_boxes(
        attention(record, len(tokens[0])), list(map(point, map(to_row, tokens))), mean_up_to(fmpq(1))
    )
    alone = list(map(point, map(to_row, tokens[:count])))
    assert boxes[:count] == apply_attention_boxes(attention(record, len(tokens[0])), alone, mean_up_to(fmpq(1)))


@given(layers())
def test_the_order_of_heads_is_nothing_and_their_number_is_something(case):
    record, tokens, rng = case
    heads = record.get("heads", [{k: v for k, v in record.items() if k in "AV"}] * 2)
    rest = {k: v for k, v in record.items() if k in ("rho", "mask")}
    shuffled = rng.sample(heads, len(heads))
    found = image(rest | {"heads": heads}, *tokens)
    assert found == image(rest | {"heads": shuffled}, *tokens)
    # one at a time, without rho
    single = [image(rest | {"rho": 0} | head, *tokens) for head in heads]
    kept = image(rest, *tokens)
    for i, token in enumerate(found):
        assert token == tuple(kept[i][c] + sum(part[i][c] for part in single) for c in range(len(token)))


# ------------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("record", "place"),
    [
        ({"rho": 0, "mask": "none"}, "$.sa.mask"),
        ({"rho": 0, "mask": "Causal"}, "$.sa.mask"),
        ({"rho": 0, "mask": None}, "$.sa.mask"),
        ({"rho": 0, "mask": True}, "$.sa.mask"),
        ({"rho": 0, "mask": ["causal"]}, "$.sa.mask"),
        ({"rho": 0, "causal": True}, "$.sa"),
        ({"rho": 0, "heads": []}, "$.sa.heads"),
        ({"rho": 0, "heads": [{"V": {"beta": 1}}]}, "$.sa.heads"),
        ({"rho": 0, "heads": {"A": {}, "V": {}}}, "$.sa.heads"),
        ({"rho": 0, "heads": 2}, "$.sa.heads"),
        ({"rho": 0, "heads": [{}, None]}, "$.sa.heads[1]"),
        ({"rho": 0, "heads": [{}, {"rho": 1}]}, "$.sa.heads[1]"),
        ({"rho": 0, "heads": [{}, {"mask": "causal"}]}, "$.sa.heads[1]"),
        ({"rho": 0, "heads": [{}, {"heads": [{}, {}]}]}, "$.sa.heads[1]"),
        ({"rho": 0, "V": {"beta": 1}, "heads": [{}, {}]}, "$.sa"),
        ({"rho": 0, "A": {"alpha": 1}, "heads": [{}, {}]}, "$.sa"),
        ({"rho": 0, "heads": [{}, {"V": {"alpha": 1}}]}, "$.sa.heads[1].V"),
        ({"rho": 0, "heads": [{}, {"A": {"p": [1, 2]}}]}, "$.sa.heads[1].A"),
        ({"rho": 0, "heads": [{}, {"V": {"r": [1, 2, 3], "t": [1, 2]}}]}, "$.sa.heads[1].V.r"),
        ({"heads": [{}, {}]}, "$.sa"),
    ],
    ids=json.dumps,
)
def test_whatever_is_not_in_the_format_is_refused(record, place):
    with pytest.raises(MalformedInput) as refused:
        blocks(record)
    assert refused.value.path == f"line 2: {place}"


def test_counts_are_sums_over_heads():
    two = {"rho": 1, "heads": [{"A": {"p": [1, 0], "q": [0, 9]}, "V": {"beta": 3}}, {"V": {"dense": [[1, 2], [3, 4]]}}]}
    counts = count_transformer(blocks(two, MEAN | {"mask": "causal"}, {"rho": 0, "mask": "causal"}))
    # eta, rho a block; 1 + 2 d and 1; 1 and d^2
    assert counts.parameters == (2 + 5 + 1 + 1 + 4) + (2 + 2) + (2 + 2)
    assert counts.dense_parameters == (2 + 16) + (2 + 8) + (2 + 8)
    assert counts.nonzero_parameters == (2 + 2 + 1 + 4) + (1 + 1) + 1
    assert (counts.heads, counts.masked, counts.unmasked, counts.max_bits) == (2, 2, 1, 4)


# ------------------------------------------------------------------------------------------------------------ claims

ORDERED = make_dataset(([(3, 1), (0, 1)], [(F(3, 2), 1)]), ([(0, 1), (3, 1)], [(F(3, 2), 1)]))
CAUSAL = MEAN | {"mask": "causal"}


def verdict(dataset, transformer, temperatures="[0,oo)", **options):
    claim = make_claim(dataset, temperatures=temperatures, **options)
    found = [check(dataset, transformer, claim, passes=passes) for passes in (None, ENGINE)]
    assert found[0].status is found[1].status
    assert found[0].obligations == found[1].obligations
    return found[0]


@pytest.mark.parametrize("temperatures", ["0", "(0,oo)", "(0,1]", "[0,oo)", "2"])
def test_the_mask_and_the_readout_are_the_users(temperatures):
    transformer = blocks(CAUSAL)
    right = verdict(ORDERED, transformer, temperatures, mask="causal", readout="last")
    assert right.status is Status.VERIFIED
    assert str(right.claim).startswith("the last m_j tokens of T(X_j) = Y_j for every pair at temperature")
    assert " with a causal mask, width" in str(right.claim)
    unmasked = verdict(ORDERED, transformer, temperatures, readout="last")
    assert [item.name for item in unmasked.failed] == ["mask"]
    assert unmasked.failed[0].detail == "1 attention layers with a causal mask"
    everywhere = verdict(ORDERED, transformer, temperatures, mask="causal")
    assert everywhere.status is Status.REFUTED
    assert [item.name for item in everywhere.failed] in (["hardmax"], ["softmax"], ["hardmax", "softmax"])
    other = verdict(ORDERED, blocks(MEAN), temperatures, mask="causal")
    assert [(item.name, item.detail) for item in other.failed] == [("mask", "1 attention layers without a mask")]


def test_a_layer_that_attends_to_nothing_needs_no_mask():
    identity = make_dataset(([(3, 1), (0, 1)], [(0, 1)]))
    keep = {"rho": 1, "A": {"alpha": 1}}
    assert verdict(identity, blocks(keep), mask="causal", readout="last").status is Status.VERIFIED
    assert verdict(identity, blocks(keep | {"mask": "causal"}), readout="last").status is Status.REFUTED
    hidden = {"rho": 1, "heads": [{}, {"V": {"beta": 1}}]}  # V = 0 in the first head alone
    assert verdict(identity, blocks(hidden), mask="causal", readout="last").failed[0].name == "mask"


@pytest.mark.parametrize("options", [{"mask": "Causal"}, {"mask": ""}, {"readout": "first"}, {"readout": "LAST"}])
def test_other_words_make_no_claim(options):
    with pytest.raises(UsageError):
        make_claim(ORDERED, **options)


A, B, C = to_row((0, 1)), to_row((3, 1)), to_row((5, 5))


@pytest.mark.parametrize(
    ("final", "targets", "holds"),
    [
        ([C, A, B], [(3, 1), (0, 1)], True),
        ([C, A, B], [(0, 1), (3, 1), (3, 1)], True),  # m_j counts different targets
        ([A, C, B], [(0, 1), (3, 1)], False),
        ([A, B, B], [(0, 1), (3, 1)], False),
        ([A, B, A], [(0, 1), (3, 1)], True),
        ([C, C, B], [(3, 1)], True),
        ([B, C, C], [(3, 1)], False),
        ([A, B], [(0, 1), (3, 1), (5, 5)], False),  # fewer tokens than targets
        ([B], [(0, 1), (3, 1)], False),
    ],
)
def test_the_last_tokens_must_be_the_targets(final, targets, holds):
    dataset = make_dataset(([(0, 0)] * len(final), targets))
    for answer in (
        compare(dataset, [final], Readout.LAST),
        compare_boxes(dataset, [list(map(point, final))], Readout.LAST),
    ):
        assert answer.status is (Status.VERIFIED if holds else Status.REFUTED)


def test_boxes_that_are_not_read_out_prove_and_refute_nothing():
    dataset = make_dataset(([(0, 0), (1, 1)], [(3, 1)]))
    wide = Box(B, to_row((1, 0)))
    assert compare_boxes(dataset, [[wide, point(B)]], Readout.LAST).status is Status.VERIFIED
    assert compare_boxes(dataset, [[point(B), wide]], Readout.LAST).status is Status.UNDECIDED
    far = compare_boxes(dataset, [[point(B), Box(C, to_row((1, 1)))]], Readout.LAST)
    assert (far.status, far.detail) == (Status.REFUTED, "pair 0, token 1 stays away from every target")


def test_a_wide_box_does_not_hide_that_there_are_too_few_tokens():
    dataset = make_dataset(([(0, 0)], [(3, 1), (4, 1)]))
    assert compare_boxes(dataset, [[Box(B, to_row((2, 0)))]], Readout.LAST).status is Status.REFUTED


@pytest.mark.parametrize("temperatures", ["[0,oo)", "2"])
def test_shards_answer_the_same_and_are_bound_to_the_claim(temperatures, tmp_path):
    data = transformer_bytes(2, [{"sa": CAUSAL}])
    transformer, journal = decode_transformer(data), tmp_path / "journal"
    claim = make_claim(ORDERED, temperatures=temperatures, mask="causal", readout="last")
    assert (claim.mask, claim.readout) == (Mask.CAUSAL, Readout.LAST)
    sharded = check_in_shards(ORDERED, transformer, data, claim, Sharding(resume=journal), passes=ENGINE)
    whole = check(ORDERED, transformer, claim, passes=ENGINE)
    assert (sharded.status, sharded.obligations) == (whole.status, whole.obligations)
    assert sharded.status is Status.VERIFIED
    other = make_claim(ORDERED, temperatures=temperatures, mask="causal")
    with pytest.raises(MalformedInput):
        check_in_shards(ORDERED, transformer, data, other, Sharding(resume=journal), passes=ENGINE)
    assert check_in_shards(ORDERED, transformer, data, other, Sharding(), passes=ENGINE).status is Status.REFUTED
