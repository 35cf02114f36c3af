"""The weights that are drawn against the definition."""

from __future__ import annotations

import math

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from interp.pictures.attention import MAX_KEYS, SMALLEST, list_weights
from proofs.kernel.decode import decode_transformer
from proofs.kernel.statement import Temperatures
from tests.reference.evaluator import apply, product, read_attention, read_lines
from tests.strategies import attentions, loose_sequences, to_row, transformer_bytes

ZERO = Temperatures(zero=True)


def layer_of(record):
    source = transformer_bytes(2, [{"sa": record}])
    _, blocks = read_lines(source)
    _, heads, causal = read_attention(blocks[0]["sa"], 2)
    return decode_transformer(source).blocks[0].attention, heads, causal


@given(attentions(2, plain=False), loose_sequences(2))
def test_hardmax_weights_are_uniform_on_the_largest_scores(record, sequences):
    layer, heads, causal = layer_of(record)
    acting = [A for A, V in heads if any(any(row) for row in V)]
    found = list_weights(1, layer, [[to_row(t) for t in tokens] for tokens in sequences], ZERO)
    assert len(found) == len(acting)
    for head, A in zip(found, acting, strict=True):
        for weights, tokens in zip(head.sequences, sequences, strict=True):
            for i, query in enumerate(tokens):
                seen = range(i + 1 if causal else len(tokens))
                scores = {l: product(apply(A, query), tokens[l]) for l in seen}
                best = [l for l in seen if scores[l] == max(scores.values())]
                if weights.uniform:
                    assert best == [*seen]
                else:
                    assert [l for l, _ in weights.keys[i]] == best[:MAX_KEYS]
                    assert all(x == pytest.approx(1 / len(best)) for _, x in weights.keys[i])


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=6), st.sampled_from([(1, 1), (1, 3), (5, 2)]))
def test_softmax_weights(values, tau):
    layer, _, _ = layer_of({"rho": 1, "A": {"p": [1, 0], "q": [0, 1]}, "V": {"beta": 1}})
    rows = [to_row([value, 1]) for value in values]
    (head,) = list_weights(4, layer, [rows], Temperatures(zero=False, upper=fmpq(*tau)))
    exact = [math.exp(value * tau[1] / tau[0]) for value in values]
    wanted = {l: x / sum(exact) for l, x in enumerate(exact) if x >= SMALLEST * sum(exact)}
    (weights,) = head.sequences
    if weights.uniform:
        assert len(set(values)) == 1
    else:
        assert all(dict(keys) == pytest.approx(wanted) for keys in weights.keys)


def test_leaders_are_the_tokens_attended_to():
    layer, _, _ = layer_of({"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}})
    rows = [to_row(t) for t in ([3, 3], [1, 0], [-5, -5], [0, 1])]
    (head,) = list_weights(1, layer, [rows], ZERO)
    assert head.sequences[0].list_leaders() == {0, 2}
    assert not head.uniform


def test_uniform_attention_has_no_leaders():
    layer, _, _ = layer_of({"rho": 0, "V": {"beta": 1}})
    (head,) = list_weights(1, layer, [[to_row([1, 2]), to_row([0, 1])]], ZERO)
    assert head.uniform
    assert head.sequences[0].list_leaders() == set()
