"""Frames of pandas: types of columns, gaps, a test frame, what is refused."""

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.data import from_arrays, from_frame, load


def frame(**columns):
    return pd.DataFrame({**columns, "y": [0.5, 1.5, 2.5, 3.5]})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pd.array([1, None, 3, 5], dtype="Int64"), [[1], [3], [3], [5]]),
        (pd.array([1.0, None, 3, 5], dtype="Float32"), [[1], [3], [3], [5]]),
        ([1.0, np.nan, 3, 5], [[1], [3], [3], [5]]),
        (pd.array([True, None, False, True], dtype="boolean"), [[1], [1], [0], [1]]),
        ([True, False, False, True], [[1], [0], [0], [1]]),
        (pd.Categorical(["u", "v", None, "u"]), [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]),
        (pd.Categorical([3, 1, 3, 3]), [[0, 1], [1, 0], [0, 1], [0, 1]]),
        (["u", "v", "v", "u"], [[1, 0], [0, 1], [0, 1], [1, 0]]),
        (["1", "2", "3", "4"], [[1], [2], [3], [4]]),
        (np.array([1, 2.5, None, 4], dtype=object), [[1], [2.5], [2.5], [4]]),
        (pd.array(["u", "v", "v", "u"], dtype="string"), [[1, 0], [0, 1], [0, 1], [1, 0]]),
        (pd.arrays.SparseArray([0, 0, 5, 0]), [[0], [0], [5], [0]]),
    ],
)
def test_columns_by_their_type(values, expected):
    data = from_frame(frame(a=values), test_fraction=0)
    order = data.targets[:, 0].argsort()
    assert data.inputs[order].tolist() == expected
    assert data.notes[0] == "target: the last column, 'y'"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pd.date_range("2020-01-01", periods=4), "'a' of the frame holds dates or times"),
        (pd.date_range("2020-01-01", periods=4, tz="UTC"), "holds dates or times"),
        (pd.to_timedelta([1, 2, 3, 4], "s"), "holds dates or times"),
        (pd.period_range("2020-01", periods=4, freq="M"), "holds dates or times"),
        (["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"], "holds dates or times"),
        ([1j, 2j, 3j, 4j], "complex numbers"),
        ([[1], [2], [3], [4]], "objects of type list"),
        ([1, "x", 2, 3], "holds numbers, but 'x' in data row 2"),
    ],
)
def test_columns_that_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        from_frame(frame(a=values))


def test_words_of_training_and_test_become_the_same_columns():
    train = pd.DataFrame({"a": ["u", "v", "u", "v"], "n": [1.0, 2, np.nan, 4], "y": ["p", "q", "p", "q"]})
    rest = pd.DataFrame({"a": ["w", "u"], "n": [np.nan, 7.0], "y": ["q", "p"]})
    data = from_frame(train, "y", test=rest)
    assert data.inputs.tolist() == [[1, 0, 0, 1], [0, 1, 0, 2], [1, 0, 0, 2], [0, 1, 0, 4]]
    assert data.test.inputs.tolist() == [[0, 0, 1, 2], [1, 0, 0, 7]]
    assert data.test_labels.tolist() == [1, 0]
    same = from_arrays(train[["a", "n"]], train["y"], test=(rest[["a", "n"]], rest["y"]), missing="median")
    assert torch.equal(same.inputs, data.inputs)
    assert torch.equal(same.test.inputs, data.test.inputs)
    assert same.notes[0] == "input columns: a=u, a=v, a=w, n"
    with pytest.raises(ValueError, match="same columns in the same order; got a, n, y and n, a, y"):
        from_frame(train, "y", test=rest[["n", "a", "y"]])
    with pytest.raises(ValueError, match="column 'n' is of type float64 in training and"):
        from_frame(train, "y", test=rest.assign(n=["x", "z"]))
    with pytest.raises(ValueError, match="test targets hold 1 class"):
        from_frame(train, "y", test=rest.assign(y=["q", "r"]))
    with pytest.raises(ValueError, match="1 of 4 rows hold NaN"):
        from_arrays(train[["n"]], train["y"], test_fraction=0)
    with pytest.raises(ValueError, match="training inputs are a frame and the test inputs are not"):
        from_arrays(train[["n"]], train["y"], test=(np.zeros((2, 1)), ["p", "q"]))


def test_what_is_no_frame_with_a_target_is_refused():
    with pytest.raises(TypeError, match="needs a pandas DataFrame; got ndarray"):
        from_frame(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="the frame is empty"):
        from_frame(pd.DataFrame())
    with pytest.raises(ValueError, match="at least one input column"):
        from_frame(pd.DataFrame({"y": [1, 2]}))
    with pytest.raises(ValueError, match="'y' of the frame has missing values in 1 of 2 rows"):
        from_frame(pd.DataFrame({"a": [1, 2], "y": [1, None]}))


def test_structured_arrays_are_tables(tmp_path):
    table = np.zeros(6, dtype=[("age", ">i4"), ("kind", "U3"), ("price", "f8")])
    table["age"], table["kind"], table["price"] = range(6), ["u", "v"] * 3, np.arange(6) / 4
    np.save(tmp_path / "a.npy", table)
    data = load(tmp_path / "a.npy", test_fraction=0)
    assert data.notes[:2] == ("target: the last column, 'price'", "input columns: age, kind=u, kind=v")
    assert load(tmp_path / "a.npy", target="kind", test_fraction=0).classes == ("u", "v")
    assert sorted(data.inputs.tolist()) == [[i, 1 - i % 2, i % 2] for i in range(6)]
    np.save(tmp_path / "b.npy", np.zeros(6, dtype=[("a", "f8", 3), ("y", "f8")]))
    with pytest.raises(ValueError, match=r"one value per field \(not in a\)"):
        load(tmp_path / "b.npy")
