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


def test_batches_are_moved_before_they_are_used_and_runs_with_and_without_are_pairs() -> None:
    same = TrainingRun(network(), DATA, learning_rate=0.01, batch_size=8, augment=lambda x: x, seed=1).advance(30)
    plain = TrainingRun(network(), DATA, learning_rate=0.01, batch_size=8, seed=1).advance(30)
    torch.testing.assert_close(same.predict(X), plain.predict(X), rtol=0, atol=0)
    shifted = SimpleNamespace(inputs=X + 1, targets=DATA.targets)
    for centre in (False, True):  # the first outputs that are taken off are those of the moved inputs
        settings = {"learning_rate": 0.01, "batch_size": 8, "centre": centre, "seed": 1}
        moved = TrainingRun(network(), DATA, augment=lambda x: x + 1, **settings).advance(30)
        given = TrainingRun(network(), shifted, **settings).advance(30)
        torch.testing.assert_close(moved.predict(X), given.predict(X))
        assert not torch.allclose(moved.predict(X), plain.predict(X), atol=1e-3)


def test_moving_batches_by_chance_is_the_same_again_and_leaves_torch_as_it_was() -> None:
    def jitter(x: torch.Tensor) -> torch.Tensor:
        return x + 0.1 * torch.randn_like(x)

    once, again = (TrainingRun(network(), DATA, augment=jitter, seed=3) for _ in range(2))
    state = torch.get_rng_state()
    whole, pieces = once.advance(20), again.advance(5).advance(15)
    assert torch.equal(state, torch.get_rng_state())
    torch.testing.assert_close(whole.predict(X), pieces.predict(X), rtol=0, atol=0)


def test_batches_are_as_large_as_said_and_take_every_sample_once_per_epoch() -> None:
    run = TrainingRun(network(), DATA, batch_size=12, seed=0)
    epochs = [[run._rows().tolist() for _ in range(3)] for _ in range(4)]
    for epoch in epochs:
        assert [len(rows) for rows in epoch] == [12] * 3
        assert len({row for rows in epoch for row in rows}) == 36
    assert epochs[0] != epochs[1]
