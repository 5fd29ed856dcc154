"""Ensembles of Gaussian noise around a known output: variance, one over M, and the limit at infinite size."""

from __future__ import annotations

import math

import numpy as np
import pytest

from priorscope.probes import excess_error, fluctuations


def test_variance_and_errors_of_gaussian_members():
    rng = np.random.default_rng(0)
    F = 1 + 2 * rng.standard_normal((64, 4000))  # true output 1, noise 2: an ensemble of M errs with Φ(-√M/2)
    found = fluctuations(F, np.ones(4000))
    assert found.variance.value == pytest.approx(4, rel=0.02)  # 256 000 draws: standard error 0.3 %
    assert found.variance.low < 4 < found.variance.high
    theory = np.array([0.5 * math.erfc(math.sqrt(m) / 2 / math.sqrt(2)) for m in found.sizes])
    assert (np.abs(found.error - theory) < 5 * np.sqrt(theory / 4000)).all()
    assert found.error[0] > theory[1] + 0.05  # groups are averaged, not pooled
    assert len(found.table()) == 5
    assert found.chart().to_dict()


def test_variances_are_covered_as_often_as_the_interval_says():
    rng, trials = np.random.default_rng(2), 400
    found = [fluctuations(rng.standard_normal((5, 200)), np.ones(200)).variance for _ in range(trials)]
    error = 3.3 * math.sqrt(0.95 * 0.05 / trials)  # one test in a thousand would be outside by chance
    assert np.mean([interval.contains(1.0) for interval in found]) == pytest.approx(0.95, abs=error)
    two = fluctuations(rng.standard_normal((2, 200)), np.ones(200)).variance
    assert math.isinf(two.low)  # their squared distances to their mean are equal: no error can be read from them
    assert math.isinf(two.high)


def test_excess_error_recovers_its_own_law():
    n = np.array([100.0, 400.0, 1600.0, 6400.0])
    errors = 0.05 + 2 * n**-0.5 + 0.002 * np.random.default_rng(1).standard_normal((20, 4))
    fit = excess_error(n, errors)
    assert fit.limit.contains(0.05)
    assert fit.slope.contains(2.0)
    assert not fit.slope.contains(1.8)
    assert fit(100.0) == pytest.approx(0.25, abs=0.005)


def test_messages():
    with pytest.raises(ValueError, match="at least two members"):
        fluctuations(np.ones((1, 3)), np.ones(3))
    with pytest.raises(ValueError, match="two sizes or more"):
        excess_error([1.0], np.ones((2, 1)))
