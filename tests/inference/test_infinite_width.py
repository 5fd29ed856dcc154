"""Theory of the trained infinite ensemble against many trained wide networks, within standard errors."""

from types import SimpleNamespace

import pytest
import torch

import priorscope as ps
from priorscope.inference import GaussianProcess, GradientDescent, InfiniteEnsemble

MEMBERS, WIDTH, RATE = 192, 192, 1.0
ROWS = {4: 3, 32: 6}  # steps of descent: row of the trajectory (0, 1, 2, 4, 8, 16, 32)


@pytest.fixture(scope="module")
def trained():
    g = torch.Generator().manual_seed(0)
    x, z = (torch.nn.functional.normalize(torch.randn(n, 6, generator=g)) * 6**0.5 for n in (8, 6))
    y = torch.sign(x[:, :1] * x[:, 1:2])
    arch = ps.models.fcn(1, activation="erf", weight_variance=1.5, bias_variance=0.1)
    ensemble = arch.ensemble((6,), width=WIDTH, outputs=1, seeds=range(MEMBERS))
    method = GradientDescent(learning_rate=RATE, steps=32, record=6, keep=("params",))
    fitted = method.fit(ensemble, SimpleNamespace(inputs=x, targets=y))
    theory = SimpleNamespace(inputs=x.double(), targets=y.double())
    sampled = {s: fitted.predict_with(fitted.trajectory.params[r], z)[:, :, 0].double() for s, r in ROWS.items()}
    assert [round(float(t)) for t in fitted.trajectory.times] == [0, 1, 2, 4, 8, 16, 32]
    return SimpleNamespace(arch=arch, data=theory, z=z.double(), sampled=sampled)


def deviations(samples, mean, covariance):
    """How many standard errors the sample mean and covariance lie from a law; a 1/width bias is allowed for."""
    K = len(samples)
    v = covariance.diagonal()
    bias = 2 / WIDTH  # relative, of order one over the width
    error = (v / K).sqrt() + bias * v.sqrt()
    error2 = ((v[:, None] * v + covariance.square()) / (K - 1)).sqrt() + bias * (v[:, None] * v).sqrt()
    return ((samples.mean(0) - mean).abs() / error).max(), ((torch.cov(samples.mT) - covariance).abs() / error2).max()


@pytest.mark.parametrize("steps", sorted(ROWS))
def test_mean_and_covariance_over_time(trained, steps):
    law = InfiniteEnsemble(learning_rate=RATE, steps=steps).fit(trained.arch, trained.data)
    mean, covariance = law.predict(trained.z)[:, 0], law.covariance(trained.z)
    off_mean, off_covariance = deviations(trained.sampled[steps], mean, covariance)
    assert off_mean < 4
    assert off_covariance < 4


def test_the_comparison_can_fail(trained):
    """Other laws are told apart: another time, readout-only training, the posterior, no training."""
    samples = trained.sampled[32]
    early = InfiniteEnsemble(learning_rate=RATE, steps=4).fit(trained.arch, trained.data)
    readout = InfiniteEnsemble(learning_rate=RATE, steps=32, kind="nngp").fit(trained.arch, trained.data)
    posterior = GaussianProcess(noise=1e-6).fit(trained.arch, trained.data)
    for law in (early, readout, posterior):
        assert max(deviations(samples, law.predict(trained.z)[:, 0], law.covariance(trained.z))) > 6
    untrained = trained.arch.kernel(trained.z).nngp
    assert deviations(samples, torch.zeros(6), untrained)[1] > 6
