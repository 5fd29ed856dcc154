"""Where points run: this process or a pool of local processes (`_cluster` has the Dask cluster)."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import ParamSpec, TypeVar

from priorscope.checks import checked, optional, whole

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

P = ParamSpec("P")
T = TypeVar("T")


def available_cores() -> int:
    """Cores this process may use (its affinity, not the machine's count).

    Example:
        >>> available_cores() >= 1
        True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class SerialExecutor(Executor):
    """Runs each call at once in this process: for one job, for debugging, and for functions that do not pickle.

    Example:
        >>> SerialExecutor().submit(pow, 2, 5).result()
        32
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call ``fn`` now and give its finished future; Ctrl-C is not caught."""
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def one_thread() -> None:
    """Keep this process to one thread in torch, BLAS and numba: the points are what runs side by side."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)
    numba = sys.modules.get("numba")
    if numba is not None and numba.get_num_threads() != 1:
        numba.set_num_threads(1)


def _leave_with_parent() -> None:
    """End this worker when the client is gone: a client killed with SIGKILL cannot do it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _start_worker(module: str | None) -> None:
    """First call in a worker: one thread, deaf to Ctrl-C (the client decides), the paper's module imported."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    for name in _THREAD_VARIABLES:
        os.environ[name] = "1"
    if "numba" not in sys.modules:  # a numba that is there already refuses to compile once its variable has changed
        os.environ["NUMBA_NUM_THREADS"] = "1"
    if module is not None and module != "__main__":
        __import__(module)
    one_thread()
    with contextlib.suppress(ImportError):
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Hold Ctrl-C back: processes started meanwhile never hear it, and this one hears it afterwards."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Pool(ProcessPoolExecutor):
    """A pool whose processes, and the server they are forked from, are deaf to Ctrl-C from their first moment."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        with _deaf():
            return super().submit(fn, *args, **kwargs)


@checked(jobs=optional(whole()))
def process_executor(jobs: int | None = None, *, module: str | None = None) -> ProcessPoolExecutor:
    """Local processes, one torch thread each, warm (``module`` imported before the first point).

    Processes come from a fork server where there is one, else they are spawned: neither copies this process' threads.

    Example:
        >>> with process_executor(1) as pool:
        ...     pool.submit(pow, 2, 5).result()
        32
    """
    jobs = available_cores() if jobs is None else jobs
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    if method == "forkserver" and module is not None and module != "__main__":
        context.set_forkserver_preload([module])
    return _Pool(jobs, mp_context=context, initializer=_start_worker, initargs=(module,))


def stop_now(executor: Executor) -> None:
    """Drop what waits and end the workers of a process pool without waiting for their points."""
    processes = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        with contextlib.suppress(Exception):
            process.terminate()
