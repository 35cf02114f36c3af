"""Trusted. Who answers shards: this process, processes of this machine (joblib), or a Dask cluster.

Arguments and answers are plain values. Both libraries unpickle what their workers send, so those workers, and for Dask
the scheduler and the network between them, can do whatever this process can.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from proofs.guard import end_with_parent
from proofs.kernel.errors import InternalFault, LimitReached, UsageError
from proofs.shards.worker import Witness, answer_shard

WAIT_SECONDS = 10  # for a Dask scheduler and its first worker
SHARE = 1_000_000_000  # bytes of address space that a worker process gets at least
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True, slots=True)
class Task:
    """The arguments of ``answer_shard``."""

    question: dict[str, Any]
    limits: dict[str, int]
    witness: Witness
    first: int
    pairs: bytes

    @property
    def arguments(self) -> tuple[dict[str, Any], dict[str, int], Witness, int, bytes]:
        """As they are passed on."""
        return self.question, self.limits, self.witness, self.first, self.pairs


Dispatch = Callable[[Sequence[Task]], Iterator[str]]  # the answers, in any order


def answer_here(tasks: Sequence[Task]) -> Iterator[str]:
    """One shard after the other, in this process."""
    for task in tasks:
        yield answer_shard(*task.arguments)


def count_workers(jobs: int) -> int:
    """The processes for ``jobs``: -1 is one a core; each gets an equal part of the memory bound, if there is one.

    Raises: UsageError.
    """
    if jobs < -1 or jobs == 0:
        raise UsageError(f"{jobs} processes", "--jobs", "a positive number, or -1 for one a core")
    if jobs == -1:
        jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    bound = _memory_bound()
    return jobs if bound is None else max(1, min(jobs, bound // SHARE - 1))


def _memory_bound() -> int | None:
    with suppress(ImportError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if soft == resource.RLIM_INFINITY else soft
    return None


def _settle(parent: int, memory: int | None) -> None:
    """Once in a worker process: it ends with its parent, and keeps to its part of the memory."""
    gc.disable()  # as in every process that checks: nothing that is read refers to itself
    end_with_parent(parent)
    if memory is not None:
        with suppress(ImportError, ValueError):
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def answer_in_processes(workers: int) -> Dispatch:
    """On ``workers`` processes of this machine. Raises: UsageError when joblib is missing."""
    try:
        from joblib.externals.loky import ProcessPoolExecutor, as_completed
        from joblib.externals.loky.process_executor import BrokenProcessPool
    except ImportError as error:
        hint = "pip install 'exact-interp[jobs]'"
        raise UsageError("needs joblib, which is not installed", "--jobs", hint) from error
    bound = _memory_bound()
    memory = None if bound is None else bound // (workers + 1)

    def dispatch(tasks: Sequence[Task]) -> Iterator[str]:
        # loky itself: what joblib puts on top of it leaves temporary files behind when a guarded process ends
        pool = ProcessPoolExecutor(
            min(workers, len(tasks)), initializer=_settle, initargs=(os.getpid(), memory), env=ONE_THREAD
        )
        try:
            futures = [pool.submit(answer_shard, *task.arguments) for task in tasks]
            for future in as_completed(futures):
                answer: str = future.result()
                yield answer
        except BrokenProcessPool as error:
            # how a process ends that runs out of memory, as for the guard
            if any(name in str(error) for name in ("SIGKILL", "SIGABRT", "SIGBUS")):
                message = "a worker process was ended: out of memory?"
                raise LimitReached(message, "--jobs", "raise --max-memory, or use fewer processes") from error
            raise InternalFault(f"a worker process died: {str(error)[:200]}", hint="please report it") from error
        finally:
            pool.shutdown(wait=True, kill_workers=True)

    return dispatch


def answer_on_dask(address: str) -> Dispatch:
    """On the workers of a Dask scheduler; a shard whose worker is lost is given to another one, by the scheduler.

    Raises: UsageError when the extra is missing or nobody answers at the address.
    """
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        hint = "pip install 'exact-interp[dask]'"
        raise UsageError("needs dask and distributed, which are not installed", "--dask", hint) from error

    def dispatch(tasks: Sequence[Task]) -> Iterator[str]:
        try:
            client = distributed.Client(address, timeout=WAIT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            hint = "an address such as tcp://host:8786"
            raise UsageError(f"no Dask scheduler answers at {address}", "--dask", hint) from error
        with client:
            try:
                client.wait_for_workers(1, timeout=WAIT_SECONDS)
            except TimeoutError as error:
                raise UsageError("the scheduler has no workers", "--dask", "start one: dask worker") from error
            futures = [client.submit(answer_shard, *task.arguments, pure=False) for task in tasks]
            for future in distributed.as_completed(futures, loop=client.loop):
                yield _result_of(future, distributed.KilledWorker)

    return dispatch


def _result_of(future: Any, killed: type[Exception]) -> str:
    """The answer of a shard. Raises: LimitReached, UsageError, or what the worker raised."""
    try:
        answer: str = future.result()
    except killed as error:
        hint = "give them more memory"
        raise LimitReached("several workers died on the same shard", "--dask", hint) from error
    except ImportError as error:
        hint = "install the same version of exact-interp there"
        raise UsageError(f"a worker cannot load the checker: {error}", "--dask", hint) from error
    return answer
