from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from priorscope.lab import Paper, SerialExecutor, Store, process_executor, sweep

CHILD = str(Path(__file__).parent / "lab_toy.py")


def same(a, b):
    """Two tables, arrays included, value for value."""
    assert list(a.columns) == list(b.columns)
    assert len(a) == len(b)
    for name in a.columns:
        for left, right in zip(a[name], b[name]):
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("where", ["serial", "threads", "processes"])
def test_every_executor_gives_the_same_table(toy, where, tmp_path):
    executors = {
        "serial": SerialExecutor,
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: process_executor(2),
    }
    store, reference = Store(tmp_path / "s.sqlite"), Store(":memory:")
    with executors[where]() as executor:
        summary = sweep(toy.SQUARES, "small", store, executor)
    sweep(toy.SQUARES, "small", reference, jobs=1)
    assert (summary.ran, summary.skipped, summary.failed) == (6, 0, 0)
    same(store.table(toy.SQUARES, "small"), reference.table(toy.SQUARES, "small"))


def test_a_larger_scale_takes_up_the_points_it_shares(toy):
    store = Store(":memory:")
    sweep(toy.SQUARES, "tiny", store, jobs=1)
    summary = sweep(toy.SQUARES, "small", store, jobs=1)
    assert (summary.ran, summary.skipped) == (2, 4)
    assert len(store.table(toy.SQUARES, "small")) == 6
    assert len(store.table(toy.SQUARES, "tiny")) == 4


def test_a_failed_point_is_tried_again_and_its_traceback_kept(toy, tmp_path):
    points = [{"x": x, "seed": 0, "folder": str(tmp_path)} for x in range(3)]
    store = Store(":memory:")
    summary = sweep(toy.paper(toy.fail_once), points, store, jobs=1)
    assert (summary.ran, summary.failed) == (3, 0)
    (failure,) = store.failures("fail_once").to_dict("records")
    assert failure["attempt"] == 1
    assert "FloatingPointError: the first attempt" in failure["traceback"]


def test_a_point_that_always_fails_stops_no_other(toy):
    points = [{"x": x, "seed": 0} for x in range(4)]
    store = Store(":memory:")
    summary = sweep(toy.paper(toy.fail_always), points, store, jobs=1, retries=2)
    assert (summary.ran, summary.failed, summary.complete) == (3, 1, False)
    assert store.failures()["attempt"].tolist() == [1, 2, 3]
    assert sorted(store.table("fail_always")["x"]) == [0, 2, 3]


def test_a_worker_that_dies_costs_at_most_its_own_point(toy, tmp_path):
    points = [{"x": x, "seed": 0, "folder": str(tmp_path)} for x in range(8)]
    store = Store(":memory:")
    summary = sweep(toy.paper(toy.die_once), points, store, jobs=2)
    assert (summary.ran, summary.failed) == (8, 0)
    summary = sweep(toy.paper(toy.die_always), points, store, jobs=2, retries=0)
    assert (summary.ran, summary.failed) == (7, 1)
    assert "worker process died" in store.failures("die_always")["traceback"].iloc[-1]
    assert sorted(store.table("die_always")["x"]) == [0, 2, 3, 4, 5, 6, 7]


def test_workers_use_one_thread_each(toy):
    store = Store(":memory:")
    sweep(toy.paper(toy.threads), [{"seed": seed} for seed in range(4)], store, jobs=2)
    table = store.table("threads")
    assert set(table["threads"]) == {1}
    assert os.getpid() not in set(table["pid"])


def test_mistakes_are_named(toy):
    store = Store(":memory:")
    local = Paper("local", "", "", 1, lambda scale: [], lambda point: {})
    with pytest.raises(ValueError, match="Define it at the top level of a module, or use jobs=1"):
        sweep(local, [{"seed": 0}, {"seed": 1}], store, jobs=2)
    with pytest.raises(ValueError, match="sweep needs a whole number jobs >= 1, or None; got 0"):
        sweep(local, [{"seed": 0}], store, jobs=0)
    with pytest.raises(ValueError, match="whole number retries >= 0; got -1"):
        sweep(local, [{"seed": 0}], store, retries=-1)
    with pytest.raises(ValueError, match="a scale is one of 'tiny', 'small', 'overnight', 'paper'; got 'huge'"):
        sweep(toy.SQUARES, "huge", store)
    twice = Paper("twice", "", "", 1, lambda scale: [{"seed": 0}, {"seed": 0}], toy.square)
    with pytest.raises(ValueError, match="lists the point .* twice"):
        sweep(twice, "tiny", store)
    unseeded = Paper("unseeded", "", "", 1, lambda scale: [{"x": 0}], toy.square)
    with pytest.raises(ValueError, match="needs a 'seed'"):
        sweep(unseeded, "tiny", store)


def start(store, n, nap, jobs, log):
    command = [sys.executable, CHILD, str(store), str(n), str(nap), str(jobs), str(log)]
    heed = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    signal.signal(signal.SIGINT, heed)
    assert child.stdout.readline() == "start\n"
    return child


