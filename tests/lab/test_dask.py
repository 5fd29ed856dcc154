from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from priorscope.lab import Store, dask_executor, sweep


def test_no_scheduler_is_said_plainly():
    with (
        pytest.raises(ConnectionError, match="no Dask scheduler answers at tcp://127.0.0.1:1"),
        dask_executor("tcp://127.0.0.1:1", timeout=0.2),
    ):
        pass


def test_a_cluster_sweep_survives_the_death_of_a_worker(toy, tmp_path):
    from distributed import LocalCluster

    points = [{"x": x, "seed": 0, "folder": str(tmp_path)} for x in range(12)]
    store = Store(tmp_path / "s.sqlite")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        dask_executor(cluster.scheduler_address) as executor,
    ):
        summary = sweep(toy.paper(toy.die_once), points, store, executor)
    assert (tmp_path / "tried-1").exists()  # the point did kill its worker
    assert (summary.ran, summary.failed) == (12, 0)
    assert store.table("die_once").sort_values("x")["square"].tolist() == [x * x for x in range(12)]


def test_a_cluster_without_workers_is_told_and_given_up_after_a_time(toy):
    from distributed import LocalCluster

    store = Store(":memory:")
    with LocalCluster(n_workers=0, processes=True, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        start = time.monotonic()
        with (
            pytest.warns(UserWarning, match=r"has no worker\. The sweep goes on when one joins .* ends after 3 s"),
            pytest.raises(
                ConnectionError,
                match=r"no worker has been seen at the Dask scheduler .*: 0 of 3 points .*Start workers .*same command",
            ),
            dask_executor(address, patience=3) as executor,
        ):
            sweep(toy.paper(toy.square), toy.naps(3, 0.0), store, executor)
        assert 3 < time.monotonic() - start < 60
    assert store.failures().empty


def test_a_sweep_goes_on_when_a_worker_joins(toy):
    from distributed import LocalCluster

    store = Store(":memory:")
    with LocalCluster(n_workers=0, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        joins = threading.Timer(3.0, cluster.scale, [1])
        joins.start()
        with (
            pytest.warns(UserWarning, match="has no worker"),
            dask_executor(cluster.scheduler_address, patience=8) as executor,
        ):
            summary = sweep(toy.paper(toy.nap), toy.naps(3, 1.7), store, executor)  # it outlives its patience
        joins.join()
    assert (summary.ran, summary.failed) == (3, 0)


def test_the_points_of_a_silent_worker_run_elsewhere(toy, tmp_path):
    from distributed import LocalCluster

    store, log = Store(":memory:"), tmp_path / "log"
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        stopped = cluster.workers[0].pid

        def strike():
            while not log.exists() or len(log.read_text().split()) < 4:
                time.sleep(0.02)
            os.kill(stopped, signal.SIGSTOP)

        threading.Thread(target=strike, daemon=True).start()
        try:
            with (
                pytest.warns(UserWarning, match=r"worker tcp://.* has been silent for 3 s: its points run again"),
                dask_executor(cluster.scheduler_address, silence=3) as executor,
            ):
                summary = sweep(toy.paper(toy.nap), toy.naps(40, 0.05, str(log)), store, executor)
        finally:
            os.kill(stopped, signal.SIGCONT)
    assert (summary.ran, summary.failed) == (40, 0)


def test_a_lost_scheduler_is_told_as_such_and_its_points_stay_untried(toy, tmp_path):
    """Real processes: a scheduler that is killed while points are under way, and a worker."""
    file = tmp_path / "scheduler.json"
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path])}
    quiet = {"env": there, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    words = ["--scheduler-file", str(file), "--no-dashboard"]
    python = [sys.executable, "-m"]
    scheduler = subprocess.Popen([*python, "distributed.cli.dask_scheduler", "--port", "0", *words], **quiet)
    worker = None
    try:
        deadline = time.monotonic() + 60
        while not file.exists() or not file.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        more = ["--nthreads", "1", "--no-nanny", "--death-timeout", "5"]
        worker = subprocess.Popen([*python, "distributed.cli.dask_worker", *words, *more], **quiet)
        store = Store(tmp_path / "s.sqlite")
        log = tmp_path / "log"

        def strike():
            while not log.exists() or len(log.read_text().split()) < 5:
                time.sleep(0.02)
            scheduler.kill()

        threading.Thread(target=strike, daemon=True).start()
        with (
            pytest.raises(
                ConnectionError, match=r"scheduler at tcp://.* is gone: \d+ of 300 .*the others stay untried"
            ),
            dask_executor(address, timeout=2.0) as executor,
        ):
            sweep(toy.paper(toy.nap), toy.naps(300, 0.05, str(log)), store, executor)
        assert store.failures().empty  # nobody blames the points
        assert len(store.table("nap")) < 300
    finally:
        scheduler.kill()
        scheduler.wait()
        if worker is not None:
            worker.kill()
            worker.wait()
