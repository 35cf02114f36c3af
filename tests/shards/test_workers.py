"""Shards on processes of this machine and on a Dask cluster: the same verdict, and every loss has its answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from interp.api import build, save_transformer
from interp.cli.main import run_command
from interp.datasets.encode import encode_dataset_json
from proofs.kernel.statement import Dataset, Pair
from tests.strategies import make_dataset

DATASET = make_dataset(*(([(k, 1), (k, 2)], [(k, 0)]) for k in range(12)))
WRONG = Dataset(2, (*DATASET.pairs[:9], Pair(DATASET.pairs[9].input, DATASET.pairs[0].output), *DATASET.pairs[10:]))
needs_joblib = pytest.mark.skipif(find_spec("joblib") is None, reason="joblib is not installed")
needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="dask and distributed are not installed")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    for name, dataset in (("D.json", DATASET), ("W.json", WRONG)):
        (folder / name).write_bytes(encode_dataset_json(dataset))
    save_transformer(build(DATASET), folder / "T.jsonl")
    save_transformer(build(DATASET), folder / "T.npz")
    return folder


def run(*arguments):
    command = [sys.executable, "-m", "interp.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@needs_joblib
def test_processes_give_the_same_verdict(files):
    code = 10
    arguments = ("verify", files / "T.npz", files / "W.json", "--json", "--quiet")
    whole, spread = (run(*arguments, *more) for more in ((), ("--jobs", "2")))
    assert (whole.returncode, spread.returncode, spread.stderr) == (code, code, "")
    expected = json.loads(whole.stdout)
    assert json.loads(spread.stdout) == expected | {"parts": [*expected["parts"], "shards"]}


LOADED = """
import sys
from pathlib import Path
import proofs.engine.passes, proofs.shards.check, proofs.shards.question as question, proofs.witness.arrays, proofs.witness.lines
folders = {Path(module.__file__).parent for name, module in sys.modules.items() if name.partition(".")[0] == "proofs"}
print(*folders - {(question.PROOFS / part).resolve() for part in question.PARTS})
"""


def test_the_version_is_that_of_everything_a_worker_loads():
    found = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


def descendants(process):
    """The processes below one, as far as /proc tells."""
    found, waiting = [], [process]
    while waiting:
        parent = waiting.pop()
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True).stdout
        found += (new := [int(word) for word in children.split()])
        waiting += new
    return found


def alive(process):
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@needs_joblib
@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="no /proc on this system")
def test_no_process_outlives_its_parent(files, tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text(
        textwrap.dedent(
            """
            import time
            from proofs.guard import Answer, run_guarded
            from proofs.kernel.errors import Status
            from proofs.shards import dispatch

            dispatch.answer_shard = time.sleep
            def work():
                tasks = [type("Task", (), {"arguments": (60,)})() for _ in range(2)]
                list(dispatch.answer_in_processes(2)(tasks))
                return Answer("", {}, Status.VERIFIED)
            if __name__ == "__main__":
                run_guarded(work)
            """
        )
    )
    process = subprocess.Popen([sys.executable, str(slow)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while len(below := descendants(process.pid)) < 4 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)  # until the workers have begun
    assert len(below) >= 3
    process.kill()
    process.wait()
    deadline = time.monotonic() + 15
    while any(map(alive, below)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [child for child in below if alive(child)]


def test_missing_extras_are_told(files, monkeypatch, capsys):
    for name, option in (("joblib", ["--jobs", "2"]), ("distributed", ["--dask", "tcp://127.0.0.1:1"])):
        monkeypatch.setitem(sys.modules, name, None)
        if name == "joblib":
            monkeypatch.setitem(sys.modules, "joblib.externals.loky", None)
        assert run_command(["verify", str(files / "T.jsonl"), str(files / "D.json"), *option]) == 2
        assert "pip install 'exact-interp[" in capsys.readouterr().out


@pytest.mark.parametrize("option", [["--jobs", "0"], ["--jobs", "-2"], ["--jobs", "2", "--dask", "x"]])
def test_options_that_make_no_sense(files, option):
    assert run_command(["verify", str(files / "T.jsonl"), str(files / "D.json"), *option]) == 2


CLUSTER = """
import os, signal, threading, time
from dataclasses import replace
from distributed import Client, LocalCluster
import interp
from proofs.kernel.errors import InterpError
from tests.shards.test_workers import DATASET, WRONG, build

def slow_down():
    # workers answer as ever, a little later: so that one can be killed in the middle
    from proofs.shards import worker
    load = worker.load
    worker.load = lambda *arguments: time.sleep(0.3) or load(*arguments)

def other_version():
    from proofs.shards import worker
    worker.checker_digest = lambda: "sha256:0"

if __name__ == "__main__":
    transformer = build(DATASET)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        for dataset in (DATASET, WRONG):
            whole = interp.verify(transformer, dataset)
            spread = interp.verify(transformer, dataset, dask=address)
            assert spread == replace(whole, parts=(*whole.parts, "shards"), notes=spread.notes), spread
            assert spread.notes[-1].startswith("checked by the workers of the Dask scheduler at tcp://")
            print("same")
        with Client(cluster) as client:
            workers = client.run(os.getpid)
            before = set(workers.values())
            client.run(slow_down)
            killed = set()
            def kill():
                # a worker that has shards to answer
                address = min(workers)
                while not client.processing().get(address):
                    time.sleep(0.01)
                time.sleep(0.1)
                os.kill(workers[address], signal.SIGKILL)
                killed.add(workers[address])
            thread = threading.Thread(target=kill)
            thread.start()
            spread = interp.verify(transformer, DATASET, dask=address)
            thread.join()
            assert killed
            whole = interp.verify(transformer, DATASET)
            assert spread == replace(whole, parts=(*whole.parts, "shards"), notes=spread.notes), spread
            client.wait_for_workers(2, timeout=30)
            after = set(client.run(os.getpid).values())
            assert killed & before and not killed & after
            print("survived")
            client.run(other_version)
            try:
                interp.verify(transformer, DATASET, dask=address)
            except InterpError as fault:
                assert "another version" in str(fault), fault
                print("refused")
"""


@needs_dask
def test_a_cluster_of_two_workers_one_of_them_killed(tmp_path):
    program = tmp_path / "cluster.py"
    program.write_text(CLUSTER)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert done.stdout.split() == ["same", "same", "survived", "refused"], done.stderr[-3000:]
