"""Seconds and megabytes, and how a table shows them."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np


def best(action: Callable[[], Any], runs: int = 3) -> float:
    """Seconds of the fastest run; short ones run up to 30 times, for half a second."""
    times: list[float] = []
    while len(times) < runs or (runs > 1 and len(times) < 30 and sum(times) < 0.5):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


# A child inherits the peak of the process that starts it: so a small one starts it.
STARTER = (
    "import resource, subprocess, sys, time\n"
    "start = time.perf_counter()\n"
    "code = subprocess.run([sys.executable, '-m', *sys.argv[1:]], stdout=subprocess.DEVNULL).returncode\n"
    "print(code, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)\n"
)


def run_alone(*command: str) -> tuple[float, int]:
    """Seconds and peak megabytes of a process of its own; the fastest of three unless it takes long."""
    seconds, peak = _run_once(*command)
    if seconds < 5:
        again = [_run_once(*command) for _ in range(2)]
        return min(seconds, *(pair[0] for pair in again)), peak
    return seconds, peak


def _run_once(*command: str) -> tuple[float, int]:
    done = subprocess.run([sys.executable, "-c", STARTER, *command], capture_output=True, text=True)
    code, seconds, peak = done.stdout.split()
    if code != "0":
        raise SystemExit(f"{' '.join(command)}: exit code {code}\n{done.stderr}")
    return float(seconds), int(peak)


def shown(seconds: float | None) -> str:
    """Three digits."""
    if seconds is None:
        return "-"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def times(left: float | None, right: float) -> str:
    """How many times the right figure fits into the left one."""
    return "-" if left is None else f"{left / right:.3g}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints Markdown."""
    for line in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(map(str, line)) + " |", flush=True)
    print(flush=True)


def fit(rows: Sequence[Sequence[float]], column: int) -> float:
    """The exponent of a column against column 0, by least squares of logarithms, where column 0 is at least 100."""
    logs = np.log(np.array([[row[0], row[column]] for row in rows if row[0] >= 100], dtype=float))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def machine() -> str:
    """Processor and versions."""
    packages = []
    for name in ("numpy", "python-flint", "sympy", "torch", "aeon"):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"no {name}")
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as stream:
        model = next((line.partition(":")[2].strip() for line in stream if line.startswith("model name")), "unknown")
    return f"{model}, one thread, CPython {platform.python_version()}, {', '.join(packages)}"
