from __future__ import annotations

import dataclasses
import json

import pytest

from priorscope.lab import (
    Claim,
    Record,
    Store,
    Verdict,
    at_least,
    complete_scale,
    judge_paper,
    natural_order,
    read_ledger,
    record_ledger,
    rising,
    sweep,
)
from priorscope.statistics import exact


def test_verdicts_come_from_complete_runs_of_small_or_above_only(toy):
    store = Store(":memory:")
    assert judge_paper(toy.SQUARES, None)[0].verdict == "not run"
    sweep(toy.SQUARES, "tiny", store, jobs=1)
    (record,) = judge_paper(toy.SQUARES, store)
    assert record.verdict == "not run"
    assert "4 of 6 points of scale small" in record.note
    sweep(toy.SQUARES, "small", store, jobs=1)
    (record,) = judge_paper(toy.SQUARES, store)
    assert (record.verdict, record.scale, record.seeds) == ("holds", "small", 2)
    assert record.measured == pytest.approx((0 + 1 + 4) / 3)
    assert record.command == f"priorscope reproduce {toy.__name__}:SQUARES --scale small"  # where it can be found again
    sweep(toy.SQUARES, "paper", store, jobs=1)
    (record,) = judge_paper(toy.SQUARES, store)
    assert (record.scale, record.measured) == ("paper", pytest.approx((0 + 1 + 4 + 9 + 16) / 5))


def test_members_count_as_seeds_where_a_point_trains_several(toy):
    points = [{"x": 1, "networks": n, "seed": s} for s in range(2) for n in (4, 3)]
    many = dataclasses.replace(toy.SQUARES, name="many", grid=lambda scale: points, members="networks")
    store = Store(":memory:")
    sweep(many, "small", store, jobs=1)
    assert judge_paper(many, store)[0].seeds == 6  # two seeds of three networks in the cell that has fewest
    plain = dataclasses.replace(many, members="")
    assert judge_paper(plain, store)[0].seeds == 2
    with pytest.raises(ValueError, match="counts its members in 'nets'"):
        dataclasses.replace(many, members="nets").points("small")


def test_a_new_version_of_a_paper_starts_anew(toy):
    store = Store(":memory:")
    sweep(toy.SQUARES, "small", store, jobs=1)
    assert judge_paper(dataclasses.replace(toy.SQUARES, version=2), store)[0].verdict == "not run"


def test_one_broken_judge_hides_no_other(toy):
    def broken(table):
        raise KeyError("no such column")

    paper = dataclasses.replace(
        toy.SQUARES, claims=(Claim("X.0", "s", "says", measure=broken, expect=rising()), *toy.SQUARES.claims)
    )
    store = Store(":memory:")
    sweep(paper, "small", store, jobs=1)
    first, second = judge_paper(paper, store)
    assert (first.verdict, second.verdict) == ("not run", "holds")
    assert "KeyError" in first.note


def test_a_verdict_on_an_older_protocol_does_not_stand(tmp_path):
    file = tmp_path / "ledger.json"
    made = [
        Record(id=i, says="a", source="s", verdict="holds", scale="small", version=v)
        for i, v in (("X.1", 1), ("X.2", 2))
    ]
    record_ledger(made, file)
    record_ledger([Record(id=i, says="a", source="s", version=2) for i in ("X.1", "X.2")], file)
    assert [record.verdict for record in read_ledger(file).values()] == ["not run", "holds"]


def test_the_ledger_keeps_verdicts_drops_dead_ids_and_refuses_tiny(tmp_path):
    file = tmp_path / "claims" / "ledger.json"
    one = Record(id="X.10", says="words", source="s", verdict="fails", measured=float("nan"), scale="small")
    record_ledger([one, Record(id="X.2", says="b", source="s"), Record(id="X.3", says="gone", source="s")], file)
    record_ledger([Record(id="X.10", says="words", source="new"), Record(id="X.2", says="b", source="s")], file)
    ledger = read_ledger(file)
    assert list(ledger) == ["X.2", "X.10"]
    assert (ledger["X.10"].verdict, ledger["X.10"].source) == ("fails", "new")  # a failed claim stays failed
    json.loads(file.read_text(), parse_constant=pytest.fail)  # strict JSON: no NaN
    with pytest.raises(ValueError, match="tiny runs test the code"):
        record_ledger([Record(id="X.1", says="a", source="s", scale="tiny", verdict="holds")], file)
    file.write_text("{")
    with pytest.raises(ValueError, match="is not a ledger of claims"):
        read_ledger(file)


