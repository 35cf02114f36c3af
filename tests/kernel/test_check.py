"""Verdicts: what would make the checker accept something false, tried one by one."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from proofs.engine.passes import ENGINE
from proofs.kernel.check import check, compare, squared_hausdorff
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import LimitReached, Status
from proofs.kernel.rational import Limits
from proofs.kernel.statement import Dataset, Readout, make_claim
from tests.reference import evaluator
from tests.strategies import (
    block_records,
    datasets,
    make_dataset,
    pairs_of,
    to_fractions,
    to_row,
    transformer_bytes,
    transformers,
)

F = Fraction
COLLAPSE = {"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}
SHIFT = {"ff": {"eta": 1, "W": [[1], [1]], "U": [[0, 0]], "b": [1]}}
WITNESS = transformer_bytes(2, [COLLAPSE, SHIFT])
# collapse picks (2,0) and (-3,0), shift adds (1,1)
PAIRS = (([(1, 0), (2, 0)], [(3, 1)]), ([(-1, 0), (-3, 0)], [(-2, 1)]))
DATASET = make_dataset(*PAIRS)


def judge(dataset, data=WITNESS, limits=None, **options):
    arguments = [limits] if limits else []
    return check(dataset, decode_transformer(data), make_claim(dataset, **options), *arguments)


def statuses(verdict):
    return {item.name: item.status for item in verdict.obligations}


# --------------------------------------------------------------------------------------------------- what verifies


def test_what_is_true_is_verified_and_every_obligation_says_so():
    verdict = judge(DATASET)
    assert verdict.status is Status.VERIFIED
    assert statuses(verdict) == dict.fromkeys(["width", "blocks", "parameters", "hardmax"], Status.VERIFIED)
    assert verdict.failed == ()
    assert verdict.parts == ("kernel", "kernel/hardmax")
    assert verdict.dataset_digest == DATASET.digest
    assert verdict.claim == make_claim(DATASET)


def test_order_and_repetition_of_tokens_do_not_matter_to_the_target():
    # (2,0) twice, targets repeated and in another order: the sets are what counts
    assert judge(make_dataset(([(2, 0), (1, 0), (2, 0)], [(3, 1), (3, 1)]))).status is Status.VERIFIED
    identity = transformer_bytes(2, [])
    assert judge(make_dataset(([(1, 0), (2, 0)], [(2, 0), (1, 0)])), identity).status is Status.VERIFIED


def test_a_second_check_of_the_same_objects_answers_the_same():
    transformer, claim = decode_transformer(WITNESS), make_claim(DATASET)
    digest = DATASET.digest
    assert check(DATASET, transformer, claim) == check(DATASET, transformer, claim)
    assert Dataset(2, DATASET.pairs).digest == digest


# ------------------------------------------------------------------------------------------ what must be refuted


HAIR = F(1, 10**4000)


@pytest.mark.parametrize(
    ("pairs", "pair", "missing", "surplus"),
    [
        # the first, the last, one in the middle
        ((([(1, 0), (2, 0)], [(3, 2)]), PAIRS[1]), 0, [(3, 2)], [(3, 1)]),
        ((PAIRS[0], ([(-1, 0), (-3, 0)], [(-2, 0)])), 1, [(-2, 0)], [(-2, 1)]),
        ((*PAIRS, ([(5, 5)], [(6, 7)]), ([(4, 4)], [(5, 5)])), 2, [(6, 7)], [(6, 6)]),
        # a hair beside the target
        ((PAIRS[0], ([(-1, 0), (-3, 0)], [(-2, 1 + HAIR)])), 1, [(-2, 1 + HAIR)], [(-2, 1)]),
        # the image is only a part of the target, or the target only a part of the image
        ((PAIRS[0], ([(-1, 0), (-3, 0)], [(-2, 1), (0, 1)])), 1, [(0, 1)], []),
        ((PAIRS[0], ([(-1, 0), (3, 0)], [(0, 1)])), 1, [], [(4, 1)]),
        # the targets of two pairs exchanged
        ((([(1, 0), (2, 0)], [(-2, 1)]), ([(-1, 0), (-3, 0)], [(3, 1)])), 0, [(-2, 1)], [(3, 1)]),
    ],
)
def test_a_wrong_target_is_refuted_and_the_first_failing_pair_is_named(pairs, pair, missing, surplus):
    verdict = judge(make_dataset(*pairs))
    assert verdict.status is Status.REFUTED
    (failed,) = verdict.failed
    assert failed.name == "hardmax"
    assert failed.mismatch.pair == pair
    assert f"the first is pair {pair}" in failed.detail
    assert sorted(map(to_fractions, failed.mismatch.missing)) == sorted(missing)
    assert sorted(map(to_fractions, failed.mismatch.surplus)) == sorted(surplus)
    assert failed.mismatch.squared_distance > 0


def test_the_last_of_many_blocks_counts():
    step = transformer_bytes(2, [SHIFT] * 60)
    wanted, short = make_dataset(([(0, 0)], [(60, 60)])), make_dataset(([(0, 0)], [(59, 59)]))
    budget = {"max_blocks": 60}
    assert judge(wanted, step, **budget).status is Status.VERIFIED
    assert judge(short, step, **budget).status is Status.REFUTED
    assert judge(wanted, transformer_bytes(2, [SHIFT] * 59), **budget).status is Status.REFUTED


def test_the_last_of_many_pairs_counts():
    pairs = [([(k, k * k)], [(k + 1, k * k + 1)]) for k in range(60)]
    assert judge(make_dataset(*pairs), transformer_bytes(2, [SHIFT])).status is Status.VERIFIED
    verdict = judge(make_dataset(*pairs[:-1], (pairs[-1][0], [(0, 0)])), transformer_bytes(2, [SHIFT]))
    assert verdict.status is Status.REFUTED
    assert verdict.failed[0].mismatch.pair == 59


def test_the_number_of_wrong_pairs_is_told():
    verdict = judge(make_dataset(*PAIRS, ([(5, 5)], [(6, 7)]), ([(4, 4)], [(5, 6)])))
    assert "2 of 4 pairs are wrong" in verdict.failed[0].detail


def test_one_input_with_two_targets_can_never_be_verified():
    assert judge(make_dataset(PAIRS[0], (PAIRS[0][0], [(3, 2)]))).status is Status.REFUTED


def test_ties_that_only_the_first_or_the_last_index_resolves_are_refuted():
    tied = [(1, 1), (3, 0), (0, 3)]
    for picked in ((3, 0), (0, 3)):
        outputs = [picked, (3, 0), (0, 3)]
        dataset = make_dataset((tied, outputs), (tied[::-1], outputs))
        assert judge(dataset, transformer_bytes(2, [COLLAPSE])).status is Status.REFUTED
    averaged = make_dataset((tied, [("3/2", "3/2"), (3, 0), (0, 3)]))
    assert judge(averaged, transformer_bytes(2, [COLLAPSE])).status is Status.VERIFIED


def test_a_mean_that_forgets_multiplicity_is_refuted():
    mean = transformer_bytes(2, [{"sa": {"rho": 0, "V": {"beta": 1}}}])
    repeated = [(0, 0), (0, 0), (3, 0)]
    assert judge(make_dataset((repeated, [("3/2", 0)])), mean).status is Status.REFUTED
    assert judge(make_dataset((repeated, [(1, 0)])), mean).status is Status.VERIFIED


@pytest.mark.parametrize("dimension", [0, 1, 3, 10])
def test_another_dimension_is_refuted_without_a_forward_pass(dimension):
    verdict = judge(DATASET, transformer_bytes(dimension, [{}]))
    assert verdict.status is Status.REFUTED
    assert statuses(verdict)["dimension"] is Status.REFUTED
    assert "hardmax" not in statuses(verdict)
    assert verdict.parts == ("kernel",)


# ------------------------------------------------------------------------------------------------------- budgets


@pytest.mark.parametrize(
    ("options", "name"),
    [({"max_width": 0}, "width"), ({"max_blocks": 1}, "blocks"), ({"max_parameters": 12}, "parameters")],
)
def test_a_budget_that_is_exceeded_by_one_is_a_refutation_although_the_map_is_right(options, name):
    verdict = judge(DATASET, **options)
    assert verdict.status is Status.REFUTED
    assert [item.name for item in verdict.failed] == [name]
    assert statuses(verdict)["hardmax"] is Status.VERIFIED


def test_a_budget_met_exactly_is_met():
    assert judge(DATASET, max_width=1, max_blocks=2, max_parameters=13).status is Status.VERIFIED


def test_width_five_is_too_wide_by_default():
    wide = {"ff": {"eta": 1, "W": [[0] * 5] * 2, "U": [[0] * 2] * 5, "b": [0] * 5}}
    verdict = judge(DATASET, transformer_bytes(2, [COLLAPSE, SHIFT, wide]))
    assert [item.name for item in verdict.failed] == ["width"]


def test_the_default_block_budget_is_that_of_the_theorem():
    for extra, status in ((7, Status.VERIFIED), (8, Status.REFUTED)):  # 2 M + 2 N + 1 = 9
        verdict = judge(DATASET, transformer_bytes(2, [COLLAPSE, SHIFT, *[{}] * extra]))
        assert statuses(verdict)["blocks"] is status
        assert verdict.status is status


def test_repeating_the_dataset_does_not_pay_for_more_blocks():
    long = transformer_bytes(2, [COLLAPSE, SHIFT, *[{}] * 8])
    assert judge(Dataset(2, DATASET.pairs * 5), long).status is Status.REFUTED


def test_a_dense_matrix_is_counted_dense():
    block = {"sa": {"rho": 0, "A": {"dense": [[1, 0], [0, 1]]}, "V": {"beta": 1}}}
    verdict = judge(DATASET, transformer_bytes(2, [block, SHIFT]), max_parameters=13)
    assert [item.name for item in verdict.failed] == ["parameters"]


# -------------------------------------------------------------------------------------- what the witness claims


@pytest.mark.parametrize(
    "header",
    [
        {"temperatures": "(0, oo)"},
        {"temperatures": "[0, oo)", "attention": "softmax", "construction": "hardmax", "seed": 3},
        {"dataset": "sha256:" + "0" * 64},
        {"phases": [{"name": "x", "first": 1, "last": 99}], "comment": {"max_blocks": 10**9}, "generator": "y"},
        {"attention": None, "temperatures": None, "dataset": None, "phases": None},
        {"dataset": [1, {"a": []}], "temperatures": {"zero": False}},
    ],
)
def test_what_the_header_says_changes_no_claim_and_no_verdict(header):
    plain, claiming = judge(DATASET), judge(DATASET, transformer_bytes(2, [COLLAPSE, SHIFT], **header))
    assert claiming.claim == plain.claim
    assert claiming.status is Status.VERIFIED
    assert claiming.obligations == plain.obligations
    assert claiming.counts == plain.counts
    wrong = make_dataset(PAIRS[0], ([(-1, 0), (-3, 0)], [(9, 9)]))
    assert judge(wrong, transformer_bytes(2, [COLLAPSE, SHIFT], **header)).status is Status.REFUTED


def test_a_header_about_another_dataset_or_temperature_is_told():
    data = transformer_bytes(2, [COLLAPSE, SHIFT], dataset="sha256:1234", temperatures="(0, oo)")
    notes = judge(DATASET, data).notes
    assert len(notes) == 2
    assert "sha256:1234" in notes[0]
    assert "(0, oo)" in notes[1]
    honest = transformer_bytes(2, [COLLAPSE, SHIFT], dataset=DATASET.digest, temperatures="0")
    assert judge(DATASET, honest).notes == ()


@pytest.mark.parametrize(
    "text",
    [
        "x\nVERIFIED: everything at every temperature",
        "\x1b[2J\x1b[HVERIFIED",
        "a\rb",
        "\u202eDEIFIREV",
        "half a pair \ud800",
        "\x00\x07\x85\u2028",
        "y" * 100_000,
    ],
)
@pytest.mark.parametrize("key", ["dataset", "temperatures"])
def test_a_header_cannot_write_lines_control_characters_or_pages_into_the_report(key, text):
    (note,) = judge(DATASET, transformer_bytes(2, [COLLAPSE, SHIFT], **{key: text})).notes
    assert note.isprintable()
    assert note.isascii()
    assert len(note) < 400


# ---------------------------------------------------------------------------------- temperatures and partial answers


@pytest.mark.parametrize("temperatures", ["(0,1]", "(0,1e-9]", "(0,oo)", "[0,oo)", "[0,1]"])
def test_softmax_is_never_verified_by_the_hardmax_pass(temperatures):
    # at a positive temperature this witness is not exact
    verdict = judge(DATASET, temperatures=temperatures)
    assert verdict.status in (Status.UNDECIDED, Status.REFUTED)
    assert verdict.failed


def test_temperature_zero_inside_an_interval_is_checked_and_can_refute():
    wrong = make_dataset(PAIRS[0], ([(-1, 0), (-3, 0)], [(9, 9)]))
    assert judge(wrong, temperatures="[0,1]").status is Status.REFUTED


def test_answers_for_too_few_or_too_many_pairs_are_not_verified():
    done = [[to_row((3, 1))], [to_row((-2, 1))]]
    assert compare(DATASET, done, Readout.ALL).status is Status.VERIFIED
    for partial in ([], done[:1], [*done, done[0]]):
        assert compare(DATASET, partial, Readout.ALL).status is Status.REFUTED


def test_the_bit_limit_is_no_verdict():
    with pytest.raises(LimitReached):
        judge(
            DATASET, transformer_bytes(2, [{"ff": {"eta": "1e-100"}}, {"ff": {"eta": "1e100"}}]), Limits(max_height=200)
        )


# -------------------------------------------------------------------------------------------------------- Hausdorff


def naive_squared_hausdorff(left, right):
    def one_sided(a, b):
        return max(min(sum((s - t) ** 2 for s, t in zip(x, y, strict=True)) for y in b) for x in a)

    return max(one_sided(left, right), one_sided(right, left))


tokens = st.tuples(st.fractions(max_denominator=7), st.fractions(max_denominator=7))
token_sets = st.sets(tokens, min_size=1, max_size=5)


@given(token_sets, token_sets)
def test_the_squared_hausdorff_distance_is_exact(left, right):
    found = squared_hausdorff(set(map(to_row, left)), set(map(to_row, right)))
    expected = naive_squared_hausdorff(left, right)
    assert found == fmpq(expected.numerator, expected.denominator)
    assert (found == 0) == (left == right)


def test_the_distance_looks_from_both_sides():
    near, far = to_row((0, 0)), to_row((3, 4))
    assert squared_hausdorff({near}, {near, far}) == 25
    assert squared_hausdorff({near, far}, {near}) == 25


# ------------------------------------------------------------------------------------------------------ differential


@st.composite
def statements(draw):
    dataset = draw(datasets(largest=3))
    return dataset, draw(transformers(dataset.dimension, max_blocks=2))


@st.composite
def wider_statements(draw):
    """Any mask, heads and read-out; targets that are the last tokens now and then."""
    dataset = draw(datasets(largest=3))
    data, last = draw(transformers(dataset.dimension, max_blocks=2, plain=False)), draw(st.booleans())
    if draw(st.booleans()):
        *_, final = evaluator.run(data, [left for left, _ in pairs_of(dataset)])
        cuts = [draw(st.integers(0, len(tokens) - 1)) for tokens in final]
        pairs = zip(map(fake, dataset.pairs), final, cuts, strict=True)
        dataset = make_dataset(*((pair.input, tokens[cut:]) for pair, tokens, cut in pairs))
    return dataset, data, last


@given(wider_statements(), st.sampled_from(["none", "causal"]), st.booleans())
def test_masks_heads_and_the_readout_are_those_of_the_reference(case, mask, fast):
    dataset, data, last = case
    blocks, width, parameters = evaluator.count(data)
    budgets = {"max_width": width, "max_blocks": blocks, "max_parameters": parameters}
    claim = make_claim(dataset, mask=mask, readout="last" if last else "all", **budgets)
    transformer = decode_transformer(data)
    verdict = check(dataset, transformer, claim, passes=ENGINE if fast else None)
    held = {item.name for item in verdict.obligations if item.status is Status.VERIFIED}
    assert ("hardmax" in held) == evaluator.interpolates(data, pairs_of(dataset), last)
    layers = [record.get("sa", {}) for record in block_records(data)]
    masked = [layer for layer in layers if "mask" in layer]
    d = dataset.dimension
    bare = [layer for layer in layers if "mask" not in layer and any(any(map(any, V)) for V in values_of(layer, d))]
    obliged = "mask" in {item.name for item in verdict.obligations}
    assert obliged == bool(mask == "causal" or masked)
    assert ("mask" in held) == (obliged and not (bare if mask == "causal" else masked))


def values_of(layer, dimension):
    return [V for _, V in evaluator.read_attention({"rho": "1"} | block_text(layer), dimension)[1]]


def block_text(layer):
    """Numbers as text, as the reference reads them."""
    return json.loads(json.dumps(layer), parse_int=str, parse_float=str)


@given(statements())
def test_an_arbitrary_witness_is_verified_exactly_when_the_reference_confirms_it(case):
    dataset, data = case
    blocks, width, parameters = evaluator.count(data)
    true = evaluator.interpolates(data, pairs_of(dataset))
    wide = judge(dataset, data, max_width=width, max_blocks=blocks, max_parameters=parameters)
    assert (wide.status is Status.VERIFIED) == true
    assert judge(dataset, data, max_blocks=blocks - 1, max_width=width).status is Status.REFUTED if blocks else True


@given(statements())
def test_the_image_itself_is_verified_and_any_other_last_target_refuted(case):
    dataset, data = case
    *_, final = evaluator.run(data, [left for left, _ in pairs_of(dataset)])
    true = make_dataset(*((pair.input, image) for pair, image in zip(map(fake, dataset.pairs), final, strict=True)))
    budgets = dict(zip(("max_blocks", "max_width", "max_parameters"), evaluator.count(data), strict=True))
    assert judge(true, data, **budgets).status is Status.VERIFIED
    moved = (final[-1][0][0] + 1, *final[-1][0][1:])
    false = dataclasses.replace(
        true,
        pairs=(*true.pairs[:-1], dataclasses.replace(true.pairs[-1], output=(*true.pairs[-1].output, to_row(moved)))),
    )
    verdict = judge(false, data, **budgets)
    assert (verdict.status is Status.VERIFIED) == (moved in final[-1])


def fake(pair):
    """A pair with plain tokens as its input."""
    return dataclasses.replace(pair, input=tuple(map(to_fractions, pair.input)))
