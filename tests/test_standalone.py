"""The second checker agrees with the first, and with brute force; it bites when one of its rules is broken."""

from __future__ import annotations

import ast
import hashlib
import json
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

import interp
from proofs import standalone
from proofs.standalone import Status

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "proofs" / "standalone.py"


# Files


def signed(*lines):
    body = "".join(line + "\n" for line in lines).encode()
    end = {"end": {"blocks": len(lines) - 1, "sha256": hashlib.sha256(body).hexdigest()}}
    return body + json.dumps(end).encode() + b"\n"


def witness(*blocks, dimension=2):
    head = {"format": "interp-transformer/1", "dimension": dimension, "blocks": len(blocks)}
    return signed(json.dumps(head), *(json.dumps({"block": k, **block}) for k, block in enumerate(blocks, 1)))


def dataset(*pairs, dimension=2):
    records = [{"input": tokens, "output": target} for tokens, target in pairs]
    return json.dumps({"format": "interp-dataset/1", "dimension": dimension, "pairs": records}).encode()


SHARED = dataset(
    ([[0, 0], [1, 2], [3, 1]], [[5, 5], [-1, "1/3"]]),
    ([[0, 0], [2, 2]], [[5, 5]]),
    ([[1, 2], [2, 2], [4, -1]], [[0, 0], [1, 1], [2, 0]]),
)
WRONG = SHARED.replace(b"[[5, 5]]", b'[["5000001/1000000", 5]]')
SAME = dataset(([[0, 1], [1, 2]], [[0, 1], [1, 2]]))
IDENTITY = witness({})
MEAN = {"sa": {"rho": 0, "V": {"beta": 1}}}
LARGEST = {"sa": {"rho": 0, "A": {"alpha": 1}, "V": {"beta": 1}}}
TO_TWO = {"ff": {"eta": 1, "W": [[-1], [0]], "U": [[1, 0]], "b": [-2]}}  # x_1 >= 2 becomes 2


# The two checkers


def write(folder, data, transformer):
    (folder / "data").write_bytes(data)
    (folder / "witness").write_bytes(transformer)
    return str(folder / "data"), str(folder / "witness")


def flags(options):
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]


@pytest.fixture
def second(tmp_path):
    return lambda data, transformer, **options: standalone.check_files(*write(tmp_path, data, transformer), options)


@pytest.fixture
def first(tmp_path):
    """The first checker in this process, for well-formed files."""

    def status(data, transformer, **options):
        data_path, path = write(tmp_path, data, transformer)
        verdict = interp.verify(interp.load_transformer(path), interp.load_dataset(data_path), **options)
        return Status[verdict.status.label.upper()]

    return status


def agreement(one, two):
    def agreed(data, transformer, **options):
        answer = two(data, transformer, **options)
        assert answer.status == one(data, transformer, **options), answer.detail
        return answer.status

    return agreed


@pytest.fixture
def both(first, second):
    return agreement(first, second)


