"""Stacked dense networks: kernel against Jacobians, constants of the activation, one member by itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from priorscope.models import DenseStack
from priorscope.models.networks._smooth_rectifier import SCALE, SHARPNESS, TracedRectifier, phi, phi_slope


def test_t1_layerwise_gram_is_the_product_of_jacobians():
    stack = DenseStack(4, 6, 3, [0, 1])
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    got = stack.gram(stack.stacked, x, x[:3])
    for k in range(2):
        weights = [w[k : k + 1].clone().requires_grad_() for w in stack.stacked.values()]
        f = stack.call(dict(zip(stack.stacked, weights)), x)[0, :, 0]
        J = torch.stack(
            [torch.cat([g.flatten() for g in torch.autograd.grad(v, weights, retain_graph=True)]) for v in f]
        )
        torch.testing.assert_close(got[k], J @ J[:3].mT, atol=1e-10, rtol=1e-10)


def test_t2_slope_of_the_activation_by_finite_differences():
    x = torch.linspace(-3, 3, 41, dtype=torch.float64)
    torch.testing.assert_close((phi(x + 1e-6) - phi(x - 1e-6)) / 2e-6, phi_slope(x), atol=1e-8, rtol=1e-6)


def test_t5_constants_of_the_activation_and_the_diagonal_at_infinite_width():
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    z, p = torch.from_numpy(nodes), torch.from_numpy(weights / weights.sum())
    assert float((p * phi(z) ** 2).sum()) == pytest.approx(1, abs=1e-6)
    slope = float((p * phi_slope(z) ** 2).sum())
    assert slope == pytest.approx(0.83794, abs=1e-4)
    assert pytest.approx(1.40438, abs=1e-5) == SCALE
    x = torch.nn.functional.normalize(torch.randn(1, 8, generator=torch.Generator().manual_seed(0)).double()) * 8**0.5
    stack = DenseStack(8, 400, 2, range(30))
    values = stack.gram(stack.stacked, x)[:, 0, 0]
    assert abs(values.mean() - (1 + slope + slope**2)) < 4 * values.std() / 30**0.5


def test_kernel_and_outputs_with_biases():
    stack = DenseStack(4, 5, 2, [0, 1], bias=True)
    for name in ("b0", "b1"):
        stack.stacked[name] = torch.randn(2, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    got = stack.gram(stack.stacked, x)
    weights = {name: w.clone().requires_grad_() for name, w in stack.stacked.items()}
    f = stack.call(weights, x)[..., 0]  # (K, n)
    rows = [
        torch.cat(
            [g.flatten(1) for g in torch.autograd.grad(f[:, i].sum(), list(weights.values()), retain_graph=True)], 1
        )
        for i in range(6)
    ]
    J = torch.stack(rows, 1)
    torch.testing.assert_close(got, J @ J.mT, atol=1e-11, rtol=1e-11)
    without = DenseStack(4, 5, 2, [0, 1])
    assert float((without.gram(without.stacked, x) - got).abs().max()) > 0.1


def test_the_traced_rectifier_is_a_scaled_softplus_with_its_slope():
    x = torch.linspace(-300, 300, 401).double().requires_grad_()
    exact = SCALE / SHARPNESS * torch.logaddexp(SHARPNESS * x, torch.zeros_like(x))  # torch's softplus is cut at 20
    torch.testing.assert_close(TracedRectifier.apply(x), exact, rtol=1e-12, atol=1e-15)
    (slope,) = torch.autograd.grad(TracedRectifier.apply(x).sum(), x)
    torch.testing.assert_close(slope, phi_slope(x.detach()), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("bias", [False, True])
def test_a_member_by_itself_gives_its_row_of_the_stack(bias):
    stack = DenseStack(4, 5, 2, [0, 1, 2], bias=bias)
    if bias:
        stack.stacked["b0"] = torch.randn(3, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x = torch.randn(6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    both = stack(x)
    assert len(stack) == 3
    torch.testing.assert_close(stack.member(1)(x), both[1], rtol=1e-12, atol=1e-12)
    assert float((both[0] - both[1]).abs().max()) > 0.1
