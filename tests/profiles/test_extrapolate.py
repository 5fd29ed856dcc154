"""Curves carried beyond the pilot: made-up predictors whose errors at every size are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import priorscope as ps
from priorscope.profiles import Kind, Metric, _extrapolate
from priorscope.profiles._design import Design
from priorscope.profiles._extrapolate import (
    BELIEFS,
    Belief,
    Guide,
    bootstrap_weights,
    extrapolate,
    measured_ratio,
    ratio_of,
)
from priorscope.profiles._held_out import HeldOut, Truth


def power_law(exponent: float, level: float, seed: int, n: int = 400) -> HeldOut:
    """Residuals with variance level · (size/100)^-exponent: half of each shared by all predictors of a seed."""
    rng = np.random.default_rng(seed)
    design = Design.of(n, draws=1, seed=seed)
    parts = design.parts((2, 4, 6))
    common = np.random.default_rng(99).standard_normal((n, 1))
    scores = []
    for p in parts:
        sd = (level * (p.size / 100) ** -exponent) ** 0.5
        scores.append(sd * (common[p.test] + rng.standard_normal((len(p.test), 1))) / 2**0.5)
    return HeldOut(design, Truth(np.zeros((n, 1))), tuple(parts), tuple(scores))


def guide_of(exponent: float) -> Guide:
    grid = np.geomspace(10, 1e5, 60)
    return Guide("g", grid, np.log((grid / 100) ** -exponent), 0.0 * grid, np.zeros(200), {"g": 0.01})


def test_a_power_law_is_carried_to_eight_times_the_pilot() -> None:
    hits = 0
    for seed in range(20):
        held = power_law(0.5, 0.8, seed)
        ahead = extrapolate(
            "x", held, Metric.SQUARED_ERROR, guide_of(0.5), BELIEFS[Kind.KERNEL], 3200, bootstrap_weights(400)
        )
        truth = 0.8 * 32**-0.5
        assert 0.6 < ahead.estimate.value / truth < 1.6
        hits += ahead.estimate.contains(truth)
    assert hits >= 17  # 90 % of 20, less two standard deviations of a binomial
    wrong = extrapolate(
        "x", held, Metric.SQUARED_ERROR, guide_of(2.0), BELIEFS[Kind.KERNEL], 3200, bootstrap_weights(400)
    )
    assert not wrong.estimate.contains(truth)  # a guide that falls much faster leads astray


def test_paired_ratios_are_tighter_than_two_intervals_and_units_are_those_of_the_target() -> None:
    W = bootstrap_weights(400)
    one, other = (
        extrapolate(
            name, power_law(0.5, level, seed), Metric.SQUARED_ERROR, guide_of(0.5), BELIEFS[Kind.KERNEL], 800, W
        )
        for name, level, seed in (("a", 1.0, 0), ("b", 2.0, 1))
    )
    ratio = ratio_of(other, one)
    assert ratio.low > 1
    assert 1.5 < ratio.value < 2.7
    apart = np.log(other.estimate.high / other.estimate.low) + np.log(one.estimate.high / one.estimate.low)
    assert np.log(ratio.high / ratio.low) < apart
    held = power_law(0.5, 1.0, 0)
    metres = HeldOut(held.design, Truth(held.truth.targets, None, 7.0), held.parts, held.scores)
    root = extrapolate("a", metres, Metric.RMSE, guide_of(0.5), BELIEFS[Kind.KERNEL], 800, W)
    np.testing.assert_allclose(root.estimate.value, 7 * one.estimate.value**0.5, rtol=1e-9)
    np.testing.assert_allclose(root.curve.measured, 7 * one.curve.measured**0.5, rtol=1e-9)


@pytest.mark.parametrize("metric", [Metric.SQUARED_ERROR, Metric.RMSE])
def test_ratios_are_those_of_the_errors_that_rows_show(metric: Metric) -> None:
    """Of root mean squares the ratio is one of roots: it was one of squares, so that 10 % apart was read as 21 %."""
    W = bootstrap_weights(400)
    helds = [power_law(0.5, level, seed) for level, seed in ((1.0, 0), (2.0, 1))]
    one, other = (
        extrapolate(name, held, metric, guide_of(0.5), BELIEFS[Kind.KERNEL], 800, W)
        for name, held in zip("ab", helds, strict=True)
    )
    np.testing.assert_allclose(ratio_of(other, one).value, other.estimate.value / one.estimate.value, rtol=1e-3)
    measured = measured_ratio(helds[1], helds[0], metric, W)
    np.testing.assert_allclose(measured.value, other.curve.last[1] / one.curve.last[1], rtol=1e-9)
    assert measured.low < measured.value < measured.high


def mistakes(share: float, n: int = 400) -> HeldOut:
    """Two classes, of which so many samples are wrong at every size."""
    design = Design.of(n, draws=1)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    sign = np.where(np.random.default_rng(0).permutation(n) < share * n, -1.0, 1.0)[:, None]
    parts = tuple(design.parts((2, 4, 6)))
    truth = Truth(y, (y[:, 0] > 0).astype(int))
    return HeldOut(design, truth, parts, tuple((y * sign)[p.test] for p in parts))


def test_few_mistakes_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the last measured size an interval with them has their variance more, and that of a ratio those of both.

    How sizes are weighted changes a little with them, hence a tenth; counted twice or not at all would be ten times as far off.
    """
    W = bootstrap_weights(400)

    def variance(low: float, high: float) -> float:
        return float((np.log(high / low) / (2 * norm.ppf(0.95))) ** 2)

    def found(name: str, share: float) -> _extrapolate.Ahead:
        return extrapolate(name, mistakes(share), Metric.MISCLASSIFICATION, guide_of(0.5), BELIEFS[Kind.KERNEL], 300, W)

    of = {}
    for extra in (0.0, 0.01):
        monkeypatch.setattr(_extrapolate, "_few", lambda metric, share, *_, extra=extra: np.full(len(share), extra))
        a, b = found("a", 0.1), found("b", 0.2)
        r = ratio_of(b, a)
        of[extra] = variance(a.estimate.low, a.estimate.high), variance(r.low, r.high)
        assert not any("few" in source for source in a.as_guide("a").sources)
    np.testing.assert_allclose(of[0.01][0] - of[0.0][0], 0.01, rtol=0.1)
    np.testing.assert_allclose(of[0.01][1] - of[0.0][1], 0.02, rtol=0.1)


