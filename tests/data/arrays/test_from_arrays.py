"""from_arrays and from_torch against the arrays they were given."""

import numpy as np
import pytest
import torch

from priorscope.data import from_arrays, from_torch


def test_classes_are_encoded_and_split_without_overlap():
    x = np.arange(40.0).reshape(20, 2)
    data = from_arrays(x, np.array(["b", "a"] * 10), test_fraction=0.25, seed=1)
    assert data.classes == ("a", "b")
    assert data.task == "classification"
    assert (len(data.train), len(data.test)) == (15, 5)
    rows = torch.cat([data.inputs, data.test.inputs])[:, 0].sort().values
    assert torch.equal(rows, torch.from_numpy(x[:, 0]).float())
    labels = (data.inputs[:, 0] / 2 % 2 == 0).long()  # even rows were "b" = 1
    assert torch.equal(labels, data.train_labels)
    torch.testing.assert_close(data.targets, torch.nn.functional.one_hot(labels, 2) - 0.5)


def test_byte_images_are_scaled_and_get_a_channel():
    x = np.full((4, 5, 6), 255, np.uint8)
    data = from_arrays(x, [0, 1, 0, 1], test_fraction=0, classes="parity")
    assert data.input_shape == (1, 5, 6)
    assert float(data.inputs.max()) == 1.0
    assert data.targets[:, 0].tolist() == [1 - 2 * int(v) for v in data.train_labels]


@pytest.mark.parametrize(
    "shape, read",
    [
        ((1, 128), (1, 128)),
        ((3, 64), (3, 64)),
        ((12, 500), (12, 500)),
        ((8, 8), (1, 8, 8)),
        ((2, 2), (1, 2, 2)),
        ((28, 60), (1, 28, 60)),
        ((1, 1, 128), (1, 1, 128)),
    ],
)
def test_long_arrays_are_signals_and_others_images(shape, read):
    data = from_arrays(np.random.default_rng(0).standard_normal((10, *shape)), np.arange(10) % 2)
    assert data.input_shape == read
    assert ("signals" in " ".join(data.notes)) == (len(read) == 2)


def test_regression_and_given_test_split():
    data = from_arrays(np.eye(3), [0.5, 1.5, 2.5], test=(np.eye(3)[:2], [1.0, 2.0]))
    assert data.task == "regression"
    assert data.test.targets[:, 0].tolist() == [1.0, 2.0]
    two = from_arrays(np.eye(4), np.random.default_rng(0).normal(size=(4, 3)), test_fraction=0)
    assert two.n_outputs == 3
    assert from_arrays(np.eye(4), [3, 1, 2, 5], classes="real", test_fraction=0).task == "regression"


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        ([["a"], ["b"]], [0, 1], {}, "inputs must be numbers"),
        (np.eye(3), [1, 1, 1], {}, r"at least 2 classes.*one class"),
        (np.eye(3), [0.5, 0.5, 0.5], {}, "targets are constant"),
        (np.eye(3), [0.5, np.nan, 0.1], {}, "targets must be finite"),
        (np.array([[np.inf, 1], [0, 1]]), [0, 1], {}, "inputs must be finite"),
        (np.eye(3), [0, 1], {}, "3 inputs and 2 targets"),
        (np.eye(1), [0], {}, "at least 2 training samples; got 1"),
        (np.eye(3), [0.1, 0.2, 0.3], {"classes": "parity"}, "needs integer or word labels"),
        (np.eye(3), [0, 1, 0], {"test_fraction": 1.0}, "0 <= test_fraction < 1; got 1.0"),
        (
            np.eye(3),
            [0, 1, 2],
            {"classes": "one-vs-rest:7", "test_fraction": 0},
            "no class '7'; the classes are 0, 1, 2",
        ),
        (np.eye(3), [0, 1, 2], {"classes": "odd", "test_fraction": 0}, "unknown label scheme 'odd'"),
        (np.eye(3), [0, 1, 5], {"class_names": ("a", "b")}, r"labels must lie in 0\.\.1"),
    ],
)
def test_from_arrays_says_what_is_wrong(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        from_arrays(x, y, **options)


def test_from_torch_reads_pairs_and_refuses_the_rest():
    class Pairs:
        def __len__(self):
            return 6

        def __getitem__(self, i):
            return np.full((4, 5, 3), i, np.uint8), i % 2

    data = from_torch(Pairs(), test_fraction=0)
    assert data.input_shape == (3, 4, 5)
    assert sorted((data.inputs[:, 0, 0, 0] * 255).round().int().tolist()) == list(range(6))
    tensors = torch.utils.data.TensorDataset(torch.eye(4), torch.arange(4) % 2)
    assert len(from_torch(tensors, test=tensors).test) == 4
    with pytest.raises(ValueError, match="needs a data set with __len__"):
        from_torch(iter([1, 2]))
    with pytest.raises(ValueError, match=r"items \(input, target\)"):
        from_torch([1, 2, 3])
    with pytest.raises(ValueError, match="inputs of one shape"):
        from_torch([(torch.zeros(2), 0), (torch.zeros(3), 1)])
