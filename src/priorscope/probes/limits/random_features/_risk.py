"""The risk of ridge regression on random features in the limit of many dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import torch

from priorscope.checks import NOT_NEGATIVE, POSITIVE
from priorscope.contracts import guarded
from priorscope.models import nonlinearity

__all__ = ["RandomFeaturesRisk", "random_features_risk"]


@dataclass(frozen=True)
class RandomFeaturesRisk:
    """Excess risk of one set of random features, of the mean over infinitely many, and of ``members`` of them.

    Example:
        >>> risk = random_features_risk(4.0, 3.0, noise=0.25)
        >>> risk.single > risk.ensemble, risk.of(1) == risk.single
        (True, True)
    """

    single: float
    ensemble: float

    def of(self, members: float) -> float:
        r"""Risk of the mean of K predictors on the same data: :math:`R_\infty + (R_1 - R_\infty)/K`.

        Members are exchangeable: the variance of a mean.
        """
        return self.ensemble + (self.single - self.ensemble) / members


def _moments(activation: str) -> tuple[float, float]:
    """μ₁ = E[G s(G)] and μ*² = E s² − (E s)² − μ₁² of a nonlinearity."""
    phi = nonlinearity(activation)
    x, w = np.polynomial.legendre.leggauss(400)
    nodes = np.concatenate([6 * (x - 1), 6 * (x + 1)])  # a kink at zero lies between the halves
    weights = np.tile(w, 2) * np.exp(-(nodes**2) / 2)
    weights, values = weights / weights.sum(), phi(torch.from_numpy(nodes)).numpy()
    mean, linear = float(weights @ values), float(weights @ (nodes * values))
    return linear, float(weights @ values**2) - mean**2 - linear**2


def _overlap(psi1: float, psi2: float, zeta2: float, ridge: float) -> float:
    r"""p = −χ: the root of :math:`p\psi_1\psi_2\bar\lambda = (\psi_1-pg)(\psi_2-pg)`, :math:`g = 1+\zeta^2/(1+\zeta^2p)`."""
    low, high = 0.0, min(psi1, psi2)

    def excess(p: float) -> float:
        pg = p * (1 + zeta2 / (1 + zeta2 * p))
        if pg >= min(psi1, psi2):
            return 1.0
        return p * psi1 * psi2 * ridge - (psi1 - pg) * (psi2 - pg)

    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return 0.5 * (low + high)


def _single(psi1: float, psi2: float, zeta2: float, ridge: float) -> tuple[float, float]:
    """Factors of the linear signal and of noise: E₁/E₀ and E₂/E₀."""
    c, z2, z4, z6 = -_overlap(psi1, psi2, zeta2, ridge), zeta2, zeta2**2, zeta2**3
    both = psi1 * psi2
    tail = 3 * c**4 * z4 - 2 * c**3 * z4 - 3 * c**3 * z2 + 2 * c**2 * z2 + c**2
    e0 = -(c**5) * z6 + tail + (both - psi2 - psi1 + 1) * c**3 * z6 + (psi1 + psi2 - 3 * both + 1) * c**2 * z4
    e0 += 3 * both * c * z2 - both
    e1 = psi2 * c**3 * z4 - psi2 * c**2 * z2 + both * c * z2 - both
    e2 = c**5 * z6 - tail + (psi1 - 1) * c**3 * z6 - (psi1 + 1) * c**2 * z4
    return (e1 / e0, e2 / e0) if e0 != 0 else (inf, inf)


def _marchenko_pastur(gamma: float, shift: float) -> tuple[float, float]:
    """m(−s) and m'(−s) of the law of Marchenko & Pastur with d/n = γ."""
    b = 1 - gamma + shift
    root = sqrt(b * b + 4 * gamma * shift)
    m = (root - b) / (2 * gamma * shift)
    d_root = (b + 2 * gamma) / root
    slope = (d_root - 1) / (2 * gamma * shift) - m / shift  # dm/ds
    return m, -slope


