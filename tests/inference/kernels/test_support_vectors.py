"""The support vector machine by its optimality conditions and problems solved by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import priorscope as ps
from priorscope.inference import KernelRegression, NumericalRepair, SupportVectorMachine


@pytest.fixture(scope="module")
def digits():
    return ps.data.digits(classes="parity").subset(160, seed=1)


@pytest.mark.parametrize("C", [0.3, 10.0, 1e4])
def test_optimality_conditions(digits, C):
    fitted = SupportVectorMachine(C=C).fit(ps.models.laplace(), digits)
    a, margin = fitted.dual[:, 0], fitted.margins[:, 0]
    assert a.min() >= 0
    assert a.max() <= C * (1 + 1e-12)
    assert abs(a @ fitted.signs[:, 0]) < 1e-8 * a.sum()  # dual feasible
    free = (a > 1e-9 * C) & (a < C * (1 - 1e-9))
    np.testing.assert_allclose(margin[free], 1.0, atol=1e-3)
    assert (margin[a <= 1e-9 * C] > 1 - 1e-3).all()
    assert (margin[a >= C * (1 - 1e-9)] < 1 + 1e-3).all()
    assert abs(fitted.gap[0]) < 5e-3
    assert free.any()
    direct = (fitted.model.kernel(digits.inputs).ntk.numpy() @ (a * fitted.signs[:, 0])) + fitted.bias[0]
    np.testing.assert_allclose(fitted.predict(digits.inputs)[:, 0].numpy(), direct, rtol=1e-4, atol=1e-5)


def test_two_points_by_hand():
    """Labels ±1 at 0 and 1: a = 1 / (1 - k), b = 0, both on the margin."""
    data = ps.data.from_arrays([[0.0], [1.0]], [-1.0, 1.0], classes="real", test_fraction=0.0)
    fitted = SupportVectorMachine().fit(ps.models.laplace(bandwidth=1.0), data)
    np.testing.assert_allclose(fitted.dual[:, 0], 1 / (1 - np.exp(-1)), rtol=1e-6)
    assert abs(fitted.bias[0]) < 1e-9
    capped = SupportVectorMachine(C=0.1).fit(ps.models.laplace(bandwidth=1.0), data)
    np.testing.assert_allclose(capped.dual[:, 0], 0.1)
    assert capped.slack.min() > 0.5


def test_many_classes_one_against_the_rest():
    data = ps.data.digits().subset(250, seed=0)
    outcome = ps.System(data, ps.models.gaussian(), SupportVectorMachine()).run()
    assert outcome.fitted.dual.shape == (250, 10)
    assert outcome.test_accuracy > 0.85


def test_real_targets_are_refused():
    x = torch.randn(20, 2, generator=torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match="needs classes, two values"):
        SupportVectorMachine().fit(ps.models.laplace(), ps.data.from_arrays(x, x[:, 0], test_fraction=0.0))
    with pytest.raises(ValueError, match="finite C > 0"):
        SupportVectorMachine(C=0)


def test_truncated_regression_is_that_on_the_leading_modes():
    x = torch.rand(60, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.sin(5 * x)
    data = ps.data.from_arrays(x, y, test_fraction=0.0, dtype=torch.float64)
    model = ps.models.gaussian(bandwidth=1.0)
    fitted = KernelRegression(cutoff=1e-8, strict=True).fit(model, data)
    K = model.kernel(x).ntk.numpy()
    wanted = np.linalg.pinv(K, rcond=1e-8, hermitian=True) @ y.numpy()
    at = torch.linspace(0, 1, 7, dtype=torch.float64)[:, None]
    np.testing.assert_allclose(fitted.predict(at), model.kernel(at, x).ntk.numpy() @ wanted, rtol=1e-6, atol=1e-8)
    kept = (np.linalg.eigvalsh(K) >= 1e-8 * np.linalg.eigvalsh(K)[-1]).sum()
    assert fitted.repair.dropped == 60 - kept > 30
    assert fitted.repair.jitter == 0
    with pytest.warns(NumericalRepair, match="jitter"):
        repaired = KernelRegression().fit(model, data)
    assert repaired.repair.dropped == 0
    assert repaired.repair.jitter == repaired.jitter > 0
    with pytest.raises(ValueError, match="0 <= cutoff < 1"):
        KernelRegression(cutoff=1.0)


def test_truncation_leaves_the_training_error_of_the_modes_left_out():
    x = torch.rand(30, 1, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    data = ps.data.from_arrays(x, x.sign() * x.cos(), test_fraction=0.0, dtype=torch.float64, classes="real")
    fitted = KernelRegression(cutoff=1e-3).fit(ps.models.gaussian(bandwidth=0.5), data)
    measured = float((fitted.predict(data.inputs) - data.targets).square().sum() / 60)
    assert float(fitted.trajectory.loss[-1]) == pytest.approx(measured, rel=1e-6)
    assert measured > 1e-12
