"""Where points run: this process, a pool of local processes, or a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from priorscope.checks import POSITIVE, checked, optional, whole

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["ClusterExecutor", "ClusterLost", "SerialExecutor", "available_cores", "dask_executor", "process_executor"]

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


class ClusterExecutor(Executor):
    """An executor on a Dask cluster that knows whether its scheduler is still there.

    Example:
        >>> from types import SimpleNamespace
        >>> client = SimpleNamespace(status="running", get_executor=lambda pure: SerialExecutor())
        >>> cluster = ClusterExecutor(client, "tcp://host:8786")
        >>> cluster.submit(pow, 2, 5).result(), cluster.lost
        (32, False)
        >>> client.status = "closed"
        >>> cluster.lost
        True
    """

    def __init__(self, client: Client, address: str) -> None:
        self.address = address
        self._client = client
        self._inner = client.get_executor(pure=False)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send the call to the cluster; :class:`ClusterLost` when the scheduler is gone."""
        try:
            found: Future[T] = self._inner.submit(fn, *args, **kwargs)
            return found
        except Exception as error:
            if self.lost:
                raise ClusterLost(self.address) from error
            raise

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Drop what waits; there is nobody to tell when the scheduler is gone."""
        if not self.lost:
            self._inner.shutdown(wait=wait, cancel_futures=cancel_futures)

    @property
    def lost(self) -> bool:
        """Whether the connection is closed; a client that is still trying to reconnect is not lost yet."""
        return self._client.status in ("closing", "closed")

    def blames_cluster(self, error: BaseException) -> bool:
        """Whether what a future raised speaks of the cluster and not of its point.

        A run's own error never comes this way (:func:`_execute` catches it). A future is cancelled only when the
        scheduler went away or was started anew; a closed connection is an OSError.
        """
        return isinstance(error, CancelledError) or (isinstance(error, OSError) and self._client.status != "running")


class ClusterLost(ConnectionError):
    """The scheduler of a cluster went away during a sweep; the points that had not come back were not tried.

    Example:
        >>> str(ClusterLost("tcp://host:8786"))
        'the Dask scheduler at tcp://host:8786 is gone'
    """

    def __init__(self, address: str) -> None:
        super().__init__(f"the Dask scheduler at {address} is gone")


@checked(timeout=POSITIVE)
@contextlib.contextmanager
def dask_executor(address: str, *, timeout: float = 10.0) -> Iterator[ClusterExecutor]:
    """An executor on the Dask cluster whose scheduler listens at ``address``; a dead worker's points run again elsewhere.

    A scheduler that is gone for longer than ``timeout`` seconds ends the sweep with :class:`ConnectionError`; what came back
    is stored.

    Example:
        >>> with dask_executor("tcp://127.0.0.1:1", timeout=0.2):
        ...     pass
        Traceback (most recent call last):
        ...
        ConnectionError: no Dask scheduler answers at tcp://127.0.0.1:1 within 0.2 s. Start one with ...
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "a Dask cluster needs the package `distributed`: pip install 'priorscope[cluster]'"
        ) from error
    with _quiet("distributed", "tornado"):
        try:
            client = Client(address, timeout=timeout, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ConnectionError(
                f"no Dask scheduler answers at {address} within {timeout:g} s. Start one with `dask scheduler` and workers "
                "with `dask worker ADDRESS --nthreads 1`, then give its address, as in tcp://host:8786."
            ) from error
        with client:
            yield ClusterExecutor(client, address)


@contextlib.contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Keep the tracebacks these libraries log to themselves: a lost connection is told by us, once."""
    levels = {name: logging.getLogger(name).level for name in names}
    # Children with a level of their own do not follow their parent's.
    children = [log for log in logging.root.manager.loggerDict if log.startswith(tuple(f"{name}." for name in names))]
    levels |= {name: logging.getLogger(name).level for name in children}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