def test_no_mistake_on_a_rare_class_says_as_much_as_its_few_samples() -> None:
    """Of 380 and 20 samples a mean over classes is known as of 4 / (1/380 + 1/20) = 76 equal ones, not of 400."""
    labels = np.repeat([0, 1], [380, 20])
    design = Design.of(400, draws=1, labels=labels)
    truth, parts = Truth(2.0 * labels[:, None] - 1, labels), tuple(design.parts((2, 4, 6)))
    held = HeldOut(design, truth, parts, tuple(truth.targets[p.test] for p in parts))
    for metric, equal in ((Metric.BALANCED_ERROR, 76.0), (Metric.MISCLASSIFICATION, 400.0)):
        ahead = extrapolate("x", held, metric, guide_of(0.5), BELIEFS[Kind.KERNEL], 300, bootstrap_weights(400))
        np.testing.assert_allclose(ahead.curve.measured_high, 3 / equal)
        np.testing.assert_allclose(ahead.estimate.value, 0.3 / equal)


def test_what_a_bootstrap_of_few_mistakes_lacks() -> None:
    """Nine mistakes have a relative variance of 1/10, and none has 1, of which the bootstrap sees nothing."""
    share, seen = np.array([0.09, 0.0, 0.99]), np.array([0.04, 0.0, 0.04])
    np.testing.assert_allclose(_extrapolate._few(Metric.MISCLASSIFICATION, share, 100, seen), [0.06, 1.0, 0.0])
    np.testing.assert_array_equal(_extrapolate._few(Metric.RMSE, share, 100, seen), 0.0)
    perfect = extrapolate(
        "a", mistakes(0.0), Metric.MISCLASSIFICATION, guide_of(0.5), BELIEFS[Kind.KERNEL], 300, bootstrap_weights(400)
    )
    assert perfect.estimate.high / perfect.estimate.value > np.exp(1.6448)  # a variance of at least 1


def noisy(excess: float, exponent: float, seed: int, n: int = 400) -> HeldOut:
    """Residuals of variance 1 + excess · (size/100)^-exponent: noise that stays, which all predictors share, and the rest."""
    rng = np.random.default_rng(seed)
    design = Design.of(n, draws=1)
    parts = design.parts((2, 4, 6))
    noise = np.random.default_rng(7).standard_normal((n, 1))
    scores = tuple(
        noise[p.test] + (excess * (p.size / 100) ** -exponent) ** 0.5 * rng.standard_normal((len(p.test), 1))
        for p in parts
    )
    return HeldOut(design, Truth(np.zeros((n, 1))), tuple(parts), scores)


def test_a_predictor_is_not_forecast_to_learn_noise() -> None:
    """It gains on its guide while both lie above the noise; carried on as a ratio it would end far below it."""
    W = bootstrap_weights(400)
    grid = np.geomspace(10, 1e5, 60)
    curve = np.log(1 + 4 * (grid / 100) ** -0.7)
    hits = 0
    for seed in range(10):
        guide = Guide("g", grid, curve, 0.0 * grid, np.zeros(200), {}, noisy(4.0, 0.7, seed))
        held = noisy(3.0, 2.0, 100 + seed)
        ahead = extrapolate("x", held, Metric.SQUARED_ERROR, guide, BELIEFS[Kind.CLASSICAL], 1600, W)
        hits += ahead.estimate.contains(1 + 3.0 * 16**-2.0)
    assert hits >= 8  # 90 % of ten, less one standard deviation of a binomial


