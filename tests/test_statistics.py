"""Intervals cover as often as they say, agree with scipy's and with hand-made cases, and wrong input is refused by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from priorscope.statistics import (
    Interval,
    exact,
    fit_power_law,
    group_interval,
    log_interpolate,
    median_interval,
    seed_interval,
    share_interval,
)

SEEDS = (3, 5, 8, 20)
TRIALS = 3000
ERROR = 3.3 * math.sqrt(0.95 * 0.05 / TRIALS)  # of a share of 95 %: one test in a thousand would be outside by chance


def percentile_bootstrap(values, statistic=np.mean, draws=200, seed=0):
    """What this library used before, as a control."""
    picks = np.random.default_rng(seed).integers(len(values), size=(draws, len(values)))
    ends = np.quantile([statistic(values[pick]) for pick in picks], [0.025, 0.975])
    return Interval(float(statistic(values)), *map(float, ends))


def covered(interval_of, draw, truth, trials=TRIALS) -> float:
    return float(np.mean([interval_of(draw()).contains(truth) for _ in range(trials)]))


@pytest.mark.parametrize("n", SEEDS)
def test_means_are_covered_as_often_as_it_says(n):
    rng = np.random.default_rng(n)
    assert covered(seed_interval, lambda: rng.normal(size=n), 0.0) == pytest.approx(0.95, abs=ERROR)
    narrow = covered(lambda v: seed_interval(v, level=0.68), lambda: rng.normal(size=n), 0.0)
    assert narrow == pytest.approx(0.68, abs=3.3 * math.sqrt(0.68 * 0.32 / TRIALS))
    assert covered(seed_interval, lambda: rng.normal(size=n) + 50, 0.0, trials=200) == 0.0


@pytest.mark.parametrize("n", SEEDS[:-1])
def test_the_percentile_bootstrap_would_fail_that_test(n):
    rng = np.random.default_rng(n)
    assert covered(percentile_bootstrap, lambda: rng.normal(size=n), 0.0, trials=500) < 0.95 - 2 * ERROR


@pytest.mark.parametrize(("n", "said"), zip(SEEDS, (0.88, 0.88, 0.90, 0.92)))
def test_of_samples_with_a_tail_what_the_docstring_says_is_covered(n, said):
    rng = np.random.default_rng(n)
    found = covered(seed_interval, lambda: rng.exponential(size=n), 1.0)
    assert found == pytest.approx(said, abs=0.005 + 3.3 * math.sqrt(said * (1 - said) / TRIALS))  # said to the point
    assert f"{round(100 * said)}" in seed_interval.__doc__


@pytest.mark.parametrize("n", SEEDS)
def test_other_statistics_are_covered_too(n):
    rng = np.random.default_rng(n)
    slack = ERROR + 0.01  # the jackknife is exact for means only: up to a point off, see the figures in the docstring
    log_mean = covered(
        lambda v: seed_interval(v, lambda s: float(np.log(s.mean()))), lambda: rng.lognormal(sigma=0.3, size=n), 0.045
    )
    ratio = covered(
        lambda v: seed_interval(v, lambda s: float(s[:, 0].mean() / s[:, 1].mean())),
        lambda: rng.normal(1, 0.2, size=(n, 2)),
        1.0,
    )
    assert log_mean == pytest.approx(0.95, abs=slack)
    assert ratio == pytest.approx(0.95, abs=slack)


@pytest.mark.parametrize("n", SEEDS)
def test_exponents_over_seeds_are_covered(n):
    rng = np.random.default_rng(n)
    x = np.array([8.0, 16, 32, 64, 128])
    trials = 1500
    error = 3.3 * math.sqrt(0.95 * 0.05 / trials) + 0.01

    def draw():
        return 3 * x**-0.5 * rng.lognormal(sigma=0.3, size=(n, 5))

    assert covered(lambda y: fit_power_law(x, y).interval, draw, -0.5, trials) == pytest.approx(0.95, abs=error)
    if n < 8:  # the control

        def slope(curves):
            return np.polyfit(np.log(x), np.log(curves.mean(0)), 1)[0]

        old = covered(lambda y: percentile_bootstrap(y, slope, draws=60), draw, -0.5, trials=200)
        assert old < 0.95 - 2 * 0.0154  # two standard errors of 200 trials


@pytest.mark.parametrize("points", [3, 4, 12])
def test_exponents_of_one_curve_are_covered(points):
    rng = np.random.default_rng(points)
    x = np.geomspace(1, 100, points)
    found = covered(
        lambda y: fit_power_law(x, y).interval, lambda: x**-0.5 * rng.lognormal(sigma=0.3, size=points), -0.5
    )
    assert found == pytest.approx(0.95, abs=ERROR)


def test_mean_agrees_with_scipy_at_every_level():
    values = np.random.default_rng(0).normal(3, 2, size=7)
    for level in (0.5, 0.9, 0.95, 0.99):
        ends = stats.ttest_1samp(values, 0).confidence_interval(level)
        found = seed_interval(values, level=level)
        assert (found.low, found.high) == pytest.approx((ends.low, ends.high), rel=1e-9)
        assert found.value == pytest.approx(values.mean())
    same = seed_interval(values, lambda v: float(v.mean()), level=0.95)  # the jackknife of a mean is the mean's own
    assert (same.low, same.high) == pytest.approx((seed_interval(values).low, seed_interval(values).high), rel=1e-9)


def test_rows_are_seeds():
    table = np.array([[1.0, 3.0], [2.0, 6.0], [0.0, 0.0]])
    found, rows = seed_interval(table), seed_interval([2.0, 4.0, 0.0])
    assert (found.value, found.low, found.high) == pytest.approx((rows.value, rows.low, rows.high))


def test_pseudo_values_by_hand():
    """exp of the mean of 0, log 4: value 2, left out 4 and 1, pseudo-values 0 and 3, deviation 3/√2, t = 12.706."""
    found = seed_interval([0.0, math.log(4)], lambda v: float(np.exp(v.mean())))
    assert found.value == pytest.approx(2)
    assert found.high - found.value == pytest.approx(12.7062047 * 1.5, rel=1e-6)
    assert found.value - found.low == pytest.approx(found.high - found.value)


def test_exponents_are_of_the_mean_over_seeds_not_of_its_logarithms():
    """Means 2 and 1 at x = 1 and 2: exponent -1; the mean of the logarithms would give -log2(√3) = -0.79."""
    fit = fit_power_law([1, 2], [[1.0, 1.0], [3.0, 1.0]])
    assert fit.exponent == pytest.approx(-1)
    # left out: exponents -log2 3 and 0; pseudo-values -2 + log2 3 and -2, t of one degree of freedom 12.706
    assert fit.high - fit.exponent == pytest.approx(12.7062047 * math.log2(3) / 2, rel=1e-6)
    assert fit.prefactor == pytest.approx(2)


@pytest.mark.parametrize("points", [3, 5, 12])
def test_one_curve_agrees_with_the_regression_of_scipy(points):
    x = np.geomspace(1, 100, points)
    y = 2 * x**-1.0 * np.exp(0.1 * np.random.default_rng(3).normal(size=points))
    theirs = stats.linregress(np.log(x), np.log(y))
    for level in (0.68, 0.95):
        fit = fit_power_law(x, y, level=level)
        half = stats.t.ppf((1 + level) / 2, points - 2) * theirs.stderr
        assert (fit.exponent, fit.prefactor) == pytest.approx((theirs.slope, math.exp(theirs.intercept)))
        assert (fit.low, fit.high) == pytest.approx((theirs.slope - half, theirs.slope + half))
        assert fit.fit_range == pytest.approx((1, 100))
    alone = fit_power_law(x, y[None])  # one seed is one curve
    assert (alone.low, alone.high) == pytest.approx((fit.low, fit.high))
    np.testing.assert_allclose(fit(x), y, rtol=0.5)


def test_what_tells_nothing_about_its_error_has_no_ends():
    assert seed_interval([2.0]) == Interval(2.0, -math.inf, math.inf)
    assert seed_interval([[2.0, 4.0]], lambda v: float(v.max())) == Interval(4.0, -math.inf, math.inf)
    two = fit_power_law([1, 2], [1.0, 2.0])
    assert (two.exponent, two.low, two.high) == (pytest.approx(1), -math.inf, math.inf)
    assert median_interval([1.0, 2, 3, 4, 5]) == Interval(3.0, -math.inf, math.inf)


def test_medians_lie_between_order_statistics_that_cover():
    # by hand, n = 6: both ends are exceeded with probability 2 / 2^6 = 3.1 %; leaving out one more, 2 · 7 / 2^6 = 22 %
    assert median_interval([4.0, 1, 9, 2, 7, 3]) == Interval(3.5, 1.0, 9.0)
    for n, law in ((9, "normal"), (25, "exponential"), (60, "standard_cauchy")):
        rng = np.random.default_rng(n)
        truth = {"normal": 0.0, "exponential": math.log(2), "standard_cauchy": 0.0}[law]
        found = covered(median_interval, lambda rng=rng, law=law, n=n: getattr(rng, law)(size=n), truth, trials=1500)
        k = int(stats.binom.ppf(0.025, n, 0.5))  # the share by exact counting
        reached = 1 - 2 * stats.binom.cdf(k - 1, n, 0.5)
        assert reached >= 0.95
        assert found == pytest.approx(reached, abs=3.3 * math.sqrt(reached * (1 - reached) / 1500))


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 5), (5, 5), (17, 20), (20, 20)])
def test_shares_agree_with_scipy(hits, n):
    for level in (0.68, 0.95):
        theirs = stats.binomtest(hits, n).proportion_ci(level)
        found = share_interval([1] * hits + [0] * (n - hits), level=level)
        assert (found.value, found.low, found.high) == pytest.approx((hits / n, theirs.low, theirs.high), abs=1e-9)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="at least one sample"):
        seed_interval([])
    with pytest.raises(ValueError, match="0 < level < 1; got 95"):
        seed_interval([1.0, 2.0], level=95)
    with pytest.raises(ValueError, match="two or more points"):
        fit_power_law([1.0], [1.0])
    with pytest.raises(ValueError, match="two or more different x"):
        fit_power_law([2.0, 2.0], [1.0, 3.0])
    with pytest.raises(ValueError, match="positive finite"):
        fit_power_law([1.0, 2.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="a list of samples"):
        median_interval([])
    with pytest.raises(ValueError, match="booleans, or of 0 and 1"):
        share_interval([0.5, 1.0])
    with pytest.raises(ValueError, match="0 < level < 1; got -1"):
        median_interval(range(9), level=-1)
    with pytest.raises(ValueError, match="x > 0 that grows"):
        log_interpolate([2.0], [4.0, 1.0], [1.0, 3.0])
    assert exact(2) == Interval(2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    "of", [seed_interval, median_interval, lambda v: group_interval([v, v], lambda g: float(g[0].mean()))]
)
def test_a_nan_among_the_samples_is_refused(of):
    """Sorted to the end, it left the median's ends finite, so that a claim could hold by it."""
    samples = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, math.nan]
    with pytest.raises(ValueError, match="needs numbers; got 1 NaN among 8"):
        of(samples)
    assert of(samples[:-1]).value > 0


