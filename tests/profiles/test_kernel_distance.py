"""A short run of a linear network, whose kernel stands still and whose loss falls by a closed form."""

import numpy as np
import pytest
import torch
from torch import nn

from priorscope.profiles._kernel_distance import short_run


@pytest.mark.parametrize("steps", [3, 8])
def test_gradient_descent_of_a_linear_network_by_its_modes(steps: int) -> None:
    """Residuals after t steps at rate η = n / 2λ: (1 - η K/n)^t y with K = x xᵀ, and λ that of three outputs, 3K."""
    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.randn(9, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    network = nn.Linear(4, 3, bias=False, dtype=torch.float64)
    found = short_run(network, x, y, n=9, spread=None, width=7, steps=steps)
    K = (x @ x.mT).numpy()
    step = np.eye(9) - 0.5 * K / (3 * np.linalg.eigvalsh(K)[-1])
    residual = np.linalg.matrix_power(step, steps - 1) @ y.numpy()
    assert found.steps == steps
    assert found.loss_ratio == pytest.approx((residual**2).sum() / float((y**2).sum()), rel=1e-6)
    assert found.change < 1e-9  # the kernel of a linear network is that of its inputs
    assert found.width == 7


def test_every_weight_takes_part_in_the_descent() -> None:
    """With a bias the kernel of one output is x xᵀ + 1; steps on the bias alone, or without it, would leave other residuals."""
    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.randn(9, 1, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = short_run(nn.Linear(4, 1, dtype=torch.float64), x, y, n=9, spread=None, width=None, steps=6)
    K = (x @ x.mT).numpy() + 1
    step = np.eye(9) - 0.5 * K / np.linalg.eigvalsh(K)[-1]
    residual = np.linalg.matrix_power(step, 5) @ y.numpy()
    assert found.loss_ratio == pytest.approx((residual**2).sum() / float((y**2).sum()), rel=1e-6)
