"""The closed form against the weights that gradient flow of a model linear in them ends at: the nearest that fit."""

from __future__ import annotations

import pytest
import torch

from priorscope.probes import kernel_fluctuations


def test_trained_random_features_are_the_closed_form():
    g = torch.Generator().manual_seed(0)
    x, new = torch.randn(6, 3, generator=g).double(), torch.randn(4, 3, generator=g).double()
    y = torch.randn(6, 1, generator=g).double()
    kernels, crosses, starts, trained = [], [], [], []
    for _ in range(3):
        features = torch.randn(3, 20, generator=g).double()
        a, b = (x @ features).relu() / 20**0.5, (new @ features).relu() / 20**0.5
        w = torch.randn(20, 1, generator=g).double()
        starts.append((a @ w, b @ w))
        kernels.append(a @ a.mT)
        crosses.append(b @ a.mT)
        end = w + torch.linalg.pinv(a) @ (y - a @ w)
        torch.testing.assert_close(a @ end, y)
        trained.append((b @ end)[:, 0])
    initial = tuple(torch.stack(s)[..., 0] for s in zip(*starts))
    found = kernel_fluctuations(torch.stack(kernels), torch.stack(crosses), y, initial)
    torch.testing.assert_close(found.predictions, torch.stack(trained), atol=1e-6, rtol=1e-6)
    assert (found.learnt - torch.stack(trained)).abs().max() > 1e-2  # without the start it is another function
    assert found.start_variance > 0
    assert len(found.table()) == 3
    assert found.chart().to_dict()


def test_one_pattern_by_hand_and_messages():
    found = kernel_fluctuations(
        torch.tensor([[[2.0]], [[4.0]]]), torch.tensor([[[1.0]], [[6.0]]]), torch.tensor([[3.0]])
    )
    torch.testing.assert_close(found.learnt, torch.tensor([[1.5], [4.5]]).double())
    assert found.variance == pytest.approx(4.5)
    assert found.start_variance == 0
    with pytest.raises(ValueError, match="cross kernels"):
        kernel_fluctuations(torch.eye(2), torch.eye(2), torch.ones(2, 1))
