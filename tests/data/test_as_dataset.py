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
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        as_dataset("absent.csv")
