"""Many runs: every point that is not stored yet, on any executor, each result stored as it comes."""

from __future__ import annotations

import functools
import pickle
import subprocess
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from pathlib import Path

from priorscope.checks import checked, optional, whole
from priorscope.lab._cluster import ClusterExecutor, ClusterLost
from priorscope.lab._executors import SerialExecutor, available_cores, one_thread, process_executor, stop_now
from priorscope.lab._paper import Paper
from priorscope.lab._point import Metrics, Point, encode_result
from priorscope.lab._progress import Watcher, watch
from priorscope.lab._running import Running
from priorscope.lab._store import Store

_WINDOW = 512  # points handed to a foreign executor at a time: enough for a cluster, little to drop at Ctrl-C

_LOOK = 1.0  # seconds between two looks at whether a cluster without news is still there

_DIED = (
    "its worker process died: killed, out of memory, or unable to start (a script that sweeps at its top level needs "
    "`if __name__ == '__main__':` around the sweep)"
)


class Interrupted(KeyboardInterrupt):
    """A sweep stopped by Ctrl-C. What was finished is stored; the message says how much.

    Example:
        >>> def run(point):
        ...     if point["x"] == 2:
        ...         raise KeyboardInterrupt
        ...     return {"square": point["x"] ** 2}
        >>> paper, store = Paper("squares", "Squares", "Euclid", 1, lambda scale: [], run), Store(":memory:")
        >>> try:
        ...     sweep(paper, [{"x": x, "seed": 0} for x in range(4)], store, jobs=1)
        ... except Interrupted:
        ...     print(store.table("squares")["square"].tolist())
        [0, 1]
    """


