"""Ctrl-C at any moment of a start: one line, code 130, nothing lost, nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from priorscope.lab import Store

START = "import sys, priorscope.__main__ as p; print('up', flush=True); sys.argv[0] = 'priorscope'; p.main()"
WORDS = ["reproduce", "sphere-spectrum", "--scale", "small", "--jobs", "2", "--no-chart"]


def left_behind(session: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.Error):
            continue
    return found


@pytest.mark.parametrize("stage, seconds", [("up", 0.02), ("up", 0.5), ("store", 0.0), ("store", 0.5)])
def test_ctrl_c_while_starting(tmp_path, stage, seconds):
    store = tmp_path / "runs" / "store.sqlite"
    heed = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    child = subprocess.Popen(
        [sys.executable, "-c", START, *WORDS],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    signal.signal(signal.SIGINT, heed)
    assert child.stdout.readline() == "up\n"
    deadline = time.monotonic() + 120
    while stage == "store" and not store.exists():  # everything is imported and the sweep is about to begin
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(seconds)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: the whole group hears it
    _, said = child.communicate(timeout=120)
    assert child.returncode == 130, said
    assert any(line.startswith("stopped") for line in said.splitlines()), said
    while left := left_behind(child.pid):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    if store.exists():
        with Store(store) as runs:
            runs.table("sphere-spectrum")


def test_ctrl_c_before_the_first_point_is_told(tmp_path, monkeypatch, capsys):
    from priorscope import lab
    from priorscope.cli import main

    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lab, "sweep", stopped)
    with pytest.raises(SystemExit) as end:
        main(WORDS)
    assert end.value.code == 130
    assert capsys.readouterr().err.startswith("stopped; nothing was lost")
