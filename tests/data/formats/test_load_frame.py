"""A table file as a frame: types column by column, columns that number the rows, words that stay words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from priorscope.data.formats._load_frame import load_frame


def written(folder, text):
    file = folder / "t.csv"
    file.write_text(text)
    return file


def test_whole_numbers_are_integers_unless_some_is_missing_or_too_long(tmp_path):
    rows = ["1;2;9007199254740993;-9007199254740993;1.5;x", "3;;5;5;2;", "4;6;7;7;3;y"]
    frame, _ = load_frame(written(tmp_path, "a;b;long;below;c;d\n" + "\n".join(rows) + "\n"))
    kinds = {name: frame[name].dtype.kind for name in list(frame)[:5]}
    assert kinds == {"a": "i", "b": "f", "long": "f", "below": "f", "c": "f"}
    assert frame["a"].tolist() == [1, 3, 4]
    assert np.isnan(frame["b"][1])
    assert frame["d"].isna().tolist() == [False, True, False]
    almost, _ = load_frame(written(tmp_path, "a,b\n9007199254740991,1.5\n-9007199254740991,2\n"))
    assert almost["a"].tolist() == [2**53 - 1, 1 - 2**53]


def test_columns_that_number_the_rows_are_left_out_unless_kept(tmp_path):
    text = "id,size,index\n1,5.5,0\n2,4.5,1\n3,7.5,2\n"
    frame, notes = load_frame(written(tmp_path, text))
    assert list(frame) == ["size"]
    assert [note.split("'")[1] for note in notes if "numbers the rows" in note] == ["id", "index"]
    assert list(load_frame(written(tmp_path, text), keep=("id",))[0]) == ["id", "size"]
    other, _ = load_frame(written(tmp_path, "id,size\n7,5.5\n3,4.5\n9,7.5\n"))  # names things, does not count
    assert list(other) == ["id", "size"]
    unnamed, _ = load_frame(written(tmp_path, ",size,kind\n0,5.5,1\n1,4.5,0\n2,7.5,1\n"))
    assert list(unnamed) == ["size", "kind"]
    alone, _ = load_frame(written(tmp_path, "id\n1\n2\n3\n"))
    assert list(alone) == ["id"]  # nothing else would be left


def test_words_stay_words_and_options_are_listened_to(tmp_path):
    text = "code;amount\n01;1,5\n02;2,5\n 03 ;10,5\n"
    frame, _ = load_frame(written(tmp_path, text), words=("code",))
    assert frame["code"].tolist() == ["01", "02", "03"]
    assert load_frame(written(tmp_path, text))[0]["code"].tolist() == [1, 2, 3]
    two_ways = "a;b\n1,500;1\n2,250;2\n3,125;5\n"
    for decimal, first in ((",", 1.5), (".", 1500)):
        assert load_frame(written(tmp_path, two_ways), decimal=decimal)[0]["a"][0] == first
    numbers = "1,2\n3,4\n5,7\n"
    assert load_frame(written(tmp_path, numbers), header=True)[0].shape == (2, 2)
    assert load_frame(written(tmp_path, numbers), header=False)[0].shape == (3, 2)
    with pytest.raises(FileNotFoundError, match="no file"):
        load_frame(tmp_path / "none.csv")
    twice, notes = load_frame(written(tmp_path, "a,a\n1.5,2\n2.5,3\n"))
    assert len(set(twice)) == 2
    assert any("same name" in note for note in notes)
    assert isinstance(twice, pd.DataFrame)
