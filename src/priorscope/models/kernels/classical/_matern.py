"""The Matérn function of a scaled distance, for every smoothness."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

__all__ = ["SMOOTHEST", "matern_of", "matern_slope_of"]

SMOOTHEST = 50.0  # above it the Bessel function overflows where the kernel still differs from 1
NOWHERE = 1e4  # from here on the kernel is below the smallest number of double precision, whatever its smoothness


def matern_of(squared: Tensor, smoothness: float) -> Tensor:
    r"""The kernel at squared distances in units of the bandwidth, in place where it can.

    .. math:: k(r) = \frac{2^{1-\nu}}{\Gamma(\nu)} z^\nu K_\nu(z), \qquad z = \sqrt{2\nu}\,r

    Rasmussen & Williams (2006), eq. 4.14. Half-integers up to 5/2 in closed form (eqs. 4.16 and 4.17), infinity is
    :math:`e^{-r^2/2}`; others by the Bessel function of scipy, by its series at zero.

    Example:
        >>> matern_of(torch.tensor([4.0]).double(), 0.5).item() == math.exp(-2)
        True
    """
    if math.isinf(smoothness):
        return squared.mul_(-0.5).exp_()
    if smoothness == 0.5:
        return squared.sqrt_().neg_().exp_()
    z = squared.mul_(2 * smoothness).sqrt_()
    if smoothness == 1.5:
        return (1 + z).mul_((-z).exp_())
    if smoothness == 2.5:
        return (1 + z + z.square() / 3).mul_((-z).exp_())
    return torch.from_numpy(_bessel_form(z.numpy(), smoothness))


def matern_slope_of(squared: Tensor, smoothness: float) -> Tensor:
    r"""The slope over the distance, :math:`k'(r)/r`, at squared distances in units of the bandwidth, in place where it can.

    .. math:: \frac{k'(r)}{r} = -2\nu\,\frac{2^{1-\nu}}{\Gamma(\nu)}\,z^{\nu-1} K_{\nu-1}(z), \qquad z = \sqrt{2\nu}\,r

    (Abramowitz & Stegun 1964, eq. 9.6.28, for the derivative of :math:`z^\nu K_\nu`). Half-integers up to 5/2 and infinity in
    closed form. Kernels with a kink, :math:`\nu \le 1`, count as flat at distance zero.

    Example:
        >>> matern_slope_of(torch.tensor([4.0, 0.0]).double(), 0.5).tolist() == [-math.exp(-2) / 2, 0.0]
        True
    """
    if math.isinf(smoothness):
        return squared.mul_(-0.5).exp_().neg_()
    if smoothness == 0.5:
        z = squared.sqrt_().neg_()
        return z.exp().div_(z).masked_fill_(z == 0, 0.0)
    z = squared.mul_(2 * smoothness).sqrt_()
    if smoothness == 1.5:
        return z.neg_().exp_().mul_(-3.0)
    if smoothness == 2.5:
        return (1 + z).mul_((-z).exp_()).mul_(-5.0 / 3)
    if smoothness > 1:
        factor = -smoothness / (smoothness - 1)
        return factor * torch.from_numpy(_bessel_form(z.numpy(), smoothness - 1))
    from scipy.special import gamma, kv

    lead = -(2.0 ** (2 - smoothness)) * smoothness / gamma(smoothness)
    inside = (z > 0) & (z < NOWHERE)
    safe = torch.where(inside, z, 1.0).numpy()
    slope = torch.from_numpy(lead * safe ** (smoothness - 1) * kv(1 - smoothness, safe))
    return torch.where(inside, slope, 0.0)


def _bessel_form(z: np.ndarray, nu: float) -> np.ndarray:
    """The general formula in logarithms; 1 at zero, the series in z² where the Bessel function overflows, 0 far out."""
    from scipy.special import gammaln, kve

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scaled = kve(nu, z)  # e^z K(z)
        found = np.exp(np.log(scaled) - z + nu * np.log(z / 2) + math.log(2) - gammaln(nu))
    far = z >= NOWHERE  # scipy's Bessel function is NaN beyond 1e9
    found[far] = 0.0
    early = ~np.isfinite(scaled) & ~far
    if early.any():
        small = np.square(z[early]) / 4
        series = 1 - small / (nu - 1) + small**2 / (2 * (nu - 1) * (nu - 2)) if nu > 3 else np.ones_like(small)
        found[early] = series
    out: np.ndarray = np.minimum(found, 1.0)
    return out
