"""Kernel regression, Gaussian processes and infinite ensembles against dense formulas."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.linalg import expm

import priorscope as ps
from priorscope.inference import (
    GaussianProcess,
    InfiniteEnsemble,
    KernelRegression,
    NumericalRepair,
    Schedule,
    Spectral,
)


@pytest.fixture(scope="module")
def problem():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(12, 5, generator=g, dtype=torch.float64)
    z = torch.randn(7, 5, generator=g, dtype=torch.float64)
    y = torch.stack([torch.sin(x[:, 0]), x[:, 1] * x[:, 2]], 1)
    arch = ps.models.fcn(2)
    k = {name: arch.kernel(a, b) for name, (a, b) in {"tt": (x, x), "zt": (z, x), "zz": (z, z)}.items()}
    return SimpleNamespace(x=x, y=y, z=z, arch=arch, data=SimpleNamespace(inputs=x, targets=y), k=k, n=12)


@pytest.mark.parametrize("kind", ["ntk", "nngp"])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_regression_is_the_dense_solve(problem, kind, ridge):
    K, cross = getattr(problem.k["tt"], kind).numpy(), getattr(problem.k["zt"], kind).numpy()
    want = cross @ np.linalg.solve(K + ridge * np.eye(problem.n), problem.y.numpy())
    fitted = KernelRegression(kind=kind, ridge=ridge).fit(problem.arch, problem.data)
    np.testing.assert_allclose(fitted.predict(problem.z).numpy(), want, rtol=1e-9, atol=1e-10)
    assert fitted.jitter == 0


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_finite_time_is_the_matrix_exponential(problem, ridge):
    t, n = 7.0, problem.n
    K, cross = problem.k["tt"].ntk.numpy() + ridge * np.eye(n), problem.k["zt"].ntk.numpy()
    want = cross @ np.linalg.solve(K, (np.eye(n) - expm(-K * t / n)) @ problem.y.numpy())
    fitted = KernelRegression(time=t, ridge=ridge).fit(problem.arch, problem.data)
    np.testing.assert_allclose(fitted.predict(problem.z).numpy(), want, rtol=1e-9, atol=1e-10)
    longer = KernelRegression(time=2 * t, ridge=ridge).fit(problem.arch, problem.data)
    np.testing.assert_allclose(
        fitted.predict(problem.z, time=2 * t).numpy(), longer.predict(problem.z).numpy(), rtol=1e-12
    )


def test_steps_of_descent_on_the_coefficients(problem):
    n, eta, K = problem.n, 0.4, problem.k["tt"].ntk
    f, c = torch.zeros_like(problem.y), torch.zeros_like(problem.y)
    for _ in range(25):
        c = c - eta * (f - problem.y) / n
        f = K @ c
    fitted = KernelRegression(learning_rate=eta, steps=25).fit(problem.arch, problem.data)
    torch.testing.assert_close(fitted.predict(problem.z), problem.k["zt"].ntk @ c, rtol=1e-9, atol=1e-11)
    flow = KernelRegression(time=25 * eta).fit(problem.arch, problem.data).predict(problem.z)
    assert (flow - problem.k["zt"].ntk @ c).abs().max() > 1e-4  # steps are not flow: the control


def test_the_trajectory_is_the_training_loss(problem):
    fitted = KernelRegression(time=50.0, ridge=0.1).fit(problem.arch, problem.data)
    for i in (0, 10, -1):
        t = float(fitted.trajectory.times[i])
        f = fitted.predict(problem.x, time=t) if t else torch.zeros_like(problem.y)
        want = float((f - problem.y).square().sum(1).mean() / 2)
        assert math.isclose(float(fitted.trajectory.loss[i]), want, rel_tol=1e-8)


def test_posterior_is_the_dense_formula_and_evidence_is_scipys(problem):
    from scipy.stats import multivariate_normal

    noise, n = 0.05, problem.n
    K = problem.k["tt"].nngp.numpy() + noise * np.eye(n)
    cross, prior = problem.k["zt"].nngp.numpy(), problem.k["zz"].nngp.numpy()
    fitted = GaussianProcess(noise=noise).fit(problem.arch, problem.data)
    np.testing.assert_allclose(
        fitted.predict(problem.z).numpy(), cross @ np.linalg.solve(K, problem.y.numpy()), rtol=1e-9
    )
    np.testing.assert_allclose(
        fitted.covariance(problem.z).numpy(), prior - cross @ np.linalg.solve(K, cross.T), rtol=1e-8, atol=1e-10
    )
    want = sum(multivariate_normal(np.zeros(n), K).logpdf(problem.y[:, j].numpy()) for j in range(2))
    assert math.isclose(fitted.log_evidence, want, rel_tol=1e-9)


@pytest.mark.parametrize("time", [3.0, None])
def test_ensemble_law_by_propagating_the_initial_law(problem, time):
    """f_t is linear in (f_0(z), f_0(X)): push the joint NNGP covariance through the matrix, densely."""
    n, m = problem.n, len(problem.z)
    K, cross = problem.k["tt"].ntk.numpy(), problem.k["zt"].ntk.numpy()
    decay = np.zeros((n, n)) if time is None else expm(-K * time / n)
    A = cross @ np.linalg.solve(K, np.eye(n) - decay)
    B = np.hstack([np.eye(m), -A])
    joint = problem.arch.kernel(torch.cat([problem.z, problem.x])).nngp.numpy()
    fitted = InfiniteEnsemble(time=time).fit(problem.arch, problem.data)
    np.testing.assert_allclose(fitted.predict(problem.z).numpy(), A @ problem.y.numpy(), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fitted.covariance(problem.z).numpy(), B @ joint @ B.T, rtol=1e-7, atol=1e-9)
    if time is None:
        assert fitted.variance(problem.x).max() < 1e-9  # trained to the end, no doubt is left on the training set
    else:
        other = fitted.covariance(problem.z, time=0.0).numpy()
        np.testing.assert_allclose(other, problem.k["zz"].nngp.numpy(), rtol=1e-10)
    assert InfiniteEnsemble(centred=True).fit(problem.arch, problem.data).covariance(problem.z).abs().max() == 0


def test_readout_only_training_for_ever_is_the_noiseless_process(problem):
    ensemble = InfiniteEnsemble(kind="nngp").fit(problem.arch, problem.data)
    process = GaussianProcess(noise=0.0).fit(problem.arch, problem.data)
    torch.testing.assert_close(ensemble.predict(problem.z), process.predict(problem.z))
    torch.testing.assert_close(ensemble.covariance(problem.z), process.covariance(problem.z), rtol=1e-6, atol=1e-9)


def test_a_nearly_singular_kernel_is_repaired_aloud(problem):
    twice = torch.cat([problem.x, problem.x])
    data = SimpleNamespace(inputs=twice, targets=torch.cat([problem.y, problem.y]))
    with pytest.warns(NumericalRepair, match=r"added jitter \S+ to a nearly singular kernel; smallest eigenvalue was"):
        fitted = KernelRegression().fit(problem.arch, data)
    assert 0 < fitted.jitter < 1e-10
    clean = KernelRegression().fit(problem.arch, problem.data).predict(problem.z)
    torch.testing.assert_close(fitted.predict(problem.z), clean, rtol=1e-6, atol=1e-7)  # and the answer is right
    with pytest.raises(ValueError, match="added jitter.*Add a ridge"):
        KernelRegression(strict=True).fit(problem.arch, data)
    KernelRegression(ridge=1e-3).fit(problem.arch, data)  # a ridge, or finite time, needs no repair
    assert KernelRegression(time=5.0).fit(problem.arch, data).jitter == 0
    with pytest.warns(NumericalRepair, match="set negative kernel eigenvalues to zero; smallest eigenvalue was -1"):
        Spectral(torch.diag(torch.tensor([1.0, -1.0])), ridge=1.0)


def test_messages(problem):
    with pytest.raises(ValueError, match=r"gradient descent diverges.*Use learning_rate < "):
        KernelRegression(learning_rate=1e3, steps=5).fit(problem.arch, problem.data)
    with pytest.raises(ValueError, match="both learning_rate and steps"):
        KernelRegression(steps=5)
    with pytest.raises(ValueError, match="not both"):
        InfiniteEnsemble(time=1.0, steps=5, learning_rate=0.1)
    with pytest.raises(ValueError, match="number time >= 0"):
        Schedule(time=-1.0)
    with pytest.raises(ValueError, match="kind must be 'ntk' or 'nngp'; got 'rbf'"):
        KernelRegression(kind="rbf")
    with pytest.raises(ValueError, match="finite ridge >= 0"):
        KernelRegression(ridge=-1.0)
    with pytest.raises(ValueError, match="finite noise >= 0; got -1.0. Pass a variance"):
        GaussianProcess(noise=-1.0)
    with pytest.raises(TypeError, match="closed-form kernel.*got Linear"):
        KernelRegression().fit(torch.nn.Linear(5, 1), problem.data)
    flat = SimpleNamespace(kernel=lambda a, b=None, kinds=(): SimpleNamespace(ntk=torch.ones(len(a), len(a))))
    with pytest.raises(ValueError, match="ignores its input"):
        KernelRegression().fit(flat, problem.data)


@pytest.mark.parametrize(
    ("inputs", "targets", "message"),
    [
        (torch.ones(1, 2), torch.ones(1, 1), "n >= 2 training samples; got 1"),
        (torch.eye(3), torch.ones(2, 1), "must agree in n"),
        (torch.eye(3) * torch.nan, torch.ones(3, 1), "inputs must be finite; got 9 NaN"),
        (torch.eye(3), torch.tensor([1.0, 2.0, torch.inf]), "targets must be finite; got 1 NaN"),
        (torch.eye(3), torch.ones(3, 1), "targets must vary .*3 equal targets"),
    ],
)
def test_bad_data(problem, inputs, targets, message):
    data = SimpleNamespace(inputs=inputs, targets=targets)
    with pytest.raises(ValueError, match=message):
        KernelRegression().fit(problem.arch, data)
    with pytest.raises(ValueError, match=message):
        ps.inference.GradientDescent().fit(torch.nn.Linear(inputs.shape[1], 1), data)


def test_one_class_and_no_tensors(problem):
    one = SimpleNamespace(inputs=torch.eye(3), targets=torch.ones(3, 1), task="classification")
    with pytest.raises(ValueError, match="one class"):
        KernelRegression().fit(problem.arch, one)
    with pytest.raises(TypeError, match=r"torch tensors .inputs .*got list"):
        KernelRegression().fit(problem.arch, [1, 2])


def test_no_time_learns_nothing():
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = x[:, :1] + 2
    fitted = KernelRegression(time=0.0).fit(ps.models.fcn(1), SimpleNamespace(inputs=x, targets=y))
    assert torch.equal(fitted.predict(x), torch.zeros_like(y))
    assert fitted.trajectory.times.tolist() == [0.0]
    assert float(fitted.trajectory.loss[0]) == pytest.approx(float(y.square().mean()) / 2)
