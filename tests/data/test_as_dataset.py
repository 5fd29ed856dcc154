"""One door for everything: the same rows whatever they came in."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.utils import Bunch
from torch.utils.data import DataLoader, TensorDataset

from priorscope.data import as_dataset

X = np.arange(40.0).reshape(20, 2)
Y = np.sin(X[:, 0])


def test_everything_that_is_data_gives_the_same_rows(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y})
    frame.to_csv(tmp_path / "t.csv", index=False)
    pairs = TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    expected = as_dataset(X, Y)
    for data in (
        as_dataset((X, Y)),
        as_dataset(X.tolist(), Y.tolist()),
        as_dataset(torch.from_numpy(X), torch.from_numpy(Y)),
        as_dataset(frame),
        as_dataset(frame[["y", "b", "a"]][["a", "b", "y"]], target="y"),
        as_dataset(frame[["a", "b"]], frame["y"]),
        as_dataset(tmp_path / "t.csv"),
        as_dataset(str(tmp_path / "t.csv"), target="y"),
        as_dataset(Bunch(data=X, target=Y)),
        as_dataset({"data": X, "target": Y}),
        as_dataset(pairs),
        as_dataset(DataLoader(pairs, 3, shuffle=True)),
        as_dataset(expected),
    ):
        torch.testing.assert_close(data.inputs, expected.inputs, rtol=0, atol=0)
        torch.testing.assert_close(data.targets, expected.targets, rtol=0, atol=0)
        assert data.task == "regression"


def test_what_is_not_data_is_refused():
    with pytest.raises(TypeError, match="ndarray alone is no data: pass inputs and targets"):
        as_dataset(X)
    with pytest.raises(ValueError, match="a Dataset has its targets"):
        as_dataset(as_dataset(X, Y), Y)
    with pytest.raises(ValueError, match="y goes with inputs in memory"):
        as_dataset("a.csv", Y)
    with pytest.raises(ValueError, match="target names a column of a file or a frame; dict has none"):
        as_dataset({"data": X, "target": Y}, target="y")
    with pytest.raises(FileNotFoundError, match="'absent.csv' is neither a known data set .* nor a file or folder"):
        as_dataset("absent.csv")
    with pytest.raises(FileNotFoundError, match="Did you mean 'digits'"):
        as_dataset("digit")
    with pytest.raises(ValueError, match="a target names a column of a table; digits has none"):
        as_dataset("digits", target="y")


def test_names_and_columns_named_by_y():
    frame = pd.DataFrame({"a": X[:, 0], "y": Y, "b": X[:, 1]})
    expected = as_dataset(X, Y)
    torch.testing.assert_close(as_dataset(frame, "y").inputs, expected.inputs, rtol=0, atol=0)
    with pytest.raises(ValueError, match="the target is named twice, 'y' and 'a'"):
        as_dataset(frame, "y", target="a")
    assert as_dataset("Digits", classes="parity").n_outputs == 1
    assert as_dataset("digits").name == "digits"


def test_gaps_are_filled_in_where_asked_for_and_in_frames():
    holed = X.copy()
    holed[3, 1] = np.nan
    with pytest.raises(ValueError, match="inputs must be finite"):
        as_dataset(holed, Y)
    filled = as_dataset(holed, Y, missing="median", test_fraction=0.0)
    assert "1 missing value in 1 of 20 rows" in " ".join(filled.notes)
    row = int(torch.nonzero(filled.inputs[:, 0] == X[3, 0])[0])
    assert float(filled.inputs[row, 1]) == np.median(np.delete(X[:, 1], 3))
    frame = pd.DataFrame(holed, columns=["a", "b"])
    assert "filled in with training medians" in " ".join(as_dataset(frame, Y).notes)
    with pytest.raises(ValueError, match="inputs must be finite"):
        as_dataset(frame, Y, missing="refuse")


def test_ways_reach_every_kind_of_data(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y})
    frame.to_csv(tmp_path / "t.csv", index=False)
    pairs = TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    for given in (
        (X, Y),
        (frame[["a", "b"]], frame["y"]),
        (frame,),
        (tmp_path / "t.csv",),
        ({"data": X, "target": Y},),
        (pairs,),
    ):
        one, other = (as_dataset(*given, test_fraction=0.4, seed=seed) for seed in (1, 2))
        assert len(one.test) == 8
        assert not torch.equal(one.inputs, other.inputs)
        assert as_dataset(*given, dtype=torch.float64).inputs.dtype == torch.float64
    images, labels = np.arange(240, dtype=np.uint8).reshape(5, 4, 4, 3), np.array([0, 1, 0, 1, 0])
    for given in ((images, labels), ((images, labels),), ({"data": images, "target": labels},)):
        assert as_dataset(*given, layout="channels_last", test_fraction=0.0).input_shape == (3, 4, 4)
        with_parity = as_dataset(*given, layout="channels_last", classes="parity", test_fraction=0.0)
        assert with_parity.n_outputs == 1
    np.savez(tmp_path / "i.npz", x=images, y=labels)
    assert as_dataset(tmp_path / "i.npz", layout="channels_last", test_fraction=0.0).input_shape == (3, 4, 4)


def test_a_frame_names_its_columns_and_words():
    frame = pd.DataFrame({"size": X[:, 0], "kind": ["a", "b"] * 10})
    assert as_dataset(frame, Y).columns == ("size", "kind=a", "kind=b")
    assert as_dataset(X, Y).columns == ()
    with pytest.raises(ValueError, match="y goes with inputs in memory"):
        as_dataset(frame, Y, target="size")
    with pytest.raises(TypeError, match="tuple alone is no data"):
        as_dataset((X, Y, Y))
    with pytest.raises(TypeError, match="list alone is no data"):
        as_dataset([X, Y])
    with pytest.raises(ValueError, match="a Dataset has its targets"):
        as_dataset(as_dataset(X, Y), target="y")