def test_noise_that_stays_counts_between_a_guided_row_and_one_that_is_not() -> None:
    """Their ratio is as uncertain as the noise, which only the guided one has; between two guided ones it cancels."""
    W = bootstrap_weights(400)
    grid = np.geomspace(10, 1e5, 60)
    curve = np.log(1 + 4 * (grid / 100) ** -0.7)
    alone = Guide("g", grid, curve, 0.0 * grid, np.zeros(200), {})
    by_samples = Guide("g", grid, curve, 0.0 * grid, np.zeros(200), {}, noisy(4.0, 0.7, 0))
    made = [
        extrapolate(name, noisy(3.0, 2.0, seed), Metric.SQUARED_ERROR, guide, BELIEFS[Kind.CLASSICAL], 1600, W)
        for name, seed, guide in (("kernel", 1, alone), ("a", 2, by_samples), ("b", 3, by_samples))
    ]
    kernel, a, b = made
    stays = a.sources["noise that stays"]
    assert stays > 0.01
    assert "noise that stays" not in kernel.sources

    def half(one: _extrapolate.Ahead, other: _extrapolate.Ahead) -> float:
        found = ratio_of(one, other)
        return float(np.log(found.high / found.low) / (2 * norm.ppf(0.95)))

    assert half(a, kernel) ** 2 >= stays
    between = 1.2**2 * float((a.draws - b.draws).var()) + a.sources["a"] + b.sources["b"]
    np.testing.assert_allclose(half(a, b) ** 2, between, rtol=1e-9)


def falling(shares: tuple[float, ...], n: int = 400) -> HeldOut:
    """Two classes, of which so many samples are wrong at each of three sizes; who is wrong at more is wrong at fewer."""
    design = Design.of(n, draws=1)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    place = np.random.default_rng(0).permutation(n)
    parts = tuple(design.parts((2, 4, 6)))
    wrong = dict(zip((2, 4, 6), shares, strict=True))
    scores = tuple((y * np.where(place < wrong[p.eighths] * n, -1.0, 1.0)[:, None])[p.test] for p in parts)
    return HeldOut(design, Truth(y, (y[:, 0] > 0).astype(int)), parts, scores)


def test_no_mistake_is_no_exact_zero() -> None:
    """After 10 % and 1 % wrong, none of 400 is a rate of up to about 3/400, and no promise of a thousandth of that later."""
    W = bootstrap_weights(400)
    a, b = (
        extrapolate(name, falling(shares), Metric.MISCLASSIFICATION, guide_of(0.5), BELIEFS[Kind.NETWORK], 800, W)
        for name, shares in (("a", (0.1, 0.01, 0.0)), ("b", (0.05, 0.01, 0.0025)))
    )
    for found in (a, b):
        assert found.estimate.value >= 0.3 / 400
        assert found.estimate.high > 1 / 400
    assert ratio_of(b, a).low < 1 < ratio_of(b, a).high  # one mistake against none tells nobody apart


def test_pure_noise_of_ten_classes_is_forecast_near_ninety_per_cent() -> None:
    rng = np.random.default_rng(0)
    found = ps.profile(
        rng.standard_normal((200, 6)),
        rng.integers(0, 10, 200),
        to=800,
        deep=False,
        trials=False,
        candidates=[ps.models.fcn(1), ps.models.laplace()],
    )
    for row in found.rows:
        assert 0.8 < row.estimate.value <= 1.0
        assert row.estimate.contains(0.9)
    assert found.verdict()[0].startswith("Nothing tried here")


