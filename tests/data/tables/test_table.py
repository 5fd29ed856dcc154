"""Columns to inputs and targets, by hand: which column is which, what is told, what becomes of long numbers and gaps."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.data.tables._column import read_column
from priorscope.data.tables._counting import counts_from_start, counts_rows
from priorscope.data.tables._table import _targets, find_target, make_table, unique_names


def columns(**cells):
    return [read_column(name, values.split(), ".", "t") for name, values in cells.items()]


def column(values):
    return columns(y=values)[0]


def test_targets_are_integers_floats_or_words_by_what_they_hold():
    few = _targets(column("3 -1 3 2"))
    assert few.dtype.kind == "i"
    assert few.tolist() == [3, -1, 3, 2]
    many = _targets(column(" ".join(map(str, range(21)))))
    assert many.dtype.kind == "f"  # a quantity
    assert _targets(column(" ".join(map(str, range(20))))).dtype.kind == "i"
    assert _targets(column("1.5 2 3")).dtype.kind == "f"
    assert _targets(column("a b a")).tolist() == ["a", "b", "a"]
    assert _targets(column("yes no yes")).tolist() == ["yes", "no", "yes"]
    for long in ("9007199254740993", "-9007199254740993"):
        found = _targets(column(f"{long} 1 {long} 2"))  # more digits than a float has: classes by their words
        assert found.tolist() == [long, "1", long, "2"]
    assert _targets(column(" ".join(str(2**53 + k) for k in range(21)))).dtype.kind == "f"  # too many to be classes
    assert _targets(column(f"{2**53 - 1} 1")).dtype.kind == "i"


def test_the_target_is_found_by_name_and_by_place():
    names = ["a", "b", "2"]
    assert [find_target(names, t, "t") for t in (None, "b", " a ", 0, -1, 2, "2", "1")] == [2, 1, 0, 0, 2, 2, 2, 1]
    for wrong in (3, -4, "c", "7"):
        with pytest.raises(ValueError, match="no column"):
            find_target(names, wrong, "t")
    with pytest.raises(ValueError, match="Did you mean 'price'"):
        find_target(["price", "b"], "prices", "t")
    with pytest.raises(ValueError, match="several columns 'a'"):
        find_target(["a", "a (2)"], "a", "t")
    many = [f"c{i}" for i in range(22)]
    with pytest.raises(ValueError, match="c19 and 2 more"):
        find_target(many, "z", "t")
    with pytest.raises(ValueError, match=r"c18, c19\."):
        find_target(many[:20], "z", "t")


def test_names_that_are_given_twice_are_told_apart():
    names, notes = unique_names(["a", "b", "a", "a"])
    assert names == ["a", "b", "a (2)", "a (3)"] or tuple(names) == ("a", "b", "a (2)", "a (3)")
    assert "same name are told apart" in notes[0]
    assert unique_names(["a", "b"])[1] == ()


def test_columns_that_count_rows():
    assert counts_from_start(column("0 1 2 3"))
    assert counts_from_start(column("1 2 3"))
    assert not counts_from_start(column("1 2"))  # too few to say
    assert not counts_from_start(column("2 3 4"))
    assert not counts_from_start(column("1 2 4"))
    assert not counts_from_start(column("a b c"))


@pytest.mark.parametrize(
    "name", ["PassengerId", "customer_id", "sample", "ID#", "Zeile", "key", "record", "obs", "Nummer"]
)
def test_counters_are_found_by_their_values_whatever_they_are_called(name):
    rng = np.random.default_rng(0)
    in_order, elsewhere, mixed = range(1, 31), range(1001, 1031), rng.permutation(30)
    rising = np.sort(rng.choice(10_000, 30, replace=False))
    for values in (in_order, elsewhere, mixed, rising):
        assert counts_rows(columns(**{name: " ".join(map(str, values))})[0])
    drawn = rng.integers(0, 100, 30)  # two are alike, or not in order
    for values in (drawn, rising[::-1], rng.permutation(rising), in_order[:9], rng.permutation(12), rising + 0.5):
        assert not counts_rows(columns(**{name: " ".join(map(str, values))})[0])


def test_counters_of_time_age_and_rank_say_something():
    values = " ".join(map(str, range(1980, 2020)))
    kept = ("year", "Year", "birthYear", "day", "t", "age", "rank", "x", "x1", "time (s)")
    assert [name for name in kept if counts_rows(columns(**{name: values})[0])] == []
    assert counts_rows(columns(yearling_tag=values)[0])


def test_a_table_says_what_it_did():
    made = make_table(columns(id="1 2 3 4", size="5 6 7 5", kind="x y x x", y="1.5 2.5 3.5 1.5"), None, "t")
    assert made.names == ("size", "kind=x", "kind=y")
    assert made.notes[0] == "target: the last column, 'y'"
    assert made.notes[1] == "input columns: size, kind=x, kind=y"
    assert "column 'id' numbers the rows and is left out (keep=['id'] keeps it)" in made.notes
    kept = make_table(columns(id="1 2 3", size="5 6 7", y="1.5 2.5 3.5"), None, "t", keep=("id",))
    assert kept.names == ("id", "size")
    assert not any("repeat" in note for note in made.notes)  # their numbers differ
    assert made.x.tolist() == [[5, 1, 0], [6, 0, 1], [7, 1, 0], [5, 1, 0]]
    assert made.y.tolist() == [1.5, 2.5, 3.5, 1.5]
    twice = make_table(columns(size="5 6 7 5", kind="x y x x", y="1.5 2.5 3.5 1.5"), None, "t")
    assert "1 of 4 rows repeat an earlier row; they may fall on both sides of the split" in twice.notes
    alone = make_table(columns(id="1 2 3 4", y="1.5 2.5 3.5 1.5"), "y", "t")
    assert alone.names == ("id",)  # the only input stays
    assert alone.notes[0] == "target: column 'y'"
    other = make_table(columns(row="1 2 3 4", size="5 6 7 5", y="1.5 2.5 3.5 1.5"), None, "t", index="row")
    assert other.names == ("size",)
    codes = make_table(columns(id="7 2 9 4", size="5 6 7 5", y="1.5 2.5 3.5 1.5"), None, "t")
    assert codes.names == ("id", "size")


def test_gaps_and_missing_columns_are_told():
    gone = [read_column("empty", ["", "", ""], ".", "t"), *columns(a="1 2 3", y="1.5 2.5 3.5")]
    assert "columns without any value are left out: empty" in make_table(gone, None, "t").notes
    holed = [*columns(a="1 2 3 4"), read_column("y", ["1", "", "3", ""], ".", "t")]
    with pytest.raises(ValueError, match=r"missing values in 2 of 4 rows \(first in data row 2\)"):
        make_table(holed, "y", "t")
    for empty, words in (
        ([read_column("a", ["", ""], ".", "t")], "holds no values at all"),
        (columns(y="1 2 3"), "at least one input column"),
    ):
        with pytest.raises(ValueError, match=words):
            make_table(empty, None, "t")
    with pytest.raises(ValueError, match="may be the last column, 'size', or 'target'"):
        make_table(columns(target="1 2 3", size="4 5 7"), None, "t")
    assert make_table(columns(target="1 2 3", y="4 5 7"), None, "t").notes[0].endswith("'y'")
    words = [read_column("kind", ["x", "", "y"], ".", "t"), *columns(y="1.5 2.5 3.5")]
    assert make_table(words, None, "t").names == ("kind=x", "kind=y", "kind=(missing)")
    with pytest.raises(ValueError, match="holds 1e999, beyond the range"):
        read_column("a", ["1", "1e999", "-1e998"], ".", "t")
    assert np.isnan(
        make_table([read_column("a", ["1", "", "3"], ".", "t"), *columns(y="1.5 2.5 3.5")], None, "t").x[1, 0]
    )


def test_a_row_of_totals_is_no_sample():
    cells = {"a": ["1", "2", "4", ""], "kind": ["x", "y", "x", ""], "y": ["10", "20", "30.5", "60.5"]}
    made = make_table([read_column(name, values, ".", "t") for name, values in cells.items()], "y", "t")
    assert made.y.tolist() == [10, 20, 30.5]
    assert "1 of 4 rows holds no input and is left out, such as data row 4 (y 60.5)" in made.notes
    assert not any("missing" in name for name in made.names)
    one = {"a": ["1", "2", "4", ""], "y": ["10", "20", "30.5", "60.5"]}  # a gap in the only input is a gap
    assert len(make_table([read_column(name, values, ".", "t") for name, values in one.items()], "y", "t").y) == 4
    counted = {"n": ["1", "2", "3", ""], **cells}  # the counter ends where the total stands
    made = make_table([read_column(n, values, ".", "t") for n, values in counted.items()], "y", "t", index="n")
    assert made.names[0] == "a"
    assert len(made.y) == 3
