"""Curves carried beyond the pilot: made-up predictors whose errors at every size are known."""

from __future__ import annotations

import numpy as np

import priorscope as ps
from priorscope.profiles import Kind, Metric
from priorscope.profiles._design import Design
from priorscope.profiles._extrapolate import BELIEFS, Guide, bootstrap_weights, extrapolate, ratio_of
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
