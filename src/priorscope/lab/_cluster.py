"""A Dask cluster as an executor that watches its scheduler and its workers, so that no sweep waits for ever."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from priorscope.checks import POSITIVE, checked

if TYPE_CHECKING:
    from distributed import Client, Scheduler

_BETWEEN = 2.0  # seconds between two questions to the scheduler
_TELL = 10.0  # seconds without a worker before the user hears of it
_NEW = 30.0  # seconds without a look after which a new sweep is taken to have begun

P = ParamSpec("P")
T = TypeVar("T")


class ClusterLost(ConnectionError):
    """A cluster that cannot finish a sweep: the points that had not come back were not tried.

    Example:
        >>> str(ClusterLost("tcp://host:8786", "the Dask scheduler at tcp://host:8786 is gone"))
        'the Dask scheduler at tcp://host:8786 is gone'
    """

    def __init__(self, address: str, what: str, advice: str = "Start it again") -> None:
        super().__init__(what)
        self.address, self.advice = address, advice


class ClusterExecutor(Executor):
    """An executor on a Dask cluster that knows whether its scheduler and its workers are still there.

    ``patience`` is how many seconds a sweep waits for a cluster without workers, ``silence`` how many a worker may go
    without a heartbeat before the scheduler gives its points to others.

    Example:
        >>> from types import SimpleNamespace
        >>> client = SimpleNamespace(status="running", get_executor=lambda pure: SerialExecutor())
        >>> from priorscope.lab import SerialExecutor
        >>> cluster = ClusterExecutor(client, "tcp://host:8786")
        >>> cluster.submit(pow, 2, 5).result(), cluster.lost
        (32, False)
        >>> client.status = "closed"
        >>> cluster.lost
        True
    """

    def __init__(self, client: Client, address: str, *, patience: float = 600.0, silence: float = 120.0) -> None:
        self.address, self.patience, self.silence = address, patience, silence
        self._client = client
        self._inner = client.get_executor(pure=False)
        self._answer: Future[tuple[int, list[str]]] | None = None  # the scheduler's, when it has been asked
        self._asked = self._looked = self._seen = float("-inf")  # when last asked, looked at, and known to have workers
        self._told = False
        self._silent: list[str] = []  # workers that were told to be silent: the next question takes their points back

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Send the call to the cluster; :class:`ClusterLost` when the scheduler is gone."""
        try:
            found: Future[T] = self._inner.submit(fn, *args, **kwargs)
            return found
        except Exception as error:
            if self.lost:
                raise self.gone() from error
            raise

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Drop what waits; there is nobody to tell when the scheduler is gone."""
        if not self.lost:
            self._inner.shutdown(wait=wait, cancel_futures=cancel_futures)

    @property
    def lost(self) -> bool:
        """Whether the connection is closed; a client that is still trying to reconnect is not lost yet."""
        return self._client.status in ("closing", "closed")

    def gone(self) -> ClusterLost:
        """What a sweep ends with when the scheduler went away."""
        return ClusterLost(self.address, f"the Dask scheduler at {self.address} is gone")

    def blames_cluster(self, error: BaseException) -> bool:
        """Whether what a future raised speaks of the cluster and not of its point.

        A run's own error never comes this way (it is caught in the worker). A future is cancelled only when the
        scheduler went away or was started anew; a closed connection is an OSError.
        """
        return isinstance(error, CancelledError) or (isinstance(error, OSError) and self._client.status != "running")

    def look(self, came: bool = False) -> None:
        """See whether points can still come back (``came``: some just have); never waits for an answer.

        A cluster without workers is told after a while and given up after ``patience`` seconds (one whose scheduler
        does not answer is taken for one without workers); the points of a silent worker go to others, which is told too.
        """
        if self.lost:
            raise self.gone()
        now = time.monotonic()
        if came or now - self._looked > _NEW:
            self._seen, self._told = now, False
        self._looked = now
        self._read_answer(now)
        if self._answer is None and (
            self._silent or now - self._asked > min(_BETWEEN, self.silence / 4, self.patience / 4)
        ):
            self._asked, self._answer = now, self._ask()
        waited = now - self._seen
        if waited > self.patience:
            raise ClusterLost(
                self.address,
                f"no worker has been seen at the Dask scheduler {self.address} for {waited:.0f} s",
                f"Start workers (`dask worker {self.address} --nthreads 1`)",
            )
        if waited > min(_TELL, self.patience / 2) and not self._told:
            self._told = True
            warnings.warn(
                f"the Dask cluster at {self.address} has no worker. The sweep goes on when one joins (`dask worker "
                f"{self.address} --nthreads 1`) and ends after {self.patience:g} s without.",
                stacklevel=4,
            )

    def _read_answer(self, now: float) -> None:
        """Take the scheduler's answer, when it has come."""
        if self._answer is None or not self._answer.done():
            return
        answer, self._answer = self._answer, None
        if isinstance(answer.exception(), OSError):  # the client is trying to reconnect
            return
        workers, self._silent = (
            (1, []) if answer.exception() is not None else answer.result()
        )  # a scheduler may tell nobody
        if workers:
            self._seen, self._told = now, False
        for address in self._silent:
            warnings.warn(
                f"the Dask worker {address} has been silent for {self.silence:g} s: its points run again elsewhere.",
                stacklevel=5,
            )

    def _ask(self) -> Future[tuple[int, list[str]]]:
        """Ask the scheduler for its workers, in a thread of its own: a scheduler that hangs answers never."""
        answer: Future[tuple[int, list[str]]] = Future()
        silence, drop = self.silence, self._silent
        self._silent = []

        async def looked(dask_scheduler: Scheduler) -> tuple[int, list[str]]:  # nested: it travels whole
            import time

            for address in drop:
                await dask_scheduler.remove_worker(address, stimulus_id=f"silent-worker-{time.time()}")
            last = {address: worker.last_seen for address, worker in dask_scheduler.workers.items()}
            silent = [address for address, seen in last.items() if time.time() - seen > silence]
            return len(last) - len(silent), silent

        def ask() -> None:
            try:
                answer.set_result(self._client.run_on_scheduler(looked))
            except Exception as error:
                answer.set_exception(error)

        threading.Thread(target=ask, daemon=True).start()
        return answer


@checked(timeout=POSITIVE, patience=POSITIVE, silence=POSITIVE)
@contextlib.contextmanager
def dask_executor(
    address: str, *, timeout: float = 10.0, patience: float = 600.0, silence: float = 120.0
) -> Iterator[ClusterExecutor]:
    """An executor on the Dask cluster whose scheduler listens at ``address``; a dead worker's points run again elsewhere.

    A scheduler that is gone for longer than ``timeout`` seconds ends the sweep with :class:`ConnectionError`; what came back
    is stored. A cluster without workers is told after ten seconds; the sweep goes on when one joins and ends after
    ``patience`` seconds without. A worker that sends no heartbeat for ``silence`` seconds (stopped, or swapped out) loses
    its points to the others; choose more where single points keep Python's lock for minutes.

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
            yield ClusterExecutor(client, address, patience=patience, silence=silence)


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