@pytest.fixture
def both_processes(tmp_path, second):
    """The first checker by its exit code."""

    def exit_code(data, transformer, **options):
        command = [sys.executable, "-m", "proofs", "check", *write(tmp_path, data, transformer), *flags(options)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode

    return agreement(exit_code, second)


@pytest.fixture
def build(tmp_path):
    def built(data, construction):
        (tmp_path / "built.json").write_bytes(data)
        transformer = interp.build(interp.load_dataset(str(tmp_path / "built.json")), construction=construction)
        interp.save_transformer(transformer, tmp_path / "built.jsonl")
        return (tmp_path / "built.jsonl").read_bytes()

    return built


# Agreement


def test_built_hardmax(build, both, both_processes):
    transformer = build(SHARED, "hardmax")
    assert both_processes(SHARED, transformer) == Status.VERIFIED
    assert both_processes(WRONG, transformer) == Status.REFUTED
    assert both(SHARED, transformer, max_blocks=3) == Status.REFUTED
    assert both(SHARED, transformer, max_parameters=10) == Status.REFUTED
    assert both(SHARED, transformer, max_width=2) == Status.REFUTED


def test_built_softmax(build, both, both_processes):
    transformer = build(SHARED, "softmax")
    assert both(SHARED, transformer, attention="softmax") == Status.VERIFIED
    assert both_processes(SHARED, transformer, temperatures="[0,1]") == Status.VERIFIED
    assert both(WRONG, transformer, temperatures="(0, 1]") == Status.REFUTED
    assert both_processes(SHARED, transformer, temperatures="(0,1e6]") == Status.UNDECIDED
    assert both(SHARED, transformer, temperatures="[0,oo)") == Status.UNDECIDED


def test_real_data(tmp_path, build, both):
    command = [str(Path(sys.executable).parent / "interp"), "dataset", "convert", "bundled:japanese_vowels_30"]
    subprocess.run([*command, str(tmp_path / "real.json")], check=True, capture_output=True)
    data = (tmp_path / "real.json").read_bytes()
    for construction in ("hardmax", "softmax"):
        assert both(data, build(data, construction), attention=construction) == Status.VERIFIED


def tampered(rng, lines):
    """One number of one block changed, signed again."""
    index = rng.randrange(1, len(lines) - 1)
    record, places = json.loads(lines[index]), []

    def walk(node):
        for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
            if isinstance(child, dict | list):
                walk(child)
            elif key != "block":
                places.append((node, key))

    walk(record)
    node, key = rng.choice(places)
    value = Fraction(str(node[key]))
    node[key] = str(rng.choice([value + 1, -value, value * 2, value + Fraction(1, 10**30)]))
    return signed(*lines[:index], json.dumps(record), *lines[index + 1 : -1])


@pytest.mark.parametrize("construction", ["hardmax", "softmax"])
def test_tampered(build, both, construction):
    rng, lines, seen = random.Random(1), build(SHARED, construction).decode().splitlines(), set()
    for _ in range(8):
        seen.add(both(SHARED, tampered(rng, lines), attention=construction))
    assert Status.REFUTED in seen


def test_dataset_in_lines(second, both_processes):
    pair = '{"input":[[0,1],[1,2]],"output":[[1,2],[0,1],[0,1]]}\n'
    head = '{"format":"interp-dataset-lines/1","dimension":2,"pairs":%d}\n'
    assert both_processes((head % 2 + 2 * pair).encode(), IDENTITY) == Status.VERIFIED
    for text in (head % 3 + 2 * pair, head % 1 + 2 * pair):
        assert both_processes(text.encode(), IDENTITY) == Status.MALFORMED
    for text in (head % 2 + pair + "\n" + pair, head % 2 + 2 * pair + "\n", head % 0):
        assert second(text.encode(), IDENTITY).status == Status.MALFORMED


CLAIMS = [
    # witness blocks, tokens, target, temperatures, verdict
    ([MEAN], [[1, 0], [3, 0], [3, 0]], [["7/3", 0]], "[0,oo)", Status.VERIFIED),
    ([MEAN], [[1, 0], [3, 0], [3, 0]], [[2, 0]], "[0,oo)", Status.REFUTED),
    ([LARGEST], [[1, 0], [3, 0]], [[3, 0]], "0", Status.VERIFIED),
    ([LARGEST], [[1, 0], [3, 0]], [[3, 0]], "(0,1]", Status.UNDECIDED),
    ([LARGEST], [[1, 0], [3, 0]], [[4, 0]], "(0,1]", Status.REFUTED),
    ([LARGEST], [[1, 0], [3, 0]], [[3, 0]], "(0,1/100000]", Status.UNDECIDED),
    ([LARGEST, TO_TWO], [[1, 0], [3, 0]], [[2, 0]], "[0,1/10]", Status.VERIFIED),
    ([LARGEST, TO_TWO], [[1, 0], [3, 0]], [[2, 0]], "(0,100]", Status.UNDECIDED),
    ([LARGEST, TO_TWO], [[2, 0], [3, 0]], [[2, 0]], "[0,oo)", Status.VERIFIED),
    ([LARGEST, TO_TWO], [[2, 0], [3, 0]], [[3, 0]], "(0,oo)", Status.REFUTED),
    ([{}], [[0, 1], [1, 2]], [[0, 1]], "[0,1]", Status.REFUTED),
    ([{}], [[0, 1], [1, 2]], [[0, 1], [1, 2], [5, 5]], "[0,1]", Status.REFUTED),
    # two tokens whose boxes look alike, but which differ: nothing may cancel
    ([LARGEST, {"sa": {"rho": 1, "V": {"beta": -1}}}], [[1, 0], [3, 0]], [[0, 0]], "(0,1/1000]", Status.UNDECIDED),
]


@pytest.mark.parametrize(("blocks", "tokens", "target", "temperatures", "expected"), CLAIMS)
def test_claims(both, blocks, tokens, target, temperatures, expected):
    assert both(dataset((tokens, target)), witness(*blocks), temperatures=temperatures) == expected


def test_default_bounds(second):
    pair, other = ([[0, 1], [1, 2]], [[0, 1], [1, 2], [1, 2]]), ([[0, 1]], [[0, 1]])
    again = ([[1, 2], [0, 1], [0, 1]], [[1, 2], [0, 1]])  # the same pair of sets
    data = dataset(pair, other, again)  # N = 2, M = 3
    assert "width 0 <= 4, blocks 1 <= 11, parameters 4 <= 308" in second(data, IDENTITY).detail
    assert "blocks 1 <= 11" in second(data, IDENTITY, temperatures="[0,1]").detail
    assert "blocks 1 <= 12, parameters 4 <= 336" in second(data, IDENTITY, attention="softmax").detail
    assert "blocks 1 <= 5, parameters 4 <= 140" in second(data, IDENTITY, max_blocks=5).detail


def test_counts(both):
    ff = {"eta": 1, "W": {"outer": [[0, 0], [0, 0]]}, "U": {"outer": [[0, 0], [0, 0]]}, "b": [0, 0]}  # 10, and eta
    sa = {"rho": 1, "A": {"dense": [[1, 0], [0, 1]]}, "V": {"r": [0, 0], "t": [0, 0]}}  # 1, 4, 1 + 4
    assert both(SAME, witness({"ff": ff, "sa": sa}, {}), max_parameters=25, max_width=2) == Status.VERIFIED
    assert both(SAME, witness({"ff": ff, "sa": sa}, {}), max_parameters=24, max_width=2) == Status.REFUTED
    assert both(SAME, witness({"ff": ff, "sa": sa}, {}), max_parameters=25, max_width=1) == Status.REFUTED


def test_dimension_mismatch_is_refuted(both_processes):
    assert both_processes(SAME, witness({}, dimension=3)) == Status.REFUTED


# Malformed files and limits

ONE = '{"format":"interp-dataset/1","dimension":2,"pairs":[{"input":[[%s,1]],"output":[[0,1]]}]}'
NOT_NUMBERS = [
    "01",
    "+1",
    ".5",
    "1.",
    "1_000",
    "0x1",
    "NaN",
    "Infinity",
    "-Infinity",
    "true",
    "null",
    "[1]",
    "--1",
    "1e",
]
NOT_NUMBERS += [
    f'"{text}"' for text in ("", " 1", "1 ", "1\\n", "01", "+1", "1/0", "1/01", "1/-2", "1.0/2", "٣", "1e2/3")
]
NOT_DATA = [
    "",
    "[]",
    ONE % 0 + "x",
    "\ufeff" + ONE % 0,
    ONE.replace('"dimension":2', '"dimension":2,"dimension":2') % 0,
    ONE.replace('"dimension":2', '"dimension":2,"extra":1') % 0,
    ONE.replace('"dimension":2', '"dimension":2,"comment":NaN') % 0,
    ONE.replace('"dimension":2', '"dimension":2,"comment":{"a":1,"a":1}') % 0,
    ONE.replace('"dimension":2', '"dimension":2,"comment":' + "[" * 10**5 + "]" * 10**5) % 0,
    *(ONE.replace('"dimension":2', f'"dimension":{d}') % 0 for d in ("1", "3", "2.0", "true", '"2"', "-2")),
    ONE.replace("interp-dataset/1", "interp-dataset/2") % 0,
    '{"format":"interp-dataset/1","dimension":2,"pairs":[]}',
    '{"format":"interp-dataset/1","dimension":1,"pairs":[{"input":[[0]],"output":[[0]]}]}',
    '{"format":"interp-dataset/1","dimension":2,"pairs":[{"input":[],"output":[[0,1]]}]}',
    '{"format":"interp-dataset/1","dimension":2,"pairs":[{"input":[[0,1]],"output":[]}]}',
    '{"format":"interp-dataset/1","dimension":2,"pairs":[{"input":[[0,1]],"output":["01"]}]}',
]


def test_malformed_data(second):
    for text in [*(ONE % number for number in NOT_NUMBERS), *NOT_DATA]:
        assert second(text.encode(), IDENTITY).status == Status.MALFORMED, text[:200]


def test_numbers_are_what_is_written(second):
    for text in ("0", "-0", '"0/7"', "0.0", "0e5", '"0E-3"'):
        assert second((ONE % text).encode(), IDENTITY).status == Status.VERIFIED
    data = dataset(([["1/3", "-2/6"], ["0.1", "25e-1"]], [["1/10", "5/2"], ["2/6", "-1/3"]]))
    assert second(data, IDENTITY).status == Status.VERIFIED


HEAD = '{"format":"interp-transformer/1","dimension":2,"blocks":1}'
FF = '{"block":1,"ff":{%s}}'
SA = '{"block":1,"sa":{%s}}'
NOT_BLOCKS = [
    "",
    "{}",
    '{"block":2}',
    '{"block":"1"}',
    '{"block":1.0}',
    '{"block":1,"comment":1}',
    '{"block":1,"ff":null}',
    FF % "",
    FF % '"eta":1,"W":[[0],[0]],"U":[[0,0]]',
    FF % '"eta":1,"W":[[0,0]],"U":[[0,0]],"b":[0]',
    FF % '"eta":1,"W":[[0],[0]],"U":[[0],[0]],"b":[0]',
    FF % '"eta":1,"W":{"outer":[[0],[0,0]]},"U":[[0,0]],"b":[0]',
    FF % '"eta":1,"W":{"dense":[[0],[0]]},"U":[[0,0]],"b":[0]',
    FF % '"eta":NaN',
    SA % "",
    SA % '"rho":1,"A":{"p":[0,0]}',
    SA % '"rho":1,"A":{"p":[0,0],"q":[0]}',
    SA % '"rho":1,"A":{"beta":1}',
    SA % '"rho":1,"V":{"alpha":1}',
    SA % '"rho":1,"V":{"dense":[[1,0]]}',
    SA % '"rho":1,"V":{"beta":1,"dense":[[1,0],[0,1]]}',
]


def test_malformed_block(second):
    for line in NOT_BLOCKS:
        assert second(SAME, signed(HEAD, line)).status == Status.MALFORMED, line


def test_malformed_witness(second):
    whole = signed(HEAD, '{"block":1}')
    body, digest = whole[: whole.index(b'{"end"')], hashlib.sha256(whole[: whole.index(b'{"end"')]).hexdigest()

    def ended(text):
        return second(SAME, body + text.encode()).status

    assert ended(f'{{"end":{{"blocks":1,"sha256":"{digest}"}}}}\n') == Status.VERIFIED
    assert ended(f'{{"end":{{"blocks":1,"sha256":"{digest}"}}}}') == Status.MALFORMED
    assert ended(f'{{"end":{{"blocks":2,"sha256":"{digest}"}}}}\n') == Status.MALFORMED
    assert ended(f'{{"end":{{"blocks":1,"sha256":"{digest[::-1]}"}}}}\n') == Status.MALFORMED
    assert ended(f'{{"end":{{"blocks":1,"sha256":"{digest}"}}}}\n\n') == Status.MALFORMED
    assert ended("") == Status.MALFORMED
    two = signed(HEAD.replace('"blocks":1', '"blocks":2'), '{"block":1}', '{"block":2}').splitlines(keepends=True)
    assert second(SAME, b"".join(two)).status == Status.VERIFIED
    assert second(SAME, b"".join(two[:2] + two[3:])).status == Status.MALFORMED
    for head in (
        HEAD.replace("/1", "/2"),
        HEAD.replace(":1}", ":0}"),
        HEAD[:-1] + ',"extra":1}',
        HEAD[:-1] + ',"comment":NaN}',
    ):
        assert second(SAME, signed(head, '{"block":1}')).status == Status.MALFORMED
    for head in (HEAD[:-1] + ',"attention":"softmax","temperatures":"(0,9]","phases":[7],"comment":[1e99999]}',):
        assert second(SAME, signed(head, '{"block":1}')).status == Status.VERIFIED


def test_first_checker_finds_them_malformed_too(both_processes):
    for text in (ONE % '"1\\n"', NOT_DATA[4]):
        assert both_processes(text.encode(), IDENTITY) == Status.MALFORMED
    for line in NOT_BLOCKS[8:10]:
        assert both_processes(SAME, signed(HEAD, line)) == Status.MALFORMED


def test_limits(monkeypatch, second):
    long = "1" * 10001
    for text in ("1e10001", "1e-10001", "1e100000000", '"0e100000000"', long, f'"1/{long}"', f"0.{long}", f"1e{long}"):
        assert second((ONE % text).encode(), IDENTITY).status == Status.LIMIT
        assert second(SAME, signed(HEAD, FF % f'"eta":{text}')).status == Status.LIMIT
    assert second((ONE % ("1" * 10000)).encode(), IDENTITY).status == Status.REFUTED
    assert second(SAME, IDENTITY, temperatures="(0,1e100000000]").status == Status.LIMIT
    monkeypatch.setattr(standalone, "MAX_HEIGHT", 4000)
    assert second(SAME, witness({"ff": {"eta": "1e1000"}})).status == Status.REFUTED
    assert second(SAME, witness({"ff": {"eta": "1e1000"}}, {"ff": {"eta": "1e1000"}})).status == Status.LIMIT


# Random transformers against brute force

NUMBERS = ["0", "0", "1", "1", "-1", "2", "-2", "1/2", "-1/2", "3"]


def random_block(rng):
    def vector(size, values=NUMBERS):
        return [rng.choice(values) for _ in range(size)]

    def matrix(height, width):
        if rng.random() < 0.5:
            return {"outer": [vector(height), vector(width)]}
        return [vector(width) for _ in range(height)]

    block = {}
    kind = rng.random()
    if kind < 0.3:  # a steep step: tokens on either side become one of two points
        a, u, v = rng.randrange(-3, 3), vector(2, NUMBERS[2:]), vector(2, NUMBERS[2:])
        w = [[v[0], f"{-Fraction(v[0])}", rng.choice(NUMBERS)], [v[1], f"{-Fraction(v[1])}", rng.choice(NUMBERS)]]
        block["ff"] = {"eta": "0", "W": w, "U": [u, u, [0, 0]], "b": [f"{-a}", f"{-a}.25", 1]}
    elif kind < 0.8:
        width = rng.randrange(5)
        block["ff"] = {"eta": rng.choice(NUMBERS), "W": matrix(2, width), "U": matrix(width, 2), "b": vector(width)}
    if rng.random() < 0.7:
        square = {"alpha": rng.choice(NUMBERS)}, {"p": vector(2), "q": vector(2)}, {"dense": matrix(2, 2)}, {}
        linear = {"beta": rng.choice(NUMBERS)}, {"beta": "1"}, {"r": vector(2), "t": vector(2)}, {"dense": matrix(2, 2)}
        block["sa"] = {"rho": rng.choice(["0", "1", "-1"]), "A": rng.choice(square), "V": rng.choice(linear)}
    return block


def random_sequence(rng):
    tokens = [[rng.randint(-2, 2), rng.randint(-2, 2)] for _ in range(rng.randint(1, 4))]
    return tokens + rng.choices(tokens, k=rng.choice([0, 0, 1, 2]))


def rows_of(matrix):
    if isinstance(matrix, dict):
        column, row = matrix["outer"]
        return [[Fraction(a) * Fraction(b) for b in row] for a in column]
    return [[Fraction(a) for a in row] for row in matrix]


def square_of(record, scale, column, row):
    if "dense" in record:
        return rows_of(record["dense"])
    outer = rows_of({"outer": [record.get(column, [0, 0]), record.get(row, [0, 0])]})
    return [[outer[i][j] + (i == j) * Fraction(record.get(scale, 0)) for j in (0, 1)] for i in (0, 1)]


def brute_force(blocks, tokens, number, weights_of):
    """The definition, read off: `number` makes a rational into a number, `weights_of` makes scores into weights."""

    def times(rows, x):
        return [sum((number(a) * b for a, b in zip(row, x, strict=True)), number(Fraction(0))) for row in rows]

    sequence = [[number(Fraction(a)) for a in x] for x in tokens]
    for block in blocks:
        if "ff" in block:
            ff, moved = block["ff"], []
            for x in sequence:
                inner = [z + number(Fraction(b)) for z, b in zip(times(rows_of(ff["U"]), x), ff["b"], strict=True)]
                outer = times(rows_of(ff["W"]), [max(z, number(Fraction(0))) for z in inner])
                moved.append([number(Fraction(ff["eta"])) * a + b for a, b in zip(x, outer, strict=True)])
            sequence = moved
        if "sa" in block:
            sa, moved = block["sa"], []
            a, v = square_of(sa["A"], "alpha", "p", "q"), square_of(sa["V"], "beta", "r", "t")
            for x in sequence:
                query = times(a, x)
                weights = weights_of([query[0] * y[0] + query[1] * y[1] for y in sequence])
                mean = [sum(w * y[j] for w, y in zip(weights, sequence, strict=True)) for j in (0, 1)]
                moved.append([number(Fraction(sa["rho"])) * b + c for b, c in zip(x, times(v, mean), strict=True)])
            sequence = moved
    return sequence


def hardmax(scores):
    tied = [score == max(scores) for score in scores]
    return [Fraction(tie, sum(tied)) for tie in tied]


def test_hardmax_is_brute_force(second):
    rng, ties = random.Random(2), 0

    def counted(scores):
        nonlocal ties
        ties += sum(score == max(scores) for score in scores) > 1
        return hardmax(scores)

    for _ in range(60):
        blocks = [random_block(rng) for _ in range(rng.randint(1, 4))]
        sequences = [random_sequence(rng) for _ in range(rng.randint(1, 3))]
        targets = [[[str(a) for a in x] for x in brute_force(blocks, s, Fraction, counted)] for s in sequences]
        bounds = {"max_blocks": 9, "max_parameters": 999}
        pairs = list(zip(sequences, targets, strict=True))
        assert second(dataset(*pairs), witness(*blocks), **bounds).status == Status.VERIFIED
        moved = [str(Fraction(targets[-1][0][0]) + Fraction(1, 10**40)), targets[-1][0][1]]
        for wrong in ([moved, *targets[-1][1:]], [*targets[-1], moved]):
            pairs[-1] = (sequences[-1], wrong)
            assert second(dataset(*pairs), witness(*blocks), **bounds).status == Status.REFUTED
    assert ties > 30


def softmax(tau):
    def weights(scores):
        powers = [mpmath.exp((score - max(scores)) / tau) for score in scores]
        return [power / mpmath.fsum(powers) for power in powers]

    return weights


def test_verified_claims_hold_at_every_temperature(second):
    """A claim that the boxes verify agrees with a 70-digit evaluation to 50 digits, at temperatures up to the largest."""
    rng, verified, uneven = random.Random(3), 0, 0
    for _ in range(130):
        blocks = [random_block(rng) for _ in range(rng.randint(2, 4))]
        tokens = random_sequence(rng)
        target = brute_force(blocks, tokens, Fraction, hardmax)
        largest = rng.choice([Fraction(1, 20), Fraction(1), None])
        claim = {
            "temperatures": "(0,oo)" if largest is None else f"(0,{largest}]",
            "max_blocks": 9,
            "max_parameters": 999,
        }
        data = dataset((tokens, [[str(a) for a in x] for x in target]))
        if second(data, witness(*blocks), **claim).status != Status.VERIFIED:
            continue
        verified += 1
        with mpmath.workdps(70):
            for tau in [1000, mpmath.mpf(1) / 3] if largest is None else [largest, largest / 2, largest / 97]:
                weights = softmax(mpmath.mpf(tau.numerator) / tau.denominator if isinstance(tau, Fraction) else tau)

                def noted(scores, weights=weights):
                    nonlocal uneven
                    uneven += max(scores) != min(scores)
                    return weights(scores)

                def number(a):
                    return mpmath.mpf(a.numerator) / a.denominator

                output = brute_force(blocks, tokens, number, noted)
                distances = [
                    [max(abs(a - number(b)) for a, b in zip(x, y, strict=True)) for y in target] for x in output
                ]
                worst = max(*map(min, distances), *map(min, zip(*distances, strict=True)))
                assert worst < mpmath.mpf(10) ** -50
    assert verified > 30
    assert uneven > 30


# The rules of the boxes, one by one


def inside(point, box):
    c, r = ([Fraction(n, x[-1]) for n in x[:-1]] for x in box)
    slack = mpmath.mpf(10) ** -30 if isinstance(point[0], mpmath.mpf) else 0
    sizes = [(abs(x - number_like(x, a)), number_like(x, b)) for x, a, b in zip(point, c, r, strict=True)]
    return all(distance <= size + slack for distance, size in sizes)


def number_like(x, a):
    return mpmath.mpf(a.numerator) / a.denominator if isinstance(x, mpmath.mpf) else a


def random_boxes(rng):
    """Boxes with some of their points, corners above all, that stand for one or several copies."""
    boxes, tokens, copies = [], [], rng.choice([[1], [1, 2, 6]])
    for _ in range(rng.randint(2, 3)):
        c = [Fraction(rng.randint(-4, 4), 2) for _ in range(2)]
        r = [Fraction(rng.choice([0, 0, 1, 2, 6]), 8) for _ in range(2)]
        boxes.append((standalone.vector(c), standalone.vector(r), rng.choice(copies)))
        shifts = [[rng.choice([-1, -1, 0, 1, 1]) for _ in range(2)] for _ in range(6)]
        tokens.append([[a + sign * b for a, sign, b in zip(c, shift, r, strict=True)] for shift in shifts])
    return boxes, tokens


def test_attention_stays_in_the_box():
    rng, small = random.Random(4), 0
    for _ in range(150):
        block = {"sa": random_block(rng).get("sa", LARGEST["sa"] | {"rho": 1})}
        boxes, tokens = random_boxes(rng)
        largest = rng.choice([Fraction(1, 16), Fraction(1, 4), Fraction(1), Fraction(4)])
        decoded = standalone.parse(json.dumps({"block": 1, **block}).encode(), "").block(1, 2)
        images = [decoded.self_attention(boxes, i, largest) for i in range(len(boxes))]
        small += any(any(r[:-1]) and max(r[:-1]) < r[-1] for _, r, _ in images)
        for choice in zip(*tokens, strict=True):
            sequence = [x for x, (_, _, m) in zip(choice, boxes, strict=True) for _ in range(m)]
            with mpmath.workdps(40):
                tau = mpmath.mpf(largest.numerator) / largest.denominator / rng.choice([1, 1, 3, 40])
                full = {"sa": {"A": {}, "V": {}} | block["sa"]}
                output = brute_force([full], sequence, lambda a: mpmath.mpf(a.numerator) / a.denominator, softmax(tau))
                copied = [(c, r) for c, r, m in images for _ in range(m)]
                assert all(map(inside, output, copied)), (block, boxes, choice, tau)
                assert len(output) == len(copied)
    assert small > 25


def test_copies_weigh():
    decoded = standalone.parse(json.dumps({"block": 1, **LARGEST}).encode(), "").block(1, 2)
    for many, few in ((100, 1), (1, 100)):
        image = decoded.self_attention([((1, 0, 1), (0, 0, 1), few), ((0, 0, 1), (0, 0, 1), many)], 0, Fraction(1))
        with mpmath.workdps(40):
            assert inside([few / (few + many * mpmath.exp(-1)), mpmath.mpf(0)], image[:2])
        assert (max(image[1][:2]) > image[1][2]) == (many > few)


def test_feed_forward_stays_in_the_box():
    rng, certain = random.Random(5), 0
    for _ in range(300):
        block = {"ff": random_block(rng).get("ff", TO_TWO["ff"])}
        boxes, tokens = random_boxes(rng)
        decoded = standalone.parse(json.dumps({"block": 1, **block}).encode(), "").block(1, 2)
        for (c, r, _), points in zip(boxes, tokens, strict=True):
            try:
                image = decoded.feed_forward(c, r, "")
            except standalone.Stop:
                continue
            certain += any(r[:-1])
            assert all(inside(x, image) for x in brute_force([block], points, Fraction, hardmax))
    assert certain > 100


def test_radii_are_rounded_up_and_cancel():
    rng, x = random.Random(6), standalone.vector([Fraction(1), Fraction(-2)])
    for _ in range(200):
        entries = [Fraction(rng.choice(NUMBERS)) for _ in range(2)]
        radius = [Fraction(rng.randint(0, 9), rng.randint(1, 10**30)) for _ in range(2)]
        got = standalone.LinearMap(Fraction(1), [(standalone.vector(entries), x)]).spread(standalone.vector(radius))
        matrix = [[(i == j) + entries[i] * (1, -2)[j] for j in (0, 1)] for i in (0, 1)]
        for i in (0, 1):
            exact = sum(abs(a) * b for a, b in zip(matrix[i], radius, strict=True))
            assert exact <= Fraction(got[i], got[-1]) <= exact * (1 + Fraction(1, 2**60))


# Planted bugs: with one rule broken, the two checkers disagree


def wrong_radius(self, boxes, i, tau):
    mean, radius = softmax_mean(self, boxes, i, tau)
    return mean, standalone.combine((0, radius))


def wrong_need(condition, fault, status=Status.MALFORMED):
    need(condition or status == Status.UNDECIDED, fault, status)


def wrong_temperature(self, boxes, i, tau):
    return softmax_mean(self, boxes, i, Fraction(1, 1000))


def wrong_copies(boxes):
    return [(c, r, 1) for c, r, _ in merged(boxes)]


softmax_mean, need, merged = standalone.Block.softmax_mean, standalone.need, standalone.merged
NEAR_ZERO = {"ff": {"eta": 0, "W": [[1], [0]], "U": [[1, 0]], "b": [-2]}}
PAIR, TRIPLE = [[1, 0], [3, 0]], [[1, 0], [3, 0], [3, 0]]
BUGS = {
    "the first of a tie wins": (standalone, "tied_mean", lambda boxes: boxes[0][:2], [MEAN], PAIR, [2, 0], "0"),
    "copies are forgotten": (standalone, "merged", wrong_copies, [MEAN], TRIPLE, ["7/3", 0], "[0,oo)"),
    "the others have no weight": (standalone.Block, "softmax_mean", wrong_radius, [LARGEST], PAIR, [3, 0], "(0,1]"),
    "no sign is uncertain": (standalone, "need", wrong_need, [LARGEST, NEAR_ZERO], PAIR, [0, 0], "(0,100]"),
    "contenders are tied": (standalone, "hull", standalone.tied_mean, [LARGEST], PAIR, [2, 0], "(0,100]"),
    "cold only": (standalone.Block, "softmax_mean", wrong_temperature, [LARGEST, TO_TWO], PAIR, [2, 0], "(0,100]"),
    "largest is least": (standalone, "max", min, [LARGEST], PAIR, [3, 0], "0"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bug(monkeypatch, second, first, bug):
    place, name, replacement, blocks, tokens, point, temperatures = BUGS[bug]
    case, claim = (dataset((tokens, [point])), witness(*blocks)), {"temperatures": temperatures}
    truth = first(*case, **claim)
    assert second(*case, **claim).status == truth
    monkeypatch.setattr(place, name, replacement, raising=name != "max")
    assert second(*case, **claim).status != truth


def test_nothing_checked_is_not_verified(monkeypatch, second):
    monkeypatch.setattr(standalone, "read_dataset", lambda data: (2, []))
    assert second(SAME, IDENTITY).status == Status.FAULT


def test_a_defect_is_a_fault(monkeypatch, second):
    monkeypatch.setattr(standalone, "final_boxes", lambda blocks, tokens, tau: 1 // 0)
    assert second(SAME, IDENTITY).status == Status.FAULT


# Command line, and the text of the program


def command_line(*arguments, **options):
    command = [sys.executable, "-W", "error", str(SOURCE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_command_line(tmp_path):
    data, transformer = write(tmp_path, SAME, IDENTITY)
    done = command_line(data, transformer)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("VERIFIED: T(X_j) = Y_j for all 1 pairs")
    done = command_line(data, transformer, "--attention", "softmax", "--max-blocks", "0", "--json")
    assert done.returncode == 10
    assert json.loads(done.stdout) == {"verdict": "refuted", "exit_code": 10, "detail": "blocks 1 > 0"}
    assert command_line(data, str(tmp_path / "absent")).returncode == 12
    assert command_line(data, str(tmp_path)).returncode == 12
    assert command_line(data).returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written(tmp_path):
    with open("/dev/full", "w") as full:
        command = [sys.executable, str(SOURCE), *write(tmp_path, SAME, IDENTITY)]
        assert subprocess.run(command, stdout=full, check=False).returncode == 2


def test_usage(second):
    texts = [
        "",
        "1",
        "0.0",
        "-0",
        "(0,0]",
        "(0,-1]",
        "(0,1)",
        "[0,oo]",
        "(0,01]",
        "(0,1_0]",
        "(0,1 0]",
        "(1,2]",
        "(0,1]\n",
    ]
    for text in texts:
        assert second(SAME, IDENTITY, temperatures=text).status == Status.USAGE, text
    for attention, text in (("hardmax", "(0,1]"), ("softmax", "0"), ("other", "0")):
        assert second(SAME, IDENTITY, attention=attention, temperatures=text).status == Status.USAGE
    assert second(SAME, IDENTITY, max_width=-1).status == Status.USAGE
    assert second(SAME, IDENTITY, unknown=1).status == Status.USAGE
    for text in (" [ 0 , 1/2 ] ", "(0,1e-3]", "(0, oo )"):
        assert second(SAME, IDENTITY, temperatures=text).status == Status.VERIFIED, text


def test_one_short_file_of_the_standard_library():
    text = SOURCE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 450
    nodes = list(ast.walk(ast.parse(text)))
    modules = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    modules |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    assert {module.split(".")[0] for module in modules} <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.Assert) or (isinstance(node, ast.ImportFrom) and node.level) for node in nodes)
    assert not any(isinstance(node, ast.Constant) and isinstance(node.value, float | complex) for node in nodes)
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    assert names.isdisjoint({"float", "eval", "exec", "compile", "__import__", "round"})
    assert modules.isdisjoint({"pickle", "marshal", "ctypes", "cmath", "importlib"})
