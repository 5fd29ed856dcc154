"""The matrix-free kernel against the dense one."""

import numpy as np
import pytest
import torch
from torch import nn

from priorscope.probes import empirical_ntk, ntk_operator


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(36, 2)).double()


def test_products_and_leading_eigenpairs_equal_the_dense_matrix():
    net, x = network(), torch.randn(9, 1, 5, 5, dtype=torch.float64)
    operator = ntk_operator(net, x, block=4)
    dense = empirical_ntk(net, x, outputs="full").transpose(1, 2).reshape(18, 18).numpy()
    v = np.random.default_rng(0).normal(size=18)
    np.testing.assert_allclose(operator @ v, dense @ v, rtol=1e-10)
    np.testing.assert_allclose(operator.T @ v, dense @ v, rtol=1e-10)
    values, vectors = operator.top(4, tolerance=1e-10)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(dense)[::-1][:4] / 9, rtol=1e-8)
    np.testing.assert_allclose(dense @ vectors, 9 * vectors * values, atol=1e-6 * dense.max())
    swapped = empirical_ntk(net, x, outputs="full").permute(2, 0, 3, 1).reshape(18, 18).numpy()
    assert np.abs(swapped @ v - dense @ v).max() > 1e-3  # the order of rows matters, and is tested


def test_bad_input_is_named():
    net, x = network(), torch.randn(3, 1, 5, 5, dtype=torch.float64)
    with pytest.raises(ValueError, match="1 <= k < 6"):
        ntk_operator(net, x).top(6)
    with pytest.raises(ValueError, match="at least one finite input"):
        ntk_operator(net, x[:0])
    with pytest.raises(ValueError, match="parameters that require gradients"):
        ntk_operator(nn.Flatten(), x)
    with pytest.raises(ValueError, match="eval mode"):
        ntk_operator(nn.Sequential(nn.BatchNorm2d(1), nn.Flatten()), x)
