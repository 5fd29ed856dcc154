"""The test error that a regime tells: squares in a regression, wrong classes in a classification, by hand."""

import torch

from priorscope.data import Dataset, Split
from priorscope.probes.regimes._regime import _error


class Known:
    """Two members with known outputs."""

    def __init__(self, outputs):
        self.outputs = outputs

    def __len__(self):
        return len(self.outputs)

    def predict(self, x):
        return self.outputs


def data_of(targets, task):
    x = torch.arange(float(len(targets)))[:, None]
    return Dataset(Split(x, targets), Split(x, targets), task=task)


def test_errors_by_hand():
    y = torch.tensor([[1.0], [-1.0], [1.0], [-1.0]])
    f = torch.tensor([[[0.5], [-0.5], [-0.5], [0.5]], [[1.0], [-1.0], [1.0], [2.0]]])
    assert _error(Known(f), data_of(y, "classification")).tolist() == [0.5, 0.25]
    squares = [(0.25 + 0.25 + 2.25 + 2.25) / 4, 9 / 4]
    assert _error(Known(f), data_of(y, "regression")).tolist() == squares
    one_hot = torch.eye(3).repeat(2, 1)[:4]
    g = torch.eye(3)[[0, 1, 1, 0]][None]
    assert _error(Known(g), data_of(one_hot, "classification")).tolist() == [0.25]
