"""A stranger's paper runs by the same command, from a file or a module of the working folder."""

from __future__ import annotations

import importlib
import json
import shlex
import subprocess
import sys

import pytest

from priorscope import papers

OWN = """
from priorscope.lab import Claim, Paper, at_most
from priorscope.statistics import exact

def grid(scale):
    return [{"x": x, "seed": 0} for x in range(3)]

def run(point):
    return {"square": point["x"] ** 2}

PAPER = Paper("own-squares", "Squares", "mine", 1, grid, run, (
    Claim(id="Q.1", source="mine", says="squares of 0, 1, 2 are at most 4",
          measure=lambda table: exact(table["square"].max()), expect=at_most(4)),
))
NUMBER = 3
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    return tmp_path


def reproduce(folder, *words):
    program = "import sys; from priorscope.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "reproduce", *words, "--store", "runs.sqlite", "--no-chart"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("text", ["mine:PAPER", "mine.py:PAPER"])
def test_a_paper_of_the_users_own_is_run_and_judged(folder, text):
    done = reproduce(folder, text, "--json", "-j", "2")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [c["verdict"] for c in told["claims"]] == ["holds"]
    assert told["claims"][0]["measured"] == 4
    again = shlex.split(told["claims"][0]["command"])  # what is printed runs it again, and finds every point stored
    assert again[:3] == ["priorscope", "reproduce", text]
    done = reproduce(folder, *again[2:], "--json")
    assert done.returncode == 0, done.stderr
    assert {key: json.loads(done.stdout)[key] for key in ("ran", "skipped")} == {"ran": 0, "skipped": 3}


def test_a_paper_that_python_imported_is_found_again_too(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    mine = importlib.import_module("mine")
    assert mine.PAPER.command("small") == "priorscope reproduce mine:PAPER --scale small"
    assert papers.load("small-data").command("small") == "priorscope reproduce small-data --scale small"


def test_what_is_no_paper_is_refused_in_one_line(folder):
    done = reproduce(folder, "mine:NUMBER")
    assert done.returncode != 0
    assert "is a int; a paper is a priorscope.lab.Paper" in done.stderr
    assert "Traceback" not in done.stderr
