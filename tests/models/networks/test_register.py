"""Registers filled by SGD: parities are read off one sample per step, and not off the mean gradient."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from priorscope.inference import GradientDescent
from priorscope.models import RegisterNetwork, solve_parity


def samples(n, count, seed):
    draw = torch.Generator().manual_seed(seed)
    x = torch.randint(2, (count, n), generator=draw).float() * 2 - 1
    chosen = torch.randint(2, (n,), generator=draw).bool()
    return SimpleNamespace(inputs=x, targets=x[:, chosen].prod(1, keepdim=True)), chosen


def accuracy(batch, n=20, seed=0, **limits):
    train, chosen = samples(n, n + 12, seed)
    descent = GradientDescent(learning_rate=1.0, steps=n + 12, batch_size=batch, record=2, **limits)
    fitted = descent.fit(RegisterNetwork(n, n + 12), train, seed)
    x = torch.randint(2, (400, n), generator=torch.Generator().manual_seed(99)).float() * 2 - 1
    right = (fitted.predict(x)[:, 0] * x[:, chosen].prod(1)).sign()
    return float((1 + right).mean()) / 2  # no answer counts as a coin flip


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_sample_per_step_learns_any_parity(seed):
    assert accuracy(1, seed=seed) == 1.0


def test_batches_and_noise_do_not():
    assert abs(accuracy(16) - 0.5) < 0.1
    assert abs(accuracy(None) - 0.5) < 0.1
    assert accuracy(1, noise=0.1 / 20) == 1.0
    assert accuracy(1, noise=0.2) < 0.7
    assert accuracy(1, rounding=4.0) < 0.7  # what is written is rounded away


@pytest.mark.parametrize("n, m", [(1, 1), (5, 9), (12, 30)])
def test_elimination_finds_the_set(n, m):
    draw = torch.Generator().manual_seed(n)
    x = torch.cat([torch.eye(n, dtype=torch.long), torch.randint(2, (m, n), generator=draw)])[
        torch.randperm(n + m, generator=draw)
    ]
    chosen = torch.randint(2, (n,), generator=draw)
    assert solve_parity(x, x @ chosen % 2).tolist() == chosen.tolist()


def test_what_samples_leave_open_is_left_out():
    x = torch.tensor([[1, 1, 0], [1, 1, 0]])
    answer = solve_parity(x, torch.tensor([1, 1]))
    assert (x @ answer % 2).tolist() == [1, 1]
