"""The race beside peers: the list of problems, what is handed over, and how places are counted."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
try:
    race = importlib.import_module("race")
    lists = importlib.import_module("_race_problems")
    clock = importlib.import_module("time").time
    peers = importlib.import_module("_race_peers")  # counts processor time from here on
finally:
    importlib.import_module("time").time = clock
    sys.path.remove(str(ROOT / "benchmarks"))


def test_the_list_is_large_and_mixed():
    listed = lists.entries()
    assert len(listed) >= 60
    assert sum(e.task == "regression" for e in listed.values()) >= len(listed) / 3
    assert len({(e.table, e.target) for e in listed.values()}) == len(listed)


def test_places_by_hand(monkeypatch):
    monkeypatch.setattr(race, "ROOM", {"A": None, "B": None})
    run = lambda error: {"error": error, "seconds": 3.0}  # noqa: E731
    problems = {
        "one": {"metric": "rmse", "runs": {race.OURS: run(1.0), "A": run(1.05), "B": run(2.0)}},
        "two": {"metric": "error", "runs": {race.OURS: run(0.012), "A": run(0.010), "B": {"trouble": "no"}}},
        "three": {"metric": "rmse", "runs": {race.OURS: run(3.0), "A": run(3.0), "B": run(1.5)}},
    }
    found = race.judged(problems)
    assert found[race.OURS]["ranks"] == [1, 2, 2.5]
    assert found["B"]["ranks"] == [3, 3, 1]
    assert found[race.OURS]["near"] == [True, True, False]  # 0.2 points behind is near: a quarter of a point is allowed
    assert found["B"]["failed"] == 1
    assert found["B"]["excess"] == pytest.approx([1.0, 0.0])
    assert found["A"]["excess"] == pytest.approx([0.05, 0.0, 1.0])


def test_scores_by_hand():
    wanted = np.array(["a", "b", "a", "b"])
    assert race.scored("auc", wanted, np.array([0.1, 0.9, 0.2, 0.8])) == 0
    assert race.scored("auc", wanted, np.array([0.1, 0.9, 0.85, 0.8])) == pytest.approx(0.25)
    assert race.scored("error", wanted, np.array(["a", "b", "b", "b"])) == 0.25
    assert race.scored("rmse", np.array([1.0, 3.0]), np.array([1.0, 1.0])) == pytest.approx(2**0.5)


@pytest.mark.parametrize("frame", [False, True])
def test_rows_arrive_as_they_were_and_cross_validation_chooses_what_is_right(frame, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((90, 3))
    y = np.where(x[:, 0] > 0, "yes", "no")
    given = pd.DataFrame(x, columns=["u", "v", "w"]).assign(word=rng.choice(["p", "q"], 90)) if frame else x
    if frame:
        given.loc[3, "v"] = np.nan
        given.loc[4, "word"] = None
    new = given.iloc[:30] if frame else given[:30]
    race.put(lists.Task(given, y, new, y[:30], "error"), tmp_path)
    back, labels, rest, task, metric = peers.read(tmp_path)
    assert (task, metric, list(labels)) == ("classification", "error", list(y))
    if frame:
        assert list(back.columns) == list(given.columns)
        np.testing.assert_allclose(back[["u", "v", "w"]], given[["u", "v", "w"]])
        assert back["word"].isna().sum() == 1
        assert back["word"].dtype == object
    else:
        np.testing.assert_array_equal(back, given)
    guess, chosen = peers.by_folds(back, labels, rest, task, metric, lambda: 0.0)  # no time: the cheapest row alone
    assert chosen == "linear"
    assert (guess == y[:30]).mean() > 0.9


def test_methods_that_are_absent_are_told(capsys, tmp_path):
    assert set(race.interpreters(str(tmp_path))) == {"cross-validation"}
    assert "FLAML is left out: no flaml/bin/python" in capsys.readouterr().out
