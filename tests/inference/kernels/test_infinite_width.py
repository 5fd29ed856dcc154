"""Theory of the trained infinite ensemble against many trained finite networks.

Networks of finite width have a bias of order 1/width, so means and covariances are measured at several widths and
extrapolated to 1/width = 0 by a straight line; the intercept must meet the law within its standard errors.
"""

from types import SimpleNamespace

import pytest
import torch

import priorscope as ps
from priorscope.inference import GaussianProcess, GradientDescent, InfiniteEnsemble

MEMBERS, RATE = 1024, 1.0
WIDTHS = (32, 64, 128)
ROWS = {4: 3, 32: 6}  # steps of descent: row of the trajectory (0, 1, 2, 4, 8, 16, 32)
CHI2 = 22.46  # 99.9 % of chi-square with six degrees of freedom

g = torch.Generator().manual_seed(0)
X, Z = (torch.nn.functional.normalize(torch.randn(n, 6, generator=g)) * 6**0.5 for n in (8, 6))
Y = torch.sign(X[:, :1] * X[:, 1:2])
ARCH = ps.models.fcn(1, activation="erf", weight_variance=1.5, bias_variance=0.1)
THEORY = SimpleNamespace(inputs=X.double(), targets=Y.double())


def train(width, seeds):
    """Predictions (members, inputs) of trained networks after some numbers of steps."""
    ensemble = ARCH.ensemble((6,), width=width, outputs=1, seeds=seeds)
    method = GradientDescent(learning_rate=RATE, steps=32, record=6, keep=("params",))
    fitted = method.fit(ensemble, SimpleNamespace(inputs=X, targets=Y))
    assert [round(float(t)) for t in fitted.trajectory.times] == [0, 1, 2, 4, 8, 16, 32]
    return {s: fitted.predict_with(fitted.trajectory.params[r], Z)[:, :, 0].double() for s, r in ROWS.items()}


@pytest.fixture(scope="module")
def trained():
    return {width: train(width, range(10_000 * width, 10_000 * width + MEMBERS)) for width in WIDTHS}


def moments(samples):
    """Sample mean and covariance, flat, with the squared standard errors of both, from the samples alone."""
    centred = samples - samples.mean(0)
    products = centred[:, :, None] * centred[:, None, :]
    n = len(samples)
    covariance = products.sum(0) / (n - 1)
    return samples.mean(0), centred.square().sum(0) / (n - 1) / n, covariance, products.var(0) / n


def at_infinite_width(values, variances):
    """Intercept of the line value = a + b / width through the widths, entry by entry, and its standard error."""
    design = torch.tensor([[1.0, 1 / w] for w in WIDTHS], dtype=torch.float64)
    row = torch.linalg.inv(design.mT @ design)[0] @ design.mT  # the intercept's share of each width
    shape = (-1, *(1,) * values[0].ndim)
    share = row.reshape(shape)
    return (share * torch.stack(values)).sum(0), (share.square() * torch.stack(variances)).sum(0).sqrt()


def deviations(trained, steps, mean, covariance):
    """Largest distances of mean and covariance from a law in standard errors, and the mean's chi-square."""
    measured = [moments(trained[width][steps]) for width in WIDTHS]
    centre, error = at_infinite_width([m[0] for m in measured], [m[1] for m in measured])
    spread, error2 = at_infinite_width([m[2] for m in measured], [m[3] for m in measured])
    off = centre - mean
    scale = (error.square() / covariance.diagonal()).mean()  # the intercept's covariance is this times the law's
    chi2 = off @ torch.linalg.solve(covariance * scale, off)
    return float((off.abs() / error).max()), float(((spread - covariance).abs() / error2).max()), float(chi2)


def law(steps, **options):
    fitted = InfiniteEnsemble(learning_rate=RATE, steps=steps, **options).fit(ARCH, THEORY)
    return fitted.predict(Z.double())[:, 0], fitted.covariance(Z.double())


@pytest.mark.parametrize("steps", sorted(ROWS))
def test_mean_and_covariance_over_time(trained, steps):
    off_mean, off_covariance, chi2 = deviations(trained, steps, *law(steps))
    assert off_mean < 4
    assert off_covariance < 4
    assert chi2 < CHI2


def test_the_comparison_can_fail(trained):
    """Other laws are told apart: another time, readout-only training, the posterior, no training."""
    posterior = GaussianProcess(noise=1e-6).fit(ARCH, THEORY)
    others = [law(4), law(32, kind="nngp"), (posterior.predict(Z.double())[:, 0], posterior.covariance(Z.double()))]
    for other in others:
        assert max(deviations(trained, 32, *other)[:2]) > 6
    assert deviations(trained, 32, torch.zeros(6, dtype=torch.float64), ARCH.kernel(Z.double()).nngp)[1] > 6