@dataclass(frozen=True)
class SweepSummary:
    """What a sweep did: points that ran, points that were stored before, points that failed every attempt.

    Example:
        >>> SweepSummary(ran=3, skipped=1, failed=0, seconds=2.0).complete
        True
    """

    ran: int
    skipped: int
    failed: int
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether every point has a result now."""
        return self.failed == 0


@dataclass(frozen=True)
class _Finished:
    """What a worker sends back: a result ready to be stored, or the traceback of a failure."""

    metrics: str = ""
    arrays: bytes | None = None
    seconds: float = 0.0
    failure: str = ""


@functools.cache
def code_version() -> str:
    """The package's version and, in a git checkout, its commit (``+changes`` when files differ from it).

    Example:
        >>> code_version().startswith("0.")
        True
    """
    from priorscope import __version__

    folder = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=10, check=True
        )
        return done.stdout.strip()

    try:
        if not git("ls-files", "--", __file__):
            return __version__
        commit = git("rev-parse", "--short=12", "HEAD")
        changed = "+changes" if git("status", "--porcelain", "--untracked-files=no", "--", str(folder.parent)) else ""
    except (OSError, subprocess.SubprocessError):
        return __version__
    return f"{__version__}@{commit}{changed}"


def _execute(run: Callable[[Point], Metrics], point: Point, single: bool) -> _Finished:
    """Run one point in a worker, timed and encoded. A failure comes back as its traceback, which always pickles."""
    if single:
        one_thread()
    start = time.process_time()  # what a point costs, however busy the machine is
    try:
        result = run(dict(point))
        seconds = time.process_time() - start
        metrics, arrays = encode_result(point, result)
    except Exception:
        return _Finished(failure=traceback.format_exc())
    return _Finished(metrics, arrays, seconds)


@checked(jobs=optional(whole()), retries=whole(0))
def sweep(
    paper: Paper,
    points: Iterable[Point] | str,
    store: Store,
    executor: Executor | None = None,
    *,
    scale: str | None = None,
    jobs: int | None = None,
    retries: int = 1,
    progress: bool | None = None,
) -> SweepSummary:
    """Run the points of a paper that the store does not hold, and store each result as it comes.

    ``points`` is a list of points or the name of a scale. Without ``executor``, ``jobs`` local processes (default: the
    cores at hand) with one torch thread each; with one job, this process. A point that raises is tried ``retries`` more
    times; each traceback is kept (``store.failures()``). Workers never touch the store. After a kill or Ctrl-C the same
    call goes on where it stopped. Several clients may sweep into one store: each takes points that no other runs, and waits
    at the end for those of the others; points of a client that is silent for a minute are anybody's.

    Example:
        >>> def run(point):
        ...     return {"square": point["x"] ** 2}
        >>> paper = Paper("squares", "Squares", "Euclid", 1, lambda scale: [], run)
        >>> points, store = [{"x": x, "seed": 0} for x in range(4)], Store(":memory:")
        >>> sweep(paper, points[:2], store, jobs=1).ran
        2
        >>> summary = sweep(paper, points, store, jobs=1)
        >>> summary.ran, summary.skipped
        (2, 2)
    """
    if isinstance(points, str):
        scale, points = points, paper.points(points)
    start = time.perf_counter()
    wanted = {paper.key(point): point for point in points}
    there = store.keys(paper.name, paper.version)
    stored = [key for key in wanted if key in there]
    if scale is not None and stored and not store.readonly:
        store.mark_scale(stored, scale)
    todo = [point for key, point in wanted.items() if key not in there]
    if not todo:
        return SweepSummary(0, len(stored), 0, time.perf_counter() - start)
    running = Running(store)
    job = _Job(paper, store, scale, retries, running)
    try:
        with running, watch(paper.name, len(todo), progress) as tell:
            if executor is not None:
                job.run(todo, executor, _WINDOW, tell, single=not isinstance(executor, SerialExecutor))
            else:
                _run_locally(job, todo, jobs, tell)
    except Interrupted:
        raise
    except KeyboardInterrupt as error:  # between two calls of run: while a pool starts or ends
        raise job.interrupted(len(todo)) from error
    return SweepSummary(job.ran, len(stored) + job.found, job.failed, time.perf_counter() - start)


def _run_locally(job: _Job, todo: list[Point], jobs: int | None, tell: Watcher) -> None:
    """This process for one job, else a pool; a pool that lost a worker is made anew and its points tried one by one."""
    jobs = min(available_cores() if jobs is None else jobs, len(todo))
    if jobs <= 1:
        job.run(todo, SerialExecutor(), 1, tell, single=False)
        return
    run = job.paper.run
    try:
        pickle.dumps(run)
    except Exception as error:
        raise ValueError(
            f"the run of {job.paper.name!r} cannot be sent to another process ({error}). Define it at the top level of a "
            "module, or use jobs=1."
        ) from error
    module = getattr(run, "__module__", None)
    suspects: list[Point] = []
    while todo or suspects:
        with process_executor(1 if suspects else jobs, module=module) as pool:
            if suspects:
                lost = job.run(suspects[:1], pool, 1, tell, own=True)
                suspects = suspects[1:] if not lost else [*lost, *suspects[1:]]
                if lost and not job.may_retry(lost[0], _DIED):
                    suspects = suspects[1:]
                    tell(job.ran, job.failed)
            else:
                left = deque(todo)
                suspects = job.run(left, pool, window=2 * jobs, tell=tell, own=True)
                todo = list(left)


class _Job:
    """One sweep in progress: its counts, its attempts, and the only hand that writes the store."""

    def __init__(self, paper: Paper, store: Store, scale: str | None, retries: int, running: Running) -> None:
        self.paper, self.store, self.scale, self.retries, self.running = paper, store, scale, retries, running
        self.code = code_version()
        self.ran = self.failed = self.found = 0  # found: stored by another client meanwhile
        self.attempts: dict[str, int] = {}

    def run(
        self,
        todo: Iterable[Point],
        executor: Executor,
        window: int,
        tell: Watcher,
        *,
        single: bool = True,
        own: bool = False,
    ) -> list[Point]:
        """Run the points; gives those that were in flight when a pool of our ``own`` lost a worker."""
        waiting = todo if isinstance(todo, deque) else deque(todo)
        total = self.ran + self.failed + self.found + len(waiting)
        flying: dict[Future[_Finished], Point] = {}
        theirs: list[Point] = []  # points that another client of the store runs now
        try:
            while waiting or flying or theirs:
                while waiting and len(flying) < window:
                    if self._taken(waiting[0], theirs):
                        future = executor.submit(_execute, self.paper.run, waiting[0], single)
                        flying[future] = waiting[0]
                    waiting.popleft()
                if not flying:  # all that is left is with others: wait until they store it, or are silent
                    tell(self.ran + self.found, self.failed)
                    if theirs:
                        time.sleep(_LOOK)
                        waiting.extend(theirs)
                        theirs.clear()
                    continue
                done, _ = wait(flying, timeout=_LOOK, return_when=FIRST_COMPLETED)
                if isinstance(executor, ClusterExecutor):
                    executor.look(came=bool(done))
                for future in done:
                    finished = self._collect(future, executor)
                    point = flying.pop(future)
                    if finished.failure:
                        if self.may_retry(point, finished.failure):
                            waiting.append(point)
                    else:
                        self._keep(point, finished)
                    tell(self.ran + self.found, self.failed)
        except BrokenExecutor:
            lost = self._keep_finished(flying)
            waiting.extend(theirs)
            if own:
                return lost
            raise
        except ClusterLost as error:
            self._keep_finished(flying)
            raise ConnectionError(
                f"{error}: {self.ran} of {total} points of {self.paper.name!r} were finished now and are stored in "
                f"{self.store.path}; the others stay untried. {error.advice} and run the same command to go on."
            ) from error
        except KeyboardInterrupt as error:
            self._keep_finished(flying)
            stop_now(executor)
            raise self.interrupted(total) from error
        except BaseException:
            stop_now(executor)
            raise
        return []

    def _taken(self, point: Point, theirs: list[Point]) -> bool:
        """Whether the point is ours to run; what another client runs goes to ``theirs``, what one has stored is counted."""
        key = self.paper.key(point)
        how = self.running.take(key)
        if how == "theirs":
            theirs.append(point)
        elif how == "stored":
            self.found += 1
            if self.scale is not None:
                self.store.mark_scale([key], self.scale)
        return how == "ours"

    def interrupted(self, total: int) -> Interrupted:
        """What Ctrl-C ends a sweep with."""
        return Interrupted(
            f"stopped: {self.ran} of {total} points of {self.paper.name!r} were finished now and are stored in "
            f"{self.store.path}; run the same command to go on."
        )

    def _collect(self, future: Future[_Finished], executor: Executor) -> _Finished:
        """A future's outcome; what an executor itself raises (not a lost pool or cluster) counts as a failed attempt."""
        try:
            return future.result()
        except BrokenExecutor:
            raise
        except Exception as error:
            if isinstance(executor, ClusterExecutor) and executor.blames_cluster(error):
                raise executor.gone() from error
            return _Finished(failure=traceback.format_exc())

    def _keep(self, point: Point, finished: _Finished) -> None:
        name, version = self.paper.name, self.paper.version
        self.store.put_encoded(
            name,
            version,
            point,
            finished.metrics,
            finished.arrays,
            scale=self.scale,
            seconds=finished.seconds,
            code=self.code,
        )
        self.ran += 1

    def may_retry(self, point: Point, failure: str) -> bool:
        """Keep the traceback; whether the point has an attempt left."""
        key = self.paper.key(point)
        self.attempts[key] = attempt = self.attempts.get(key, 0) + 1
        self.store.put_failure(self.paper.name, self.paper.version, point, attempt, failure, self.code)
        if attempt <= self.retries:
            return True
        self.failed += 1
        self.running.give_back([key])
        return False

    def _keep_finished(self, flying: dict[Future[_Finished], Point]) -> list[Point]:
        """At a sudden end: store what has already come back; gives the points that have not."""
        lost = []
        for future, point in flying.items():
            whole = future.done() and not future.cancelled() and future.exception() is None
            if whole and not future.result().failure:
                self._keep(point, future.result())
            else:
                lost.append(point)
        return lost
