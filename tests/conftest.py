"""A limit of time for every test, any order of them, and a real browser for the pages and charts, started once."""

from __future__ import annotations

import faulthandler
import os
import random
import shutil
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

QUICK, SLOW = 300.0, 3600.0  # seconds of the clock that a test may take: far more than any does on a busy machine
STDERR: list[int] = []  # the real one, which is not captured


def pytest_configure(config: pytest.Config) -> None:
    STDERR.append(os.dup(2))


def seconds_of(item: pytest.Item) -> float:
    """The limit of a test: its mark's, $PRIORSCOPE_TEST_LIMIT, or that of quick or slow tests."""
    mark = item.get_closest_marker("limit")
    usual = SLOW if item.get_closest_marker("slow") else QUICK
    return float(mark.args[0] if mark else os.environ.get("PRIORSCOPE_TEST_LIMIT", usual))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """No test waits for ever: at its limit it fails where it stands; where Python itself does not come back, its process ends.

    The end is told with the lines at which all threads stood; under xdist a new process goes on with the tests that are left.
    """
    seconds = seconds_of(item)

    def late(signum: int, frame: FrameType | None) -> None:
        pytest.fail(f"{item.nodeid} took longer than its limit of {seconds:g} s")

    clock = threading.current_thread() is threading.main_thread() and os.name == "posix"
    if clock:
        before = signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(2 * seconds, exit=True, file=STDERR[-1])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        if clock:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With the seed $PRIORSCOPE_SHUFFLE, files and their tests in another order; $PRIORSCOPE_SHARE keeps a part of the files."""
    seed = os.environ.get("PRIORSCOPE_SHUFFLE")
    if seed is None:
        return
    rng = random.Random(seed)
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(str(item.path), []).append(item)
    names = rng.sample(sorted(files), round(len(files) * float(os.environ.get("PRIORSCOPE_SHARE", "1"))))
    items[:] = [item for name in names for item in rng.sample(files[name], len(files[name]))]


ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium through playwright; tests that ask for it are skipped where there is none."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium on this machine")
    sync = pytest.importorskip("playwright.sync_api")
    with sync.sync_playwright() as play:
        running = play.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield running
        running.close()
