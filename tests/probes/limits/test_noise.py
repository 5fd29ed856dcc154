"""Label noise in the expected test error: against least squares by its exact formula, and against sampled regression."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.probes import mode_learnability


def test_noise_above_the_number_of_modes_is_that_of_least_squares() -> None:
    """m features, n > m samples, everything learned: the error on noisy labels is s^2 n/(n - m), to first order in 1/n
    the s^2 (1 + m/(n - m - 1)) of ordinary least squares on Gaussian inputs."""
    m, n, noise = 400, 1000, 0.7
    found = mode_learnability(np.ones(m), n, power=np.ones(m), noise=noise)
    assert found.error == pytest.approx(noise * n / (n - m), rel=1e-9)
    assert found.error == pytest.approx(noise * (1 + m / (n - m - 1)), rel=2 / n)
    assert mode_learnability(np.ones(m), n, power=np.ones(m)).error == 0


def test_noisy_labels_cost_what_regression_on_gaussian_features_pays() -> None:
    rng = np.random.default_rng(1)
    lam, power, n, m, noise, ridge = np.arange(1, 201.0) ** -1.3, np.arange(1, 201.0) ** -2.0, 50, 200, 0.4, 0.5
    extra = []
    for _ in range(200):
        w = rng.standard_normal(m) * np.sqrt(power)
        X, Z = rng.standard_normal((n, m)), rng.standard_normal((200, m))
        hat = (Z * lam) @ X.T @ np.linalg.inv((X * lam) @ X.T + ridge * np.eye(n))
        y = X @ w + noise**0.5 * rng.standard_normal(n)
        extra.append(((hat @ y - Z @ w) ** 2).mean() + noise)
    theory = mode_learnability(lam, n, power=power, ridge=ridge, noise=noise).error
    error = np.std(extra) / len(extra) ** 0.5
    assert theory is not None
    assert abs(np.mean(extra) - theory) < 4 * error + theory / n  # the theory holds to first order in 1/n
    without = mode_learnability(lam, n, power=power, ridge=ridge).error
    assert abs(np.mean(extra) - without) > 10 * (error + theory / n)  # and noise is not a detail here
