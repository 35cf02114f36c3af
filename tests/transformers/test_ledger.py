"""The phase ledger: who owns which block."""

from __future__ import annotations

import json

import pytest
from flint import fmpq

from interp.transformers.ledger import Ledger, Phase, decode_phases, encode_phases
from proofs.kernel.decode import decode_json
from proofs.kernel.errors import MalformedInput
from proofs.kernel.model import Block, SelfAttention, identity_feed_forward

PHASES = [
    Phase("separation", "separation", 1, 0),
    Phase("leaders", "leaders", 1, 3, bits=9),
    Phase("c", "c", 3, 3, 0, True),
]


def test_phases_follow_each_other_and_a_shared_one_owns_no_block():
    ledger = Ledger(2)
    scaled = Block(identity_feed_forward(2), SelfAttention(fmpq(-8)))
    ledger.add("empty", "a", [])
    ledger.add("first", "b", [scaled, scaled])
    ledger.add_shared("shared", "c")
    ledger.add("second", "d", [scaled])
    assert ledger.blocks == [scaled] * 3
    assert [(p.name, p.first, p.last, p.num_blocks, p.bits) for p in ledger.phases] == [
        ("empty", 1, 0, 0, 0),
        ("first", 1, 2, 2, 4),
        ("shared", 2, 2, 0, 0),
        ("second", 3, 3, 1, 4),
    ]
    assert sum(phase.num_blocks for phase in ledger.phases) == len(ledger.blocks)


def test_phases_survive_the_header():
    assert decode_phases({"phases": encode_phases(PHASES)}) == PHASES
    read = decode_json(json.dumps({"phases": encode_phases(PHASES)}).encode())
    assert decode_phases(read) == PHASES
    assert decode_phases({}) == []


@pytest.mark.parametrize(
    "phases",
    [
        [{}],
        [[]],
        ["x"],
        [None],
        [1],
        [{"name": "x"}],
        [encode_phases(PHASES)[0] | {"first": "one"}],
        [encode_phases(PHASES)[0] | {"first": None}],
        [encode_phases(PHASES)[0] | {"last": []}],
        True,
        None,
        1,
        {"name": "x"},
        "x",
    ],
)
def test_phases_that_are_none_are_malformed(phases):
    for header in ({"phases": phases}, decode_json(json.dumps({"phases": phases}).encode())):
        with pytest.raises(MalformedInput):
            decode_phases(header)
