"""Layers and nonlinearities of the user's own, also under the library's names: their formula counts, not their name."""

import dataclasses

import pytest
import torch

from priorscope import models as M
from priorscope.models.kernels._plan import obstacle

X = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def doubled():
    class Dense(M.Dense):
        """Weights of twice the variance."""

        def propagate(self, cov, need):
            return M.Dense(2 * self.weight_variance, self.bias_variance).propagate(cov, need)

    return Dense


def halved():
    class ReLU(M.Nonlinearity):
        """Half of max(x, 0)."""

        def __call__(self, x):
            return x.relu() / 2

        def covariance(self, k12, k11, k22):
            return M.ReLU().covariance(k12, k11, k22) / 4

        def derivative_covariance(self, k12, k11, k22):
            return M.ReLU().derivative_covariance(k12, k11, k22) / 4

    return ReLU


def test_a_subclass_under_a_known_name_keeps_its_own_formula():
    Own = doubled()
    arch = M.Architecture("own", (Own(1.0), M.Activation("relu"), M.Dense()))
    plain = M.Architecture("plain", (M.Dense(2.0), M.Activation("relu"), M.Dense()))
    torch.testing.assert_close(arch.kernel(X).ntk, plain.kernel(X).ntk, rtol=1e-13, atol=0)
    assert obstacle(arch, (4,)) == "Dense"
    with pytest.raises(ValueError, match="no fused step for Dense"):
        arch.kernel(X, path="fused")


def test_a_nonlinearity_under_a_known_name_keeps_its_own_formula():
    arch = M.Architecture("own", (M.Dense(), M.Activation(halved()()), M.Dense()))
    plain = M.Architecture("plain", (M.Dense(), M.Activation(M.ABReLU(0.0, 0.5)), M.Dense()))
    torch.testing.assert_close(arch.kernel(X).ntk, plain.kernel(X).ntk, rtol=1e-13, atol=0)
    assert obstacle(arch, (4,)) == "ReLU"


def test_subclasses_of_every_fused_layer_and_nonlinearity_go_by_the_reference():
    image = (2, 4, 4)
    layers = [M.Conv(), M.LocallyConnected(), M.AvgPool(2), M.SumPool(2), M.Identity(), M.LayerNorm(), M.Dense()]
    layers += [M.ParallelSum((M.Conv(), M.Identity())), M.Residual(M.Conv()), M.Sequential((M.Conv(),))]
    for layer in layers:
        own = type(type(layer).__name__, (type(layer),), {})
        values = {f.name: getattr(layer, f.name) for f in dataclasses.fields(layer)}
        for one, fused in ((layer, True), (own(**values), False)):
            arch = M.Architecture("a", (M.Conv(), one, M.GlobalAvgPool(), M.Dense()))
            assert (obstacle(arch, image) is None) == fused, layer
    for end in (M.Flatten(), M.GlobalAvgPool(), M.GlobalSumPool()):
        own = type(type(end).__name__, (type(end),), {})()
        for one, fused in ((end, True), (own, False)):
            assert (obstacle(M.Architecture("a", (M.Conv(), one, M.Dense())), image) is None) == fused, end
    for phi in (M.ReLU(), M.Erf(), M.GELU(), M.Sign(), M.Sine(), M.RBF(), M.Gaussian(), M.Exponential(), M.Linear()):
        own = type(type(phi).__name__, (type(phi),), {})()
        for one, fused in ((phi, True), (own, False)):
            assert (obstacle(M.fcn(1, activation=one), (4,)) is None) == fused, phi


def test_a_class_that_says_its_own_fused_step_runs_it():
    class Doubled(M.Dense):
        def propagate(self, cov, need):
            return M.Dense(2 * self.weight_variance, self.bias_variance).propagate(cov, need)

        def lower(self, program, register, space):
            program.affine(register, space, 2 * self.weight_variance, self.bias_variance)

    arch = M.Architecture("own", (Doubled(1.0), M.Activation("relu"), M.Dense()))
    fused, reference = (arch.kernel(X, path=path).ntk for path in ("fused", "reference"))
    torch.testing.assert_close(fused, reference, rtol=1e-13, atol=0)
