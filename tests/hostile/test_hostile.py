"""Hostile files: each is answered with a code of its own, in bounded time and memory, by the command as users run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from functools import cache

import numpy as np
import pytest

from tests.strategies import dataset_bytes, make_dataset, sign, transformer_bytes
from tests.witness.archives import archive_of_lines, arrays_of, pack

MAX_SECONDS, MAX_MEGABYTES = 2.0, 300

DATASET = make_dataset(([[0, 0], [1, 2]], [[5, 5]]), ([[0, 0], [3, 1]], [[1, 0]]))
IDENTITY = {"ff": {"eta": 1}}


def blocks(*records, dimension=2, **header):
    return transformer_bytes(dimension, list(records), **header)


def header(**changes):
    """A signed file with a header of its own and no blocks."""
    return sign([json.dumps({"format": "interp-transformer/1", "dimension": 2, "blocks": 0} | changes)])


def raw(line):
    """A signed file with this text as its only block."""
    return sign([json.dumps({"format": "interp-transformer/1", "dimension": 2, "blocks": 1}), line])


def numbers():
    """Numbers that cost much to read, or that are none."""
    yield from ("1" * 20_000, "1" * 3_000_000, "1e100000000", "1e-100000000", "1e" + "9" * 100_000, "1/" + "3" * 20_000)
    yield from ("NaN", "Infinity", "1_0", "\u0661", "1/0", "0x10", "+1", " 1", "1 ", "1\n", "--1", "1e", "")


@cache
def witnesses():
    """Name -> bytes of a transformer file."""
    good = blocks(IDENTITY)
    big = "9" * 9_000
    files = {f"number {k}": blocks({"ff": {"eta": text}}) for k, text in enumerate(numbers())}
    files |= {f"raw number {k}": raw(f'{{"block":1,"ff":{{"eta":{text}}}}}') for k, text in enumerate(numbers())}
    files |= {
        "empty": b"",
        "newlines": b"\n" * 100_000,
        "nul": b"\0" * 100_000,
        "nul inside": good.replace(b"block", b"bl\0ck"),
        "bom": b"\xef\xbb\xbf" + good,
        "crlf": good.replace(b"\n", b"\r\n"),
        "utf-16": good.decode().encode("utf-16"),
        "latin-1": good.replace(b"ff", b"\xff"),
        "no end": good[: good.rindex(b"\n", 0, -1) + 1],
        "doubled": good + good,
        "trailing": good + b" ",
        "gzip": b"\x1f\x8b" + good,
        "one long line": b"[" * 5_000_000,
        "deep": raw('{"block":1,"ff":' * 50_000),
        "deep list": raw('{"block":1,"ff":{"eta":1,"W":' + "[" * 100_000 + "]" * 100_000 + ',"U":[],"b":[]}}'),
        "dimension zero": header(dimension=0),
        "dimension huge": header(dimension=10**14),
        "dimension beyond int64": header(dimension=10**30),
        "dimension negative": header(dimension=-2),
        "dimension text": header(dimension="2"),
        "blocks huge": header(blocks=10**14),
        "blocks negative": header(blocks=-1),
        "format list": header(format=[]),
        "format number": header(format=1),
        "version two": header(format="interp-transformer/2"),
        "unknown header key": header(trusted=True),
        "phases nonsense": header(phases=[[[[]]]]),
        "key twice": raw('{"block":1,"ff":{"eta":1,"eta":2}}'),
        "key a million times": raw('{"block":1,' + ",".join(f'"k{k % 7}":1' for k in range(200_000)) + "}"),
        "block not an object": raw("[]"),
        "block null": raw("null"),
        "block number text": raw('{"block":"1"}'),
        "outer wide": blocks({"ff": {"eta": 1, "W": {"outer": [[1] * 50_000] * 2}, "U": [[1, 0]], "b": [1]}}),
        "outer of outer": blocks({"ff": {"eta": 1, "W": {"outer": [{"outer": []}, []]}, "U": [], "b": []}}),
        "outer empty": blocks({"ff": {"eta": 1, "W": {"outer": []}, "U": [], "b": []}}),
        "dense thin": blocks({"sa": {"rho": 1, "A": {"dense": []}}}),
        "dense and sum": blocks({"sa": {"rho": 1, "A": {"dense": [[1, 0], [0, 1]], "alpha": 1}}}),
        "p alone": blocks({"sa": {"rho": 1, "A": {"p": [1, 0]}}}),
        "too wide": blocks({"ff": {"eta": 1, "W": [[1] * 9] * 2, "U": [[1, 0]] * 9, "b": [0] * 9}}),
        "too many blocks": blocks(*[IDENTITY] * 5_000),
        "growing": blocks(*[{"ff": {"eta": big}}] * 12),
        "growing attention": blocks(*[{"sa": {"rho": big, "A": {"alpha": big}, "V": {"beta": big}}}] * 6),
        "tiny": blocks(*[{"ff": {"eta": f"1/{big}"}}] * 12),
        "wrong dimension": blocks(IDENTITY, dimension=3),
        "a hundred thousand keys": header(comment={f"k{i}": i for i in range(100_000)}),
        "long comment": header(comment="x" * 5_000_000),
    }
    files |= {f"cut at {k}": good[: len(good) * k // 10] for k in range(1, 10)}
    return files | binary_witnesses()


def binary_witnesses():
    """Name -> bytes of a file in the binary form; a reader knows it by its content."""
    good = archive_of_lines(blocks(IDENTITY, {"sa": {"rho": 1, "V": {"beta": f"1/{10**40}"}}}))
    arrays = arrays_of(good)

    def shaped(shape, kind="<i8"):
        head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head

    def replaced(**members):
        changed = arrays | {name.replace("__", "/").lstrip("_"): value for name, value in members.items()}
        return pack(changed | {"sha256": changed.pop("sha256")})

    many = {f"{k}/structure": np.zeros((1, 7), dtype="i1") for k in range(1, 5_001)}
    head, tail = ({name: arrays[name]} for name in ("header", "sha256"))
    wide = np.zeros((4096, 7), dtype="i1")
    return {
        "npz alone": b"PK\x03\x04",
        "npz of zeros": b"PK\x03\x04" + b"\0" * 5_000_000,
        "npz good": good,
        "npz cut": good[:-40],
        "npz doubled": good + good,
        "npz trailing": good + b"\n",
        "npz bomb": pack({"format": arrays["format"], "header": b"\0" * 50_000_000}, zipfile.ZIP_DEFLATED),
        "npz huge shape": replaced(_1__rho=shaped("(999999999999999,)")),
        "npz shape of two": replaced(_1__rho=shaped("(99999999999999, 99999999999999)")),
        "npz shape of many": replaced(_1__rho=shaped("(" + "9, " * 20_000 + "9)")),
        "npz negative shape": replaced(_1__rho=shaped("(-1,)")),
        "npz no code": replaced(_1__rho=shaped("__import__('os')")),
        "npz pickle": replaced(_1__rho=b"\x80\x04K\x01."),
        "npz objects": replaced(_1__rho=np.array([1, None])),
        "npz floats": replaced(_1__rho=np.array([np.nan])),
        "npz members without end": pack({"format": arrays["format"]} | head | many | tail),
        "npz empty blocks": replaced(_1__structure=wide),
        "npz giant": replaced(
            _1__V_denominators_sizes=np.array([2_000_000]), _1__V_denominators_bytes=b"\1" * 2_000_000
        ),
        "npz giant number": replaced(
            _1__V_denominators_sizes=np.array([2_000_000]), _1__V_denominators_bytes=np.ones(2_000_000, dtype="u1")
        ),
        "npz huge width": replaced(_1__structure=np.array([[2, 1, 1, 2**62, 0, 0, 0]] * 2)),
        "npz dataset": pack({"inputs": np.array([[1, 2]]), "input_lengths": np.array([1])}),
        "npz damaged": good.replace(arrays["header"].tobytes(), arrays["header"].tobytes().swapcase()),
    }


@cache
def statements():
    """Name -> bytes of a dataset file."""
    good = b'{"format":"interp-dataset/1","dimension":2,"pairs":[{"input":[[0, 0]],"output":[[1, 1]]}]}'
    return {
        "empty": b"",
        "no pairs": b'{"format":"interp-dataset/1","dimension":2,"pairs":[]}',
        "no pairs in lines": b'{"format":"interp-dataset-lines/1","dimension":2,"pairs":0}\n',
        "lines cut": b'{"format":"interp-dataset-lines/1","dimension":2,"pairs":2}\n{"input":[[1,2]],"output":[[1,2]]}\n',
        "huge count": b'{"format":"interp-dataset-lines/1","dimension":2,"pairs":99999999999999}\n',
        "dimension huge": good.replace(b'"dimension":2', b'"dimension":99999999999999'),
        "deep": b"[" * 1_000_000,
        "ragged": good.replace(b"[0, 0]", b"[0]"),
        "nan": good.replace(b"[0, 0]", b"[NaN, 0]"),
        "exponent": good.replace(b"[0, 0]", b"[1e100000000, 0]"),
    }


# A child's peak includes that of its parent before it started its own program: this parent is small.
LAUNCHER = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
errors = process.stderr.read()
_, state, usage = os.wait4(process.pid, 0)
seconds = usage.ru_utime + usage.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(state), seconds, usage.ru_maxrss // 1024, errors.decode()]))
"""


