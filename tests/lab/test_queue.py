"""The queue of papers with unfinished runs: its order, its slices, a kill, a second queue."""

from __future__ import annotations

import pytest

from priorscope.lab import Claim, Paper, Store, at_least, sweep, waiting, work_off, write_evidence
from priorscope.statistics import exact


def square(point):
    if point["x"] < 0:
        raise FloatingPointError("no root")
    return {"square": point["x"] ** 2}


def paper(name, points, claims=1, version=1):
    made = [
        Claim(f"X.{k}", "Sec. 1", "squares grow", measure=lambda t: exact(t["square"].max()), expect=at_least(1))
        for k in range(claims)
    ]
    return Paper(
        name, name, "nowhere", version, lambda scale: [{"x": x, "seed": 0} for x in points], square, tuple(made)
    )


def timed(store, paper, seconds, n):
    for point in paper.points("small")[:n]:
        store.put(paper.name, paper.version, point, square(point), scale="small", seconds=seconds)


def test_the_order_is_by_claims_per_second_of_what_is_missing(tmp_path):
    slow, quick, many = paper("slow", range(4)), paper("quick", range(3)), paper("many", range(5), claims=3)
    store = Store(tmp_path / "store.sqlite")
    timed(store, slow, 10.0, 1)  # 3 left at 10 s: 1 claim in 30 s
    timed(store, quick, 8.0, 1)  # 2 left at 8 s: 1 in 16 s
    timed(store, many, 10.0, 1)  # 4 left at 10 s: 3 in 40 s
    lines = waiting([slow, quick, many], store, tmp_path)
    assert [(line.paper, line.missing, line.seconds) for line in lines] == [
        ("many", 4, 40.0),
        ("quick", 2, 16.0),
        ("slow", 3, 30.0),
    ]
    lines = waiting([slow, quick, paper("many", range(5))], store, tmp_path)  # with one claim it comes last
    assert [line.paper for line in lines] == ["quick", "slow", "many"]


def test_recorded_runs_of_another_version_time_a_paper_and_those_of_this_one_end_it(tmp_path):
    old, new = paper("a", range(4)), paper("a", range(4), version=2)
    there = Store(":memory:")
    timed(there, old, 2.0, 4)
    write_evidence(old, there, "small", tmp_path)
    assert waiting([old], Store(":memory:"), tmp_path) == []
    (line,) = waiting([new], Store(":memory:"), tmp_path)
    assert (line.missing, line.seconds) == (4, 8.0)
    (line,) = waiting([paper("b", range(4))], Store(":memory:"), tmp_path)
    assert line.seconds is None
    assert line.claims_per_minute == float("inf")


def test_a_queue_ends_what_can_end_and_leaves_aside_what_fails(tmp_path):
    good, bad = paper("good", range(3)), paper("bad", [-1, 2])
    with Store(tmp_path / "store.sqlite") as store:
        told = []
        left = work_off([bad, good], store, tmp_path, told=told.append)
        assert [(line.paper, line.missing) for line in left] == [("bad", left[0].missing)]
        assert left[0].missing >= 1
        assert len(store.keys("good", 1)) == 3
        assert {line.paper for line in told} == {"good", "bad"}
        assert "no root" in store.failures("bad")["traceback"].iloc[-1]


def test_a_queue_goes_on_after_a_stop(tmp_path):
    ran = []

    def stopping(point):
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(point["x"])
        return {"square": point["x"] ** 2}

    toy = Paper("toy", "toy", "nowhere", 1, lambda scale: [{"x": x, "seed": 0} for x in range(5)], stopping)
    with Store(tmp_path / "store.sqlite") as store:
        with pytest.raises(KeyboardInterrupt):
            work_off([toy], store, tmp_path)
        assert len(store.keys("toy", 1)) == 2
        again = Paper("toy", "toy", "nowhere", 1, toy.grid, square)
        assert work_off([again], store, tmp_path) == []
        assert len(store.keys("toy", 1)) == 5


def test_time_over_leaves_the_rest_and_a_second_queue_is_refused(tmp_path):
    toy = paper("toy", range(5))
    with Store(tmp_path / "store.sqlite") as store:
        (line,) = work_off([toy], store, tmp_path, seconds=0)
        assert line.missing == 5
        second = []

        def start_another(line):
            with pytest.raises(RuntimeError, match="a queue is already working on .* another --store") as refusal:
                work_off([toy], Store(tmp_path / "store.sqlite"), tmp_path)
            second.append(refusal)

        work_off([toy], store, tmp_path, told=start_another)
        assert second
        sweep(toy, "small", store, jobs=1)
        assert work_off([toy], store, tmp_path) == []  # and it is free again
