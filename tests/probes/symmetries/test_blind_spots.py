"""Blind spots on a model whose blindness is known by construction."""

import pytest
import torch
from torch import nn

from priorscope.data import Dataset, Split
from priorscope.models import fcn
from priorscope.probes import blind_spots


class FirstHalf(nn.Module):
    """Sees the first three coordinates fully and the last three a hundred times less."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.hidden, self.readout = nn.Linear(6, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.readout(torch.tanh(self.hidden(x * torch.tensor([1.0, 1, 1, 0.01, 0.01, 0.01]))))


def data(column: int) -> Dataset:
    x = torch.randn(400, 6, generator=torch.Generator().manual_seed(0))
    y = x[:, column].sign()
    return Dataset(Split(x[:300], y[:300]), Split(x[300:], y[300:]), "made-up")


def test_labels_in_the_blind_half_are_found():
    hidden = blind_spots(data(4), FirstHalf, n_models=100)
    assert hidden.n_blind == 3
    assert hidden.hidden_variance == pytest.approx(0.5, abs=0.06)
    assert hidden.hidden_signal > 0.9
    assert "nearly blind to 3 of the 6 directions of made-up" in hidden.sentence
    assert "need many more samples" in hidden.sentence
    table = hidden.table()
    label = table[table["kind"] == "label"].iloc[0]
    assert label["blind"]
    assert label["label_signal"] > 0.5
    assert hidden.directions[-1].abs().argmax() == 4
    assert hidden.chart().to_dict()["$schema"]
    with pytest.raises(ValueError, match="pictures needs image inputs"):
        hidden.pictures()


def test_labels_in_the_visible_half_are_safe():
    seen = blind_spots(data(1), FirstHalf, n_models=100)
    assert seen.n_blind == 3
    assert seen.hidden_signal < 0.05
    assert "help against noise" in seen.sentence
    other = Dataset(Split(torch.eye(3), torch.arange(3.0)), Split(torch.eye(3), torch.arange(3.0)))
    with pytest.raises(ValueError, match="measure it on these data"):
        blind_spots(other, FirstHalf, geometry=seen.geometry)


def test_a_dense_network_has_no_blind_spots():
    fair = blind_spots(data(4), nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)), n_models=200)
    assert fair.n_blind == 0
    assert "sees all 6 directions" in fair.sentence


def test_few_networks_do_not_make_a_dense_network_blind():
    """G of a dense network is a multiple of the identity; 16 narrow networks alone would call many directions blind."""
    x = torch.randn(300, 64, generator=torch.Generator().manual_seed(1))
    wide = Dataset(Split(x[:200], x[:200, :1]), Split(x[200:], x[200:, :1]), "made-up")
    fair = blind_spots(wide, fcn(depth=3), n_models=16, width=16)
    assert fair.n_blind == 0
    naive = blind_spots(wide, fcn(depth=3), geometry=fair.geometry)
    assert naive.n_blind > 0  # what the sampled spectrum alone would have said
