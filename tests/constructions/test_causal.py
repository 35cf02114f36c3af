"""The causal construction: theorem F against brute force, the independent evaluators and the command line."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction

import pytest
from flint import fmpq

from interp.api import audit, build
from interp.cli.main import run_command
from interp.constructions.bounds import count_causal_bound
from interp.constructions.causal import find_causal_violations
from interp.execution.approximate import approx_run, find_arithmetic
from interp.stages.prefixes import find_labels, mark_prefixes
from interp.transformers.encode import encode_transformer
from proofs.kernel.check import check
from proofs.kernel.decode import decode_transformer
from proofs.kernel.errors import MalformedInput, Status, UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Dataset, make_claim
from proofs.lemmas import ordered_key as key_lemma
from proofs.lemmas import prefixes as prefix_lemma
from tests.reference import evaluator
from tests.reference.softmax import interpolates_at
from tests.strategies import dataset_bytes, make_dataset, pairs_of, transformer_bytes

a, b, c, d = [(i, i * i) for i in range(4)]
p, q, s = [(i, 1) for i in range(3)]
CONFLICT = make_dataset(([a, b, c], [p, q]), ([a, b], [s]))
AGREE = make_dataset(([a, b, c], [p, q]), ([a, b], [q]))


def build_and_verify(dataset: Dataset, seed: int = 0) -> Transformer:
    """A transformer that was written, read back, and verified for temperatures [0, oo) within the bound."""
    transformer = build(dataset, "causal", seed)
    data = encode_transformer(transformer)
    budgets = {"max_blocks": count_causal_bound(dataset), "max_parameters": 10**9}
    claim = make_claim(dataset, temperatures="[0,oo)", mask="causal", readout="last", **budgets)
    verdict = check(dataset, decode_transformer(data), claim)
    assert verdict.status is Status.VERIFIED, verdict.failed
    some = pairs_of(dataset)[:: 1 + len(dataset.pairs) // 40]  # the evaluator is slow
    assert evaluator.interpolates(data, some, last=True)
    return transformer


def is_possible(dataset: Dataset) -> bool:
    """Brute force: every way to give each marked prefix a target of some pair."""
    marks = []
    for pair in dataset.pairs:
        n, m = len(pair.input), len(set(pair.output))
        marks.append([pair.input[:i] for i in range(n - m + 1, n + 1)])
    nodes = sorted({prefix for own in marks for prefix in own})
    wanted = [[set(dataset.pairs[j].output) for j, own in enumerate(marks) if x in own] for x in nodes]
    choices = [sorted(set.intersection(*sets)) for sets in wanted]
    for labels in itertools.product(*choices):
        named = dict(zip(nodes, labels, strict=True))
        if all({named[x] for x in own} == set(pair.output) for own, pair in zip(marks, dataset.pairs, strict=True)):
            return True
    return False


def draw(rng: random.Random, largest: int) -> Dataset:
    pool = rng.sample([(x, y) for x in range(-2, 3) for y in range(-2, 3)], 3)
    goals = [(x, y) for x in range(2) for y in range(2)]
    inputs = {tuple(rng.sample(pool, rng.randint(1, 3))) for _ in range(largest)}
    return make_dataset(*((list(x), rng.sample(goals, rng.randint(1, len(x)))) for x in sorted(inputs)))


def test_the_conflict_is_found_and_named():
    with pytest.raises(MalformedInput) as refused:
        build(CONFLICT, "causal")
    assert refused.value.path == "$.pairs[1].output"
    assert "the first 2 tokens of pairs 0 and 1" in refused.value.message
    assert len(build_and_verify(AGREE).blocks) == 3


def test_solvability_is_that_of_brute_force_and_what_is_possible_is_built():
    rng = random.Random(4)
    kinds = {True: 0, False: 0}
    for _ in range(120):
        dataset = draw(rng, rng.randint(2, 9))
        possible = is_possible(dataset)
        kinds[possible] += 1
        assert (find_causal_violations(dataset) == []) == possible
        if possible:
            build_and_verify(dataset, rng.randint(0, 9))
    assert min(kinds.values()) > 20


def test_the_pairs_that_are_named_conflict_and_none_of_them_is_idle():
    rng = random.Random(5)
    found = 0
    while found < 15:
        dataset = draw(rng, 6)
        labels = find_labels(mark_prefixes(dataset))
        violations = [item for item in labels if hasattr(item, "rule")]
        for violation in violations:
            words = violation.message.partition(" cannot")[0].replace(",", "").split()
            core = [int(word) for word in words if word.isdigit()]
            part = Dataset(2, tuple(dataset.pairs[j] for j in core))
            assert not is_possible(part)
            for left in range(len(core)):
                assert is_possible(Dataset(2, part.pairs[:left] + part.pairs[left + 1 :]))
            found += 1


def test_all_ordered_subsets_of_five_collinear_tokens():
    rng = random.Random(6)
    tokens = [(0, 0), (1, 0), (2, 0), (4, 0), (7, 0)]
    inputs = [list(x) for r in range(1, 6) for x in itertools.permutations(tokens, r)]
    dataset = make_dataset(*((x, [(rng.randint(-9, 9), rng.randint(-9, 9))]) for x in inputs))
    assert len(inputs) == 325
    transformer = build_and_verify(dataset)
    assert len(transformer.blocks) <= 85
    found = audit(transformer, dataset)
    assert found.within
    assert "theorem F" in " ".join(comparison.source for comparison in found.comparisons)


def test_kinks_when_no_direction_tells_prefixes_apart():
    # on a line, s = x: tails, means and means of means agree for two orders
    pool = [(x, 0) for x in range(5)]
    inputs = [list(x) for x in itertools.permutations(pool, 4)]
    rng = random.Random(7)
    dataset = make_dataset(*((x, [(k % 5, rng.randint(0, 3))]) for k, x in enumerate(inputs)))
    transformer = build_and_verify(dataset)
    assert transformer.blocks[0].feed_forward.width >= 2  # the projection and a kink


def test_every_positive_temperature_in_high_precision():
    data = encode_transformer(build_and_verify(AGREE))
    for tau in (Fraction(1, 50), Fraction(3)):
        assert interpolates_at(data, pairs_of(AGREE), tau, last=True)
        assert not interpolates_at(data, pairs_of(AGREE), tau)


def test_one_long_sequence_read_out_everywhere():
    dataset = make_dataset(([(k, k * k) for k in range(60)], [(-k, 7) for k in range(60)]))
    assert len(build_and_verify(dataset).blocks) <= 2 + 15


@pytest.mark.parametrize(
    ("pairs", "rule"),
    [
        ([([a, a], [p])], "repeated-input-token"),
        ([([a], [p, q])], "too-many-outputs"),
        ([([a, b], [p]), ([a, b], [q])], "prefix-conflict"),
        ([([a, b], [p, q]), ([a], [s])], "prefix-conflict"),
        ([([a, b, c], [p, q, s]), ([a, b], [p, q]), ([a], [s])], "prefix-conflict"),
    ],
)
def test_what_no_transformer_does(pairs, rule):
    assert [violation.rule for violation in find_causal_violations(make_dataset(*pairs))] == [rule]
    with pytest.raises(MalformedInput):
        build(make_dataset(*pairs), "causal")


def test_order_alone_makes_sequences_different():
    orders = make_dataset(([a, b], [p]), ([b, a], [q]), ([b, a, c], [p, q]), ([b], [p]))
    build_and_verify(orders)
    with pytest.raises(UsageError):
        build(orders, "causal", allow_repeats=True)


def test_promises_bite():
    values, places = [[fmpq(1), fmpq(3)]], [(0, 1), (0, 2)]
    keys = [fmpq(1 + 3 + 2), 3 + 3 * fmpq(2) + 2 * fmpq(3, 2)]
    assert key_lemma.check_promise(values, places, keys, (1, 2)) is None
    assert key_lemma.check_promise(values, places, [keys[0], keys[1] + 1], (1, 2)) is not None
    assert key_lemma.check_promise([[fmpq(1), fmpq(1)]], places, [fmpq(6)] * 2, (1, 2)) == "two prefixes have one key"
    row, other = AGREE.pairs[0].output
    assert prefix_lemma.check_promise([[row, other]], [[other, row]]) is None
    assert prefix_lemma.check_promise([[row, row]], [[other, row]]) is not None
    assert prefix_lemma.check_promise([[row]], [[other, row]]) is not None


# -------------------------------------------------------------------------------------------------------- command line


@pytest.fixture
def files(tmp_path):
    (tmp_path / "agree.json").write_bytes(dataset_bytes(AGREE))
    (tmp_path / "conflict.json").write_bytes(dataset_bytes(CONFLICT))
    return tmp_path


def run(capsys, *words, code=0):
    capsys.readouterr()
    assert run_command([str(word) for word in words]) == code
    return capsys.readouterr()


def test_build_verify_audit(files, capsys):
    out, data = files / "T.jsonl", files / "agree.json"
    claim = ["--temperatures", "[0,oo)", "--mask", "causal", "--readout", "last"]
    told = run(capsys, "build", data, "-o", out, "--mask", "causal", "--readout", "last").out
    assert "--mask causal --readout last" in told
    record = json.loads(run(capsys, "verify", out, data, *claim, "--json").out)
    assert (record["claim"]["mask"], record["claim"]["readout"]) == ("causal", "last")
    assert "FAILS" in run(capsys, "verify", out, data, "--temperatures", "[0,oo)", code=10).out
    assert run(capsys, "verify", out, data, *claim, "--paranoid").out.startswith("VERIFIED")
    assert "theorem F" in run(capsys, "audit", out, data, *claim).out
    refused = run(capsys, "verify", out, data, *claim, "--double", code=2)
    assert "leave out --double" in refused.out + refused.err
    refused = run(capsys, "verify", out, data, "--double", code=2)  # the file has a mask, the claim has none
    assert "leave out --double" in refused.out + refused.err
    binary = files / "T.npz"
    run(capsys, "convert", out, binary)
    again = json.loads(run(capsys, "verify", binary, data, *claim, "--json").out)
    assert again["transformer"] == record["transformer"]
    assert again["counts"] == record["counts"]


def test_refusals(files, capsys):
    out, data = files / "T.jsonl", files / "agree.json"
    refused = run(capsys, "build", files / "conflict.json", "-o", out, "--mask", "causal", "--readout", "last", code=12)
    assert "the first 2 tokens of pairs 0 and 1" in refused.out + refused.err
    assert not out.exists()
    both = ["--mask", "causal", "--readout", "last"]
    named = run(capsys, "dataset", "check", files / "conflict.json", *both, code=12)
    assert "the first 2 tokens of pairs 0 and 1" in " ".join(named.out.split())
    run(capsys, "dataset", "check", data, *both)
    run(capsys, "dataset", "check", data, "--mask", "causal", code=2)
    for options in (["--mask", "causal"], ["--readout", "last"]):
        run(capsys, "build", data, "-o", out, *options, code=2)
    run(capsys, "build", data, "-o", out, *both, "--construction", "hardmax", code=2)
    run(capsys, "build", data, "-o", out, *both, "--allow-repeats", code=2)
    assert not out.exists()


def test_what_carries_masks_and_heads_and_what_refuses_them(files, capsys):
    out, data = files / "T.jsonl", files / "agree.json"
    claim = ["--temperatures", "[0,oo)", "--mask", "causal", "--readout", "last"]
    run(capsys, "build", data, "-o", out, "--mask", "causal", "--readout", "last", "--minimise", "norm")
    run(capsys, "verify", out, data, *claim)  # rescaled, the mask kept
    assert "every temperature" in run(capsys, "temperature", out, data, "--readout", "last").out
    assert run(capsys, "temperature", out, data, code=11).out
    for kind, name in (("numpy", "n.py"), ("safetensors", "t.safetensors")):
        run(capsys, "export", out, "-o", files / name, "--to", kind)
    refused = run(capsys, "export", out, data, "-o", files / "t.smt2", "--to", "smt", code=2)
    assert "mask" in refused.out + refused.err
    refused = run(capsys, "certify", out, data, "-o", files / "cert.v", code=2)
    assert "mask" in refused.out + refused.err
    heads = files / "heads.jsonl"
    layer = {"rho": 1, "heads": [{"V": {"beta": 1}}, {"V": {"beta": 2}}]}
    heads.write_bytes(transformer_bytes(2, [{"sa": layer}]))
    refused = run(capsys, "export", heads, "-o", files / "heads.py", "--to", "numpy", code=2)
    assert "several heads" in refused.out + refused.err
    refused = run(capsys, "convert", heads, files / "heads.npz", code=2)
    assert "one head a layer" in refused.out + refused.err
    assert not (files / "heads.npz").exists()


def test_a_float_run_knows_masks_and_heads():
    layer = {
        "rho": 1,
        "mask": "causal",
        "heads": [{"A": {"alpha": 1}, "V": {"beta": 1}}, {"V": {"dense": [[1, 2], [0, 1]]}}],
    }
    data = transformer_bytes(2, [{"sa": layer}])
    tokens = [(Fraction(1), Fraction(2)), (Fraction(-1), Fraction(1)), (Fraction(3), Fraction(0))]
    *_, [exact] = evaluator.run(data, [tokens])
    rows = [[fmpq(x.numerator, x.denominator) for x in token] for token in tokens]
    *_, found = approx_run(decode_transformer(data), rows, find_arithmetic("mpmath:40"), fmpq(0))
    for token, expected in zip(found, exact, strict=True):
        assert all(abs(x - float(y)) < 1e-12 for x, y in zip(token, expected, strict=True))
