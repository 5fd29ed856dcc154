"""Intervals cover, exponents are found, and wrong input is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.statistics import bootstrap_interval, fit_power_law


def test_bootstrap_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = [bootstrap_interval(rng.normal(size=40), draws=300, seed=k).contains(0.0) for k in range(200)]
    # the percentile bootstrap at n = 40 covers a little under 95 %; 200 trials have a standard error of 1.7 points
    assert 0.87 <= np.mean(covered) <= 0.99
    shifted = [bootstrap_interval(rng.normal(size=40) + 1, draws=300, seed=k).contains(0.0) for k in range(50)]
    assert np.mean(shifted) < 0.1


def test_bootstrap_of_another_statistic():
    interval = bootstrap_interval(np.arange(101.0), lambda v: float(np.median(v)))
    assert interval.value == 50
    assert 25 < interval.low < 50 < interval.high < 75


@pytest.mark.parametrize("exponent", [-1.5, -0.5, 0.75])
def test_exponent_over_seeds_lies_in_its_interval(exponent):
    rng = np.random.default_rng(0)
    x = np.array([8, 16, 32, 64, 128])
    y = 3 * x**exponent * np.exp(0.05 * rng.normal(size=(30, 5)))
    fit = fit_power_law(x, y)
    assert fit.low < exponent < fit.high
    assert fit.high - fit.low < 0.1
    assert not fit.low < exponent + 0.3 < fit.high
    np.testing.assert_allclose(fit(x), 3 * x**exponent, rtol=0.1)


def test_one_curve_gets_an_interval_from_its_residuals():
    x = np.geomspace(1, 100, 12)
    y = x**-1.0 * np.exp(0.1 * np.random.default_rng(3).normal(size=12))
    fit = fit_power_law(x, y)
    assert fit.low < -1 < fit.high
    assert fit.fit_range == pytest.approx((1, 100))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="at least one sample"):
        bootstrap_interval([])
    with pytest.raises(ValueError, match="two or more points"):
        fit_power_law([1.0], [1.0])
    with pytest.raises(ValueError, match="positive finite"):
        fit_power_law([1.0, 2.0], [1.0, 0.0])
