"""The bundled digits against scikit-learn."""

import torch
from sklearn.datasets import load_digits

from priorscope.data import digits


def test_digits_hold_every_image_once_with_its_label():
    data = digits("one-vs-rest:3")
    assert data.input_shape == (1, 8, 8)
    joined = torch.cat([data.inputs, data.test.inputs]).sum((1, 2, 3)).sort().values
    bunch = load_digits()
    reference = torch.from_numpy(bunch.images.sum((1, 2)) / 16).float().sort().values
    torch.testing.assert_close(joined, reference)
    assert torch.equal(data.targets[:, 0] > 0, data.train_labels == 3)
    assert int((torch.cat([data.train_labels, data.test_labels]) == 3).sum()) == int((bunch.target == 3).sum())


def test_the_test_part_is_as_large_as_asked():
    assert len(digits(test_fraction=0.5).test) in (898, 899)
    assert len(digits(test_fraction=0.0).test) == 0
