"""A check that hangs, swallows memory or dies is answered, in bounded time, and never as a success."""

from __future__ import annotations

import faulthandler
import os
import signal
import time

import pytest

from proofs.guard import Answer, Bounds, run_guarded
from proofs.kernel.errors import Status

FINE = Answer("fine", {"verdict": "verified"}, Status.VERIFIED)
BOUNDS = Bounds(max_seconds=2, max_memory=2000)


def test_an_answer_comes_back_unchanged():
    assert run_guarded(lambda: FINE, BOUNDS) == FINE
    large = Answer("x" * 10**6, {"\ud800": 1}, Status.REFUTED)
    assert run_guarded(lambda: large, BOUNDS) == large


def test_time_is_a_limit():
    assert run_guarded(lambda: time.sleep(60), Bounds(max_seconds=1)).status is Status.LIMIT


def test_memory_is_a_limit():
    def work():
        bytearray(10**10)
        return FINE

    assert run_guarded(work, BOUNDS).status is Status.LIMIT


@pytest.mark.parametrize(
    ("death", "status"),
    [
        (signal.SIGABRT, Status.LIMIT),  # how a C library runs out of memory
        (signal.SIGKILL, Status.LIMIT),  # how a system does
        (signal.SIGSEGV, Status.FAULT),
        (signal.SIGTERM, Status.FAULT),
    ],
)
def test_a_process_that_dies_is_no_success(death, status):
    def die():
        faulthandler.disable()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), death)

    assert run_guarded(die, BOUNDS).status is status


@pytest.mark.parametrize("code", [0, 1, 10])
def test_ending_early_is_a_fault_whatever_the_code(code):
    assert run_guarded(lambda: os._exit(code), BOUNDS).status is Status.FAULT


def test_an_exception_is_a_fault():
    assert run_guarded(lambda: 1 // 0, BOUNDS).status is Status.FAULT


def test_an_answer_with_another_exit_code_is_a_fault(monkeypatch):
    end = os._exit
    monkeypatch.setattr(os, "_exit", lambda code: end(3))
    assert run_guarded(lambda: FINE, BOUNDS).status is Status.FAULT
