"""The parts of a forecast, each against another way to the same number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import norm

import priorscope as ps
from priorscope.probes.curves.forecast import _combine, _forecast, _power_law
from priorscope.probes.curves.forecast._forecast import lap_window
from priorscope.probes.curves.forecast._power_law import local_power_law
from priorscope.probes.curves.forecast._spectral import SpectralModel
from priorscope.probes.curves.pilot import leave_one_out, nested_regression
from priorscope.probes.curves.pilot._nested import same_samples


@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_bins_of_modes_err_as_the_modes_one_by_one(ridge: float) -> None:
    rank = np.array([1.0, 2.0, 4.0, 9.0, 20.0, 50.0])
    count = np.array([1.0, 2.0, 4.0, 8.0, 25.0, 160.0])
    lam, power, sizes = rank**-1.4, 2 * rank**-1.8, np.array([5.0, 20.0, 80.0])
    found = SpectralModel(rank, count, lam, power, 1.4, 1.8).errors(sizes, ridge)
    each = [np.repeat(v, count.astype(int)) for v in (lam, power)]
    known = [ps.probes.mode_learnability(each[0], n, power=each[1], ridge=ridge) for n in sizes]
    np.testing.assert_allclose(found, [k.error for k in known], rtol=1e-9)
    assert all(k.overfitting > 1.05 for k in known)  # a factor that is left out would be seen


def test_errors_of_an_offset_curve_are_weighted_by_their_own_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    """One offset c and (nearly) no drift leave generalised least squares on log(E - c). Its covariance is sampled here:
    E drawn with its own covariance, log(E - c) taken of each draw."""
    monkeypatch.setattr(_power_law, "_DRIFTS", {1e-9: 1.0})
    sizes, at = np.geomspace(20, 300, 9), np.array([2400.0])
    c = 0.6 * (0.2 + 3.0 * 300**-0.8)
    errors = 0.2 + 3.0 * sizes**-0.8
    z = np.log(sizes / 300)
    noise = 0.01**2 * np.exp(-np.abs(z[:, None] - z)) + 0.02**2 * np.eye(9)  # bootstrap, and the nugget of each size
    rng = np.random.default_rng(0)
    draws = np.log(errors) + rng.standard_normal((400_000, 9)) @ np.linalg.cholesky(noise).T
    covariance = np.cov(np.log(np.exp(draws) - c).T)
    half = np.linalg.inv(np.linalg.cholesky(covariance))
    X = np.stack([np.ones(9), z], 1)
    line = np.linalg.lstsq(half @ X, half @ np.log(errors - c), rcond=None)[0]
    ahead = np.array([1.0, np.log(at[0] / 300)])
    mean = ahead @ line
    scatter = np.sqrt(ahead @ np.linalg.inv((half @ X).T @ (half @ X)) @ ahead)
    share = np.exp(mean) / (np.exp(mean) + c)  # d log(e^m + c) / dm
    found, spread = local_power_law(sizes, errors, noise - 0.02**2 * np.eye(9), at, {0.6: 1.0})
    # draws of 5 % at the most bend the logarithm by 5 %^2, and a covariance of 400,000 draws is good to 0.3 %
    assert found[0] == pytest.approx(np.log(np.exp(mean) + c), abs=5e-3)
    assert spread[0] == pytest.approx(share * scatter, rel=0.03)


def test_noise_that_stays_is_seen_where_it_is_expected() -> None:
    """Half of the last error is noise: with even a little belief in noise the curve's own bend tells, and without it does not."""
    sizes, at = np.geomspace(20, 300, 12), np.array([2400.0])
    errors = 0.1 + 0.1 * (sizes / 300) ** -0.9
    truth = 0.1 + 0.1 * 8**-0.9
    common = 0.03**2 * np.ones((12, 12))  # tested on the same samples
    told, told_scatter = local_power_law(sizes, errors, common, at, _power_law.NOISY)
    plain, _ = local_power_law(sizes, errors, common, at)
    assert abs(told[0] - np.log(truth)) < 1.645 * told_scatter[0]
    assert abs(told[0] - np.log(truth)) < 0.5 * abs(plain[0] - np.log(truth))


def _kernel(scale: float):
    return lambda a, b: torch.exp(-torch.cdist(a, b) / scale)


@pytest.fixture(scope="module")
def found() -> ps.probes.Forecast:
    x = torch.randn(120, 2, generator=torch.Generator().manual_seed(0))
    data = ps.data.from_arrays(x, x[:, 0] + 0.5 * x[:, 1].abs(), test_fraction=0.0)
    return ps.forecast(data, _kernel(1), n=960, pilot=120, level=0.8)


