from __future__ import annotations

import dataclasses
import json

import pytest

from priorscope.lab import Claim, Record, Store, Verdict, judge_paper, read_ledger, record_ledger, rising, sweep
from priorscope.lab._ledger import natural_order


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
    assert record.command == "priorscope reproduce squares --scale small"
    sweep(toy.SQUARES, "paper", store, jobs=1)
    (record,) = judge_paper(toy.SQUARES, store)
    assert (record.scale, record.measured) == ("paper", pytest.approx((0 + 1 + 4 + 9 + 16) / 5))


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
    one = Record(id="X.10", says="old words", source="s", verdict="fails", measured=float("nan"), scale="small")
    record_ledger([one, Record(id="X.2", says="b", source="s"), Record(id="X.3", says="gone", source="s")], file)
    record_ledger([Record(id="X.10", says="new words", source="s"), Record(id="X.2", says="b", source="s")], file)
    ledger = read_ledger(file)
    assert list(ledger) == ["X.2", "X.10"]
    assert (ledger["X.10"].verdict, ledger["X.10"].says) == ("fails", "new words")  # a failed claim stays failed
    json.loads(file.read_text(), parse_constant=pytest.fail)  # strict JSON: no NaN
    with pytest.raises(ValueError, match="tiny runs test the code"):
        record_ledger([Record(id="X.1", says="a", source="s", scale="tiny", verdict="holds")], file)
    file.write_text("{")
    with pytest.raises(ValueError, match="is not a ledger of claims"):
        read_ledger(file)


def test_verdicts_are_checked():
    with pytest.raises(ValueError, match="a verdict is one of 'holds'"):
        Verdict("maybe")
    assert Verdict("holds", measured=float("nan")).measured is None


def test_natural_order():
    ids = ["S4.1", "S0.10", "S0.2b", "S0.2a", "J.3", "S0.2"]
    assert sorted(ids, key=natural_order) == ["J.3", "S0.2", "S0.2a", "S0.2b", "S0.10", "S4.1"]