def _ensemble(psi1: float, psi2: float, zeta2: float, ridge: float) -> tuple[float, float]:
    r"""The same factors of the mean over features: kernel regression with an effective ridge.

    The kernel acts as that of a linear model plus the constant :math:`\mu_*^2` on its diagonal, so its risk is that
    of linear ridge regression. In units of :math:`\mu_*^2` the effective ridge solves :math:`t = t_0 + \frac
    tN\mathrm{Tr}\,K(K+t)^{-1}`.
    """
    gamma = 1 / psi2

    def filled(t: float) -> float:
        """Tr K (K + t)^-1 / d."""
        rho = (1 + t) / zeta2
        m, _ = _marchenko_pastur(gamma, rho * gamma)
        inverse = (gamma * m + (psi2 - 1) / rho) / zeta2  # Tr (K + t)^-1 / d in units of mu*^-2
        return psi2 - t * inverse

    added = ridge * psi2  # the penalty N ridge / d on features is n ridge / d on the kernel, their mean product
    low, high = 1e-14, 1e8
    for _ in range(200):
        t = sqrt(low * high)
        low, high = (t, high) if added + t * filled(t) / psi1 > t else (low, t)
    rho = (1 + sqrt(low * high)) / zeta2
    shift = rho * gamma
    m, slope = _marchenko_pastur(gamma, shift)
    return shift**2 * slope, gamma * (m - shift * slope)


@guarded(
    psi1=POSITIVE, psi2=POSITIVE, ridge=NOT_NEGATIVE, linear=NOT_NEGATIVE, nonlinear=NOT_NEGATIVE, noise=NOT_NEGATIVE
)
def random_features_risk(
    psi1: float,
    psi2: float,
    *,
    ridge: float = 0.0,
    linear: float = 1.0,
    nonlinear: float = 0.0,
    noise: float = 0.0,
    activation: str = "relu",
) -> RandomFeaturesRisk:
    r"""Excess risk of regression on N random features from n samples in d dimensions, for N/d = ψ₁ and n/d = ψ₂ in the limit.

    .. math:: R = F_1^2\frac{E_1}{E_0} + (\tau^2 + F_*^2)\frac{E_2}{E_0} + F_*^2

    with polynomials E of :math:`\chi(\psi_1,\psi_2,\zeta,\bar\lambda)`, :math:`\zeta = \mu_1/\mu_*` (Mei & Montanari
    2022, Theorem 2 and Definition 1). χ is found as :math:`-p` with :math:`p\,\psi_1\psi_2\bar\lambda =
    (\psi_1-pg)(\psi_2-pg)`, :math:`g = 1+\zeta^2/(1+\zeta^2p)`, to which their equations reduce on the imaginary
    axis. The mean over initialisations is kernel regression with an effective ridge (Jacot et al. 2020, "Implicit
    regularization of random feature models"); beyond N = n and without ridge that is zero, and the second descent is
    gone.

    Args: ``ridge`` λ is that of :math:`\frac1n\sum(y-f)^2 + \frac{N\lambda}d\|a\|^2` for features
    :math:`s(\theta\cdot x/\sqrt d)` on spheres of radius √d; ``linear`` F₁², ``nonlinear`` F*² and ``noise`` τ² are
    variances of the target's parts.

    Example:
        >>> [round(random_features_risk(n / 100, 3.0, noise=0.25).single, 2) for n in (150, 600, 1200)]
        [0.87, 0.5, 0.24]
    """
    mu1, residual = _moments(activation)
    if not (abs(mu1) > 1e-9 and residual > 1e-9):
        raise ValueError(
            f"random features need a nonlinearity with a linear and a nonlinear part; {activation!r} has mu1 = {mu1:.2g}, "
            f"mu*^2 = {residual:.2g}."
        )
    zeta2 = mu1**2 / residual
    found = []
    for factors in (_single, _ensemble):
        signal, spread = factors(psi1, psi2, zeta2, ridge / residual)
        found.append(linear * signal + (noise + nonlinear) * spread + nonlinear)
    return RandomFeaturesRisk(*found)
