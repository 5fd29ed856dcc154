"""Label schemes by hand."""

import pytest
import torch

from priorscope.data import encode_labels


def test_schemes_by_hand():
    labels = torch.tensor([0, 2, 1])
    centred = encode_labels(labels, "classes", dtype=torch.float64)
    third = 1 / 3
    expected = [[2 * third, -third, -third], [-third, -third, 2 * third], [-third, 2 * third, -third]]
    torch.testing.assert_close(centred, torch.tensor(expected, dtype=torch.float64))
    assert encode_labels(labels, "parity").flatten().tolist() == [1, 1, -1]
    assert encode_labels(labels, "one-vs-rest:dog", ("cat", "cow", "dog")).flatten().tolist() == [-1, 1, -1]
    assert encode_labels(labels, "real").flatten().tolist() == [0, 2, 1]
    assert encode_labels(labels, "classes", ("a", "b", "c", "d")).shape == (3, 4)


def test_unknown_scheme():
    with pytest.raises(ValueError, match="unknown label scheme 'hot'; use 'classes', 'parity'"):
        encode_labels(torch.tensor([0, 1]), "hot")
