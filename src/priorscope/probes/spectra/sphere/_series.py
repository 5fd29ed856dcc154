"""The power series of a one-hidden-layer kernel: k(u) = Σ a_m u^m, for any activation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import gammaln

from priorscope.checks import ANY_NUMBER, VARIANCE, checked, each, optional, whole
from priorscope.contracts import guarded
from priorscope.printing import printed

__all__ = ["KernelSeries", "kernel_series"]

Scalar = Callable[[torch.Tensor], torch.Tensor]


@checked(coefficients=each(ANY_NUMBER), total=ANY_NUMBER)
@printed
@dataclass(frozen=True)
class KernelSeries:
    """Coefficients a_m (all ≥ 0) of k(u), cut after the last one, and the exact k(1): the mass cut off is the difference.

    Example:
        >>> k = KernelSeries(np.array([0.0, 0.5, 0.5]), total=1.0)
        >>> k(0.5), k.missing
        (0.375, 0.0)
    """

    coefficients: NDArray[np.float64]
    total: float

    def __call__(self, u: float) -> float:
        """The truncated series at ``u``."""
        return float(np.polynomial.polynomial.polyval(u, self.coefficients))

    @property
    def missing(self) -> float:
        """k(1) − Σ a_m: a bound of the truncation error anywhere on [−1, 1]."""
        return max(self.total - float(self.coefficients.sum()), 0.0)


@guarded(
    weight_variance=VARIANCE,
    bias_variance=VARIANCE,
    readout_variance=optional(VARIANCE),
    readout_bias_variance=optional(VARIANCE),
    terms=whole(),
)
def kernel_series(
    activation: Scalar,
    *,
    kind: str = "ntk",
    weight_variance: float = 2.0,
    bias_variance: float = 0.0,
    readout_variance: float | None = None,
    readout_bias_variance: float | None = None,
    terms: int = 512,
) -> KernelSeries:
    r"""Series of the kernel of one hidden layer on inputs of unit mean square, u being their normalised inner product.

    With :math:`v = σ_w² + σ_b²`, :math:`ρ(u) = (σ_w² u + σ_b²)/v` and the Hermite coefficients h_j of
    :math:`z ↦ φ(\sqrt v z)`,

    .. math:: k_{NNGP} = σ_w² \sum_j h_j² ρ^j + σ_b², \qquad k_{NTK} = σ_w² \sum_j (1 + j) h_j² ρ^j + σ_b²

    where the outer σ² are the readout's (those of the hidden layer unless given). Derived here: Mehler's expansion of the
    two kernels of Jacot, Gabriel & Hongler (2018).

    Example:
        >>> k = kernel_series(torch.relu, kind="nngp")
        >>> [round(float(a), 4) for a in k.coefficients[:4]], k.total
        ([0.6366, 1.0, 0.3183, 0.0], 2.0)
    """
    if kind not in ("ntk", "nngp"):
        raise ValueError(f"kernel_series knows the kinds 'ntk' and 'nngp'; got {kind!r}.")
    variance = weight_variance + bias_variance
    share = weight_variance / variance  # ρ = share · u + (1 − share)
    degree = terms if share == 1 else int(np.ceil(2 * terms / share))
    squares, power, slope_power = _hermite_squares(activation, variance, degree)
    readout = weight_variance if readout_variance is None else readout_variance
    offset = bias_variance if readout_bias_variance is None else readout_bias_variance
    weights = readout * squares
    total = readout * power + offset
    if kind == "ntk":
        weights = weights * (1 + np.arange(len(weights)))
        total += readout * slope_power
    coefficients = weights[: terms + 1] if share == 1 else _shifted(weights, share, terms)
    coefficients = coefficients.copy()
    coefficients[0] += offset
    return KernelSeries(coefficients, float(total))


def _shifted(weights: NDArray[np.float64], share: float, terms: int) -> NDArray[np.float64]:
    """Coefficients in u of Σ_j w_j (share·u + 1 − share)^j: each j spreads over m by the binomial law."""
    j = np.arange(len(weights))
    m = np.arange(min(terms + 1, len(weights)))[:, None]
    with np.errstate(invalid="ignore"):
        log_law = gammaln(j + 1) - gammaln(m + 1) - gammaln(np.maximum(j - m, 0) + 1)
        log_law = log_law + m * np.log(share) + (j - m) * np.log1p(-share)
    return np.where(j >= m, np.exp(np.minimum(log_law, 0)), 0.0) @ weights


def _hermite_squares(activation: Scalar, variance: float, degree: int) -> tuple[NDArray[np.float64], float, float]:
    """h_j² for j ≤ degree, E φ², and v·E φ'² for φ(√v z)."""
    z = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], dtype=torch.float64)
    values = activation(z).double().numpy()
    if np.allclose(values, [2 * values[1], values[1], 0, values[3], 2 * values[3]], rtol=1e-12, atol=1e-12):
        odd, even = (values[3] - values[1]) / 2, (values[3] + values[1]) / 2  # φ = odd·z + even·|z|
        j = np.arange(degree + 1)
        squares = np.zeros(degree + 1)
        half = j[2::2] / 2  # |z|: h_j² = (2/π)·((j−3)!!)²/j!, written with gamma functions
        double_factorial = gammaln(2 * half - 1) - (half - 1) * np.log(2) - gammaln(half)  # log (j−3)!!
        squares[2::2] = 2 / np.pi * np.exp(2 * double_factorial - gammaln(j[2::2] + 1))
        squares[0] = 2 / np.pi
        squares *= variance * even**2
        if degree >= 1:
            squares[1] = variance * odd**2
        power = variance * (odd**2 + even**2)
        return squares, power, power
    return _by_quadrature(activation, variance, min(degree, 400))


def _by_quadrature(activation: Scalar, variance: float, degree: int) -> tuple[NDArray[np.float64], float, float]:
    """Gauss–Legendre panels that meet at 0, where activations have their kinks; Hermite functions by recurrence."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    reach = 2 * np.sqrt(degree + 1.0) + 10  # Hermite functions of this degree are zero beyond
    edges = np.linspace(0, reach, 61)
    z = np.concatenate([(a + b) / 2 + (b - a) / 2 * nodes for a, b in pairwise(edges)])
    w = np.tile(weights, 60) * (edges[1] - edges[0]) / 2
    z, w = np.concatenate([-z[::-1], z]), np.concatenate([w[::-1], w])
    point = torch.tensor(z * np.sqrt(variance), requires_grad=True)
    out = activation(point)
    (slope,) = torch.autograd.grad(out.sum(), point)
    phi = out.detach().numpy()
    gauss = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    root = np.sqrt(gauss)
    previous, current = np.zeros_like(z), root
    squares = np.empty(degree + 1)
    for j in range(degree + 1):
        squares[j] = float(np.sum(w * root * phi * current)) ** 2
        previous, current = current, (z * current - np.sqrt(j) * previous) / np.sqrt(j + 1)
    power = float(np.sum(w * gauss * phi**2))
    squares[squares < 1e-28 * power] = 0.0  # round-off of coefficients that vanish by parity
    return squares, power, variance * float(np.sum(w * gauss * slope.numpy() ** 2))