def test_one_group_is_a_seed_interval_and_two_means_are_welchs_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=5), 3 * rng.normal(size=4) + 1
    one, same = (
        group_interval([a], lambda g: float(np.exp(g[0].mean()))),
        seed_interval(a, lambda v: float(np.exp(v.mean()))),
    )
    assert (one.low, one.high) == pytest.approx((same.low, same.high), rel=1e-9)
    found = group_interval([a, b], lambda g: float(g[0].mean() - g[1].mean()))
    welch = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((welch.low, welch.high), rel=1e-9)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_groups_of_unequal_variance_are_covered(n):
    rng = np.random.default_rng(n)
    scales = np.array([0.1, 0.3, 1.0, 1.0, 2.0, 0.5])
    x = np.arange(6) - 2.5

    def slope(groups):
        return float(x @ [g.mean() for g in groups]) / float(x @ x)

    def draw():
        return [scale * rng.normal(size=n) for scale in scales]

    found = covered(lambda groups: group_interval(groups, slope), draw, 0.0, trials=1000)
    assert "94 to 98 %" in group_interval.__doc__
    assert 0.94 - 3.3 * math.sqrt(0.94 * 0.06 / 1000) < found < 0.98 + 3.3 * math.sqrt(0.98 * 0.02 / 1000)
    assert (
        covered(
            lambda groups: group_interval(groups, slope), lambda: [g + 9 * i for i, g in enumerate(draw())], 0.0, 50
        )
        == 0
    )


def test_groups_without_spread_or_with_one_sample():
    assert group_interval([[1.0, 1.0], [2.0, 2.0]], lambda g: float(g[1].mean())) == Interval(2.0, 2.0, 2.0)
    assert group_interval([[1.0, 1.5], [2.0]], lambda g: float(g[0].mean())).low == -np.inf
    with pytest.raises(ValueError, match="at least one sample in every group"):
        group_interval([[1.0], []], lambda g: 0.0)
