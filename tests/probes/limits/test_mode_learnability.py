"""The self-consistent equation against closed forms and against kernel regression on Gaussian features."""

from __future__ import annotations

import numpy as np
import pytest

from priorscope.probes import effective_regularisation, mode_learnability


def test_flat_spectrum_by_hand() -> None:
    # m equal modes: m/(1 + k) + d/k = n, a quadratic in k
    m, n, ridge = 50, 20, 3.0
    roots = np.roots([-n, m - n + ridge, ridge])
    assert effective_regularisation(np.ones(m), n, ridge=ridge) == pytest.approx(max(roots.real), rel=1e-9)
    assert effective_regularisation(np.ones(m), m) == 0.0


def test_learnabilities_sum_to_n_and_fall_with_the_eigenvalue() -> None:
    lam = np.arange(1, 500.0) ** -1.5
    found = mode_learnability(lam, 37)
    assert found.learnabilities.sum() == pytest.approx(37, rel=1e-9)
    assert (np.diff(found.learnabilities) < 0).all()
    assert len(found.table()) == len(lam)


def test_error_matches_regression_on_gaussian_features() -> None:
    rng = np.random.default_rng(0)
    lam, n, m = np.arange(1, 301.0) ** -1.3, 60, 300
    power = np.arange(1, 301.0) ** -2.0
    errors = []
    for _ in range(30):
        w = rng.standard_normal(m) * np.sqrt(power)
        X, Z = rng.standard_normal((n, m)), rng.standard_normal((400, m))
        K = (X * lam) @ X.T + 0.5 * np.eye(n)
        guess = (Z * lam) @ X.T @ np.linalg.solve(K, X @ w)
        errors.append(((guess - Z @ w) ** 2).mean())
    theory = mode_learnability(lam, n, power=power, ridge=0.5).error
    noise = np.std(errors) / 30**0.5
    assert abs(np.mean(errors) - theory) < 4 * noise + 0.03 * theory
    wrong = mode_learnability(lam, n // 2, power=power, ridge=0.5).error
    assert abs(np.mean(errors) - wrong) > 4 * noise


def test_messages() -> None:
    with pytest.raises(ValueError, match="non-negative finite eigenvalues"):
        effective_regularisation([-1.0, 2.0], 1)
    with pytest.raises(ValueError, match="n > 0"):
        effective_regularisation([1.0], 0)
    with pytest.raises(ValueError, match="one power for each"):
        mode_learnability([1.0, 0.5], 1, power=[1.0])
