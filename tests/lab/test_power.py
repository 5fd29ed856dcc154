"""The power of an interval against what it says: how often draws of a known truth are judged so."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.lab import at_least, between, claimed, judge_interval, more_draws, near, power, rising
from priorscope.statistics import Interval, exact, seed_interval


@pytest.mark.parametrize(
    ("expect", "truth"), [(claimed(-0.5, within=0.1), -0.5), (near(1.0, within=0.3), 1.0), (rising(), 0.12)]
)
@pytest.mark.parametrize("draws", [8, 40])
def test_power_is_how_often_draws_of_the_truth_hold(expect, truth, draws):
    rng, spread = np.random.default_rng(draws), 0.12
    held = np.mean(
        [
            judge_interval(seed_interval(rng.normal(truth, spread, draws)), expect).startswith("holds")
            for _ in range(1000)
        ]
    )
    half = seed_interval(np.zeros(draws) + spread * np.resize([1, -1], draws)).high  # an interval of this spread
    said = power(Interval(truth, truth - half, truth + half), expect, draws)
    assert abs(held - said) < 5 * (0.25 / 1000) ** 0.5  # five standard errors of a share of 1000
    assert power(Interval(truth, truth - 9, truth + 9), near(truth, within=0.5), draws) < 1e-6  # wider than allowed


def test_so_many_more_draws_decide_four_times_in_five():
    rng, draws, truth = np.random.default_rng(0), 16, 0.04
    times = more_draws(Interval(truth, truth - 0.1, truth + 0.1), rising(), draws)
    spread = 0.1 / 2.131 * draws**0.5  # Student's t of 15 degrees of freedom
    many = round(times * draws)
    found = [judge_interval(seed_interval(rng.normal(truth, spread, many)), rising()) for _ in range(1000)]
    assert found.count("holds") / 1000 == pytest.approx(0.8, abs=5 * (0.16 / 1000) ** 0.5 + 0.02)
    few = [judge_interval(seed_interval(rng.normal(truth, spread, draws)), rising()) for _ in range(1000)]
    assert few.count("holds") / 1000 < 0.4  # control


def test_values_without_error_and_ends_that_are_not_known():
    assert (power(exact(3), at_least(2)), power(exact(1), at_least(2))) == (1.0, 0.0)
    assert power(exact(7), between(0, 1)) == 1.0  # a claim that is true lies in the middle
    assert power(Interval(1.0, -np.inf, np.inf), at_least(0), 1) is None
    assert more_draws(Interval(0.0, -1.0, 1.0), rising(), 8) is None
