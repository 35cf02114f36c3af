"""The reader: what is written is read back, one defect at a time is refused with its place."""

from __future__ import annotations

import copy
import json

import pytest
from flint import fmpq

from interp.boolean.constructions import CONSTRUCTIONS
from interp.boolean.encode import encode_encoder
from interp.boolean.initialise import draw_encoder
from proofs.boolean.decode import decode_encoder
from proofs.kernel.errors import LimitReached, MalformedInput
from proofs.kernel.rational import Limits
from tests.boolean.encoders import random_encoder


@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_is_read_back(seed):
    encoder = random_encoder(seed)
    data = encode_encoder(encoder)
    assert decode_encoder(data) == encoder
    assert encode_encoder(decode_encoder(data)) == data


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_known_encoders_are_written(name):
    for norm in (False, True):
        encoder = CONSTRUCTIONS[name]([2, 5], norm)
        assert decode_encoder(encode_encoder(encoder)) == encoder


def good():
    return json.loads(encode_encoder(random_encoder(1)))


def put(path, value):
    def change(record):
        for key in path[:-1]:
            record = record[key]
        record[path[-1]] = value

    return change


def drop(*path):
    def change(record):
        for key in path[:-1]:
            record = record[key]
        del record[path[-1]]

    return change


HEAD, MLP = ("blocks", 0, "heads", 0), ("blocks", 0, "mlp")
DEFECTS = {
    "format": (put(["format"], "interp-encoder/2"), "$.format"),
    "format-number": (put(["format"], 1), "$.format"),
    "no-epsilon": (drop("epsilon"), "$"),
    "negative-epsilon": (put(["epsilon"], "-1/9"), "$.epsilon"),
    "epsilon-true": (put(["epsilon"], True), "$.epsilon"),
    "unknown-key": (put(["seed"], 3), "$"),
    "no-dimension": (put(["dimension"], 0), "$.dimension"),
    "other-dimension": (put(["dimension"], 5), "$.embeddings.0"),
    "no-end": (drop("embeddings", "end"), "$.embeddings"),
    "short-embedding": (put(["embeddings", "1"], [1, 2, 3]), "$.embeddings.1"),
    "nan": (put(["embeddings", "1"], [1, 2, 3, float("nan")]), "$"),
    "text": (put(["output", "w", 2], "one"), "$.output.w[2]"),
    "positions-list": (put(["positions"], []), "$.positions"),
    "no-positions": (put(["positions"], {}), "$.positions"),
    "positions-0": (put(["positions", "0"], [[0, 0, 0, 0]]), "$.positions"),
    "positions-25": (put(["positions", "25"], []), "$.positions"),
    "positions-01": (put(["positions", "01"], []), "$.positions"),
    "no-end-position": (put(["positions", "1"], [[0, 0, 0, 0]]), "$.positions.1"),
    "Q-and-K": (put([*HEAD, "K"], [[1, 0, 0, 0]]), "$.blocks[0].heads[0].K"),
    "Q-empty": (put([*HEAD, "Q"], []), "$.blocks[0].heads[0].Q"),
    "V-not-square": (put([*HEAD, "V"], [[1, 0, 0, 0]]), "$.blocks[0].heads[0].V"),
    "V-ragged": (put([*HEAD, "V", 2], [1, 0]), "$.blocks[0].heads[0].V[2]"),
    "scale": (put([*HEAD, "scale_squared"], -1), "$.blocks[0].heads[0].scale_squared"),
    "no-scale": (drop(*HEAD, "scale_squared"), "$.blocks[0].heads[0]"),
    "W2": (drop(*MLP, "W2", 3), "$.blocks[0].mlp.W2"),
    "b1": (put([*MLP, "b1"], [0]), "$.blocks[0].mlp.b1"),
    "activation": (put([*MLP, "activation"], "gelu"), "$.blocks[0].mlp.activation"),
    "activation-number": (put([*MLP, "activation"], 1), "$.blocks[0].mlp.activation"),
    "activation-list": (put([*MLP, "activation"], ["relu"]), "$.blocks[0].mlp.activation"),
    "residual": (put([*MLP, "residual"], 1), "$.blocks[0].mlp.residual"),
    "no-residual": (drop(*MLP, "residual"), "$.blocks[0].mlp"),
    "norm-key": (put(["blocks", 0, "norm"], {"scale": 1}), "$.blocks[0].norm"),
    "gain": (put(["blocks", 0, "norm", "gain"], [1]), "$.blocks[0].norm.gain"),
    "no-heads": (drop("blocks", 0, "heads"), "$.blocks[0]"),
    "omega": (drop("output", "omega"), "$.output"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_one_defect_is_refused_with_its_place(defect):
    change, place = DEFECTS[defect]
    record = copy.deepcopy(good())
    decode_encoder(json.dumps(record).encode())
    change(record)
    with pytest.raises(MalformedInput) as caught:
        decode_encoder(json.dumps(record).encode())
    assert caught.value.path == place


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"null", b"\xff", b'{"format":1,"format":1}', encode_encoder(random_encoder(1))[:-9]]
)
def test_what_is_no_json_object_is_refused(data):
    with pytest.raises(MalformedInput):
        decode_encoder(data)


def test_limits():
    data = encode_encoder(random_encoder(1))
    for limits in (Limits(max_bytes=10), Limits(max_dimension=3)):
        with pytest.raises(LimitReached):
            decode_encoder(data, limits)


def test_random_encoders_are_exact_dyadics_and_repeat():
    first, second = (draw_encoder("xavier-gaussian", [3], 1, 4, "7", fmpq(1, 8)) for _ in range(2))
    assert encode_encoder(first) == encode_encoder(second)
    assert encode_encoder(first) != encode_encoder(draw_encoder("xavier-gaussian", [3], 1, 4, "8", fmpq(1, 8)))
    assert all((1 << 20) % int(x.q) == 0 for x in first.w)
    assert decode_encoder(encode_encoder(first)) == first
