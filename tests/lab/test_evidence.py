"""Tables of runs: written to the bit, read to the bit, judged to the same verdict."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from priorscope.lab import (
    Claim,
    Paper,
    Store,
    at_least,
    complete_scale,
    judge_evidence,
    judge_paper,
    read_evidence,
    sweep,
    take_up_evidence,
    waiting,
    write_evidence,
)
from priorscope.statistics import exact


def filled(toy, scale="small"):
    store = Store(":memory:")
    sweep(toy.SQUARES, scale, store, jobs=1)
    return store


def test_the_same_runs_give_the_same_bytes_in_any_order(toy, tmp_path):
    store, other = filled(toy), Store(":memory:")
    for point in reversed(toy.SQUARES.points("small")):
        other.put("squares", 1, point, toy.square(point), scale="small")
    one = write_evidence(toy.SQUARES, store, "small", tmp_path / "a")
    two = write_evidence(toy.SQUARES, other, "small", tmp_path / "b")
    lines = [file.read_text().splitlines() for file in (one, two)]
    assert lines[0][1:] == lines[1][1:]
    heads = [json.loads(line[0]) for line in lines]
    assert [head.pop("commit") is not None for head in heads] == [True, False]
    assert [head.pop("seconds") >= 0 for head in heads] == [True, True]
    assert heads[0] == heads[1]


def test_a_scale_that_lacks_one_point_in_a_hundred_is_not_written(toy, tmp_path):
    grid = [{"x": x, "seed": 0} for x in range(100)]
    paper = dataclasses.replace(toy.SQUARES, grid=lambda scale: grid)
    store = Store(":memory:")
    for point in grid[:-1]:
        store.put("squares", 1, point, {"square": 1.0}, scale="small")
    with pytest.raises(ValueError, match="99 of 100 points of 'squares' at scale small are stored"):
        write_evidence(paper, store, "small", tmp_path)
    assert not list(tmp_path.iterdir())
    store.put("squares", 1, grid[-1], {"square": 1.0}, scale="small")
    assert len(write_evidence(paper, store, "small", tmp_path).read_text().splitlines()) == 101


def test_every_value_comes_back_to_the_last_bit(toy, tmp_path):
    values = {
        "third": 1 / 3,
        "nan": math.nan,
        "infinite": -math.inf,
        "whole": 2**60,
        "word": "ä<b>",
        "none": None,
        "flag": True,
        "list": [0.1, 2],
        "halves": np.array([[0.1, np.nan], [np.inf, 1e-30]], dtype=np.float32),
        "counts": np.arange(3, dtype=np.int16),
        "fitted": np.array([True, False]),
        "long": np.zeros(257),
    }
    paper = Paper("p", "P", "s", 1, lambda scale: [{"seed": 0}], toy.square)
    store = Store(":memory:")
    store.put("p", 1, {"seed": 0}, values)
    file = write_evidence(paper, store, "small", tmp_path)
    assert json.loads(file.read_text().splitlines()[0])["left_out"] == ["long"]
    table = read_evidence("p", tmp_path).table
    (row,) = table.to_dict("records")
    assert row.keys() == values.keys() - {"long"} | {"seed"}
    for name in ("halves", "counts", "fitted"):
        assert row[name].dtype == values[name].dtype
        np.testing.assert_array_equal(row[name], values[name])
    for name in ("third", "infinite", "whole", "word", "none", "flag", "list"):
        assert row[name] == values[name]
    assert math.isnan(row["nan"])


def test_the_table_is_judged_like_the_store(toy, tmp_path):
    store = filled(toy)
    write_evidence(toy.SQUARES, store, "small", tmp_path)
    (there,), (here,) = judge_evidence(toy.SQUARES, tmp_path), judge_paper(toy.SQUARES, store)
    assert there.evidence == "runs/squares.jsonl"
    assert dataclasses.replace(there, evidence=None) == here


def test_a_table_of_other_points_or_another_version_gives_no_verdict(toy, tmp_path):
    assert judge_evidence(toy.SQUARES, tmp_path)[0].verdict == "not run"
    file = write_evidence(toy.SQUARES, filled(toy), "small", tmp_path)
    newer = dataclasses.replace(toy.SQUARES, version=2)
    (record,) = judge_evidence(newer, tmp_path)
    assert record.verdict == "not run"
    assert "of version 1 of the paper, which is now at 2" in record.note
    head, *lines = file.read_text().splitlines()
    fewer = json.dumps({**json.loads(head), "runs": len(lines) - 1})
    file.write_text("\n".join([fewer, *lines[:-1]]) + "\n")  # consistent in itself, but a point is missing
    (record,) = judge_evidence(toy.SQUARES, tmp_path)
    assert record.verdict == "not run"
    assert "does not have the points of scale small" in record.note


@pytest.mark.parametrize(
    "spoil",
    [lambda text: text[:-30], lambda text: text.replace('"runs":6', '"runs":7'), lambda text: "[1]\n", lambda t: ""],
)
def test_a_damaged_table_is_named(toy, tmp_path, spoil):
    file = write_evidence(toy.SQUARES, filled(toy), "small", tmp_path)
    file.write_text(spoil(file.read_text()))
    with pytest.raises(ValueError, match="squares.jsonl is not a table of runs"):
        judge_evidence(toy.SQUARES, tmp_path)


def test_a_measure_that_needs_a_long_array_cannot_be_judged_from_the_table(toy, tmp_path):
    claim = Claim("X.1", "s", "says", measure=lambda t: exact(t["long"].iloc[0].min()), expect=at_least(0))
    paper = Paper("p", "P", "s", 1, lambda scale: [{"seed": 0}], toy.square, (claim,))
    store = Store(":memory:")
    store.put("p", 1, {"seed": 0}, {"long": np.ones(1000)})
    write_evidence(paper, store, "small", tmp_path)
    (record,) = judge_evidence(paper, tmp_path)
    assert (record.verdict, record.raised, record.evidence) == ("not run", True, None)
    assert judge_paper(paper, store)[0].verdict == "holds"


def test_recorded_runs_serve_a_grid_that_has_grown(toy, tmp_path):
    points = toy.SQUARES.points("small")
    write_evidence(toy.SQUARES, filled(toy), "small", tmp_path)
    grown = dataclasses.replace(toy.SQUARES, grid=lambda scale: [*points, {**points[0], "seed": 99}])
    store = Store(":memory:")
    assert take_up_evidence(grown, store, "small", tmp_path) == len(points)
    assert sweep(grown, "small", store, jobs=1).ran == 1
    write_evidence(grown, store, "small", tmp_path / "grown")
    old, new = (folder / "squares.jsonl" for folder in (tmp_path, tmp_path / "grown"))
    assert old.read_text().splitlines()[1:] == new.read_text().splitlines()[1:-1]  # to the last bit
    for other in (
        toy.SQUARES,
        dataclasses.replace(grown, version=2),
    ):  # the recorded grid is run anew; another version too
        assert take_up_evidence(other, Store(":memory:"), "small", tmp_path) == 0
    lines = old.read_text().splitlines()
    old.write_text("\n".join([lines[0].replace('"left_out":[]', '"left_out":["noise"]'), *lines[1:]]) + "\n")
    assert take_up_evidence(grown, Store(":memory:"), "small", tmp_path) == 0  # a measure could want what was left out


def test_an_overnight_run_decides_before_a_small_one_and_only_papers_that_have_it_know_the_scale(toy, tmp_path):
    with pytest.raises(ValueError, match="'squares' has no scale 'overnight'; it has tiny, small, paper"):
        toy.SQUARES.points("overnight")
    night = dataclasses.replace(
        toy.SQUARES, overnight=True, grid=lambda scale: [{"x": 7 if scale == "overnight" else 3, "seed": 0}]
    )
    store = Store(":memory:")
    sweep(night, "small", store, jobs=1)
    assert complete_scale(night, store)[0] == "paper"  # whose points this grid has in common with small
    apart = dataclasses.replace(night, grid=lambda scale: [{"x": ("tiny", *night.scales).index(scale), "seed": 0}])
    store = Store(":memory:")
    for scale, wanted in (("small", "small"), ("overnight", "overnight"), ("paper", "paper")):
        sweep(apart, scale, store, jobs=1)
        assert complete_scale(apart, store)[0] == wanted
    assert [line.missing for line in waiting([toy.SQUARES, apart], Store(":memory:"), tmp_path, "overnight")] == [1]
