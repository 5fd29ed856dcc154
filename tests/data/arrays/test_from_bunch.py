"""Bunches of scikit-learn against the arrays in them."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine
from sklearn.utils import Bunch

from priorscope.data import from_bunch


def test_bunches_are_read_with_their_names():
    iris = load_iris()
    data = from_bunch(iris, test_fraction=0)
    assert data.classes == ("setosa", "versicolor", "virginica")
    pairs = {tuple(x): int(y) for x, y in zip(np.float32(iris.data).tolist(), iris.target)}
    assert all(pairs[tuple(x)] == label for x, label in zip(data.inputs.tolist(), data.train_labels.tolist()))
    assert from_bunch(load_digits()).input_shape == (1, 8, 8)
    assert from_bunch(load_diabetes()).task == "regression"
    frame = from_bunch(load_wine(as_frame=True), test_fraction=0)
    assert torch.equal(frame.inputs, from_bunch(load_wine(), test_fraction=0).inputs)
    assert from_bunch(load_iris(), classes="real").task == "regression"


def test_colour_images_of_a_bunch_are_turned():
    images = np.random.default_rng(0).random((10, 5, 4, 3))
    bunch = Bunch(
        data=images.reshape(10, -1), images=images, target=np.arange(10) % 2, target_names=np.array(["a", "b"])
    )
    data = from_bunch(bunch, test_fraction=0)
    assert data.input_shape == (3, 5, 4)
    assert data.classes == ("a", "b")
    assert "3 channels last" in data.notes[0]


def test_what_is_no_bunch_is_refused():
    with pytest.raises(ValueError, match=r"needs 'data' \(or 'images'\) and 'target'; the mapping has x, y"):
        from_bunch({"x": [[1]], "y": [1]})
    with pytest.raises(TypeError, match="got ndarray"):
        from_bunch(np.eye(3))


def test_the_layout_of_images_in_a_bunch_is_listened_to():
    """Images of 6 rows, 6 columns and 6 of something: only the caller knows which axis holds the channels."""
    images = np.arange(20 * 6 * 6 * 6, dtype=float).reshape(20, 6, 6, 6) % 97
    bunch = Bunch(data=images.reshape(20, -1), images=images, target=np.arange(20) % 2)
    first = from_bunch(bunch, layout="channels_first", test_fraction=0).inputs
    last = from_bunch(bunch, layout="channels_last", test_fraction=0).inputs
    assert torch.equal(last, first.permute(0, 3, 1, 2))
    assert not torch.equal(last, first)
