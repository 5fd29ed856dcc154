"""Formats of the user's own: asked first, by suffix or contents, named once."""

from pathlib import Path

import numpy as np
import pytest

import priorscope as ps
from priorscope.data import Contents, Format, known_formats, load, register_format
from priorscope.data.formats._registry import forget_format


@pytest.fixture(autouse=True)
def _as_before():
    before = {f.name for f in known_formats()}
    yield
    for one in known_formats():
        if one.name not in before:
            forget_format(one.name)


def read_columns(path, options):
    rows = np.array([[float(v) for v in line.split("/")] for line in path.read_text().splitlines()])
    column = options.target if isinstance(options.target, int) else -1
    return Contents(np.delete(rows, column, 1), rows[:, column], notes=("columns between strokes",))


def test_a_format_of_ones_own_is_read_by_its_suffix(tmp_path):
    register_format(Format("strokes", ".strokes", read_columns, suffixes=(".strokes",)))
    file = tmp_path / "a.STROKES"
    file.write_text("1/2/0.5\n3/4/1.5\n5/6/2.5\n")
    data = load(file, test_fraction=0)
    assert sorted(data.inputs.tolist()) == [[1, 2], [3, 4], [5, 6]]
    assert data.notes == ("columns between strokes",)
    assert sorted(load(file, target=0, test_fraction=0).inputs.tolist()) == [[2, 0.5], [4, 1.5], [6, 2.5]]
    assert ps.data.known_formats()[0].name == "strokes"
    (tmp_path / "a.unknown").write_text("x")
    with pytest.raises(ValueError, match="no layout that is known here; load reads .strokes; .npz"):
        load(tmp_path / "a.unknown")


def test_by_contents_a_format_may_take_what_others_would_read(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("1/2/0.5\n3/4/1.5\n5/6/2.5\n")
    with pytest.raises(ValueError, match="a.csv"):
        load(file)

    def knows(path: Path) -> bool:
        return path.is_file() and "/" in path.read_text()

    register_format(Format("strokes", "strokes", read_columns, knows=knows))
    assert load(file, test_fraction=0).input_shape == (2,)


def test_a_name_is_taken_once(tmp_path):
    with pytest.raises(ValueError, match="'npz' is there already; choose another name or pass replace=True"):
        register_format(Format("npz", ".npz", read_columns))
    register_format(Format("strokes", "strokes", read_columns, suffixes=(".a",)))
    register_format(Format("strokes", "strokes", read_columns, suffixes=(".b",)), replace=True)
    assert [f.suffixes for f in known_formats() if f.name == "strokes"] == [(".b",)]
    forget_format("strokes")
    with pytest.raises(ValueError, match="no format named 'strokes'; there are npz"):
        forget_format("strokes")


def test_an_error_of_the_reader_comes_through(tmp_path):
    register_format(Format("strokes", "strokes", read_columns, suffixes=(".strokes",)))
    (tmp_path / "a.strokes").write_text("1/x\n")
    with pytest.raises(ValueError, match="could not convert string to float: 'x'"):
        load(tmp_path / "a.strokes")
