"""Every test has a limit of time: tried on tests that wait for ever, in a run of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HANGS = """
import itertools, threading, time
from collections import deque
import pytest

def test_waits():
    try:
        threading.Event().wait()
    except Exception:
        pass  # not even this swallows the limit

@pytest.mark.limit(30)
def test_has_a_limit_of_its_own():
    time.sleep(1.5)

def test_quick():
    pass
"""
COMPILED = """
import itertools
from collections import deque

def test_before():
    pass

def test_never_comes_back():
    deque(itertools.repeat(0), maxlen=0)

def test_after():
    pass
"""


def run(folder: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(Path(__file__).with_name("conftest.py"), folder / "conftest.py")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    limit(seconds): x\n    slow: x\n")
    (folder / "test_made_up.py").write_text(text)
    there = {**os.environ, "PRIORSCOPE_TEST_LIMIT": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True, timeout=120)


def test_a_test_that_waits_fails_at_its_limit_and_the_others_go_on(tmp_path):
    done = run(tmp_path, HANGS)
    assert "test_waits took longer than its limit of 1 s" in done.stdout
    assert "1 failed, 2 passed" in done.stdout


def test_compiled_code_that_never_comes_back_ends_its_process_and_is_told(tmp_path):
    done = run(tmp_path, COMPILED)
    assert done.returncode != 0
    assert "Timeout (0:00:02)!" in done.stderr
    assert "in test_never_comes_back" in done.stderr


def test_under_xdist_the_tests_that_are_left_are_run(tmp_path):
    pytest.importorskip("xdist")
    done = run(tmp_path, COMPILED, "-n", "1")
    assert "1 failed, 2 passed" in done.stdout
    assert "crashed while running" in done.stdout
    assert "test_never_comes_back" in done.stdout