def kill_and_resume(toy, folder, kills, seed):
    """Kill a sweep at random moments, let it end, and compare with one that was left alone."""
    n, nap = 200, 0.005
    store, log = folder / "s.sqlite", folder / "log"
    moments = random.Random(seed)
    landed = 0
    for _ in range(kills):
        child = start(store, n, nap, 1, log)
        time.sleep(moments.uniform(0, 0.6 * n * nap / kills))
        child.send_signal(signal.SIGKILL)
        landed += child.wait(90) == -signal.SIGKILL
        child.stdout.close()
    child = start(store, n, nap, 1, log)
    assert child.stdout.read() == "done\n"
    assert child.wait(90) == 0
    child.stdout.close()
    assert landed >= kills - 1  # the kills hit running sweeps
    reference = Store(":memory:")
    sweep(toy.paper(toy.nap), toy.naps(n, nap, str(log)), reference, jobs=1)
    with Store(store) as resumed:
        same(resumed.table("nap"), reference.table("nap"))
        (rows,) = resumed._file._connection.execute("SELECT count(*) FROM results").fetchone()
    assert rows == n
    executions = Counter(Path(log).read_text().split())
    assert sum(executions.values()) - n <= n + kills  # n by the reference; a kill repeats at most the point it hit


def test_a_sweep_killed_at_random_moments_ends_with_the_same_table(toy, tmp_path):
    kill_and_resume(toy, tmp_path, 5, seed=1)


@pytest.mark.slow
def test_a_sweep_killed_twenty_times_ends_with_the_same_table(toy, tmp_path):
    kill_and_resume(toy, tmp_path, 20, seed=2)


def alive(session):
    """Processes of a session that are still there (zombies aside)."""
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (ProcessLookupError, psutil.Error):
            continue
    return found


@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_workers_leave_with_their_client_and_the_sweep_goes_on_later(toy, tmp_path, blow):
    store, log = tmp_path / "s.sqlite", tmp_path / "log"
    child = start(store, 40, 0.05, 2, log)  # two processes
    deadline = time.monotonic() + 90
    while not (log.exists() and len(log.read_text().split()) > 6):  # workers are up and at work
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(child.pid, blow) if blow == signal.SIGINT else child.send_signal(blow)  # Ctrl-C reaches the whole group
    said = child.stdout.read()
    child.stdout.close()
    code = child.wait(90)
    if blow == signal.SIGINT:
        assert code == 130
        assert "run the same command to go on" in said
    while alive(child.pid):
        assert time.monotonic() < deadline, "workers outlived their client"
        time.sleep(0.02)
    with Store(store) as runs:
        kept = len(runs.table("nap"))
        assert 0 < kept < 40
        with ThreadPoolExecutor(20) as pool:  # naps side by side: the rest is soon done
            summary = sweep(toy.paper(toy.nap), toy.naps(40, 0.05, str(log)), runs, pool)
        assert (summary.ran, summary.skipped) == (40 - kept, kept)


def test_clients_on_one_store_share_the_points(toy, tmp_path):
    """Three clients at once: every point runs once, and each client ends with all of them."""
    log, path = str(tmp_path / "log"), tmp_path / "s.sqlite"
    paper = Paper("naps", "Naps", "nobody", 1, lambda scale: [], toy.nap)
    points = [{"x": x, "nap": 0.02, "log": log, "seed": 0} for x in range(30)]
    Store(path).close()

    def client(_):
        with Store(path) as store:
            return sweep(paper, points, store, jobs=1, progress=False), len(store.table("naps"))

    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(client, range(3)))
    assert sorted(int(line) for line in Path(log).read_text().split()) == list(range(30))
    assert [rows for _, rows in done] == [30, 30, 30]
    assert sum(s.ran for s, _ in done) == 30
    assert all(s.ran + s.skipped == 30 for s, _ in done)
    with Store(path) as store, store.transaction() as db:
        assert db.execute("SELECT count(*) FROM running").fetchone() == (0,)


def test_points_of_a_client_that_is_gone_or_silent_are_run_by_others(toy, tmp_path):
    paper = Paper("squares", "Squares", "nobody", 1, lambda scale: [], toy.square)
    points = [{"x": x, "seed": 0} for x in range(3)]
    with Store(tmp_path / "s.sqlite") as store:
        sweep(paper, points[:1], store, jobs=1, progress=False)  # makes the table of what is running
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        now, here = time.time(), socket.gethostname()
        rows = [
            (paper.key(points[1]), f"{here}:{ended.pid}:gone", now),  # killed on this machine
            (paper.key(points[2]), "another machine:1:silent", now - 61),  # not heard of for a minute
        ]
        with store.transaction() as db:
            db.executemany("INSERT INTO running VALUES (?,?,?)", rows)
        start = time.perf_counter()
        assert sweep(paper, points, store, jobs=1, progress=False).ran == 2
        assert time.perf_counter() - start < 30  # control: nobody waited for the minute to pass
