"""Runs that the lab's tests send to other processes, and a child program that the tests kill. Imports only the lab."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from priorscope.lab import Claim, Interrupted, Paper, Store, at_least, sweep
from priorscope.statistics import Interval


def square(point):
    rng = np.random.default_rng(point["seed"])
    return {"square": point["x"] ** 2, "noise": rng.normal(), "draws": rng.normal(size=3).astype(np.float32)}


def nap(point):
    """A few milliseconds of work; notes each execution in a log next to the store."""
    if "log" in point:
        with open(point["log"], "ab", buffering=0) as log:
            log.write(b"%d\n" % point["x"])
    time.sleep(point["nap"])
    return {"cube": point["x"] ** 3, "draws": np.random.default_rng(point["x"]).normal(size=4)}


def _first_time(point) -> bool:
    marker = Path(point["folder"]) / f"tried-{point['x']}"
    if marker.exists():
        return False
    marker.touch()
    return True


def fail_once(point):
    if point["x"] == 1 and _first_time(point):
        raise FloatingPointError("the first attempt at x = 1")
    return {"square": point["x"] ** 2}


def fail_always(point):
    if point["x"] == 1:
        raise FloatingPointError("x = 1 never works")
    return {"square": point["x"] ** 2}


def die_once(point):
    if point["x"] == 1 and _first_time(point):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return {"square": point["x"] ** 2}


def die_always(point):
    if point["x"] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"square": point["x"] ** 2}


def threads(point):
    import torch

    return {"threads": torch.get_num_threads(), "pid": os.getpid()}


def positive(table):
    return Interval(table["square"].mean(), table["square"].min(), table["square"].max())


def grid(scale):
    return [{"x": x, "seed": seed} for x in range({"tiny": 2, "small": 3, "paper": 5}[scale]) for seed in (0, 1)]


SQUARES = Paper(
    "squares",
    "Squares",
    "Euclid",
    1,
    grid,
    square,
    (Claim("X.1", "I.47", "squares are positive", measure=positive, expect=at_least(0)),),
)


def paper(run) -> Paper:
    return Paper(run.__name__, run.__name__, "none", 1, lambda scale: [], run)


def naps(n: int, seconds: float, log: str | None = None) -> list[dict]:
    extra = {"log": log} if log else {}
    return [{"x": x, "seed": 0, "nap": seconds, **extra} for x in range(n)]


def child(store: str, n: int, seconds: float, jobs: int, log: str) -> None:
    """Sweep until done; the test kills or interrupts this process meanwhile."""
    with Store(store) as runs:
        print("start", flush=True)
        try:
            sweep(Paper("nap", "Naps", "none", 1, lambda scale: [], nap), naps(n, seconds, log), runs, jobs=jobs)
        except Interrupted as stop:
            print(stop, flush=True)
            sys.exit(130)
    print("done", flush=True)


if __name__ == "__main__":
    child(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
