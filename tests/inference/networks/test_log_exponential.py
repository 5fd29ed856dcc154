"""The logarithm of the exponential loss: its values, its gradient, and that descent on it goes on where others underflow."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from priorscope.data import Split
from priorscope.inference import DeepEntropy, GradientDescent, GradientFlow, LogExponential, Steepest


def test_values_by_hand():
    f = torch.tensor([[0.5], [-1.0], [2.0]], dtype=torch.float64)
    y = torch.tensor([[1.0], [-1.0], [-1.0]], dtype=torch.float64)
    by_hand = np.log(np.mean(np.exp([-0.5, -1.0, 2.0])))
    assert float(LogExponential()(f, y)) == pytest.approx(by_hand)
    many = torch.tensor([[1.0, 0.0, -1.0], [0.0, 3.0, 0.0]], dtype=torch.float64)
    classes = torch.eye(3, dtype=torch.float64)[[0, 1]] - 1 / 3
    terms = np.exp([-1.0, -2.0]).sum() + np.exp([-3.0, -3.0]).sum()
    assert float(LogExponential()(many, classes)) == pytest.approx(np.log(terms / 2))


def test_slopes_are_those_of_the_mean_they_belong_to():
    f = torch.randn(2, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    y = torch.eye(3, dtype=torch.float64)[[0, 1, 2, 0]]
    (whole,) = torch.autograd.grad(LogExponential()(f, y).sum(), f)
    torch.testing.assert_close(LogExponential().slope(f, y) / 4, whole)


def test_descent_goes_on_where_the_logistic_loss_underflows():
    x = torch.tensor([[1.0, 0.2], [-0.3, -1.0]], dtype=torch.float64)
    data = Split(x, torch.tensor([[1.0], [-1.0]], dtype=torch.float64))

    def norms(loss):
        ends = []
        for steps in (100, 200):
            net = nn.Linear(2, 1, bias=False, dtype=torch.float64)
            nn.init.ones_(net.weight)
            rule = Steepest("l2", normalised=True)
            ends.append(
                float(GradientDescent(50.0, steps, optimiser=rule, loss=loss, record=1).fit(net, data).params.norm())
            )
        return ends

    short, long = norms("log-exponential")
    assert long > 1.5 * short
    short, long = norms("logistic")
    assert long == short  # why there is such a loss: no step is left


def test_flow_uses_the_same_gradient():
    x = torch.tensor([[1.0, 0.0], [0.0, -2.0]], dtype=torch.float64)
    data = Split(x, torch.tensor([[1.0], [-1.0]], dtype=torch.float64))
    net = nn.Linear(2, 1, bias=False, dtype=torch.float64)
    nn.init.zeros_(net.weight)
    w = GradientFlow(time=0.01, loss="log-exponential").fit(net, data).params[0]
    np.testing.assert_allclose(w, 0.01 * np.array([0.5, 1.0]), rtol=0.02)  # softmax weights of one half each


def test_deep_entropy_is_a_potential_in_closed_form():
    psi, b = DeepEntropy(0.1, 3.0), np.linspace(0, 5, 100_001)
    by_quadrature = np.trapezoid(psi.dual(torch.from_numpy(b)).numpy(), b)
    assert float(psi.value(torch.tensor(5.0, dtype=torch.float64))) == pytest.approx(by_quadrature, rel=1e-8)
    w = torch.tensor([-1e6, -3.0, -1e-9, 0.0, 1e-12, 0.2, 50.0], dtype=torch.float64)
    torch.testing.assert_close(psi.primal(psi.dual(w)), w, rtol=1e-11, atol=0)
    z = torch.tensor([-0.7, 1e-6, 0.9], dtype=torch.float64)
    step = 1e-6 * torch.ones(3, dtype=torch.float64)
    torch.testing.assert_close((psi.primal(z + step) - psi.primal(z - step)) / 2e-6, psi.bend(z), rtol=1e-6, atol=0)
    torch.testing.assert_close(
        (psi.conjugate(z + step) - psi.conjugate(z - step)) / 2e-6, psi.primal(z), rtol=1e-5, atol=1e-9
    )
    assert bool(torch.isinf(psi.primal(torch.tensor([1.0, -2.0]))).all())
