"""Runs that move between machines: whole, or not at all."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from priorscope.lab import (
    Paper,
    Store,
    judge_evidence,
    judge_paper,
    keep_unfinished,
    read_runs,
    record_ledger,
    stored_runs,
    sweep,
    take_up,
    unfinished_file,
    write_evidence,
    write_runs,
)


def partly(toy, n, paper=None):
    """A store with the first n runs of a paper."""
    paper, store = paper or toy.SQUARES, Store(":memory:")
    sweep(paper, paper.points("small")[:n], store, scale="small", jobs=1)
    return store


def test_runs_come_back_to_the_last_bit_with_arrays_of_any_length(tmp_path):
    values = {
        "third": 1 / 3,
        "nan": np.nan,
        "word": "ä\u2028<b>",
        "none": None,
        "list": [0.1, 2],
        "long": np.random.default_rng(0).normal(size=(300, 3)),  # a table of judged runs would leave it out
        "counts": np.arange(3, dtype=np.int16),
    }
    paper = Paper("p", "P", "s", 1, lambda scale: [{"seed": s, "name": "é"} for s in range(3)], lambda point: {})
    there, here = Store(":memory:"), Store(":memory:")
    for point in paper.points("small")[:2]:
        there.put("p", 1, point, values, seconds=0.1 + 0.2, code="0.1.0@12ab", scale="small")
    file = write_runs(stored_runs(paper, there, "small"), tmp_path / "p.jsonl")
    read = read_runs(file)
    assert read == stored_runs(paper, there, "small")  # to the last bit: bytes of arrays, code, seconds and time of day
    assert (len(read.rows), read.wanted, read.commit) == (2, 3, "12ab")
    assert write_runs(read, tmp_path / "again.jsonl").read_bytes() == file.read_bytes()
    done = take_up(read, paper, here)
    assert str(done) == "2 of 3 runs taken, made at commit 12ab"
    pd.testing.assert_frame_equal(here.table(paper, "small", details=True), there.table(paper, "small", details=True))
    np.testing.assert_array_equal(here.get("p", 1, {"seed": 0, "name": "é"})["long"], values["long"])
    again = take_up(read, paper, here)
    assert (again.taken, again.known, str(again)) == (0, 2, "0 of 3 runs taken; 2 were stored before")


def test_a_sweep_killed_on_one_machine_ends_on_another_with_the_same_table(toy, tmp_path):
    points = toy.naps(12, 0.05, str(tmp_path / "log"))
    paper = Paper("nap", "Naps", "none", 1, lambda scale: points, toy.nap)
    place = str(tmp_path / "first.sqlite")
    words = [sys.executable, str(Path(toy.__file__)), place, "12", "0.05", "1", str(tmp_path / "log")]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    log = tmp_path / "log"
    while child.poll() is None and not (log.exists() and log.read_bytes().count(b"\n") >= 4):
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    with Store(place) as first:
        left = stored_runs(paper, first, "small")
    assert 3 <= len(left.rows) < 12
    file = write_runs(left, tmp_path / "nap.jsonl")
    other = Store(":memory:")
    take_up(read_runs(file), paper, other)
    summary = sweep(paper, "small", other, jobs=1)
    assert (summary.skipped, summary.ran) == (len(left.rows), 12 - len(left.rows))
    straight = Store(":memory:")
    sweep(paper, "small", straight, jobs=1)
    pd.testing.assert_frame_equal(other.table(paper, "small"), straight.table(paper, "small"))


def spoilt(head, lines):
    """Files that are not what was written: each differs from a whole one in one respect."""
    value = json.loads(lines[1])
    yield "a metric", [head, lines[0], lines[1].replace('"square":0', '"square":7'), *lines[2:]]
    yield "the seed of a point", [head, lines[0], lines[1].replace('"seed":1', '"seed":5'), *lines[2:]]
    yield "an array", [head, lines[0], json.dumps({**value, "arrays": json.loads(lines[0])["arrays"]}), *lines[2:]]
    yield "no array", [head, lines[0], json.dumps({**value, "arrays": None}), *lines[2:]]
    yield "the code", [head, lines[0], json.dumps({**value, "code": "0.1.0@ffff"}), *lines[2:]]
    yield "the checksum", [head, lines[0], json.dumps({**value, "checksum": "0" * 32}), *lines[2:]]
    yield "a line less", [head, *lines[1:]]
    yield "a line twice", [head, lines[0], lines[0], *lines[2:]]
    yield "the version", [head.replace('"version":1', '"version":2'), *lines]
    yield "the paper", [head.replace('"squares"', '"cubes"'), *lines]
    yield "the format", [head.replace('"format":1', '"format":9'), *lines]
    yield "cut short", [head, *lines[:-1], lines[-1][:40]]
    yield "nothing", [""]


@pytest.mark.parametrize("which", range(13))
def test_a_changed_line_is_refused_with_the_whole_file(toy, tmp_path, which):
    file = write_runs(stored_runs(toy.SQUARES, partly(toy, 4), "small"), tmp_path / "squares.jsonl")
    head, *lines = file.read_text().splitlines()
    cases = list(spoilt(head, lines))
    assert len(cases) == 13
    what, text = cases[which]
    assert text != [head, *lines], what
    file.write_text("\n".join(text) + "\n")
    with pytest.raises(ValueError, match="is not what was written there .* restore the file or remove it"):
        read_runs(file)
    file.write_text("\n".join([head, *lines]) + "\n")  # the control: the whole file is read
    assert len(read_runs(file).rows) == 4


def test_runs_of_another_version_paper_or_grid_are_left_out_and_told(toy):
    runs = stored_runs(toy.SQUARES, partly(toy, 4), "small")
    newer, here = dataclasses.replace(toy.SQUARES, version=2), Store(":memory:")
    done = take_up(runs, newer, here)
    assert str(done) == "no runs taken: 4 are of version 1 of the paper, which has changed"
    fewer = dataclasses.replace(toy.SQUARES, grid=lambda scale: [{"x": 0, "seed": s} for s in range(2)])
    done = take_up(runs, fewer, here)
    assert (done.taken, done.strangers) == (2, 2)
    assert "2 left out, whose points are not in the grid of today" in str(done)
    assert here.papers() == {"squares": 1}
    with pytest.raises(ValueError, match="these are runs of 'squares'; a store of 'cubes' has no use"):
        take_up(runs, dataclasses.replace(toy.SQUARES, name="cubes"), here)


def test_an_unfinished_sweep_is_kept_joined_judged_so_far_and_removed_when_finished(toy, tmp_path):
    file = unfinished_file("squares", tmp_path)
    assert keep_unfinished(toy.SQUARES, None, tmp_path) == ""
    assert keep_unfinished(toy.SQUARES, Store(":memory:"), tmp_path) == ""
    assert not file.exists()
    assert "4 of 6 runs kept in" in keep_unfinished(toy.SQUARES, partly(toy, 4), tmp_path)
    other = Store(":memory:")  # a machine that took nothing up, and ran the last point
    sweep(toy.SQUARES, toy.SQUARES.points("small")[5:], other, scale="small", jobs=1)
    assert "5 of 6 runs kept in" in keep_unfinished(toy.SQUARES, other, tmp_path)
    assert keep_unfinished(toy.SQUARES, None, tmp_path) == ""  # without a store nothing is lost
    (record,) = judge_evidence(toy.SQUARES, tmp_path)
    assert (record.verdict, record.progress) == ("not run", (5, 6))
    ledger = record_ledger([record], tmp_path / "ledger.json")
    assert json.loads(ledger.read_text())[0]["progress"] == [5, 6]
    third = Store(":memory:")
    take_up(read_runs(file), toy.SQUARES, third)
    assert sweep(toy.SQUARES, "small", third, jobs=1).ran == 1
    write_evidence(toy.SQUARES, third, "small", tmp_path)
    assert "removed (finished)" in keep_unfinished(toy.SQUARES, third, tmp_path)
    assert not file.exists()
    (record,) = judge_evidence(toy.SQUARES, tmp_path)
    assert (record.verdict, record.progress) == ("holds", None)
    assert record.measured == judge_paper(toy.SQUARES, third)[0].measured


def test_unfinished_runs_of_an_older_version_are_removed_and_never_counted(toy, tmp_path):
    keep_unfinished(toy.SQUARES, partly(toy, 4), tmp_path)
    newer = dataclasses.replace(toy.SQUARES, version=2)
    assert judge_evidence(newer, tmp_path)[0].progress is None
    assert "removed (of another version or grid)" in keep_unfinished(newer, None, tmp_path)
    assert not unfinished_file("squares", tmp_path).exists()


def test_points_that_a_larger_scale_shares_do_not_begin_it(toy, tmp_path):
    store = Store(":memory:")
    sweep(toy.SQUARES, "small", store, jobs=1)
    write_evidence(toy.SQUARES, store, "small", tmp_path)
    assert (
        keep_unfinished(toy.SQUARES, store, tmp_path) == ""
    )  # 6 of 10 points of scale paper are stored, none asked for
    sweep(toy.SQUARES, toy.SQUARES.points("paper")[:7], store, scale="paper", jobs=1)
    assert "7 of 10 runs kept" in keep_unfinished(toy.SQUARES, store, tmp_path)
    assert judge_evidence(toy.SQUARES, tmp_path)[0].verdict == "holds"  # the small runs still decide
