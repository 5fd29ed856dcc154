"""A stranger's classes meet the library by methods alone, and are told what they lack."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import priorscope as ps
from priorscope import contracts


class Linear:
    """A kernel model without a base class of ours: x·x'."""

    def kernel(self, x1, x2=None, *, kinds=("nngp", "ntk")):
        gram = x1 @ (x1 if x2 is None else x2).T
        return SimpleNamespace(nngp=gram, ntk=gram)


class Mean:
    """An inference of a stranger's: predicts the mean of the targets."""

    def fit(self, model, data, seed=0):
        mean = data.targets.mean(0)
        still = SimpleNamespace(times=torch.zeros(1), loss=torch.zeros(1))
        return SimpleNamespace(predict=lambda x: mean.expand(len(x), -1), trajectory=still, seconds=0.0)


@pytest.fixture(scope="module")
def data():
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = x @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    return ps.data.from_arrays(x[:30], y[:30], test=(x[30:], y[30:]), dtype=torch.float64)


def test_a_strangers_kernel_learns_a_linear_function(data):
    outcome = ps.System(data, Linear(), ps.inference.KernelRegression(ridge=1e-9)).run()
    assert outcome.test_error < 1e-6  # a linear kernel holds the target exactly
    assert float(data.test.targets.var()) > 0.1


def test_a_strangers_inference_is_given_a_network(data):
    outcome = ps.System(data, nn.Linear(3, 1), Mean()).run()
    wanted = (data.test.targets - data.targets.mean()).square().mean()
    assert outcome.test_error == pytest.approx(float(wanted), rel=1e-6)


def test_what_is_missing_is_named():
    assert contracts.missing(Linear(), contracts.KernelModel) == ()
    assert contracts.missing(Linear(), contracts.NetworkFamily) == ("network", "ensemble")
    assert contracts.missing(object(), contracts.LabelledData) == (
        "inputs",
        "targets",
        "train",
        "test",
        "input_shape",
        "n_outputs",
        "task",
    )
    with pytest.raises(TypeError, match="got Linear, which has no network, ensemble"):
        contracts.require(Linear(), contracts.NetworkFamily, "a family", "Use an Architecture.")


def test_an_inference_that_needs_neither_is_refused(data):
    odd = SimpleNamespace(fit=lambda *a, **k: None, needs="trees")
    with pytest.raises(TypeError, match="needs must be 'kernel' or 'network'; got 'trees'"):
        ps.System(data, Linear(), odd)


def test_every_inference_of_ours_keeps_the_contract():
    for name in ("KernelRegression", "GaussianProcess", "InfiniteEnsemble", "GradientDescent", "GradientFlow"):
        method = getattr(ps.inference, name)()
        assert contracts.missing(method, contracts.Inference) == ()
        assert contracts.needs_of(method) == ("network" if name.startswith("Gradient") else "kernel")
