"""A training run that is continued: the same path in one stretch or in pieces, and the average it is seen through."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from priorscope.inference import TrainingRun

X = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
DATA = SimpleNamespace(inputs=X, targets=X[:, :1] - X[:, 1:2])


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))


def test_pieces_are_the_whole_and_the_network_given_stays_as_it_was() -> None:
    net = network()
    before = [p.detach().clone() for p in net.parameters()]
    whole = TrainingRun(net, DATA, learning_rate=0.01, seed=1).advance(60)
    pieces = TrainingRun(net, DATA, learning_rate=0.01, seed=1).advance(20).advance(40)
    torch.testing.assert_close(whole.predict(X), pieces.predict(X))
    assert all(torch.equal(a, b) for a, b in zip(before, net.parameters(), strict=True))
    other = TrainingRun(net, DATA, learning_rate=0.01, seed=2).advance(60)
    assert not torch.allclose(whole.predict(X), other.predict(X), atol=1e-4)


def test_the_average_has_the_weights_of_polynomial_decay() -> None:
    run = TrainingRun(network(), DATA, learning_rate=0.01)
    seen = []
    for _ in range(12):
        run.advance(1)
        seen.append(run.parameters["0.weight"].detach().clone())
    average = seen[0]
    for t, w in enumerate(seen[1:], 2):
        average = average + 9 / (t + 8) * (w - average)
    torch.testing.assert_close(run.average["0.weight"], average)
    assert not torch.allclose(run.average["0.weight"], seen[-1], atol=1e-5)


def test_it_learns_from_zero_output_and_batch_normalisation_is_measured_anew() -> None:
    run = TrainingRun(network(), DATA, learning_rate=0.02, centre=True)
    assert float(run.predict(X).abs().max()) == 0.0
    start = run.loss
    assert run.advance(300).loss < 0.05 * start
    torch.manual_seed(0)
    normed = nn.Sequential(nn.Linear(3, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
    run = TrainingRun(normed, DATA, learning_rate=0.01).advance(200)
    assert run.loss < 0.1 * start
    assert not run.network.training
    with pytest.raises(ValueError, match="learning_rate"):
        TrainingRun(network(), DATA, learning_rate=-1.0)
