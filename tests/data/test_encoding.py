"""Inputs of any form as tensors: new rows are read as the training rows were, or refused."""

import numpy as np
import pandas as pd
import pytest
import torch

from priorscope.data import Encoding, from_arrays


def test_new_rows_are_coded_by_the_words_and_medians_of_the_training_rows():
    train = pd.DataFrame({"n": [1.0, 2.0, 9.0, None], "w": ["b", "a", None, "a"], "t": [True, False, True, True]})
    coding = Encoding.learn(train)
    # columns n, w=a, w=b, w missing, t
    wanted = [[1, 0, 1, 0, 1], [2, 1, 0, 0, 0], [9, 0, 0, 1, 1], [2, 1, 0, 0, 1]]
    assert coding(train).tolist() == wanted
    new = pd.DataFrame({"t": [False], "other": [3], "w": ["unknown"], "n": [None]})
    assert coding(new).tolist() == [[2, 0, 0, 0, 0]]
    assert coding(train.iloc[2:3]).tolist() == wanted[2:3]  # one row alone is read the same
    assert "filled in with training medians" in " ".join(coding.notes)


def test_whole_categories_may_come_as_numbers_later():
    coding = Encoding.learn(pd.DataFrame({"k": pd.Categorical([1, 2, 10])}))
    assert coding(pd.DataFrame({"k": [10, 1]})).tolist() == [[0, 1, 0], [1, 0, 0]]  # words in order: 1, 10, 2


@pytest.mark.parametrize("shape", [(7,), (8, 8), (3, 5, 5), (8, 8, 3), (2, 40)])
def test_arrays_are_read_as_a_data_set_reads_them(shape):
    x = np.random.default_rng(0).normal(size=(12, *shape))
    data = from_arrays(x, np.arange(12) % 2, test=(x, np.arange(12) % 2), dtype=torch.float64)
    torch.testing.assert_close(Encoding.learn(x)(x), data.inputs, rtol=0, atol=0)


def test_flattened_images_and_bytes():
    x = np.random.default_rng(0).integers(0, 256, (6, 4, 4, 3), dtype=np.uint8)
    coding = Encoding.learn(x)
    torch.testing.assert_close(coding(x), torch.from_numpy(x / 255).movedim(-1, 1))
    flat = x.transpose(0, 3, 1, 2).reshape(6, -1).astype(float)
    rows = Encoding.learn(flat, shape=(3, 4, 4))(flat)
    assert tuple(rows.shape) == (6, 3, 4, 4)
    assert rows[2, 1, 3, 0] == x[2, 3, 0, 1]


def test_what_does_not_fit_is_refused_in_a_line():
    coding = Encoding.learn(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))
    with pytest.raises(ValueError, match="the frame lacks 'b', which the model was fitted on; it has a"):
        coding(pd.DataFrame({"a": [1]}))
    with pytest.raises(ValueError, match="column 'a' held numbers when the model was fitted; now it holds 'red'"):
        coding(pd.DataFrame({"a": ["red"], "b": ["x"]}))
    with pytest.raises(ValueError, match="fitted on a frame with columns a, b; got ndarray"):
        coding(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="holds dates or times"):
        Encoding.learn(pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"])}))
    with pytest.raises(ValueError, match="X has 2 features .* expecting 3 features"):
        Encoding.learn(np.zeros((4, 3)))(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="fitted on bytes, and X is of type float64"):
        Encoding.learn(np.zeros((4, 8, 8), dtype=np.uint8))(np.zeros((4, 8, 8)))
    with pytest.raises(ValueError, match="101 different words, too many"):
        Encoding.learn(pd.DataFrame({"id": [f"u{i}" for i in range(101)]}))
