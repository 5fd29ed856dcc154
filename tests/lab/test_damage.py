"""Stores with flipped bits: what is read is what was stored, or an error says what to do; never anything else."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from priorscope.lab import Store, StoreError, salvage

N = 40


def point(x):
    return {"x": x, "seed": 0}


def result(x):
    return {"y": x / 7, "word": f"number {x}", "a": np.random.default_rng(x).normal(size=30)}


def make(path):
    with Store(path) as store:
        for x in range(N):
            store.put("p", 1, point(x), result(x), scale="small", seconds=x / 3, code="0.1@abc")
    return path


def old_layout(path):
    """The same store as priorscope wrote it before it had checksums."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE results DROP COLUMN checksum")
        db.execute("PRAGMA user_version=1")
        db.commit()
        db.execute("VACUUM")
    return path


def assert_unchanged(table):
    for row in table.to_dict("records"):
        x = row["x"]
        assert (row["seed"], row["y"], row["word"]) == (0, result(x)["y"], result(x)["word"])
        np.testing.assert_array_equal(row["a"], result(x)["a"])
        assert (row["run_seconds"], row["run_code"]) == (x / 3, "0.1@abc")


def flip(data: bytes, position: int, bit: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :]


def flips(data: bytes, count: int, seed: int):
    """Seeded positions: every fifth in the first page (header, schema, root), the others anywhere."""
    rng = random.Random(seed)
    for i in range(count):
        yield rng.randrange(4096 if i % 5 == 0 else len(data)), rng.randrange(8)


@pytest.mark.parametrize("part", range(4))
def test_a_flipped_bit_changes_no_value_and_salvage_saves_the_rest(tmp_path, part):
    whole = make(tmp_path / "whole.sqlite").read_bytes()
    saved, refused, noticed = [], 0, 0
    for i, (position, bit) in enumerate(flips(whole, 55, seed=part)):
        path, new = tmp_path / f"{i}.sqlite", tmp_path / f"new{i}.sqlite"
        path.write_bytes(flip(whole, position, bit))
        try:
            with Store(path, readonly=True) as store:
                table = store.table("p", details=True)
                assert len(table) == N  # a shorter table is a wrong one
                assert_unchanged(table)
                assert_unchanged(store.table("p", "small", details=True))
        except StoreError:
            noticed += 1
        try:
            found = salvage(path, new)
        except StoreError:
            refused += 1
            assert not new.exists()
        else:
            with Store(new) as store:
                table = store.table("p", details=True)
                assert_unchanged(table)
                assert len(table) == found.saved == len(store.keys("p", 1))
                assert found.verified
                assert found.saved + found.dropped >= N  # nothing is lost without a word
            saved.append(found.saved)
    assert np.mean(saved) > 0.9 * N  # one bit costs a result or two, or the page it is in
    assert refused < 8
    assert noticed > 15  # most flips hit a result


def test_a_value_changed_by_hand_is_found_and_named(tmp_path):
    path = make(tmp_path / "s.sqlite")
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE results SET metrics=replace(metrics, 'number 3', 'number 4') WHERE rowid=4")
        db.commit()
    with Store(path, readonly=True) as store:
        with pytest.raises(
            StoreError, match=r"result 4 \(paper 'p', point '\{.*\"x\":3\}'\) is damaged: its checksum"
        ) as said:
            store.table("p")
        assert f"priorscope salvage {path} NEW" in str(said.value)
        with pytest.raises(StoreError, match="is damaged"):
            store.get("p", 1, point(3))
        assert store.get("p", 1, point(4))["word"] == "number 4"  # the others can be read one by one
    assert salvage(path, tmp_path / "new.sqlite").dropped == 1
    with Store(tmp_path / "new.sqlite") as store:
        assert len(store.table("p")) == N - 1
        assert store.swept("p", 1).keys() == {"small"}


