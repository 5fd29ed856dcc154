"""Diagonal networks and factored matrices: what they compute, where they start, their tangent kernels by hand."""

from __future__ import annotations

import pytest
import torch

from priorscope.models import DiagonalNetwork, FactoredMatrix
from priorscope.probes import empirical_ntk


@pytest.mark.parametrize("depth", [2, 3])
def test_diagonal_networks_start_at_zero_with_a_multiple_of_the_linear_kernel(depth):
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    net = DiagonalNetwork(3, 0.7, depth)
    assert float(net(x).detach().abs().max()) == 0
    wanted = 2 * (depth * 0.7 ** (depth - 1)) ** 2 * x @ x.mT  # 8 α² <x, x'> at depth 2
    torch.testing.assert_close(empirical_ntk(net, x), wanted)
    with torch.no_grad():
        net.positive.copy_(torch.tensor([1.0, 2.0, 3.0]))
        net.negative.zero_()
    assert net.coefficients.tolist() == [1.0, 2.0**depth, 3.0**depth]


def test_factored_matrices_start_at_zero_with_a_kernel_that_keeps_entries_apart():
    entries = torch.eye(6, dtype=torch.float64).reshape(6, 2, 3)
    net = FactoredMatrix(2, 3, 0.5)
    assert float(net(entries).detach().abs().max()) == 0
    torch.testing.assert_close(empirical_ntk(net, entries), 2 * 0.25 * torch.eye(6, dtype=torch.float64))
    drawn = FactoredMatrix(2, 3, 0.5, width=4, seed=1)
    torch.testing.assert_close(drawn(entries).flatten(), (drawn.left @ drawn.right.mT).flatten())
    assert float((FactoredMatrix(2, 3, 0.5, width=4, seed=2).left - drawn.left).detach().abs().max()) > 0.01
