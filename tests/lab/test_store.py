from __future__ import annotations

import os
import sqlite3
import time

import numpy as np
import pytest

from priorscope.lab import Store, StoreError, salvage, sweep


def filled(path, n=200):
    with Store(path) as store:
        for x in range(n):
            store.put("p", 1, {"x": x, "seed": 0}, {"y": x * 0.5, "a": np.full(60, x * 1.0)}, scale="small")
    return path


def test_what_is_put_is_got_once_and_for_all(tmp_path):
    with Store(tmp_path / "runs" / "s.sqlite") as store:  # the folder is made
        point = {"x": 1, "seed": 0}
        assert store.put("p", 1, point, {"y": 2.0, "a": np.eye(2)}, seconds=1.5, code="c")
        assert not store.put("p", 1, point, {"y": 3.0})  # once stored, a result stays
        assert store.has("p", 1, point)
        assert not store.has("p", 2, point)
        assert store.get("p", 1, {"x": 2, "seed": 0}) is None
    with Store(tmp_path / "runs" / "s.sqlite", readonly=True) as store:
        got = store.get("p", 1, point)
        assert got["y"] == 2.0
        np.testing.assert_array_equal(got["a"], np.eye(2))
        row = store.table("p", details=True).iloc[0]
        assert (row["run_seconds"], row["run_code"], row["y"]) == (1.5, "c", 2.0)


def test_table_is_of_one_version_and_one_scale(toy):
    store = Store(":memory:")
    for point in toy.SQUARES.points("paper"):
        store.put("squares", 1, point, toy.square(point), scale="paper")
    store.put("squares", 0, {"x": 9, "seed": 0}, {"square": 81}, scale="small")
    assert len(store.table(toy.SQUARES)) == 10
    small = store.table(toy.SQUARES, "small")
    assert small[["x", "seed"]].values.tolist() == [[x, seed] for x in range(3) for seed in (0, 1)]  # the grid's order
    assert store.papers() == {"squares": 1}
    assert store.swept("squares", 1).keys() == {"paper"}  # no sweep of the small scale, though all its points are there
    assert 0 <= time.time() - store.swept("squares", 1)["paper"] < 60
    assert store.table("no such paper").empty


def test_memory_is_not_shared_between_points_of_two_papers():
    store = Store(":memory:")
    store.put("a", 1, {"seed": 0}, {"y": 1})
    assert store.get("b", 1, {"seed": 0}) is None


def test_two_writers_store_each_point_once(tmp_path):
    first, second = Store(tmp_path / "s.sqlite"), Store(tmp_path / "s.sqlite")
    assert first.put("p", 1, {"seed": 0}, {"y": 1})
    assert not second.put("p", 1, {"seed": 0}, {"y": 2})
    assert second.put("p", 1, {"seed": 1}, {"y": 3})
    assert first.table("p")["y"].tolist() == [1, 3]


def test_a_store_from_a_newer_version_is_left_alone(tmp_path):
    path = filled(tmp_path / "s.sqlite", 3)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=99")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"newer priorscope \(layout 99; .*Upgrade priorscope"):
        Store(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused(tmp_path):
    path = tmp_path / "other.sqlite"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (x)")
    db.close()
    with pytest.raises(StoreError, match="not a priorscope store"):
        Store(path)
    (tmp_path / "text.sqlite").write_text("not a database at all, but long enough to have a header " * 40)
    with pytest.raises(StoreError, match="not a database; the file is damaged"):
        Store(tmp_path / "text.sqlite")


@pytest.mark.parametrize("kept", [0.9, 0.5])
def test_a_store_cut_short_says_so_and_its_whole_results_can_be_saved(tmp_path, kept):
    path = filled(tmp_path / "s.sqlite")
    size = path.stat().st_size
    os.truncate(path, int(size * kept))
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"damaged or cut short and was left as it is.*salvage"), Store(path) as store:
        store.table("p")
    assert path.read_bytes() == before
    found = salvage(path, tmp_path / "new.sqlite")
    n = found.saved
    assert path.read_bytes() == before
    assert found.verified
    with Store(tmp_path / "new.sqlite") as store:
        table = store.table("p")
        assert len(table) == n
        assert 200 * (kept - 0.25) < n < 200  # most of what was kept, and no more than that
        assert (table["y"] == table["x"] * 0.5).all()
        assert all((a == x).all() for a, x in zip(table["a"], table["x"]))


def test_salvage_refuses_to_overwrite_and_needs_a_first_page(tmp_path):
    path = filled(tmp_path / "s.sqlite", 3)
    with pytest.raises(ValueError, match="is not there yet"):
        salvage(path, path)
    os.truncate(path, 50)
    with pytest.raises(StoreError, match="first page"):
        salvage(path, tmp_path / "new.sqlite")
    with pytest.raises(FileNotFoundError, match="to salvage"):
        salvage(tmp_path / "none", tmp_path / "new.sqlite")


def test_a_read_only_store_can_be_read_and_not_written(tmp_path, monkeypatch):
    path = filled(tmp_path / "s.sqlite", 3)
    with Store(path, readonly=True) as store:
        assert len(store.table("p", "small")) == 3
        with pytest.raises(StoreError, match="open for reading only"):
            store.put("p", 1, {"x": 99, "seed": 0}, {"y": 0})
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as for a user without the right to write
    with pytest.raises(StoreError, match="read-only file or folder.*Nothing was changed"):
        Store(path)
    with Store(path, readonly=True) as store:
        assert len(store.table("p")) == 3


def test_a_missing_store_opened_for_reading_says_how_to_make_one(tmp_path):
    with pytest.raises(FileNotFoundError, match="priorscope reproduce"):
        Store(tmp_path / "none.sqlite", readonly=True)


def test_a_full_disk_stops_the_sweep_and_keeps_what_was_stored(tmp_path, toy):
    points = [{"x": x, "seed": 0, "nap": 0.0} for x in range(400)]
    store = Store(tmp_path / "s.sqlite")
    pages = store._file._connection.execute("PRAGMA page_count").fetchone()[0]
    store._file._connection.execute(f"PRAGMA max_page_count={pages + 8}")  # SQLite's own way to run out of room
    with pytest.raises(StoreError, match="disk is full: what was stored is safe"):
        sweep(toy.paper(toy.nap), points, store, jobs=1)
    kept = len(store.table("nap"))
    assert 0 < kept < 400
    store.close()
    with Store(tmp_path / "s.sqlite") as store:  # room again: the same sweep goes on
        summary = sweep(toy.paper(toy.nap), points, store, jobs=1)
        assert (summary.ran, summary.skipped) == (400 - kept, kept)
