"""kill -9 at random moments: no output is ever half-written, and leftovers go at the next run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from interp.cli.main import run_command
from interp.datasets.encode import encode_dataset_json
from proofs.kernel.decode import decode_dataset, decode_transformer
from tests.strategies import make_dataset

RUNS = int(os.environ.get("INTERP_KILLS", "6"))  # make crashes sets 100


@pytest.fixture
def data(tmp_path):
    rng = random.Random(0)
    pairs = [([[rng.randint(-999, 999) for _ in range(3)] for _ in range(12)], [[j, j, 1]]) for j in range(150)]
    path = tmp_path / "data.json"
    path.write_bytes(encode_dataset_json(make_dataset(*pairs)))
    return path


def run_and_kill(arguments, seconds):
    """Starts a command and kills its whole process group after that time, if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "interp.cli.main", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_killed_command_leaves_no_half_written_file(tmp_path, data):
    built, converted = tmp_path / "T.jsonl", tmp_path / "copy.jsonl"
    before = data.read_bytes()
    start = time.perf_counter()
    assert subprocess.run([sys.executable, "-m", "interp.cli.main", "build", data, "-o", built]).returncode == 0
    whole = time.perf_counter() - start
    rng = random.Random(1)
    for k in range(RUNS):
        built.unlink(missing_ok=True)
        converted.unlink(missing_ok=True)
        command = (
            ["build", data, "-o", built],
            ["dataset", "convert", data, converted],
            ["verify", built, data],
        )[k % 3]
        run_and_kill(command, rng.uniform(0.1, 1.2) * whole)
        if built.exists():
            decode_transformer(built.read_bytes())
        if converted.exists():
            decode_dataset(converted.read_bytes())
        assert data.read_bytes() == before


def test_leftovers_are_cleaned_by_the_next_run(tmp_path, data):
    old = tmp_path / ".T.jsonl.abc.part"
    old.write_bytes(b"half")
    os.utime(old, (1, 1))
    fresh = tmp_path / ".T.jsonl.def.part"
    fresh.write_bytes(b"another build is writing this")
    other = tmp_path / ".U.jsonl.abc.part"
    other.write_bytes(b"not ours")
    os.utime(other, (1, 1))
    assert run_command(["build", str(data), "-o", str(tmp_path / "T.jsonl")]) == 0
    assert not old.exists()
    assert fresh.exists()
    assert other.exists()


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path, data, capsys):
    target = tmp_path / "file"
    target.write_text("")
    assert run_command(["build", str(data), "-o", str(target / "T.jsonl")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_full_disk_is_a_clear_error(tmp_path, data, monkeypatch, capsys):
    def full(handle, mode):
        os.close(handle)
        return open("/dev/full", mode)

    monkeypatch.setattr("interp.files.write.os.fdopen", full)
    assert run_command(["build", str(data), "-o", str(tmp_path / "T.jsonl")]) == 2
    assert "No space left" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.json"]