def test_a_store_without_checksums_is_read_as_it_is_and_gets_them_when_written(tmp_path):
    path = old_layout(make(tmp_path / "s.sqlite"))
    before = path.read_bytes()
    with Store(path, readonly=True) as store:
        assert_unchanged(store.table("p", details=True))
    assert path.read_bytes() == before
    with pytest.warns(UserWarning, match=f"was of layout 1: {N} results got a checksum"):
        store = Store(path)
    with store:
        assert_unchanged(store.table("p", details=True))
        assert store.put("p", 1, point(N), {"y": 1.0})
    with Store(path) as store:  # silent from now on
        assert len(store.table("p")) == N + 1
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
        assert db.execute("SELECT count(*) FROM results WHERE checksum IS NULL").fetchone() == (0,)


def test_a_damaged_store_without_checksums_says_what_it_cannot_know(tmp_path):
    whole = old_layout(make(tmp_path / "whole.sqlite")).read_bytes()
    for i, (position, bit) in enumerate(flips(whole, 60, seed=9)):
        path, new = tmp_path / f"{i}.sqlite", tmp_path / f"new{i}.sqlite"
        path.write_bytes(flip(whole, position, bit))
        try:
            with Store(path, readonly=True) as store:
                store.table("p")
        except StoreError:
            pass
        try:
            found = salvage(path, new)
        except StoreError:
            continue
        assert not found.verified
        assert "without checksums, so values may have changed unseen" in str(found)
        with Store(new) as store:  # readable, whatever else
            assert len(store.table("p")) == found.saved


def test_a_header_that_announces_too_much_fills_no_disk(tmp_path):
    path = make(tmp_path / "s.sqlite")
    data = path.read_bytes()
    path.write_bytes(data[:28] + (2**31).to_bytes(4, "big") + data[32:])
    assert salvage(path, tmp_path / "new.sqlite").saved == N


def test_a_store_whose_layout_is_damaged_is_never_taken_for_one_without_checksums(tmp_path):
    """One flipped bit in the name of the column made it an old store, and what was damaged got a checksum that fits."""
    path = make(tmp_path / "a.sqlite")
    raw = path.read_bytes()
    assert raw.count(b"checksum TEXT") == 1
    path.write_bytes(raw.replace(b"checksum TEXT", b"aheaksum TEXT").replace(b"number 7", b"number 8"))
    before = path.read_bytes()
    for readonly in (True, False):
        with pytest.raises(StoreError, match=r"aheaksum; the file is damaged.*priorscope salvage"):
            Store(path, readonly=readonly)
    assert path.read_bytes() == before
    assert salvage(path, tmp_path / "b.sqlite").dropped == 1  # the result that was changed, by its checksum
    with Store(tmp_path / "b.sqlite") as store:
        assert_unchanged(store.table("p", details=True))


def test_a_layout_that_is_not_text_is_told_in_one_line(tmp_path):
    path = make(tmp_path / "a.sqlite")
    raw = path.read_bytes()
    start = raw.index(b"CREATE TABLE scales")
    path.write_bytes(raw[: start + 13] + b"\xd5 \xd5(" + raw[start + 17 :])
    with pytest.raises(StoreError, match="salvage"):
        Store(path)
    with pytest.raises(StoreError, match="restore a copy"):
        salvage(path, tmp_path / "b.sqlite")


def test_a_bit_that_hides_rows_is_told_when_the_store_is_opened(tmp_path):
    """The count of cells in a page of the table: one bit less, and SQLite reads fewer rows without a word."""
    path = make(tmp_path / "whole.sqlite")
    with closing(sqlite3.connect(path)) as db:
        size = db.execute("PRAGMA page_size").fetchone()[0]
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    hidden = 0
    for start in range(size, len(whole), size):
        if whole[start] != 0x0D or not int.from_bytes(whole[start + 3 : start + 5], "big"):  # leaves of tables alone
            continue
        low = whole[start + 4]
        path.write_bytes(flip(whole, start + 4, (low & -low).bit_length() - 1))  # the lowest set bit: fewer cells
        with closing(sqlite3.connect(path)) as db, contextlib.suppress(sqlite3.DatabaseError):
            hidden += db.execute("SELECT count(*) FROM results NOT INDEXED").fetchone()[0] < N
        with pytest.raises(StoreError, match=r"(?s)damaged or cut short.*salvage"):
            Store(path, readonly=True)
    assert hidden  # plain SQLite reads fewer without a word
