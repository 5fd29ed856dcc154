"""Columns of confidence: the line of sites against the policy itself, the published limits, and the law of exploration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from priorscope.memory import (
    arms_in_any_order,
    bernoulli,
    best_exit_rate,
    column_limit,
    column_of_confidence,
    column_wrong,
    exit_rate_law,
    hellman_cover_limit,
    learn,
    performance,
    ram,
    ram_start,
    two_hypotheses,
)
from priorscope.statistics import fit_power_law


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("reset", [0.0, 1e-4, 0.1])
def test_line_of_sites_is_the_policy(n, reset):
    policy, world = column_of_confidence(n, 0.03), bernoulli([[0.7, 0.4], [0.45, 0.6]], prior=[0.3, 0.7])
    assert_allclose(policy.sum(1), 1)
    exact = performance(policy, ram(n), world, reset=reset).wrong
    assert_allclose(column_wrong(n, world, exit_rate=0.03, reset=reset), exact, rtol=1e-9)
    if n > 1:  # with one state the exit rate only sets the pace
        assert abs(column_wrong(n, world, exit_rate=0.3, reset=reset) / exact - 1) > 1e-3


def test_published_limits():
    # closed-form values of the source's eq. 7 at μ = 0.1 and 0.5, to the digits they were computed with by hand
    for n, value in ((1, 0.45), (2, 0.3539), (4, 0.1971), (8, 0.04697), (16, 0.001984), (20, 0.000399)):
        assert_allclose(column_limit(n, 0.1), value, rtol=2e-3)
    for n in (1, 2, 4, 8):
        near = column_wrong(n, 0.1, exit_rate=1e-9, reset=0)
        assert_allclose(near, column_limit(n, 0.1), rtol=1e-6)
        assert_allclose(column_limit(n, 0.1), hellman_cover_limit(2 * n, 0.1), rtol=1e-14)
    assert_allclose(1 / column_limit(3, (0.7, 0.4)) - 1, 24.5, rtol=1e-12)
    world = bernoulli([[0.9, 0.8]])
    assert_allclose(1 / column_wrong(4, world, exit_rate=1e-8, reset=0) - 1, 22.781, rtol=1e-4)
    assert_allclose(column_limit(64, 0.1), 8.5e-12, rtol=0.01)


def test_exit_rate_law_against_search():
    for n in (3, 5, 8):
        for mu in (0.1, 0.5):
            rate, _ = best_exit_rate(n, mu, 1e-8)
            assert_allclose(exit_rate_law(n, mu, 1e-8), rate, rtol=5e-3)
    printed = exit_rate_law(5, 0.1, 1e-8) * 6.28e-5 / 1.4378e-4  # the formula as it stands in print
    assert abs(printed / best_exit_rate(5, 0.1, 1e-8)[0] - 1) > 0.4
    assert_allclose(exit_rate_law(300, 0.2, 1e-6), math.sqrt(2e-6 / 0.96), rtol=1e-9)
    resets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4]
    assert_allclose(fit_power_law(resets, [best_exit_rate(8, 0.1, r)[0] for r in resets]).exponent, 0.5, atol=0.01)


@pytest.mark.parametrize(
    "n, reset, value", [(4, 1e-3, 0.2316), (4, 1e-6, 0.1982), (8, 1e-4, 0.0651), (16, 1e-4, 0.01157)]
)
def test_best_columns_with_restarts(n, reset, value):
    assert_allclose(best_exit_rate(n, 0.1, reset)[1], value, rtol=1e-3)


def test_learning_from_near_a_column_finds_nothing_better():
    rate, best = best_exit_rate(3, 0.3, 1e-3)
    found = learn(
        ram_start(3, "ccp", range(2), exit_rate=rate), ram(3), two_hypotheses(0.3), reset=1e-3, evaluations=400
    )
    assert (found.best > best * (1 - 1e-3)).all()
    assert (found.best < 1.05 * best).all()
    assert (np.diff(found.wrong, axis=1) <= 1e-12).all()  # the flow never goes down


def test_star_of_three_columns_beats_blind_play_and_shorter_stars():
    world = arms_in_any_order([0.7, 0.5, 0.3])
    shares = [
        performance(column_of_confidence(n, 1e-3, arms=3), ram(n, arms=3), world, reset=1e-6).wrong for n in (1, 3, 6)
    ]
    assert 2 / 3 > shares[0] > shares[1] > shares[2]


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: column_of_confidence(2, 1.5), "between 0 and 1"),
        (lambda: column_wrong(2, arms_in_any_order([0.1, 0.2, 0.3]), exit_rate=0.1, reset=0.1), "use performance"),
        (lambda: column_limit(2, (0.4, 0.7)), "k_A > k_B"),
        (lambda: exit_rate_law(1, 0.1, 0.1), "n >= 2"),
        (lambda: best_exit_rate(2, 0.1, 0.0), "reset"),
        (lambda: ram_start(2, "up", range(2)), "linear"),
    ],
)
def test_bad_input_is_told(call, words):
    with pytest.raises(ValueError, match=words):
        call()