@pytest.mark.parametrize("ratio", [[0.3, 0.2, 0.1], [2.6, 2.4, 2.2], [-0.1, 0.9, 0.6]])
def test_level_and_slope_are_those_of_the_posterior_added_up_on_a_grid(ratio) -> None:
    """Bayes by brute force: likelihood times a normal prior of the slope and a mixture of two for the level, on a fine grid."""
    z = np.log(np.array([50.0, 100.0, 150.0]) / 150)
    X = np.stack([np.ones(3), z], 1)
    C = 0.04 * np.eye(3) + 0.09
    belief = Belief(slope=0.1, slope_sd=0.15, nugget=0.0, drift=0.0, level=0.1, level_sd=0.3)
    found = _extrapolate._line(
        np.array(ratio), X, C, belief, Metric.MISCLASSIFICATION, replace(guide_of(0.5), held=power_law(0.5, 1.0, 0))
    )
    a, b = np.meshgrid(np.linspace(-5, 6, 2000), np.linspace(-0.9, 1.1, 400), indexing="ij")
    left = np.array(ratio) - (a[..., None] + b[..., None] * z)
    log = -0.5 * np.einsum("abi,ij,abj->ab", left, np.linalg.inv(C), left) + norm.logpdf(b, 0.1, 0.15)
    p = np.exp(log - log.max()) * (0.75 * norm.pdf(a, 0.1, 0.3) + 0.25 * norm.pdf(a, 0.1, 1.5))
    p /= p.sum()
    mean = np.array([(p * a).sum(), (p * b).sum()])
    centred = np.stack([a - mean[0], b - mean[1]])
    np.testing.assert_allclose(found.mean, mean, atol=2e-3)
    np.testing.assert_allclose(found.covariance, np.einsum("kab,lab,ab->kl", centred, centred, p), atol=2e-3)
    np.testing.assert_allclose(found.gain @ ratio + found.offset, mean, atol=2e-3)


def test_a_level_clearly_measured_is_left_and_one_hardly_seen_is_drawn_to_the_belief() -> None:
    z = np.log(np.array([50.0, 100.0, 150.0]) / 150)
    X = np.stack([np.ones(3), z], 1)
    belief = Belief(slope=0.0, slope_sd=0.15, nugget=0.0, drift=0.0, level=0.1, level_sd=0.2)

    def level(ratio, sd):
        C = sd**2 * (np.eye(3) + 1)
        return _extrapolate._line(
            np.full(3, ratio),
            X,
            C,
            belief,
            Metric.MISCLASSIFICATION,
            replace(guide_of(0.5), held=power_law(0.5, 1.0, 0)),
        ).mean[0]

    assert level(3.0, 0.4) > 2.5  # wrong on half of the pilot where its guide hardly errs
    assert level(0.5, 0.4) < 0.3  # half as many mistakes more, of a few
    assert level(0.5, 0.02) == pytest.approx(0.5, abs=0.01)
    free = _extrapolate._line(np.full(3, 3.0), X, np.eye(3), belief, Metric.SQUARED_ERROR, guide_of(0.5))
    assert free.mean.tolist() == pytest.approx([3.0, 0.0])


@pytest.mark.parametrize("seed", [0, 3])
def test_a_forecast_next_to_the_pilot_stays_with_what_was_measured(seed: int) -> None:
    """Few samples carry most of a product's error, so that luck grows with size; 15 more samples change little all the same."""
    x = np.random.default_rng(seed).normal(size=(120, 5))
    rep = ps.profile(x, x[:, 0] * x[:, 1], candidates=["laplace"], classical=False, trials=False, deep=False)
    row = rep.rows[0]
    assert 0.88 < row.estimate.value / row.curve.measured[-1] < 1.01


def test_luck_that_sizes_share_moves_no_weight() -> None:
    """However large the luck that all sizes share, the line is that of least squares with the sizes' own variances."""
    z = np.log(np.array([1.0, 2.0, 4.0]) / 4)
    own = np.diag([0.02, 0.01, 0.01])
    X = np.stack([np.ones(3), z], 1)
    for luck in (0.0, 0.3, 30.0):
        C = _extrapolate._luck_apart(luck + own)
        np.testing.assert_allclose(C, luck + own, atol=1e-12)
        line = _extrapolate._line(
            np.array([0.1, 0.3, 0.2]), X, C, BELIEFS[Kind.KERNEL], Metric.SQUARED_ERROR, guide_of(1.0)
        )
        W, P = np.linalg.inv(own), np.diag([0.0, BELIEFS[Kind.KERNEL].slope_sd ** -2])
        np.testing.assert_allclose(line.mean, np.linalg.solve(X.T @ W @ X + P, X.T @ W @ [0.1, 0.3, 0.2]), rtol=1e-6)


def test_no_ratio_is_drawn_outside_of_those_measured() -> None:
    """Correlated ratios whose variances grow with size, as a bootstrap over the same tested samples gives them."""
    sd = np.array([0.22, 0.24, 0.26, 0.29, 0.31, 0.33, 0.35])
    z = np.log(np.arange(1.0, 8) / 7)
    C = np.outer(sd, sd) * (0.97 + 0.03 * np.eye(7))
    X = np.stack([np.ones(7), z], 1)
    ratio = np.array([-0.03, -0.06, -0.06, 0.23, 0.16, 0.17, 0.11])
    plain, apart = (
        _extrapolate._line(ratio, X, each, BELIEFS[Kind.KERNEL], Metric.SQUARED_ERROR, guide_of(1.0)).mean[0]
        for each in (C, _extrapolate._luck_apart(C))
    )
    assert ratio.min() < apart < ratio.max()
    assert plain < ratio.min() - 0.1  # what is guarded against