def test_the_interval_joins_scatter_and_the_spread_of_the_estimators(found: ps.probes.Forecast) -> None:
    """Two independent errors: 1.2 times the scatter of the continued power law, never below that of the last measured error,
    and what the two estimators (weights 0.7 and 0.3) lie apart, a two-point distribution of variance 0.7 * 0.3 * gap^2."""
    beyond = found.grid > 2 * found.curve.sizes[-1]
    beyond &= np.abs(np.log(found.estimators["power law"] / found.estimators["spectral theory"])) < np.log(4)
    assert beyond.sum() > 5
    sizes = found.curve.sizes.astype(float)
    scatter = local_power_law(
        sizes, found.curve.error, np.cov(np.log(found.curve.draws).T), found.grid, _power_law.NOISY
    )[1][beyond]
    scatter = np.maximum(scatter, np.log(found.curve.draws[:, -1]).std() + 0.01)
    gap = np.log(found.estimators["power law"] / found.estimators["spectral theory"])[beyond]
    z = norm.isf(0.1)
    width = np.log(found.combined_high / found.combined)[beyond]
    np.testing.assert_allclose((width / z) ** 2, (1.2 * scatter) ** 2 + 0.7 * 0.3 * gap**2, rtol=1e-9)
    np.testing.assert_allclose(np.log(found.combined / found.combined_low)[beyond], width, rtol=1e-9)
    assert (0.21 * gap**2 > 0.01 * (1.2 * scatter) ** 2).any()  # both terms count
    assert _combine._WEIGHTS["power law"] == 0.7


@pytest.mark.parametrize("factor", [1.5, 4.0])
def test_a_constant_ratio_may_still_change_by_a_third_of_its_logarithm(
    found: ps.probes.Forecast, factor: float
) -> None:
    """All errors of one forecast a constant times those of another: nothing is scattered but what is assumed, and the two
    centres agree. What is left beside the scatter of a ratio of one is (0.3 log factor)^2."""
    curve = replace(found.curve, error=factor * found.curve.error, draws=factor * found.curve.draws)
    worse = replace(found, combined=factor * found.combined, curve=curve)
    z = norm.isf(0.1)
    equal, ratio = found.ratio_to(found, 960), worse.ratio_to(found, 960)
    own, sd = (np.log(r.high / r.value) / z for r in (equal, ratio))
    assert ratio.value == pytest.approx(factor)
    assert sd**2 - own**2 == pytest.approx((0.3 * np.log(factor)) ** 2, rel=1e-6)


def test_windows_divide_every_side():
    assert [lap_window(s) for s in ((1, 8, 8), (1, 9, 8), (1, 6, 9), (1, 10, 6), (2, 12), (5,))] == [
        4,
        None,
        3,
        2,
        4,
        None,
    ]


def test_a_forecast_without_a_size_is_for_as_many_times_the_pilot_as_the_horizon():
    x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    found = ps.forecast(ps.data.from_arrays(x, x[:, 0], test_fraction=0.0), pilot=40, orderings=2)
    assert np.atleast_1d(found.n).tolist() == [_forecast.HORIZON * 40]


def test_theory_gone_astray_loses_its_pull() -> None:
    """Within a factor of four of the power law theory has 0.3 of the weight; at e^8 times that factor, next to none."""
    line = np.log(np.array([1.0, 1.0, 1.0, 1.0]))
    away = np.log(np.array([2.0, 4.0, 16.0, 4.0e-6]))
    weights = _combine._weights({"power law": line, "spectral theory": away, "kernel PCA": line})
    np.testing.assert_allclose(sum(weights.values()), 1.0)
    share = 0.3 * (np.log(4) / np.log([4.0, 4.0, 16.0, 2.5e5])) ** 2
    np.testing.assert_allclose(weights["spectral theory"], share / (share + 0.7))
    pull = weights["spectral theory"] * away
    assert abs(pull[3]) < abs(pull[1])  # a plain mean of logarithms would have moved nine times as far


def test_repeated_rows_leave_the_spectrum_alone_whatever_the_ridge() -> None:
    """Every tenth row is there twice: kappa of the tuned curve stays that of rows which are all different (within their scatter),
    where a tiny ridge would have made the trace of the inverse one over itself."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    again = x.copy()
    again[::10] = x[1::10]

    def kappa(rows, ridge):
        gram = np.exp(-np.sqrt(((rows[:, None] - rows) ** 2).sum(-1)))
        sizes = np.array([30, 60, 100])
        part = nested_regression(gram, np.sin(rows[:, :1]), sizes, ridge=ridge, orderings=8)
        return np.append(part.kappa, leave_one_out(gram, np.sin(rows[:, :1]), ridge=ridge).kappa)

    for ridge in (0.0, 1e-7, 1e-4):
        np.testing.assert_allclose(kappa(again, ridge), kappa(x, ridge), rtol=0.35)


def test_samples_behind_a_large_bias_are_not_the_same() -> None:
    """Kernels that differ in their eighth digit only, all samples different: none repeats another, and the spectrum follows."""
    x = np.random.default_rng(0).normal(size=(20, 3))
    gram = np.exp(-((x[:, None] - x) ** 2).sum(-1))
    assert not same_samples(gram + 1e8).any()
    twice = same_samples(np.kron(gram, np.ones((2, 2))) + 1e8)
    assert (twice == np.kron(np.eye(20), 1 - np.eye(2)).astype(bool)).all()
