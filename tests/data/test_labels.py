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


def test_classes_are_centred_by_their_number_not_by_how_often_they_occur():
    """Seven of class 0, one of class 1, none of class 2: each row is its unit vector minus 1/3 all the same."""
    labels = torch.tensor([0, 0, 0, 1, 0, 0, 0, 0])
    found = encode_labels(labels, "classes", ("a", "b", "c"), torch.float64)
    for row, label in zip(found.tolist(), labels.tolist()):
        assert row == [pytest.approx((1 if c == label else 0) - 1 / 3, abs=1e-15) for c in range(3)]
    frequency = torch.tensor([7 / 8, 1 / 8, 0], dtype=torch.float64)
    assert not torch.allclose(found, torch.nn.functional.one_hot(labels, 3) - frequency)  # the control


def test_one_against_the_rest_goes_by_name_before_place():
    labels = torch.tensor([0, 1])
    assert encode_labels(labels, "one-vs-rest:1", ("cat", "dog")).flatten().tolist() == [-1, 1]
    assert encode_labels(labels, "one-vs-rest:3", ("3", "8")).flatten().tolist() == [1, -1]
    with pytest.raises(ValueError, match="no class '1'; the classes are 3, 8"):
        encode_labels(labels, "one-vs-rest:1", ("3", "8"))