@pytest.mark.parametrize(
    ("today", "note"),
    [
        ({}, None),
        ({"source": "Sec. 2"}, None),
        ({"says": "other words"}, None),  # words are compared by the fingerprint where there is one
        ({"fingerprint": "f2"}, "judged under other words (then: holds)"),
        ({"version": 2}, "judged under version 1 of the paper, which is now at 2 (then: holds)"),
        (
            {"raised": True, "note": "the measure raised KeyError: 'x'"},
            "the measure raised KeyError: 'x' (then: holds)",
        ),
    ],
)
def test_a_recorded_verdict_stands_for_the_same_claim_only(tmp_path, today, note):
    same = {"id": "X.1", "says": "a", "source": "s", "version": 1, "fingerprint": "f1"}
    file = tmp_path / "ledger.json"
    record_ledger([Record(**same, verdict="holds", measured=1.0, scale="small")], file)
    record_ledger([Record(**{**same, **today})], file)
    (kept,) = read_ledger(file).values()
    expected = ("holds", 1.0, "") if note is None else ("not run", None, note)
    assert (kept.verdict, kept.measured, kept.note) == expected
    record_ledger([Record(**same)], file)  # and what was lost does not come back by itself
    assert next(iter(read_ledger(file).values())).verdict == expected[0]


@pytest.mark.parametrize("missing", range(6))
def test_a_set_of_runs_that_lacks_one_point_is_not_judged(toy, missing):
    store = Store(":memory:")
    for i, point in enumerate(toy.SQUARES.points("small")):
        if i != missing:
            store.put("squares", 1, point, toy.square(point), scale="small")
    (record,) = judge_paper(toy.SQUARES, store)
    assert (record.verdict, record.note) == ("not run", "5 of 6 points of scale small are stored")
    assert complete_scale(toy.SQUARES, store)[0] is None


def test_a_large_grid_that_lacks_one_point_in_a_hundred_is_not_judged(toy):
    grid = [{"x": x, "seed": 0} for x in range(100)]
    paper = dataclasses.replace(toy.SQUARES, grid=lambda scale: grid)
    store = Store(":memory:")
    for point in grid[:-1]:
        store.put("squares", 1, point, {"square": 1.0})
    assert judge_paper(paper, store)[0].verdict == "not run"
    store.put("squares", 1, grid[-1], {"square": 1.0})
    assert judge_paper(paper, store)[0].verdict == "holds"


def test_tiny_runs_give_no_verdict_even_when_asked(toy):
    store = Store(":memory:")
    sweep(toy.SQUARES, "tiny", store, jobs=1)
    (record,) = judge_paper(toy.SQUARES, store, "tiny")
    assert (record.verdict, record.measured, record.scale) == ("not run", None, None)
    assert "tiny runs test the code" in record.note


def test_verdicts_do_not_depend_on_which_sweep_ran_the_points(toy, tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        for point in toy.SQUARES.points("paper"):
            store.put("squares", 1, point, toy.square(point), scale="paper")
    with Store(tmp_path / "s.sqlite", readonly=True) as store:
        (record,) = judge_paper(toy.SQUARES, store, "small")
    assert (record.verdict, record.measured, record.seeds) == ("holds", pytest.approx(5 / 3), 2)


def test_one_measure_cannot_disturb_the_next(toy):
    def spoils(table):
        table["square"] = -1.0
        return exact(0)

    first = Claim("X.0", "s", "says", measure=spoils, expect=at_least(0))
    paper = dataclasses.replace(toy.SQUARES, claims=(first, *toy.SQUARES.claims))
    store = Store(":memory:")
    sweep(paper, "small", store, jobs=1)
    assert [record.verdict for record in judge_paper(paper, store)] == ["holds", "holds"]


def test_verdicts_are_checked():
    with pytest.raises(ValueError, match="a verdict is one of 'holds'"):
        Verdict("maybe")


def test_natural_order():
    ids = ["S4.1", "S0.10", "S0.2b", "S0.2a", "J.3", "S0.2"]
    assert sorted(ids, key=natural_order) == ["J.3", "S0.2", "S0.2a", "S0.2b", "S0.10", "S4.1"]