def check(data, witness, *options):
    """Exit code, seconds of work and peak megabytes of a check as users run it, the guarded process included."""
    command = [sys.executable, "-m", "proofs", "check", str(data), str(witness), *options]
    done = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, *command], capture_output=True, check=True)
    code, seconds, megabytes, errors = json.loads(done.stdout)
    assert "Traceback" not in errors
    return code, seconds, megabytes


SAMPLE = 12  # every so manieth runs by default; INTERP_SLOW=1 adds the rest


def cases(names):
    return [pytest.param(n, marks=pytest.mark.slow if k % SAMPLE else ()) for k, n in enumerate(sorted(names))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile")
    (path / "data.json").write_bytes(dataset_bytes(DATASET))
    (path / "good.jsonl").write_bytes(blocks(IDENTITY))
    return path


def test_there_are_a_hundred():
    assert len(witnesses()) + len(statements()) >= 100


@pytest.mark.parametrize("name", cases(witnesses()))
def test_witnesses(name, folder):
    (folder / "witness.jsonl").write_bytes(witnesses()[name])
    code, seconds, megabytes = check(folder / "data.json", folder / "witness.jsonl")
    assert code in (10, 12, 13), (name, code)
    assert seconds < MAX_SECONDS
    assert megabytes < MAX_MEGABYTES


@pytest.mark.parametrize("name", cases(statements()))
def test_statements(name, folder):
    (folder / "statement.json").write_bytes(statements()[name])
    code, seconds, megabytes = check(folder / "statement.json", folder / "good.jsonl")
    assert code in (12, 13), (name, code)
    assert seconds < MAX_SECONDS
    assert megabytes < MAX_MEGABYTES


def test_what_is_no_file(folder):
    good, data = folder / "good.jsonl", folder / "data.json"
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    (folder / "link").symlink_to(good)
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "broken").symlink_to(folder / "nothing")
    expected = {pipe: 12, folder: 12, folder / "loop": 12, folder / "broken": 12, folder / "link": 10, "/dev/zero": 12}
    for witness, code in expected.items():
        assert check(data, witness)[0] == code, witness
        if code == 12:
            assert check(witness, good)[0] == 12, witness


def test_an_array_file_that_unpacks_to_much(folder):
    from interp.cli.main import run_command

    bomb = folder / "bomb.npz"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inputs.npy", b"\0" * 200_000_000)
    assert bomb.stat().st_size < 1_000_000
    assert run_command(["dataset", "check", str(bomb), "--max-bytes", "10000000"]) in (12, 13)
    assert run_command(["verify", str(folder / "good.jsonl"), str(bomb), "--max-bytes", "10000000"]) in (12, 13)


def test_time_is_a_limit_with_a_code_of_its_own(folder):
    slow = folder / "slow.jsonl"
    slow.write_bytes(blocks(*[{"ff": {"eta": "9" * 9_000}}] * 100))
    assert check(folder / "data.json", slow, "--max-seconds", "1", "--max-blocks", "1000")[0] in (10, 13)
