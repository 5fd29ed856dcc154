"""Gaussian error linear unit."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor

from priorscope.models.nonlinearities._nonlinearity import Nonlinearity

__all__ = ["GELU"]


@dataclass(frozen=True)
class GELU(Nonlinearity):
    r"""x Φ(x), exact (not the tanh approximation).

    With :math:`D^2 = (1+k_{11})(1+k_{22}) - k_{12}^2` and :math:`M = 1 - \frac{k_{11}}{1+k_{11}} - \frac{k_{22}}{1+k_{22}}`,

    .. math:: E[\phi\phi] = k_{12}\left(\tfrac14 + \tfrac{1}{2\pi}\arcsin\tfrac{k_{12}}{\sqrt{(1+k_{11})(1+k_{22})}}\right)
        + \frac{k_{11}k_{22} + M k_{12}^2}{2\pi D}

    from Stein's lemma applied twice to :math:`E[\Phi(u)\Phi(v)]`; Tsuchida et al. (2021) give an equivalent form. The
    derivative map is its derivative in :math:`k_{12}` (Price's theorem).

    Example:
        >>> import torch
        >>> GELU()(torch.zeros(1))
        tensor([0.])
    """

    def __call__(self, x: Tensor) -> Tensor:
        return torch.nn.functional.gelu(x)

    def covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        both, m, d = _parts(k12, k11, k22)
        return k12 * both + (k11 * k22 + m * k12 * k12) / (2 * pi * d)

    def derivative_covariance(self, k12: Tensor, k11: Tensor, k22: Tensor) -> Tensor:
        both, m, d = _parts(k12, k11, k22)
        return both + (k12 * (1 + 2 * m) + (k11 * k22 + m * k12 * k12) * k12 / d**2) / (2 * pi * d)


def _parts(k12: Tensor, k11: Tensor, k22: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """E[Φ(u)Φ(v)], M and D of the formula."""
    product = (1 + k11) * (1 + k22)
    both = 0.25 + torch.asin(k12 / product.sqrt()) / (2 * pi)
    return both, 1 - k11 / (1 + k11) - k22 / (1 + k22), (product - k12 * k12).sqrt()
