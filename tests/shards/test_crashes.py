"""kill -9 at random moments of a check with a journal: the run that goes on gives the verdict of one that never stopped."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from interp.api import build, save_transformer
from interp.cli.main import run_command
from interp.datasets.encode import encode_dataset_json
from proofs.kernel.statement import Dataset, Pair
from tests.hostile.test_crashes import run_and_kill
from tests.strategies import make_dataset

ROUNDS = max(1, int(os.environ.get("INTERP_KILLS", "6")) // 6)  # verdicts, each after three kills
PAIRS = [([[k, i * i + 1, 1] for i in range(12)], [[k, 0, 1]]) for k in range(40)]


@pytest.fixture
def files(tmp_path):
    dataset = make_dataset(*PAIRS)
    wrong = Dataset(3, (*dataset.pairs[:30], Pair(dataset.pairs[30].input, dataset.pairs[3].output)))
    paths = [tmp_path / name for name in ("D.json", "W.json", "T.jsonl")]
    paths[0].write_bytes(encode_dataset_json(dataset))
    paths[1].write_bytes(encode_dataset_json(wrong))
    save_transformer(build(dataset), paths[2])
    return paths


def start_command(arguments):
    command = [sys.executable, "-m", "interp.cli.main", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)


def kill_after_lines(process, path, lines):
    """Kills a command when its journal has that many lines, if it gets there before its end."""
    while process.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < lines):
        time.sleep(0.002)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_killed_check_goes_on_to_the_same_verdict(files, tmp_path, capsys):
    good, wrong, witness = files
    rng = random.Random(2)
    resumed = 0
    for k in range(ROUNDS):
        data = (good, wrong)[k % 2]
        arguments = ["verify", str(witness), str(data), "--paranoid", "--json", "--quiet"]
        start = time.perf_counter()
        whole_run = start_command(arguments)
        whole, code = json.loads(whole_run.communicate()[0]), whole_run.returncode
        took = time.perf_counter() - start
        path = tmp_path / f"journal{k}"
        journal = ["--resume", str(path)]
        for _ in range(2):
            run_and_kill([*arguments, *journal], rng.uniform(0.2, 1.2) * took)
        kill_after_lines(start_command([*arguments, *journal]), path, rng.randint(2, 20))
        deadline = time.monotonic() + 30
        while (again := run_command([*arguments, *journal])) == 2 and time.monotonic() < deadline:
            capsys.readouterr()  # a process that was just killed may hold the lock for a moment
        found = json.loads(capsys.readouterr().out)
        assert again == code == (0, 10)[k % 2]
        resumed += any("resumed" in note for note in found["notes"])
        found["notes"] = [note for note in found["notes"] if "resumed" not in note]
        assert found == whole | {"parts": [*whole["parts"], "shards"]}
    assert resumed
