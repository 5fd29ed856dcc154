"""Random features drawn and fitted, for comparison with theory."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from priorscope.checks import NOT_NEGATIVE, SEED, whole
from priorscope.contracts import guarded
from priorscope.models import nonlinearity

__all__ = ["simulate_random_features"]

Array = NDArray[np.float64]


@guarded(
    dim=whole(2),
    n=whole(2),
    features=whole(),
    members=whole(),
    ridge=NOT_NEGATIVE,
    noise=NOT_NEGATIVE,
    n_test=whole(),
    seed=SEED,
)
def simulate_random_features(
    dim: int,
    n: int,
    features: int,
    *,
    members: int = 1,
    ridge: float = 0.0,
    noise: float = 0.25,
    activation: str = "relu",
    n_test: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    r"""Mean excess risk of ``members`` random-feature predictors on one data set, and that of their mean.

    Inputs and features uniform on the sphere of radius √d, target :math:`y = \beta\cdot x + \tau g` with
    :math:`\|\beta\| = 1`; the ridge is that of :func:`random_features_risk`, zero is the least squares solution of
    smallest norm (Mei & Montanari 2022, sec. 1.2).

    Example:
        >>> single, mean = simulate_random_features(20, 60, 240, members=4)
        >>> mean < single
        True
    """
    rng = np.random.default_rng(seed)
    phi = nonlinearity(activation)

    def sphere(count: int) -> Array:
        x = rng.standard_normal((count, dim))
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True) * np.sqrt(dim))

    x, test, beta = sphere(n), sphere(n_test), rng.standard_normal(dim)
    beta /= np.linalg.norm(beta)
    y, wanted = x @ beta + np.sqrt(noise) * rng.standard_normal(n), test @ beta
    total, errors = np.zeros(n_test), []
    for _ in range(members):
        theta = sphere(features)
        Z, at = (phi(torch.from_numpy(p @ theta.T / np.sqrt(dim))).numpy() for p in (x, test))
        f = at @ _coefficients(Z, y, n * features * ridge / dim)
        errors.append(float(((f - wanted) ** 2).mean()))
        total += f / members
    return float(np.mean(errors)), float(((total - wanted) ** 2).mean())


def _coefficients(Z: Array, y: Array, shift: float) -> Array:
    """Solve ridge regression by the smaller of the two Gram matrices; without a ridge, take the smallest solution."""
    if shift == 0:
        return np.asarray(np.linalg.lstsq(Z, y, rcond=None)[0])
    if Z.shape[0] < Z.shape[1]:
        return np.asarray(Z.T @ np.linalg.solve(Z @ Z.T + shift * np.eye(len(Z)), y))
    return np.asarray(np.linalg.solve(Z.T @ Z + shift * np.eye(Z.shape[1]), Z.T @ y))
